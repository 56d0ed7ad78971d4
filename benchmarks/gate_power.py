"""How well the gate decides: false alarms, and planted slowdowns that are caught, on this machine.

Rounds of interleaved pairs of one and the same build are recorded: fresh processes, rows and arms in random order. Then
comparisons are drawn from the rounds, each of as many pairs as `gradmark check --against` takes, and as many fresh ones
where a row is measured again. A slowdown is planted by stretching the blocks of one row of the second arm. The same
pairs are judged by the rules of pytest-benchmark, asv and pyperf.
"""

import argparse
import itertools
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
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

ROWS = [
    "poly/n=100",
    "poly/n=1000",
    "add_chain/n=1000",
    "mul_chain/n=1000",
    "chain/f=exp",
    "chain/f=log",
    "chain/f=sin",
]
ROWS += ["chain/f=tanh", "chain/f=pow", "tree/depth=6", "tree/depth=10", "constants/n=1000"]
Round = dict[str, dict[str, dict[str, Phase]]]  # row, arm, phase
PEERS = ["pytest-benchmark", "asv", "pyperf"]


def record(path: Path, rounds: int, blocks: int) -> None:
    """Adds rounds to the file, a line each."""
    cells = [cell for cell in cells_of(select(["scalar"]), ["tapegrad"], full=False) if cell.row in ROWS]
    settings = Settings(blocks=blocks)
    draw = random.Random()
    reference = Reference()

    def sample(cell: Cell) -> dict[str, Phase]:
        found = process.run(Job(kind="time", cell=cell, settings=settings, pilots=reference.levels())).sample
        assert found is not None
        for phase in found.phases.values():
            reference.add(phase.pilots)
        return {phase: found.phases[phase] for phase in PHASES}

    with open(path, "ab") as file:
        for number in range(rounds):
            done: Round = {}
            for cell in draw.sample(cells, len(cells)):
                done[cell.row] = {arm: sample(cell) for arm in draw.sample(["before", "now"], 2)}
            file.write(msgspec.json.encode(done) + b"\n")
            file.flush()
            print(f"\rround {number + 1} of {rounds}", end="", flush=True)
    print()


def read(path: Path) -> list[Round]:
    """The recorded rounds, all with one reference and with one harness for each row and phase, as a run has them."""
    rounds = [msgspec.json.decode(line, type=Round) for line in path.read_bytes().splitlines()]
    every = [
        (row, name, phase) for r in rounds for row in ROWS for arm in r[row].values() for name, phase in arm.items()
    ]
    reference = reference_of(phase.pilots for _, _, phase in every)
    harness: dict[tuple[str, str], float] = {}
    for row, name, phase in every:
        harness[row, name] = min(phase.harness_ns, harness.get((row, name), phase.harness_ns))

    def known(row: str, name: str, phase: Phase) -> Phase:
        more = phase.harness_ns - harness[row, name]
        blocks = [ns + more for ns in phase.block_ns]
        return msgspec.structs.replace(phase, block_ns=blocks, reference=reference)

    return [
        {
            row: {arm: {n: known(row, n, p) for n, p in phases.items()} for arm, phases in arms.items()}
            for row, arms in one.items()
        }
        for one in rounds
    ]


def rows(pairs: list[Round], slower: dict[str, float]) -> list[PairedTimes]:
    """The times of these pairs, as `check` has them: of those in which both processes had calm blocks."""
    floors = []
    for row in ROWS:
        for phase in PHASES:
            sides = [(pair[row]["before"][phase], pair[row]["now"][phase]) for pair in pairs]
            calm = [(before, now) for before, now in sides if before.is_calm and now.is_calm]
            if calm:
                before = [first.time_ns for first, _ in calm]
                now = [second.time_ns * slower.get(row, 1.0) for _, second in calm]
                floors.append(PairedTimes(row, row.split("/")[0], phase, before, now))
    return floors


def ours(pairs: list[Round], slower: dict[str, float], configuration: Configuration) -> list[Finding]:
    """The gate: first half of the pairs, then the other half for what was flagged."""
    found = timing.judge(rows(pairs[:PAIRS], slower), configuration)
    flagged = {finding.cell for finding in found if finding.word in ("fail", "inconclusive")}
    again = [row for row in rows(pairs[PAIRS:], slower) if row.cell in flagged]
    both = {(row.cell, row.phase) for row in again}
    first = [row for row in rows(pairs[:PAIRS], slower) if (row.cell, row.phase) in both]
    again = [row for row in again if (row.cell, row.phase) in {(other.cell, other.phase) for other in first}]
    return merged(found, timing.judge_again(first, again, configuration))


def peers(pairs: list[Round], row: str, slower: float) -> dict[str, bool]:
    """Whether each rule says that the row is slower by more than 5 %. Blocks are pooled, as these tools do."""
    before = np.concatenate([pair[row]["before"]["total"].block_ns for pair in pairs])
    now = np.concatenate([pair[row]["now"]["total"].block_ns for pair in pairs]) * slower
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


def beyond_noise(comparisons: list[list[Round]]) -> float:
    """The share of equal rows that differ by more than the noise that the gate sees; 5 % if that is what it says."""
    beyond = []
    for pairs in comparisons:
        judged = rows(pairs[:PAIRS], {})
        own = [row.noise for row in judged]
        usual = sorted(own)[len(own) // 2]
        beyond += [abs(row.ratio - 1.0) > max(error, usual) for row, error in zip(judged, own, strict=True)]
    return sum(beyond) / len(beyond)


def draws(recorded: list[Round], count: int, seed: int) -> Iterator[list[Round]]:
    """So many comparisons, each of rounds that are drawn without repetition, in their order."""
    draw = random.Random(seed)
    for _ in range(count):
        chosen = sorted(draw.sample(range(len(recorded)), 2 * PAIRS))
        draw.shuffle(chosen)
        yield [recorded[k] for k in chosen]


def judge(recorded: list[Round]) -> dict[str, Any]:
    """Every figure."""
    five = Configuration()
    two = Configuration(budgets={**five.budgets, "time": Budget(share=0.02)})
    found: dict[str, Any] = {"rounds": len(recorded), "rows": len(ROWS), "pairs": PAIRS}
    comparisons = list(draws(recorded, 40, seed=1))
    found["equal rows that differ by more than the noise"] = f"{beyond_noise(comparisons):.1%}"
    said = [ours(pairs, {}, five) for pairs in comparisons]
    found["A/A, false fails of 40"] = sum(any(f.word == "fail" for f in findings) for findings in said)
    found["A/A, inconclusive of 40"] = sum(
        any(f.word == "inconclusive" for f in findings) and not any(f.word == "fail" for f in findings)
        for findings in said
    )
    table = {name: {"false alarms of 40 suites": 0, "missed 8 % of 20": 0, "missed 10 % of 20": 0} for name in PEERS}
    for pairs in comparisons:
        alarms = [peers(pairs[:PAIRS], row, 1.0) for row in ROWS]
        for name in PEERS:
            table[name]["false alarms of 40 suites"] += any(alarm[name] for alarm in alarms)
    draw = random.Random(2)
    for budget, percent in ((five, 2), (five, 8), (five, 10), (two, 5)):
        key = f"+{percent} % with a budget of {budget.budgets['time']}"
        caught = accused = 0
        for pairs in draws(recorded, 20, seed=percent):
            row = draw.choice(ROWS)
            findings = ours(pairs, {row: 1.0 + percent / 100}, budget)
            caught += any(f.word == "fail" and f.cell == row for f in findings)
            accused += any(f.word == "fail" and f.cell != row for f in findings)
            for name, alarm in peers(pairs[:PAIRS], row, 1.0 + percent / 100).items():
                if budget is five and percent > 5:
                    table[name][f"missed {percent} % of 20"] += not alarm
        found[f"{key}: caught of 20"] = caught
        found[f"{key}: another row accused, of 20"] = accused
    table["gradmark"] = {
        "false alarms of 40 suites": found["A/A, false fails of 40"],
        **{f"missed {p} % of 20": 20 - found[f"+{p} % with a budget of 5%: caught of 20"] for p in (8, 10)},
    }
    return found | {"rules": table}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--file", type=Path, default=Path(".gradmark/gate_power.jsonl"), help="Recorded rounds.")
    options.add_argument("--rounds", type=int, default=100, help="Rounds to add; 0 judges what is there.")
    chosen = options.parse_args()
    chosen.file.parent.mkdir(exist_ok=True)
    record(chosen.file, chosen.rounds, BLOCKS)
    recorded = read(chosen.file)
    spent = [
        len(p.calm) / len(p.block_ns)
        for r in recorded
        for arms in r.values()
        for a in arms.values()
        for p in a.values()
    ]
    print(f"calm blocks: {100 * sum(spent) / len(spent):.0f} %")
    found = judge(recorded)
    table = found.pop("rules")
    for name, value in found.items():
        print(f"{name}: {value}")
    columns = list(next(iter(table.values())))
    print("\n| rule | " + " | ".join(columns) + " |\n|" + "---|" * (len(columns) + 1))
    for name in itertools.chain(["gradmark"], PEERS):
        print(f"| {name} | " + " | ".join(str(table[name][column]) for column in columns) + " |")


if __name__ == "__main__":
    main()
