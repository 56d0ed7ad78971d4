"""`gradmark list`: workloads, engines, runs."""

from pathlib import Path

import click


@click.command()
@click.argument("what", type=click.Choice(["workloads", "engines", "runs", "all"]), default="all")
@click.option("--store", type=click.Path(path_type=Path), default=None, help="Folder of run files.")
def command(what: str, store: Path | None) -> None:
    """Show what there is: workloads, engines, runs."""
    if what in ("workloads", "all"):
        workloads()
    if what in ("engines", "all"):
        engines()
    if what in ("runs", "all"):
        runs(store)


def workloads() -> None:
    """Suite by suite, with sizes and what each is hard on."""
    from gradmark.workloads.selection import available

    click.echo("workloads")
    for workload in available():
        sizes = "; ".join(f"{key}: {', '.join(map(str, values))}" for key, values in workload.sizes.items())
        click.echo(f"  {workload.suite}  {workload.name:18} {workload.stresses}{f'  ({sizes})' if sizes else ''}")


def engines() -> None:
    """Which can be imported here, and what the others lack."""
    from gradmark.engines import discovery
    from gradmark.errors import GradmarkError, MissingEngineError

    click.echo("engines")
    for name in discovery.known():
        try:
            engine = discovery.load(name)
            can = engine.capabilities()
            state = f"installed, but runs nothing here: {can.absent}" if can.absent else "installed"
            state += f": {can.reason}" if can.reason else ""
        except MissingEngineError as error:
            state = f"missing: {error}"
        except GradmarkError as error:
            state = f"broken: {error}"
        except Exception as error:
            state = f"broken: {error!r}"
        click.echo(f"  {name:30} {state}")


def runs(store: Path | None) -> None:
    """Kept runs, oldest first; a damaged file is named, not hidden."""
    from gradmark.errors import StoreError
    from gradmark.store import runs as files

    folder = store or files.FOLDER
    click.echo(f"runs in {folder}")
    for path in sorted(folder.glob("*.json")):
        try:
            run = files.load(path)
        except StoreError as error:
            click.echo(f"  {path.stem}  {error}")
            continue
        ok = sum(m.status == "ok" for m in run.measurements)
        state = "" if run.finished else "  interrupted: gradmark run --resume " + run.id
        click.echo(f"  {run.id}  {run.started}  {ok} of {len(run.planned)} cells ok{state}")
