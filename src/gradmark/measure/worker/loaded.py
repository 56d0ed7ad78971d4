"""What a worker has loaded, held against whose it is: of two sides, neither may run the other's code.

In: the origins of this side. Out: files that are not this side's, and the user's own files that both sides use.
"""

import gc
import os
import sys
import sysconfig
from collections.abc import Iterator
from types import FunctionType, ModuleType

from gradmark.measure.job import Stray
from gradmark.measure.origins import Origins, Whose

INSTALLED = tuple(f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages"))
MODULE_ENDINGS = (".py", ".so", ".pyd")


class Loaded:
    """What this process has loaded so far. A folder is looked at once: a process may have 2,000 modules in 200."""

    def __init__(self, origins: Origins) -> None:
        self.origins = origins
        self.folders: dict[str, tuple[str, Whose | None]] = {}
        self.roots: dict[str, str | None] = {}

    def strays(self, *, deep: bool) -> list[Stray]:
        """The files that this side must not have: the other side's, and others in place of its own.

        deep: whether functions are looked at too, which takes a tenth of a second where there are many.
        """
        strays: dict[str, Stray] = {}
        for name, file in _files(deep=deep):
            path, whose = self._placed(file)
            if whose == "other":
                strays.setdefault(path, Stray(name=name, file=path, through=_entry(file)))
            elif whose in ("installed", None) and (instead := self._in_place_of(name, path)):
                strays.setdefault(path, Stray(name=name, file=path, through=_entry(file), instead=instead))
        return list(strays.values())

    def shared(self) -> list[str]:
        """The user's own modules and packages from outside of the repository, which are the same on both sides."""
        stdlib = tuple(os.path.realpath(sysconfig.get_path(name)) + os.sep for name in ("stdlib", "platstdlib"))
        outside = set()
        for name, module in _modules():
            for path, whose in map(self._placed, _of_module(module)):
                if whose is None and not path.startswith(stdlib) and not any(part in path for part in INSTALLED):
                    outside.add(_whole(path, name.count(".")))
        return sorted(outside)

    def _placed(self, file: str) -> tuple[str, Whose | None]:
        """Where a file really lies, and whose it is."""
        folder, name = os.path.split(file)
        if folder not in self.folders:
            real = os.path.realpath(folder)
            self.folders[folder] = real, self.origins.whose_is(real)
        if os.path.islink(file):
            path = os.path.realpath(file)
            return path, self.origins.whose_is(path)
        real, whose = self.folders[folder]
        return os.path.join(real, name), whose

    def _in_place_of(self, name: str, path: str) -> str:
        """The file of this side's tree in whose place a module of the same name was loaded, if there is one.

        A copy that was installed from the tree will do while it is the same; what was compiled nobody can compare.
        """
        first = name.partition(".")[0]
        if first in sys.stdlib_module_names or name not in sys.modules:
            return ""
        if first not in self.roots:
            self.roots[first] = next((root for root in self.origins.roots if _provides(root, first)), None)
        root = self.roots[first]
        if root is None:
            return ""
        own = os.path.join(root, *name.split("."))
        candidates = (own + ".py", os.path.join(own, "__init__.py"))
        source = next((candidate for candidate in candidates if os.path.isfile(candidate)), "")
        if not self.origins.installed:
            return source or os.path.join(root, first)
        return source if source and path.endswith(".py") and not _alike(source, path) else ""


def has_module(tree: str, name: str) -> bool:
    """Whether a tree has the source of a module somewhere, importable or not."""
    *folders, last = name.split(".")
    for folder, inside, files in os.walk(tree):
        inside[:] = [part for part in inside if not part.startswith(".")]
        if folders and folder.split(os.sep)[-len(folders) :] != folders:
            continue
        if last in inside or any(file.partition(".")[0] == last for file in files):
            return True
    return False


def _files(*, deep: bool) -> Iterator[tuple[str, str]]:
    """Every file that code was loaded from, with the name it goes by.

    Modules are not all: code can be run from a file without being one, and a library can be linked to another.
    """
    for name, module in _modules():
        yield from ((name, file) for file in _of_module(module))
    functions = [thing for thing in gc.get_objects() if type(thing) is FunctionType] if deep else []
    written = {function.__code__.co_filename for function in functions}
    yield from ((os.path.basename(file), file) for file in written | _mapped() if os.path.isabs(file))


def _modules() -> list[tuple[str, ModuleType]]:
    return [(name, module) for name, module in list(sys.modules.items()) if isinstance(module, ModuleType)]


def _of_module(module: ModuleType) -> list[str]:
    """Its file; of a package without one, its folders."""
    file = vars(module).get("__file__")
    paths = [file] if file is not None else list(vars(module).get("__path__", None) or ())
    return [os.path.abspath(path) for path in paths if isinstance(path, str)]


def _mapped() -> set[str]:
    """The files that are mapped into memory: libraries, whoever loaded them. None where the system does not say."""
    try:
        with open("/proc/self/maps", encoding=sys.getfilesystemencoding(), errors="surrogateescape") as maps:
            parts = [line.rstrip("\n").split(maxsplit=5) for line in maps]
    except OSError:
        return set()
    return {fields[5] for fields in parts if len(fields) == 6}


def _entry(file: str) -> str:
    """The entry of sys.path that leads to a file; none if something else did."""
    entries = [os.path.abspath(entry) for entry in sys.path]
    return max((entry for entry in entries if file.startswith(entry + os.sep)), key=len, default="")


def _whole(path: str, depth: int) -> str:
    """The package that a module belongs to, so many folders up, or its file if it is by itself."""
    for _ in range(depth + (os.path.basename(path).partition(".")[0] == "__init__")):
        path = os.path.dirname(path)
    return path


def _provides(root: str, module: str) -> bool:
    """Whether a folder has a module of that name, or a package."""
    path = os.path.join(root, module)
    return os.path.isfile(os.path.join(path, "__init__.py")) or any(os.path.isfile(path + e) for e in MODULE_ENDINGS)


def _alike(one: str, other: str) -> bool:
    with open(one, "rb") as first, open(other, "rb") as second:
        return first.read() == second.read()
