"""`gradmark compare`: two runs, cell by cell, and what differs between them."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from gradmark.analyse.unpaired import Difference

COLOURS = {"faster": "green", "slower": "red"}


@click.command()
@click.argument("old")
@click.argument("new", default="latest")
@click.option("--changed", is_flag=True, help="Only cells with a difference.")
@click.option("--store", type=click.Path(path_type=Path), default=None, help="Folder of run files.")
def command(old: str, new: str, changed: bool, store: Path | None) -> None:
    """Compare two kept runs: OLD and NEW are ids, starts of ids, files, or `latest`.

    Nothing is gated: `gradmark check` measures both sides interleaved, which two runs of different days are not.
    """
    from gradmark.analyse.unpaired import differences, environments
    from gradmark.report.model.characters import one_line
    from gradmark.store import runs

    folder = store or runs.FOLDER
    before, after = (runs.load(runs.find(name, folder)) for name in (old, new))
    unlike, other = environments(before, after)
    click.echo(f"old {before.id}  {before.started}\nnew {after.id}  {after.started}")
    for text in unlike:
        click.echo(f"unlike  {one_line(text)}")
    for text in other:
        click.echo(f"differs {one_line(text)}")
    if unlike:
        click.echo("times of unlike machines or settings are shown, and not judged")
    found = differences(before, after)
    shown = [d for d in found if not changed or d.changes or d.verdict not in ("no difference", "undecided")]
    width = max((len(f"{one_line(d.name)} {one_line(d.engine)}") for d in shown), default=0)
    for difference in shown:
        click.echo(line(difference, width))
    counts = {verdict: sum(d.verdict == verdict for d in found) for verdict in dict.fromkeys(d.verdict for d in found)}
    click.echo(", ".join(f"{count} {verdict}" for verdict, count in counts.items()) or "both runs are empty")


def line(difference: "Difference", width: int) -> str:
    """One cell: times, ratio with its interval, verdict, exact changes."""
    from gradmark import units
    from gradmark.report.model.characters import one_line

    name = f"{one_line(difference.name)} {one_line(difference.engine)}"
    time = difference.time
    numbers = (
        f"{'':47}"
        if time is None
        else f"{units.time(time.first):>9} → {units.time(time.second):>9}  × {time.ratio:.3f} "
        f"({time.low:.3f} to {time.high:.3f})"
    )
    word = click.style(difference.verdict, fg=COLOURS.get(difference.verdict))
    more = "; ".join(filter(None, [one_line(difference.reason), *difference.changes]))
    return f"{name:{width}}  {numbers}  {word}{f' ({more})' if more else ''}"
