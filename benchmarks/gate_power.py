"""How well the gate decides: false alarms, and planted slowdowns that are caught, on this machine.

Rounds of interleaved pairs of one and the same build are recorded: fresh processes, rows and arms in random order. Then
comparisons are drawn from the rounds, each of as many pairs as `gradmark check --against` takes, and as many fresh ones
where a row is measured again. A slowdown is planted by stretching the blocks of one row of the second arm. The same
pairs are judged by the rules of pytest-benchmark, asv and pyperf.
"""

import argparse
import itertools
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from gradmark.gate import timing
from gradmark.gate.configuration import Budget, Configuration
from gradmark.measure import process
from gradmark.measure.job import Job
from gradmark.measure.plan import cells_of
from gradmark.records import Cell, Settings
from gradmark.records.finding import Finding, merged
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
Round = dict[str, dict[str, dict[str, list[float]]]]  # row, arm, phase: blocks
PEERS = ["pytest-benchmark", "asv", "pyperf"]


def record(path: Path, rounds: int, blocks: int) -> None:
    """Adds rounds to the file, a line each."""
    cells = [cell for cell in cells_of(select(["scalar"]), ["tapegrad"], full=False) if cell.row in ROWS]
    settings = Settings(blocks=blocks)
    draw = random.Random()

    def sample(cell: Cell) -> dict[str, list[float]]:
        found = process.run(Job(kind="time", cell=cell, settings=settings)).sample
        assert found is not None
        return {phase: found.phases[phase].block_ns for phase in timing.PHASES}

    with open(path, "a") as file:
        for number in range(rounds):
            done: Round = {}
            for cell in draw.sample(cells, len(cells)):
                done[cell.row] = {arm: sample(cell) for arm in draw.sample(["before", "now"], 2)}
            file.write(json.dumps(done) + "\n")
            file.flush()
            print(f"\rround {number + 1} of {rounds}", end="", flush=True)
    print()


def rows(pairs: list[Round], slower: dict[str, float]) -> list[timing.PairedFloors]:
    """The floors of these pairs, as `check` has them."""
    return [
        timing.PairedFloors(
            cell=row,
            workload=row.split("/")[0],
            phase=phase,
            before=[min(pair[row]["before"][phase]) for pair in pairs],
            now=[min(pair[row]["now"][phase]) * slower.get(row, 1.0) for pair in pairs],
        )
        for row in ROWS
        for phase in timing.PHASES
    ]


def ours(pairs: list[Round], slower: dict[str, float], configuration: Configuration) -> list[Finding]:
    """The gate: first half of the pairs, then the other half for what was flagged."""
    found = timing.judge(rows(pairs[:PAIRS], slower), configuration)
    flagged = {finding.cell for finding in found if finding.word in ("fail", "inconclusive")}
    again = [row for row in rows(pairs[PAIRS:], slower) if row.cell in flagged]
    first = [row for row in rows(pairs[:PAIRS], slower) if row.cell in flagged]
    return merged(found, timing.judge_again(first, again, configuration))


def peers(pairs: list[Round], row: str, slower: float) -> dict[str, bool]:
    """Whether each rule says that the row is slower by more than 5 %. Blocks are pooled, as these tools do."""
    before = np.concatenate([pair[row]["before"]["total"] for pair in pairs])
    now = np.concatenate([pair[row]["now"]["total"] for pair in pairs]) * slower
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
    recorded = [json.loads(line) for line in chosen.file.read_text().splitlines()]
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
