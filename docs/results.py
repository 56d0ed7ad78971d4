"""Writes the figures of docs/results.md and of the README, from runs of `gradmark` itself.

    python docs/results.py          # measures everything; a quarter of an hour on a calm machine with two cores
    python docs/results.py --short  # few rows and few processes
    python docs/results.py --reuse  # measures nothing that is kept already; with --short too, of those runs
    python docs/results.py --gpu RUN.jsonl  # only the section of a GPU, from a run that was measured where there is one

Runs are kept in build/results. In: the pages, with markers. Out: the same pages; what is between markers is made anew.
"""

import argparse
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from gradmark import units
from gradmark.analyse.calm import machine
from gradmark.analyse.growth import growth
from gradmark.analyse.standings import Standing
from gradmark.records import Run
from gradmark.records.metric import metric
from gradmark.report.escaping.markdown import text as plain
from gradmark.report.model import sides
from gradmark.report.model.characters import listed, plural
from gradmark.report.model.columns import cells, columns
from gradmark.report.model.operators import operator_tables
from gradmark.report.model.rows import WORDS, rows
from gradmark.store.folder import FolderStore

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "build" / "results"
PAGES = [ROOT / "docs" / "results.md", ROOT / "README.md"]
MARKED = re.compile(r"(<!-- results: ([\w-]+) -->\n).*?(<!-- end of results -->)", re.DOTALL)
# What is run for each section; of --short, what is run instead.
COMMANDS = {
    "engines": "run -e all",
    "operations": "ops scalar",
    "scaling": "scale poly",
}
SHORT = {
    "engines": "run expression poly/n=1000 tree/depth=10 softplus logsumexp mlp_step -e all --processes 4",
    "operations": "ops scalar --processes 4",
    "scaling": "scale poly --processes 4",
}
# Made of a run on another machine, and left as it is by all other commands.
OF_GPU = re.compile(r"(<!-- gpu results -->\n).*?(<!-- end of gpu results -->)", re.DOTALL)
GPU_COLUMNS = ("total", "cold", "hot", "kernels", "busy", "bytes_of_roof", "flops_of_roof")
# The row whose answer the README quotes, and those of its table.
QUOTED = "poly/n=1000"
README_ROWS = [QUOTED, "tree/depth=10", "softplus/n=10000", "logsumexp/n=256", "mlp_step/batch=8/width=32"]
# Engines of the README's table: ours, and one of each way to differentiate.
README_ENGINES = ["tapegrad", "tapegrad:compiled", "tapegrad:jit", "casadi", "jax", "torch", "autograd"]
# Packages whose versions change what is measured.
NOT_SHOWN = {"gradmark", "tapegrad"}
# How a table is kept narrow.
NOT_THERE = {WORDS["unsupported"]: "–"}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures what is asked for, and writes the pages."""
    parser = argparse.ArgumentParser(description="Write docs/results.md and the figures of the README.")
    parser.add_argument("--short", action="store_true", help="few rows and few processes")
    parser.add_argument("--reuse", action="store_true", help="use the runs in build/results, where they are kept")
    parser.add_argument("--gpu", type=Path, metavar="RUN", help="a run file; makes the section of a GPU, and no other")
    given = parser.parse_args(arguments)
    if given.gpu is not None:
        table_of_gpu = on_gpu(FolderStore(given.gpu.parent).load(str(given.gpu)))
        page = PAGES[0].read_text(encoding="utf-8")
        PAGES[0].write_text(OF_GPU.sub(lambda match: f"{match[1]}{table_of_gpu}{match[2]}", page), encoding="utf-8")
        return
    commands = SHORT if given.short else COMMANDS
    store = FolderStore(KEPT)
    runs = {name: measured(store, command, reuse=given.reuse) for name, command in commands.items()}
    made = blocks(runs, commands)
    for page in PAGES:
        page.write_text(filled(page.read_text(encoding="utf-8"), made), encoding="utf-8")
        print(f"{page.relative_to(ROOT)}: written")


def measured(store: FolderStore, command: str, *, reuse: bool) -> Run:
    """The newest finished run of a command; measured now, if there is none or if it is to be new."""
    if not reuse or kept(store, command) is None:
        # A row that one engine cannot do fails the run; what the page says of it is the point.
        done = subprocess.run(
            [sys.executable, "-m", "gradmark.commands.main", *shlex.split(command), "--store", str(KEPT)], check=False
        )
        if done.returncode not in (0, 1):
            sys.exit(done.returncode)
    found = kept(store, command)
    if found is None:
        sys.exit(f"`gradmark {command}` has left no finished run in {KEPT}")
    return store.load(found)


def kept(store: FolderStore, command: str) -> str | None:
    """The file of the newest finished run of a command."""
    verb, *typed = shlex.split(command)
    found = [
        one.path
        for one in store.listed()
        if one.finished and one.verb == verb and without_store(one.arguments) == typed
    ]
    return found[-1] if found else None


def without_store(arguments: Sequence[str]) -> list[str]:
    """What was typed, but for where it is kept."""
    words = list(arguments)
    if "--store" in words:
        place = words.index("--store")
        del words[place : place + 2]
    return words


def blocks(runs: Mapping[str, Run], commands: Mapping[str, str]) -> dict[str, str]:
    """What stands between the markers, by name."""
    run = runs["engines"]
    placed = sides.placed(run)
    comparison = sides.comparison(run)
    overview, summary = comparison.sides[-2], comparison.sides[-1]
    quoted = next(answer for answer in comparison.answers if answer.startswith(f"{QUOTED}:"))
    made = f"Made by `gradmark {commands['engines']}`"
    return {
        "headline": f"{headline(placed)}\n",
        "answer": f"> {plain(quoted)}.\n\n{made}, {circumstances(run)}.\n",
        "circumstances": environment(runs, commands),
        "overview": table("row", overview.engines, overview.lines),
        "summary": table("", summary.engines, summary.lines),
        "answers": "".join(f"- {plain(answer)}\n" for answer in comparison.answers),
        "absent": "".join(f"- {plain(line)}\n" for line in comparison.absent) or "- none\n",
        "operations": operations(runs["operations"]),
        "scaling": scaling(runs["scaling"]),
        "few": few(overview),
    }


def on_gpu(run: Run) -> str:
    """A line for each row, with what tells a device's times apart."""
    here, shown = run.environment, rows(run)
    heads = [column for column in columns(shown) if column.key in GPU_COLUMNS]
    lines = [(f"{row.cell.task} on {row.engine}", [*cells(row, heads).values()]) for row in shown]
    command = shlex.join(["gradmark", run.verb, *without_store(run.arguments)])
    made = f"{run.started[:10]}, {listed(here.gpus)}, {here.cpu}, {plural(here.cores, 'core')}: `{command}`"
    versions = ", ".join(f"{name} {here.packages[name]}" for name in ("torch", "jax") if name in here.packages)
    return f"{made} ({versions}).\n\n{table('row', [column.title for column in heads], lines)}"


def headline(placed: Mapping[str, Sequence[Standing]]) -> str:
    """Which engines win how many rows.

    A row whose lead is not settled is nobody's.
    """
    rows = [row for row in placed.values() if len(row) > 1]
    wins: dict[str, int] = {}
    ties = unsettled = 0
    for row in rows:
        leaders = [standing for standing in row if standing.outcome != "slower"]
        if not all(standing.settled for standing in leaders):
            unsettled += 1
        elif len(leaders) > 1:
            ties += 1
        else:
            wins[leaders[0].engine] = wins.get(leaders[0].engine, 0) + 1
    engines = {standing.engine for row in rows for standing in row}
    first, *others = sorted(wins.items(), key=lambda item: -item[1]) or [("no engine", 0)]
    said = [f"{plain(first[0])} is fastest on {first[1]}", *(f"{plain(name)} on {count}" for name, count in others)]
    ends = [f"{ties} end{'s' * (ties == 1)} in a tie"] * bool(ties)
    ends += [f"{unsettled} {'is' if unsettled == 1 else 'are'} not settled"] * bool(unsettled)
    tail = f"; {listed(ends)}" if ends else ""
    return f"Of {plural(len(rows), 'row')} and {plural(len(engines), 'engine')}, {listed(said)}{tail}."


def circumstances(run: Run) -> str:
    """When and where, in half a sentence."""
    here = run.environment
    return f"{run.started[:10]}, {here.cpu}, {plural(here.cores, 'core')}, {here.python}"


def environment(runs: Mapping[str, Run], commands: Mapping[str, str]) -> str:
    """The machine, the versions and the commands, as a table."""
    run = runs["engines"]
    here = run.environment
    versions = {name: version for name, version in here.packages.items() if name not in NOT_SHOWN}
    lines = [
        ("machine", f"{here.cpu}, {plural(here.cores, 'core')}, {units.size(here.memory_bytes or 0)}"),
        ("system", f"{here.os.partition(' ')[0]}, {here.machine}"),
        ("virtualisation", here.virtualisation or "none seen"),
        ("Python", here.python),
        ("versions", ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))),
    ]
    for name, command in commands.items():
        calm = machine(runs[name].measurements).calm
        share = "calm share unknown" if calm is None else f"calm for {100 * calm:.0f} % of the measuring time"
        lines.append((f"`gradmark {command}`", f"{runs[name].started[:10]}, {share}"))
    return "| | |\n|---|---|\n" + "".join(f"| {name} | {text} |\n" for name, text in lines)


def table(corner: str, heads: Sequence[str], lines: Sequence[tuple[str, Sequence[str]]]) -> str:
    """A table in markdown, numbers to the right."""
    shown = [(label, [NOT_THERE.get(text, text) for text in texts]) for label, texts in lines]
    head = f"| {corner} | {' | '.join(map(plain, heads))} |\n|---|{'---:|' * len(heads)}\n"
    return head + "".join(f"| {plain(label)} | {' | '.join(texts)} |\n" for label, texts in shown)


def few(overview: sides.Side) -> str:
    """Some rows and engines of the overview, for the README."""
    places = [overview.engines.index(name) for name in README_ENGINES if name in overview.engines]
    lines = [(label, [texts[k] for k in places]) for label, texts in overview.lines if label in README_ROWS]
    return table("", [overview.engines[k] for k in places], lines)


def operations(run: Run) -> str:
    """What each operation adds, for each engine and kind."""
    parts = []
    for shown in operator_tables(run.measurements):
        lines = [(line.name, line.texts or [line.problem, *[""] * (len(shown.heads) - 1)]) for line in shown.lines]
        parts.append(f"{plain(shown.title)}. {plain(shown.note)}\n\n{table('operation', shown.heads, lines)}")
    return "\n".join(parts)


def scaling(run: Run) -> str:
    """The fits, a line for each cost."""
    fitted, _ = growth(run)
    lines = [
        (
            f"{metric(fit.metric).title} of {family.cell.workload} on {family.cell.engine}",
            [f"{fit.p:.2f}", f"{fit.low:.2f} to {fit.high:.2f}", fit.verdict],
        )
        for family in fitted
        for fit in family.fits
    ]
    return table("cost", ["p", "interval", "verdict"], lines)


def filled(page: str, made: Mapping[str, str]) -> str:
    """The page with what is between its markers made anew."""

    def block(match: re.Match[str]) -> str:
        name = match[2]
        if name not in made:
            raise SystemExit(f"no results are called {name!r}; choose from: {', '.join(made)}")
        return f"{match[1]}{made[name]}{match[3]}"

    return MARKED.sub(block, page)


if __name__ == "__main__":
    main()
