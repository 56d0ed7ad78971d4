"""`gradmark list`: workloads, engines, runs, and what others published."""

import textwrap
from typing import TYPE_CHECKING

import click

from gradmark.commands.helping import Verb
from gradmark.commands.options import store_option
from gradmark.commands.terminal import columns, say

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gradmark.records import DerivativeName
    from gradmark.store.listing import Listed
    from gradmark.store.store import Store
    from gradmark.workloads.outline import Outline

# A list is read downwards: longer lines only move its parts away from each other.
WIDEST = 100
# Of what belongs to the line above.
INDENT = " " * 6
BELOW, NAME = " " * 4, 18
# The longest verb.
VERB = len("hypothesis")
# A test goes on by running it again.
NOT_RESUMED = ("pytest",)


@click.command(cls=Verb, examples=("gradmark list engines", "gradmark list runs --store postgresql://host/gradmark"))
@click.argument("what", type=click.Choice(["workloads", "engines", "runs", "published", "all"]), default="all")
@store_option
def command(what: str, store: "Store") -> None:
    """List workloads, engines and runs, or the ratios that others published. Default: all but published."""
    lists = {"workloads": workloads, "engines": engines, "runs": lambda: runs(store), "published": published}
    chosen = [name for name in lists if name == what or (what == "all" and name != "published")]
    for place, name in enumerate(chosen):
        if place:
            say()
        lists[name]()


def workloads() -> None:
    """Suite by suite, with what each is hard on, and its sizes."""
    from gradmark.workloads.catalogue import available
    from gradmark.workloads.row import listed

    suites: dict[str, list[Outline]] = {}
    for workload in available():
        suites.setdefault(workload.suite, []).append(workload)
    say("workloads")
    for suite, members in suites.items():
        say(f"  {suite}")
        for workload in members:
            sizes = [f"{key}: {', '.join(map(_quoted, listed(workload, key)))}" for key in workload.sizes]
            paragraph(f"{BELOW}{workload.name:{NAME}} ", workload.stresses + f" ({'; '.join(sizes)})" * bool(sizes))


def paragraph(head: str, text: str) -> None:
    """A name and what is said of it: beside it, and below that as far as it goes."""
    for line in textwrap.wrap(
        head + text, _columns(), subsequent_indent=" " * len(head), break_on_hyphens=False, drop_whitespace=True
    ):
        say(line)


def _quoted(value: object) -> str:
    """A value of a size; one with a comma in it is not two."""
    text = str(value)
    return f"'{text}'" if "," in text else text


def engines() -> None:
    """Which can be imported here, with their derivatives, and what the others lack. Each is asked in a process."""
    from gradmark.commands.progress import working
    from gradmark.engines import discovery
    from gradmark.measure import plan, process
    from gradmark.records import Settings

    with working("asking the engines what they can do", quiet=True):
        surveyed = plan.survey(list(discovery.known()), process.run, Settings(), named=(), stop=process.end_all)
    say("engines")
    for name in discovery.known():
        can, details = surveyed.can.get(name), []
        if can is not None:
            state = "installed, but runs nothing here" if can.absent else "installed"
            details = [can.absent, can.reason]
            details += [by_mode(can.derivatives)] if can.gradients and not can.absent else []
        else:
            state, why = ("broken", surveyed.left_out) if name in surveyed.left_out else ("missing", surveyed.missing)
            details = [why[name]]
        say(f"  {name:30} {state}")
        for detail in filter(None, details):
            paragraph(INDENT, detail)


def published() -> None:
    """How many times as long as its function a derivative takes, as others report it: by source, problem and size."""
    from gradmark.workloads.published import published as table

    known = table()
    for name, source in known.sources.items():
        paragraph("", source.title)
        for line in (source.ratio, source.machine, source.where, f"{source.licence} licence"):
            paragraph("  ", line)
        for problem, sizes in known.ratios[name].items():
            for size, ratios in sizes.items():
                tools = sorted(ratios.items(), key=lambda pair: pair[1])
                say(f"  {problem}/{size}")
                paragraph(INDENT, ", ".join(f"{tool} {ratio:g}" for tool, ratio in tools))


def by_mode(derivatives: "Mapping[DerivativeName, str]") -> str:
    """The derivatives of an engine, those of one mode together.

    >>> by_mode({"gradient": "rev", "jvp": "fwd", "vjp": "rev", "hvp": "fwd-over-rev"})
    'gradient, vjp (rev); jvp (fwd); hvp (fwd-over-rev)'
    >>> by_mode({"gradient": ""})
    'gradient'
    """
    from gradmark.report.model.characters import one_line

    modes: dict[str, list[str]] = {}
    for name, mode in derivatives.items():
        modes.setdefault(mode, []).append(name)
    return "; ".join(", ".join(names) + (f" ({one_line(mode)})" if mode else "") for mode, names in modes.items())


def _columns() -> int:
    """How wide a list may be."""
    return min(columns(), WIDEST)


def runs(store: "Store") -> None:
    """Kept runs, oldest first: what was run, and how far it got; a damaged file is named, not hidden."""
    room = _columns()
    kept = store.listed()
    say(f"runs in {store.name}{' (times are UTC)' if kept else ': none'}")
    for run in kept:
        for line in lines(run, room, store):
            say(line)


def lines(run: "Listed", columns: int, store: "Store") -> "Iterator[str]":
    """When and how far; what on which engines; how to go on if it was interrupted."""
    from gradmark.commands.measuring import command_to_resume
    from gradmark.report.model.characters import one_line

    if run.problem:
        yield f"  {one_line(run.id)}  unreadable"
        yield f"{INDENT}{one_line(run.problem)}"
        return
    when = run.started[:16].replace("T", " ")
    verb = one_line(run.verb).partition(" ")[0]  # of `baseline` only `update` measures
    yield f"  {one_line(run.id)}  {when}  {verb:{VERB}}  {state(run)}"
    room = columns - len(INDENT + " on ")
    engines = few(run.engines, room // 2)
    yield f"{INDENT}{few(run.workloads, room - len(engines))} on {engines}"
    if not (run.finished or run.running or run.verb in NOT_RESUMED):
        yield f"{INDENT}continue with: {command_to_resume(run, store)}"


def state(run: "Listed") -> str:
    """How many cells ran, or how much of an unfinished run is done."""
    from gradmark.report.model.characters import plural

    if run.finished:
        return f"{run.ok} of {plural(run.cells, 'cell')} ok"
    return f"{'running' if run.running else 'interrupted'}, {run.share:.0%} done"


def few(names: "Sequence[str]", room: int) -> str:
    """As many of the names as there is room for, at least one, and how many more there are."""
    for count in range(len(names), 0, -1):
        rest = len(names) - count
        text = ", ".join(names[:count]) + (f" and {rest} more" if rest else "")
        if len(text) <= room or count == 1:
            return text
    return "nothing"
