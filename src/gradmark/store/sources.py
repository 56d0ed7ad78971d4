"""The user's own source files behind a run: what they were when it began.

In: cells. Out: a digest for each file of a workload and for the module of each `module:Class` engine, so that a run
does not go on with another function of the same name.
"""

import hashlib
import sys
from collections.abc import Iterable, Mapping
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

from gradmark.engines import discovery
from gradmark.records import Cell


def digests(cells: Iterable[Cell]) -> dict[str, str]:
    """The digest of each file, by its path. Installed packages have versions instead."""
    planned = list(cells)
    installed = discovery.known()
    engines = dict.fromkeys(cell.engine for cell in planned if cell.engine not in installed)
    modules = (module_file(engine.partition(":")[0]) for engine in engines)
    paths = dict.fromkeys([*(cell.file for cell in planned), *modules])
    return {path: digest for path in paths if path is not None and (digest := _digest(Path(path))) is not None}


def changed(kept: Mapping[str, str]) -> list[str]:
    """The files that are not what they were, or are gone."""
    return [path for path, digest in kept.items() if _digest(Path(path)) != digest]


def module_file(name: str) -> str | None:
    """The file of a module, found as a worker finds it; nothing is imported, which may take seconds."""
    path: list[str] | None = [*sys.path, ""]
    spec: ModuleSpec | None = None
    parts = name.split(".")
    for depth in range(len(parts)):
        spec = PathFinder.find_spec(".".join(parts[: depth + 1]), path)
        if spec is None:
            return None
        path = list(spec.submodule_search_locations or [])
    return str(Path(spec.origin).resolve()) if spec is not None and spec.has_location and spec.origin else None


def _digest(path: Path) -> str | None:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None
