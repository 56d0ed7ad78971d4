"""How well the gate decides: false alarms, and planted slowdowns that are caught, on this machine.

    python benchmarks/gate_power.py --rounds 80                    tapegrad, on twelve rows: half an hour
    …  --engines torch,jax,autograd,mygrad,casadi,xad,tinygrad     other subjects, on the rows that they share
    …  --hog busy        with a hog beside it, see hogs.py
    …  --jobs 8          so many rounds at the same time, each on two cores of its own
    …  --file A --file B    rounds are added to the first; all are judged, each a line
    …  --rounds 0        judges what is there

Rounds of interleaved pairs of one and the same build are recorded: fresh processes, rows and arms in random order. Then
comparisons are drawn from the rounds, each of as many pairs as `gradmark check --against` takes, and as many fresh ones
where a row is measured again. A slowdown is planted by stretching the blocks of one row of the second arm. The same
pairs are judged by the rules of pytest-benchmark, asv and pyperf. Rounds with other rows or another hog
are judged apart. With a shift of the session, all that is measured from some moment on takes 15 % longer, in both arms.
"""

import argparse
import contextlib
import itertools
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import side_by_side
from hogs import HOGS, running
from scipy import stats

from gradmark.gate import timing
from gradmark.gate.configuration import Budget, Configuration
from gradmark.gate.pairs import PHASES, PairedTimes
from gradmark.measure import process
from gradmark.measure.job import Job
from gradmark.measure.plan import cells_of
from gradmark.records import Cell, Phase, Settings
from gradmark.records.finding import Finding, merged
from gradmark.records.pilots import Reference, reference_of
from gradmark.revisions.contest import BLOCKS, PAIRS
from gradmark.workloads.selection import select

OWN_ROWS = ["poly/n=100", "poly/n=1000", "add_chain/n=1000", "mul_chain/n=1000", "constants/n=1000"]
OWN_ROWS += [
    "chain/f=exp",
    "chain/f=log",
    "chain/f=sin",
    "chain/f=tanh",
    "chain/f=pow",
    "tree/depth=6",
    "tree/depth=10",
]
# Of numbers and of arrays: each peer has some of them, and none takes it seconds.
SHARED_ROWS = ["expression", "poly/n=10", "tree/depth=2", "matmul/n=8", "softplus/n=10000"]
SHARED_ROWS += ["mlp_step/batch=8/width=32"]
SUITES = ["scalar", "tensor"]
RULES = ["pytest-benchmark", "asv", "pyperf"]
SHIFT = 1.15


class Round(msgspec.Struct):
    """Every row measured once in each arm, in the same minute."""

    seconds: float
    hog: str
    phases: dict[str, dict[str, dict[str, Phase]]]  # row, arm, phase


Shift = tuple[float, float]  # how much longer everything takes in the two arms of a pair
STEADY: Shift = (1.0, 1.0)
Comparison = list[tuple[Round, Shift]]


# --- rounds


def cells(engines: Sequence[str]) -> list[Cell]:
    """The rows of tapegrad, or those that each engine has."""
    wanted = OWN_ROWS if list(engines) == ["tapegrad"] else SHARED_ROWS
    return [cell for cell in cells_of(select(SUITES), engines, full=False) if cell.row in wanted]


def record(path: Path, rounds: int, engines: Sequence[str], hog: str) -> None:
    """Adds rounds to the file, a line each; a row that an engine does not have is left out."""
    settings = Settings(blocks=BLOCKS)
    draw = random.Random()
    reference = Reference()
    rows = cells(engines)

    def sample(cell: Cell) -> dict[str, Phase] | None:
        found = process.run(Job(kind="time", cell=cell, settings=settings, pilots=reference.levels())).sample
        if found is None or "total" not in found.phases:
            return None
        for phase in found.phases.values():
            reference.add(phase.pilots)
        return {phase: found.phases[phase] for phase in PHASES if phase in found.phases}

    rows = [cell for cell in rows if sample(cell) is not None]
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "ab") as file, running(hog) if hog else contextlib.nullcontext():
        for number in range(rounds):
            start = time.monotonic()
            done: dict[str, dict[str, dict[str, Phase]]] = {}
            for cell in draw.sample(rows, len(rows)):
                arms = {arm: sample(cell) for arm in draw.sample(["before", "now"], 2)}
                done[cell.id] = {arm: phases for arm, phases in arms.items() if phases is not None}
            if all(len(arms) == 2 for arms in done.values()):
                file.write(msgspec.json.encode(Round(time.monotonic() - start, hog, done)) + b"\n")
                file.flush()
            if sys.stderr.isatty():
                print(f"\rround {number + 1} of {rounds}", end="", file=sys.stderr, flush=True)


def record_side_by_side(path: Path, rounds: int, engines: Sequence[str], hog: str, jobs: int) -> None:
    """The same by several processes."""
    cores = side_by_side.cores_of(jobs)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{k}.jsonl" for k in range(len(cores))]
        words = [
            ["--only-record", "--rounds", str(share), "--engines", ",".join(engines), "--hog", hog, "--file", str(file)]
            for share, file in zip(side_by_side.shares(rounds, len(cores)), files, strict=True)
        ]
        codes = side_by_side.run(__file__, words, cores)
        with open(path, "ab") as file:
            for part in files:
                file.write(part.read_bytes() if part.exists() else b"")
    if any(codes):
        print(f"NOT KEPT  processes that recorded ended with exit codes {codes}")


def read(path: Path) -> list[Round]:
    """The recorded rounds, all with one reference and with one harness for each row and phase, as a run has them."""
    rounds = [msgspec.json.decode(line, type=Round) for line in path.read_bytes().splitlines()]
    every = [
        (row, name, phase)
        for one in rounds
        for row, arms in one.phases.items()
        for phases in arms.values()
        for name, phase in phases.items()
    ]
    reference = reference_of(phase.pilots for _, _, phase in every)
    harness: dict[tuple[str, str], float] = {}
    for row, name, phase in every:
        harness[row, name] = min(phase.harness_ns, harness.get((row, name), phase.harness_ns))

    def known(row: str, name: str, phase: Phase) -> Phase:
        more = phase.harness_ns - harness[row, name]
        blocks = [ns + more for ns in phase.block_ns]
        return msgspec.structs.replace(phase, block_ns=blocks, reference=reference)

    for one in rounds:
        one.phases = {
            row: {arm: {n: known(row, n, p) for n, p in phases.items()} for arm, phases in arms.items()}
            for row, arms in one.phases.items()
        }
    return rounds


# --- judging


def rows(pairs: Comparison, slower: dict[str, float]) -> list[PairedTimes]:
    """The times of these pairs, as `check` has them: of those in which both processes had calm blocks."""
    floors = []
    for row, arms in sorted(pairs[0][0].phases.items()):  # rounds have their rows in random order
        for phase in sorted(arms["before"]):
            sides = [(one.phases[row]["before"][phase], one.phases[row]["now"][phase], by) for one, by in pairs]
            calm = [(before, now, by) for before, now, by in sides if before.is_calm and now.is_calm]
            if calm:
                before = [first.time_ns * by[0] for first, _, by in calm]
                now = [second.time_ns * slower.get(row, 1.0) * by[1] for _, second, by in calm]
                floors.append(PairedTimes(row, row.rpartition("@")[2], phase, before, now))
    return floors


def ours(pairs: Comparison, slower: dict[str, float], configuration: Configuration) -> list[Finding]:
    """The gate: first half of the pairs, then the other half for what was flagged."""
    early, late = rows(pairs[:PAIRS], slower), rows(pairs[PAIRS:], slower)
    found = timing.judge(early, configuration)
    flagged = {finding.cell for finding in found if finding.word in ("fail", "inconclusive")}
    again = [row for row in late if row.cell in flagged]
    both = {(row.cell, row.phase) for row in again}
    first = [row for row in early if (row.cell, row.phase) in both]
    again = [row for row in again if (row.cell, row.phase) in {(other.cell, other.phase) for other in first}]
    return merged(found, timing.judge_again(first, again, configuration))


def others(pairs: Comparison, row: str, slower: float) -> dict[str, bool]:
    """Whether each rule says that the row is slower by more than 5 %. Blocks are pooled, as these tools do."""
    arms = [(one.phases[row], by) for one, by in pairs]
    before = np.concatenate([np.array(arm["before"]["total"].block_ns) * by[0] for arm, by in arms])
    now = np.concatenate([np.array(arm["now"]["total"].block_ns) * by[1] for arm, by in arms]) * slower
    return {
        "pytest-benchmark": bool(now.mean() > 1.05 * before.mean()),  # --benchmark-compare-fail=mean:5%
        # asv continuous: the medians differ by the factor, and the samples by the test
        "asv": bool(
            np.median(now) > 1.05 * np.median(before)
            and stats.mannwhitneyu(now, before, alternative="two-sided").pvalue < 0.002
        ),
        # pyperf compare_to: Student's two-sample t-test, two-sided, 95 %
        "pyperf": bool(now.mean() > before.mean() and stats.ttest_ind(now, before).pvalue < 0.05),
    }


def beyond_noise(comparisons: Sequence[Comparison]) -> float:
    """The share of equal rows that differ by more than the noise that the gate sees; 5 % if that is what it says."""
    beyond = []
    for pairs in comparisons:
        judged = rows(pairs[:PAIRS], {})
        own = [row.noise for row in judged]
        usual = sorted(own)[len(own) // 2]
        beyond += [abs(row.ratio - 1.0) > max(error, usual) for row, error in zip(judged, own, strict=True)]
    return sum(beyond) / len(beyond)


def steady(_: random.Random) -> list[Shift]:
    """Nothing happens between the pairs."""
    return [STEADY] * (2 * PAIRS)


def shifted(draw: random.Random) -> list[Shift]:
    """From some moment on everything takes longer; that may be between the arms of a pair."""
    moment = draw.randrange(2 * PAIRS)
    between = draw.choice([(1.0, SHIFT), (SHIFT, 1.0)])
    return [STEADY] * moment + [between] + [(SHIFT, SHIFT)] * (2 * PAIRS - moment - 1)


def draws(
    recorded: Sequence[Round], count: int, seed: int, session: Callable[[random.Random], list[Shift]]
) -> Iterator[Comparison]:
    """So many comparisons, each of rounds that are drawn without repetition, in their order."""
    draw = random.Random(seed)
    for _ in range(count):
        chosen = sorted(draw.sample(range(len(recorded)), 2 * PAIRS))
        draw.shuffle(chosen)
        yield list(zip([recorded[k] for k in chosen], session(draw), strict=True))


def judge(
    recorded: Sequence[Round], count: int, session: Callable[[random.Random], list[Shift]] = steady
) -> dict[str, Any]:
    """Every figure, from so many comparisons of equal arms, and half as many with each planted slowdown."""
    names = list(recorded[0].phases)
    five = Configuration()
    two = Configuration(budgets={**five.budgets, "time": Budget(share=0.02)})
    spent = [
        len(phase.calm) / len(phase.block_ns)
        for one in recorded
        for arms in one.phases.values()
        for phases in arms.values()
        for phase in phases.values()
    ]
    figures: dict[str, Any] = {
        "rounds": len(recorded),
        "rows": len(names),
        "calm blocks": f"{100 * sum(spent) / len(spent):.0f} %",
        "wall time of a check": f"{PAIRS * sum(one.seconds for one in recorded) / len(recorded):.0f} s",
    }
    comparisons = list(draws(recorded, count, 1, session))
    figures["equal rows that differ by more than the noise"] = f"{beyond_noise(comparisons):.1%}"
    verdicts = [{f.word for f in ours(pairs, {}, five)} for pairs in comparisons]
    false = sum("fail" in words for words in verdicts)
    inconclusive = sum("inconclusive" in words and "fail" not in words for words in verdicts)
    figures["A/A, false fails"] = f"{false} of {count}"
    figures["A/A, inconclusive"] = f"{inconclusive} of {count}"
    alarms = [others(pairs[:PAIRS], row, 1.0) | {"round": k} for k, pairs in enumerate(comparisons) for row in names]
    table = {
        rule: {"false alarms": f"{len({a['round'] for a in alarms if a[rule]})} of {count} suites"} for rule in RULES
    }
    table["gradmark"] = {"false alarms": f"{false} of {count} suites"}
    draw = random.Random(2)
    for budget, percent in ((five, 2), (five, 8), (five, 10), (two, 5)):
        caught = accused = 0
        missed = dict.fromkeys([*RULES, "gradmark"], 0)
        for pairs in draws(recorded, count // 2, percent, session):
            row = draw.choice(names)
            findings = ours(pairs, {row: 1.0 + percent / 100}, budget)
            hit = any(f.word == "fail" and f.cell == row for f in findings)
            caught += hit
            accused += any(f.word == "fail" and f.cell != row for f in findings)
            missed["gradmark"] += not hit
            for rule, alarm in others(pairs[:PAIRS], row, 1.0 + percent / 100).items():
                missed[rule] += not alarm
        figures[f"+{percent} % with a budget of {budget.budgets['time']}"] = (
            f"{caught} of {count // 2} caught, another row accused in {accused}"
        )
        if budget is five and percent > 5:
            for rule, misses in missed.items():
                table[rule][f"missed {percent} %"] = f"{misses} of {count // 2}"
    return figures | {"rules": table}


def groups(recorded: Iterable[Round]) -> dict[tuple[str, tuple[str, ...]], list[Round]]:
    """Rounds by what stood beside them and by their rows."""
    sorted_rounds: dict[tuple[str, tuple[str, ...]], list[Round]] = {}
    for one in recorded:
        sorted_rounds.setdefault((one.hog, tuple(sorted(one.phases))), []).append(one)
    return sorted_rounds


def show(hog: str, names: Sequence[str], shift: bool, figures: dict[str, Any]) -> None:
    """The figures of a group."""
    engines = ", ".join(dict.fromkeys(name.rpartition("@")[2] for name in names))
    print(f"\n{engines}; beside {hog or 'nothing'}; {f'shift of +{SHIFT - 1:.0%}' if shift else 'no shift'}")
    table = figures.pop("rules")
    for name, value in figures.items():
        print(f"  {name}: {value}")
    columns = list(next(iter(table.values())))
    print("\n| rule | " + " | ".join(columns) + " |\n|" + "---|" * (len(columns) + 1))
    for rule in itertools.chain(["gradmark"], RULES):
        print(f"| {rule} | " + " | ".join(table[rule][column] for column in columns) + " |")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--file", type=Path, action="append", help="Default: .gradmark/gate_power.jsonl")
    options.add_argument("--rounds", type=int, default=100, help="Rounds to add; 0 judges what is there.")
    options.add_argument("--engines", default="tapegrad", help="Subjects, with commas between them.")
    options.add_argument("--hog", default="", choices=["", *HOGS], help="What stands beside the rounds to add.")
    options.add_argument("--jobs", type=int, default=1, help="Processes at the same time, each on two cores.")
    options.add_argument("--comparisons", type=int, default=100, help="Of equal arms; half as many of each slowdown.")
    options.add_argument("--only-record", action="store_true", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    files = chosen.file or [Path(".gradmark/gate_power.jsonl")]
    engines = chosen.engines.split(",")
    if chosen.rounds and chosen.jobs > 1:
        record_side_by_side(files[0], chosen.rounds, engines, chosen.hog, chosen.jobs)
    elif chosen.rounds:
        record(files[0], chosen.rounds, engines, chosen.hog)
    if chosen.only_record:
        return
    for (hog, names), recorded in groups(one for path in files for one in read(path)).items():
        if len(recorded) < 2 * PAIRS:
            print(f"{len(recorded)} rounds of {', '.join(names)} beside {hog or 'nothing'}: {2 * PAIRS} are needed")
            continue
        for session in (steady, shifted):
            show(hog, names, session is shifted, judge(recorded, chosen.comparisons, session))


if __name__ == "__main__":
    main()
