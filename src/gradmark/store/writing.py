"""Writing: a file is replaced as a whole, so that a reader or a crash finds the old one or the new one."""

import contextlib
import os
import secrets
import stat
from pathlib import Path

from gradmark.errors import StoreError

# A temporary file is made, never opened: O_EXCL refuses what is there already, a link that somebody put there too.
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


# What is in these folders stands for something else, also where it looks like a file: /dev/stdout, /dev/fd/1.
_STAND_INS = (Path("/dev"), Path("/proc"))


def refuse_special(path: Path) -> None:
    """Raises for a pipe or a device: root would not write to /dev/null but put a file in its place, for everybody."""
    folder = path.parent.resolve()
    try:
        mode = os.stat(path).st_mode
    except OSError:  # nothing is there, or what cannot be looked at
        return
    is_file = stat.S_ISREG(mode) or stat.S_ISDIR(mode)
    if not is_file or folder == _STAND_INS[0] or folder.is_relative_to(_STAND_INS[1]):
        raise StoreError(
            f"{path} is a pipe or a device, and files are replaced as a whole; name a file, or leave the option out: "
            "`--format` prints"
        )


def replace(path: Path, data: bytes) -> None:
    """Writes to a temporary name that nobody can guess, waits until it is on the disk, and renames."""
    refuse_special(path)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        descriptor = os.open(temporary, _NEW, 0o666)  # the umask takes from it what the user's files do not have
        try:
            write_all(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(temporary, path)
    except OSError as error:
        with contextlib.suppress(OSError):  # where the folder itself is missing or closed
            temporary.unlink(missing_ok=True)
        raise StoreError(f"{path} cannot be written: {error.strerror}; what was there before is untouched") from error


def write_all(descriptor: int, data: bytes) -> None:
    """All of the data: the system may take only a part at a time, as it does when a disk is getting full."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
