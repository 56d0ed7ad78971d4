"""Where things of a user are kept from run to run: with those that other programs keep, and in no repository."""

import os
from pathlib import Path


def state_folder() -> Path:
    """The folder, which may not exist yet. Raises `RuntimeError` where there is no home."""
    if os.name == "nt":
        folder = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        folder = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return folder / "gradmark"
