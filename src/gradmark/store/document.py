"""A run as one JSON document: what `--json FILE` writes, and what all run files were before format 3.

In: the bytes of a file. Out: the run, in the words of today. Old files are never rewritten.
"""

from pathlib import Path
from typing import Any

import msgspec

from gradmark.errors import StoreError
from gradmark.records import FORMAT_VERSION, Code, Run
from gradmark.records.decoding import UndecodableError, converted, decoded, encoded
from gradmark.records.quantities import Version

# How long blocks were where a file does not say.
OLD_BLOCK_NS = 1_000_000


class _Version(msgspec.Struct):
    format_version: Version = 1


_VERSION, _RUN, _ANYTHING = msgspec.json.Decoder(_Version), msgspec.json.Decoder(Run), msgspec.json.Decoder()


def packed(run: Run) -> bytes:
    """The document of a run, in the present format."""
    try:
        return encoded(msgspec.structs.replace(run, format_version=FORMAT_VERSION), _RUN)
    except UndecodableError as error:
        raise StoreError(f"run {run.id} cannot be stored, because it could not be read back: {error}") from error


def read(data: bytes, path: Path) -> Run:
    """The run in a document of any format."""
    try:
        version = decoded(_VERSION, data).format_version
        refuse_newer(version, path)
        run = decoded(_RUN, data) if version >= 3 else converted(_renewed(decoded(_ANYTHING, data)), Run)
        _refuse_twice(run)
        return run
    except UndecodableError as error:
        raise StoreError(
            f"{path} is not a run file, or is damaged: {error}; the file was not changed: `gradmark list runs` shows "
            "the others"
        ) from error


def _refuse_twice(run: Run) -> None:
    """Raises if a cell is there twice: one of the two would be lost when the run is resumed."""
    known = set[str]()
    for measurement in run.measurements:
        if measurement.cell.id in known:
            raise UndecodableError(f"it holds {measurement.cell.id} twice")
        known.add(measurement.cell.id)


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
    measurements = _tables(document.get("measurements"))
    for part in measurements:
        for holder in (part, *_tables(part.get("samples"))):
            if isinstance(holder.get("warnings"), list):
                holder["warnings"] = [_warning(text) for text in holder["warnings"]]
    cells = _tables([m.get("cell") for m in measurements])
    with_shapes = _tables([m.get("cell") for m in measurements if m.get("shapes")])
    planned = [*cells, *_tables(document.get("planned"))]
    # A workload has one kind, so that what is known of one of its cells holds for all, measured or not.
    single = [cell for cell in planned if cell.get("dtype") == "float32"]
    tensors = {_workload(cell) for cell in (*with_shapes, *single)}
    for cell in planned:
        cell.setdefault("kind", "tensor" if _workload(cell) in tensors else "scalar")
    return document


def _tables(values: Any) -> list[dict[str, Any]]:
    """The tables in what should be a list of them."""
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []


def _workload(cell: dict[str, Any]) -> tuple[str, str, str]:
    return str(cell.get("workload")), str(cell.get("suite")), str(cell.get("file"))


def _warning(said: Any) -> Any:
    return {"code": Code.OTHER, "reason": said} if isinstance(said, str) else said
