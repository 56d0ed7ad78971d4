"""Origins: of two sides that are measured together, which one a file belongs to.

In: the folders of a repository and of another revision of it. Out: for each side its own copy of a file, and whose a
file is that its worker has loaded.
"""

import os
from typing import Literal

from gradmark.records import Record

Whose = Literal[
    "own",
    "other",
    "installed",  # packages and Python itself, which both sides use
    "harness",  # the gradmark that measures both
]


class Origins(Record, frozen=True, kw_only=True):
    """What is whose, as one side sees it. Paths have no symbolic links in them."""

    top: str  # the repository, as the user has it
    tree: str  # the repository, as this side has it
    folders: dict[str, Whose]  # of nested ones the innermost decides
    roots: list[str] = []  # folders of the tree whose modules can be imported by their names
    installed: bool = False  # whether an installed copy of the tree's own packages is this side's as well

    def whose(self, path: str) -> Whose | None:
        """Whose a file is, wherever it really lies; None outside of all folders.

        >>> sides = Origins(top="/r", tree="/r", folders={"/r": "own", "/r/.venv": "installed"})
        >>> sides.whose("/r/engine.py"), sides.whose("/r/.venv/numpy.py"), sides.whose("/elsewhere.py")
        ('own', 'installed', None)
        """
        return self.whose_is(os.path.realpath(path))

    def whose_is(self, real_path: str) -> Whose | None:
        """The same of a path without symbolic links."""
        folder = _innermost(real_path, self.folders)
        return None if folder is None else self.folders[folder]

    def own(self, path: str) -> str:
        """This side's copy of a file or folder of the repository, which need not exist; others are as they are.

        The repository may be reached through a link; a link inside of it is kept, for each revision has its own.
        """
        inside = self._inside(os.path.abspath(path))
        return path if inside is None else os.path.normpath(os.path.join(self.tree, inside))

    def _inside(self, path: str) -> str | None:
        """The path from the top of the repository; None outside of it, and of what is only kept in its folder."""
        ancestor = path
        while os.path.realpath(ancestor) != self.top:
            parent = os.path.dirname(ancestor)
            if parent == ancestor:
                real = os.path.realpath(path)
                return os.path.relpath(real, self.top) if self._is_of_repository(real) else None
            ancestor = parent
        inside = os.path.relpath(path, ancestor)
        return inside if self._is_of_repository(os.path.join(self.top, inside)) else None

    def _is_of_repository(self, path: str) -> bool:
        return _innermost(path, [self.top, *self.folders]) == self.top


def _innermost(path: str, folders: "list[str] | dict[str, Whose]") -> str | None:
    """The longest of the folders that holds a path."""
    holding = [folder for folder in folders if path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)]
    return max(holding, key=len, default=None)
