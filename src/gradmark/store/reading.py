"""Reading: the bytes of a file that somebody else may have put there.

In: a path. Out: its bytes, or an `OSError` that says why there are none.
"""

import errno
import os
import stat
from pathlib import Path


def contents(path: Path) -> bytes:
    """The bytes of a file; nothing else is opened."""
    refuse_special(path)
    return path.read_bytes()


def refuse_special(path: Path) -> None:
    """Raises `OSError` for what is no file: a pipe is waited for, and a device such as /dev/zero never ends."""
    mode = os.stat(path).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OSError(errno.EINVAL, "it is a pipe or a device, not a file", str(path))
