"""`gradmark baseline`: writes and shows the file of numbers that `gradmark check` holds an engine to."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gradmark.commands.gating import gating, inspected, planned
from gradmark.records import Settings

if TYPE_CHECKING:
    from gradmark.store.baselines import Baseline


@click.group()
def command() -> None:
    """The numbers that must not get worse: gradmark-baseline.json, made to be committed."""


@command.command("update")
@click.option("--times", is_flag=True, help="Also time, for information; else the times in the file stay.")
@click.option("--instructions", is_flag=True, help="Also count machine instructions with callgrind; slow.")
@gating
def update(
    select: tuple[str, ...],
    engines: tuple[str, ...],
    keyword: str | None,
    file: Path,
    times: bool,
    instructions: bool,
    settings: Settings,
) -> None:
    """Measure exact metrics and write them. With SELECT, -e or -k only those cells are renewed.

    A cell that fails is kept with its status.
    """
    import msgspec

    from gradmark.commands.measuring import measure
    from gradmark.gate import configuration
    from gradmark.measure import environment
    from gradmark.store import baselines, runs

    said = configuration.read()
    cells = planned(said, select, engines, keyword)
    before = baselines.load(file) if file.exists() else None
    if times or instructions:
        measured = measure(cells, msgspec.structs.replace(settings, instructions=instructions), runs.FOLDER)[
            0
        ].measurements
    else:
        measured = inspected(cells, settings)
    found = baselines.baseline(measured, environment.collect(), before)
    if before is not None and (select or engines or keyword):
        found = baselines.joined(before, found, cells)
    baselines.save(found, file)
    changed = _changes(baselines.renamed(before, cells), found) if before is not None else len(found.cells)
    click.echo(f"{file}: {len(found.cells)} cells, {changed} changed; commit it")
    for name, kept in found.cells.items():
        if kept.status != "ok":
            click.echo(f"{kept.status}: {name}")


def _changes(before: "Baseline", now: "Baseline") -> int:
    names = {*before.cells, *now.cells}
    return sum(before.cells.get(name) != now.cells.get(name) for name in names)


@command.command("show")
@click.option("--baseline", "file", type=click.Path(path_type=Path), help="The file. Default: gradmark-baseline.json.")
def show(file: Path | None) -> None:
    """Print the numbers in the file, and where they come from."""
    from gradmark.report.tables.gate import numbers
    from gradmark.store import baselines

    found = baselines.load(file or baselines.FILE)
    times = found.times.total_ns if found.times is not None else {}
    for name, kept in sorted(found.cells.items()):
        values = numbers(kept.metrics | ({"total": times[name]} if name in times else {}))
        click.echo(f"{name}: {kept.status if kept.status != 'ok' else values}")
    click.echo("counted with " + ", ".join(f"{key} {value}" for key, value in found.environment.items()))
    if found.times is not None:
        click.echo(f"timed on {found.times.machine}; for information, never judged")
