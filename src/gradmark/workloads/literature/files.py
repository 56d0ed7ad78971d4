"""Files: the published inputs of ADBench, those that come with gradmark and those of `--data FOLDER`.

In: the name of an instance. Out: its numbers, or an error that says what was expected, what came, and where.
"""

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gradmark.errors import InvalidWorkloadError

OWN = Path(__file__).parent / "data"
# The folder of `--data`, in this process; None: what comes with gradmark.
_given: Path | None = None


def use(folder: str) -> None:
    """All that is read from now on comes from this folder; empty: what comes with gradmark."""
    global _given
    _given = Path(folder) if folder else None
    _files.cache_clear()


def given() -> Path | None:
    """The folder that the user gave."""
    return _given


@functools.cache
def _files(folder: Path) -> list[tuple[Path, str]]:
    return [(path, str(path.resolve())) for path in sorted(folder.rglob("*.txt"))]


def find(ending: str, *words: str, but: str = "") -> Path | None:
    """The file with this ending and these words in its path, but not that one; None if gradmark does not have it.

    Words choose between instances of the same size: ADBench has them in folders, others in the file's name.
    """
    folder = _given or OWN
    for path, whole in _files(folder):
        if whole.endswith(ending) and all(word in whole for word in words) and not (but and but in whole):
            return path
    if _given is None:
        return None
    named = f" and {' and '.join(map(repr, words))} in its path" if words else ""
    there = "a folder" if folder.is_dir() else "no such folder"
    raise InvalidWorkloadError(
        f"--data {folder}: expected a file that ends with {ending!r}{named}, got {there} without one; give the folder "
        "`data` of ADBench, or leave out --data"
    )


class Lines:
    """The lines of a file that have something in them, each with as many numbers as are expected."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.number = 0
        try:
            lines = path.read_text().splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidWorkloadError(f"{path} cannot be read: {error}") from error
        self.lines: Iterator[tuple[int, list[str]]] = (
            (number, line.split()) for number, line in enumerate(lines, 1) if line.strip()
        )

    def take(self, count: int, what: str) -> list[float]:
        """The numbers of the next line."""
        self.number, words = next(self.lines, (self.number + 1, None))
        if words is None:
            raise self.wrong(f"{count} numbers ({what})", "the end of the file")
        if len(words) != count:
            raise self.wrong(f"{count} numbers ({what})", f"{len(words)}")
        try:
            return [float(word) for word in words]
        except ValueError as error:
            raise self.wrong(f"numbers ({what})", str(error)) from None

    def block(self, rows: int, columns: int, what: str) -> Any:
        """So many lines, as an array."""
        import numpy as np

        return np.array([self.take(columns, what) for _ in range(rows)]).reshape(rows, columns)

    def header(self, **expected: int) -> None:
        """The sizes, in the first line: another instance under this name is an error."""
        got = self.take(len(expected), f"the sizes {' '.join(expected)}")
        if got != list(expected.values()):
            words = " ".join(f"{name}={size}" for name, size in expected.items())
            raise self.wrong(words, " ".join(f"{size:g}" for size in got))

    def end(self) -> None:
        """Nothing may follow."""
        number, words = next(self.lines, (0, None))
        if words is not None:
            self.number = number
            raise self.wrong("the end of the file", f"{len(words)} more numbers")

    def wrong(self, expected: str, got: str) -> InvalidWorkloadError:
        """What was expected, what came, and where."""
        return InvalidWorkloadError(f"{self.path}, line {self.number}: expected {expected}, got {got}")
