"""`gradmark run`: measure; a table, what is noteworthy, and a run file."""

import sys
from pathlib import Path

import click
import msgspec

from gradmark.commands import report
from gradmark.commands.measuring import DEFAULT_ENGINE, carry_out, dtype_option, measure, measuring, refuse_nothing
from gradmark.commands.showing import FORMATS, show
from gradmark.engines import discovery
from gradmark.records import Run, Settings

# More engines than this are a comparison of all, whose quick form has so many processes for each cell.
FEW_ENGINES, PROCESSES_OF_MANY = 4, 2


@click.command()
@click.argument("select", nargs=-1)
@click.option(
    "-e",
    "--engine",
    "engines",
    multiple=True,
    help="Engine to measure; again for more, `all` for every one. Default: tapegrad.",
)
@click.option("-k", "keyword", help="Only workloads with this in their name.")
@dtype_option
@click.option("--format", "form", type=click.Choice(FORMATS), default="table", show_default=True)
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Also write the run to this file.")
@click.option("--html", "html_file", type=click.Path(path_type=Path), help="Also write a page that shows the run.")
@click.option("--medians", is_flag=True, help="Also show the median over processes, with its interval.")
@click.option("--dry-run", is_flag=True, help="Only show what would be measured.")
@click.option("--resume", metavar="RUN", help="Go on with an interrupted run: its id, its file, or `latest`.")
@measuring
def command(
    select: tuple[str, ...],
    engines: tuple[str, ...],
    keyword: str | None,
    dtypes: tuple[str, ...],
    form: str,
    json_file: Path | None,
    html_file: Path | None,
    medians: bool,
    dry_run: bool,
    resume: str | None,
    settings: Settings,
    store: Path,
) -> None:
    """Measure engines on workloads.

    SELECT is a suite, a workload, a glob, or a Python file with workloads; without it, the scalar suite and the short
    part of the tensor suite.
    """
    from gradmark.measure.plan import cells_of
    from gradmark.store import runs
    from gradmark.workloads.selection import select as choose

    if resume is not None:
        if select or engines or dtypes or dry_run:
            raise click.UsageError(
                "--resume goes on with a run as it was planned; leave SELECT, -e, --dtype and --dry-run out"
            )
        place = runs.find(resume, store)
        begun = runs.load(place)
        if not begun.finished:
            refuse_elsewhere(begun)
        ready(json_file, html_file)
        run, path = carry_out(begun, store, place)
    else:
        engines = tuple(discovery.chosen(engines or (DEFAULT_ENGINE,)))
        settings = fewer(settings, len(engines))
        cells = cells_of(choose(select, keyword), engines, full=settings.full, dtypes=dtypes)
        refuse_nothing(cells, dtypes)
        if dry_run:
            for cell in cells:
                click.echo(f"{cell.row}  {cell.engine}")
            click.echo(f"{len(cells)} cells, {settings.processes} processes each")
            return
        ready(json_file, html_file)
        run, path = measure(cells, settings, store)
    if json_file is not None:
        runs.save(run, json_file)
    if html_file is not None:
        report.write([run], html_file)
    show(run, form, medians=medians)
    if form == "table":
        click.echo(f"\nrun file: {path}")
    else:
        click.echo(f"run file: {path}", err=True)
    if all(m.status != "ok" for m in run.measurements):
        sys.exit(1)


def fewer(settings: Settings, engines: int) -> Settings:
    """Of many engines a quick run imports each once a round, and has two rounds if the user does not say.

    With fresh processes most of the time would go into imports.
    """
    from gradmark.measure import nursery

    if settings.full or engines <= FEW_ENGINES:
        return settings
    processes = settings.processes if chosen_by_user("processes") else PROCESSES_OF_MANY
    return msgspec.structs.replace(settings, processes=processes, forked=nursery.possible())


def chosen_by_user(option: str) -> bool:
    """Whether an option was given on the command line."""
    source = click.get_current_context().get_parameter_source(option)
    return source is click.core.ParameterSource.COMMANDLINE


def ready(json_file: Path | None, html_file: Path | None) -> None:
    """Raises before measuring if a file cannot be written after it."""
    from gradmark.errors import StoreError
    from gradmark.store import runs

    if html_file is not None:
        report.ready(html_file)
    if json_file is None:
        return
    runs.ready(json_file.parent)
    if json_file.is_dir():
        raise StoreError(f"--json {json_file} is a folder; name a file")


def refuse_elsewhere(begun: Run) -> None:
    """Raises if the rest of a run would be measured on another machine."""
    from gradmark.errors import UnlikeRunsError
    from gradmark.measure import environment

    differences = begun.environment.unlike(environment.collect())
    if differences:
        raise UnlikeRunsError(
            f"run {begun.id} was begun elsewhere ({'; '.join(differences)}); unlike runs are not mixed: start a new one"
        )
