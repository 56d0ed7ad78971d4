"""The bundle: a kept run as stores hand it to each other: its file, what a list shows of it, and its outline.

In: the bytes of a run file of any format. Out: those of a journal, with all that is known without reading it again.
"""

from pathlib import Path

import msgspec

from gradmark.errors import StoreError
from gradmark.records import Run
from gradmark.records.identity import class_of
from gradmark.records.outline import OUTLINE_VERSION, Outline, outline, packed
from gradmark.store import document, journal, listing
from gradmark.store.listing import Listed


class Packed(msgspec.Struct, frozen=True):
    """An outline as stores keep it: in parts that need not all be read."""

    heading: msgspec.Raw
    cells: msgspec.Raw
    columns: dict[str, msgspec.Raw]
    version: int = OUTLINE_VERSION


class Bundle(msgspec.Struct, frozen=True):
    """A run for another store."""

    listed: Listed
    data: bytes  # of a journal
    outline: Packed
    machine_class: tuple[str, str, str]  # digest, name, words
    instance: str
    commit: str | None


def packed_outline(run: Outline) -> Packed:
    """An outline in the parts that a store keeps."""
    heading, cells = packed(run.heading)
    columns = {name: msgspec.Raw(column) for name, column in run.columns.items()}
    return Packed(msgspec.Raw(heading), msgspec.Raw(cells), columns)


def bundle(data: bytes, path: Path) -> Bundle:
    """A run from the bytes of its file. A document becomes a journal; a last line that was cut short is left out."""
    if journal.is_journal(data):
        run, length = journal.read(data, path)
        data = data[:length]
    else:
        run = document.read(data, path)
        data = journal.lines(run)
    return of_run(run, data)


def of_run(run: Run, data: bytes) -> Bundle:
    """A run and the bytes of its journal."""
    cells = run.planned or [m.cell for m in run.measurements]
    listed = Listed(
        path="",
        id=run.id,
        started=run.started,
        verb=run.verb,
        arguments=run.arguments,
        engines=list(dict.fromkeys(cell.engine for cell in cells)),
        workloads=list(dict.fromkeys(cell.workload for cell in cells)),
        cells=len(cells),
        processes=run.settings.processes,
        inspected=len(run.measurements),
        ok=sum(m.status == "ok" for m in run.measurements),
        samples=sum(len(m.samples) for m in run.measurements),
        finished=run.finished,
    )
    here = class_of(run.environment)
    return Bundle(
        listed=listed,
        data=data,
        outline=packed_outline(outline(run)),
        machine_class=(here.digest, here.name, here.words),
        instance=run.environment.instance,
        commit=run.environment.commit,
    )


def known(data: bytes, path: Path, packed: Packed) -> Bundle:
    """A run whose outline is known: only the ends of its file are read. It was read whole when its outline was made."""
    listed = listing.listed(path)
    if listed.problem:
        raise StoreError(f"{path}: {listed.problem}")
    environment = journal.header_of(data[: data.index(b"\n") + 1], path).environment
    here = class_of(environment)
    return Bundle(
        listed=listed,
        data=data[: data.rindex(b"\n") + 1],
        outline=packed,
        machine_class=(here.digest, here.name, here.words),
        instance=environment.instance,
        commit=environment.commit,
    )
