"""The seal of a run file: it was begun here, by this user. What it says may then be carried out again.

In: the first lines of a file, which say what is run and with which options. Out: a seal that only this user's key
makes. The key is a file of the user's own, made when it is first needed.
"""

import contextlib
import hashlib
import hmac
import os
import secrets
import tempfile
from pathlib import Path

from gradmark.isolation.state import state_folder

# Of the key. More would make nothing harder.
KEY_BYTES = 32


def seal(text: bytes) -> str:
    """The seal of a text; none where no key can be kept."""
    key = _key(new=True)
    return hmac.new(key, text, hashlib.sha256).hexdigest() if key else ""


def holds(text: bytes, sealed: str) -> bool:
    """Whether this user sealed the text."""
    key = _key(new=False)
    return bool(key and sealed) and hmac.compare_digest(
        hmac.new(key, text, hashlib.sha256).hexdigest().encode(), sealed.encode()
    )


def key_file() -> Path:
    """Where the key is."""
    return state_folder() / "key"


def _key(*, new: bool) -> bytes:
    """The key; a new one if there is none yet and one is wanted. Empty where none can be read or written."""
    try:
        path = key_file()
        if new and not path.exists():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _make(path)
        key = path.read_bytes()
    except (OSError, RuntimeError):  # no home, or no room in it
        return b""
    return key if len(key) == KEY_BYTES else b""


def _make(path: Path) -> None:
    """A key that nobody else may read. Whole or not at all; of two processes that make one, the first is right."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".key-") as file:
        file.write(secrets.token_bytes(KEY_BYTES))
        file.flush()
        os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(file.name, path)
