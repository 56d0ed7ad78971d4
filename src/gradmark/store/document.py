"""A run as one JSON document: what `--json FILE` writes, and what all run files were before format 3.

In: the bytes of a file. Out: the run, in the words of today. Old files are never rewritten.
"""

from pathlib import Path
from typing import Any

import msgspec

from gradmark.errors import StoreError
from gradmark.records import FORMAT_VERSION, Code, Run

# How long blocks were where a file does not say.
OLD_BLOCK_NS = 1_000_000


class _Version(msgspec.Struct):
    format_version: int = 1


def packed(run: Run) -> bytes:
    """The document of a run, in the present format."""
    return msgspec.json.encode(msgspec.structs.replace(run, format_version=FORMAT_VERSION))


def read(data: bytes, path: Path) -> Run:
    """The run in a document of any format."""
    try:
        version = msgspec.json.decode(data, type=_Version).format_version
        refuse_newer(version, path)
        if version >= 3:
            return msgspec.json.decode(data, type=Run)
        return msgspec.convert(_renewed(msgspec.json.decode(data)), Run)
    except msgspec.MsgspecError as error:
        raise StoreError(f"{path} is not a run file, or is damaged: {error}; the file was not changed") from error


def refuse_newer(version: int, path: Path) -> None:
    """Raises if a file is of a format that this version does not know."""
    if version > FORMAT_VERSION:
        raise StoreError(
            f"{path} has format {version}, this gradmark reads up to {FORMAT_VERSION}; install a newer gradmark"
        )


def _renewed(document: Any) -> Any:
    """A document of format 1 or 2 in the words of format 3: warnings with a code, and cells with a kind.

    What does not look like a run is left as it is: the conversion says best what is wrong with it.
    """
    if not isinstance(document, dict):
        return document
    if isinstance(settings := document.get("settings"), dict):
        settings.setdefault("block_ns", OLD_BLOCK_NS)
    measurements = [m for m in document.get("measurements") or () if isinstance(m, dict)]
    for part in measurements:
        for holder in (part, *(part.get("samples") or ())):
            if isinstance(holder, dict) and isinstance(holder.get("warnings"), list):
                holder["warnings"] = [_warning(text) for text in holder["warnings"]]
    cells = [m.get("cell") for m in measurements]
    with_shapes = [m.get("cell") for m in measurements if m.get("shapes")]
    planned = [cell for cell in (*cells, *(document.get("planned") or ())) if isinstance(cell, dict)]
    # A workload has one kind, so that what is known of one of its cells holds for all, measured or not.
    single = [cell for cell in planned if cell.get("dtype") == "float32"]
    tensors = {_workload(cell) for cell in (*with_shapes, *single) if isinstance(cell, dict)}
    for cell in planned:
        cell.setdefault("kind", "tensor" if _workload(cell) in tensors else "scalar")
    return document


def _workload(cell: dict[str, Any]) -> tuple[Any, Any, Any]:
    return cell.get("workload"), cell.get("suite"), cell.get("file")


def _warning(said: Any) -> Any:
    return {"code": Code.OTHER, "reason": said} if isinstance(said, str) else said
