"""Writing: a file is replaced as a whole, so that a reader or a crash finds the old one or the new one."""

import contextlib
import os
from pathlib import Path

from gradmark.errors import StoreError


def replace(path: Path, data: bytes) -> None:
    """Writes to a temporary name, waits until it is on the disk, and renames."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        with contextlib.suppress(OSError):  # where the folder itself is missing or closed
            temporary.unlink(missing_ok=True)
        raise StoreError(f"{path} cannot be written: {error.strerror}; what was there before is untouched") from error
