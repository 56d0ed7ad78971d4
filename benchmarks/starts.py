"""How well `gradmark check --against` judges what happens once in a process: importing, preparing, the first call.

Pairs of processes of one and the same build are recorded, engines and arms in random order. Then comparisons are drawn
from them, each of as many pairs as the gate takes, and as many fresh ones where it looks again: of equal sides, and of
sides of which one takes 200 ms more. For each engine and metric: what a process takes, by how much two equal sides
differ by their medians and by the median of their differences, and what the gate says.
"""

import argparse
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import msgspec

from gradmark.gate.configuration import Configuration
from gradmark.gate.pairs import ONCE, PairedOnce
from gradmark.gate.timing import judge, judge_again
from gradmark.measure import process
from gradmark.measure.job import Job
from gradmark.records import Cell, Sample, Settings
from gradmark.revisions.contest import PAIRS

NUMBERS = Cell(engine="", workload="poly", suite="scalar", params={"n": 100})
ARRAYS = Cell(
    engine="", workload="mlp_step", suite="tensor", params={"batch": 8, "width": 32}, kind="tensor", dtype="float32"
)
ENGINES = {
    **dict.fromkeys(("tapegrad", "casadi", "xad", "micrograd"), NUMBERS),
    **dict.fromkeys(("torch", "jax", "autograd", "mygrad"), ARRAYS),
}
PLANTED_NS = 200e6
COMPARISONS = 40
Pair = tuple[Sample, Sample]
Recorded = dict[str, list[Pair]]  # by engine


def record(path: Path, rounds: int, engines: Sequence[str]) -> None:
    """Adds rounds to the file, a line each."""
    quick = Settings(blocks=2, block_ns=10_000, memory=False)  # what comes after the first call is not looked at

    def sample(engine: str) -> Sample:
        cell = msgspec.structs.replace(ENGINES[engine], engine=engine)
        result = process.run(Job(kind="time", cell=cell, settings=quick))
        assert result.sample is not None, f"{engine}: {result.message}"
        return msgspec.structs.replace(result.sample, phases={})

    with open(path, "ab") as file:
        for number in range(rounds):
            done = {engine: (sample(engine), sample(engine)) for engine in random.sample(engines, len(engines))}
            file.write(msgspec.json.encode(done) + b"\n")
            file.flush()
            print(f"\rround {number + 1} of {rounds}", end="", flush=True)
    print()


def read(path: Path) -> Recorded:
    """The recorded pairs of each engine."""
    recorded: Recorded = {}
    for line in path.read_bytes().splitlines():
        for engine, pair in msgspec.json.decode(line, type=dict[str, Pair]).items():
            recorded.setdefault(engine, []).append(pair)
    return recorded


def told(pairs: Sequence[tuple[float, float]], name: str, more_ns: float, draw: random.Random) -> str:
    """What the gate says of pairs of equal processes whose sides are swapped at random, one of them slower."""
    swapped = [pair if draw.random() < 0.5 else pair[::-1] for pair in draw.sample(pairs, 2 * PAIRS)]
    halves = [
        PairedOnce("e", "", name, [before for before, _ in half], [now + more_ns for _, now in half])
        for half in (swapped[:PAIRS], swapped[PAIRS:])
    ]
    (finding,) = judge(halves[:1], Configuration())
    if finding.word in ("fail", "inconclusive"):
        (finding,) = judge_again(halves[:1], halves[1:], Configuration())
    return finding.word


def row(engine: str, name: str, pairs: Sequence[tuple[float, float]]) -> str:
    """One line of the table."""
    draw = random.Random(f"{engine} {name}")
    equal = Counter(told(pairs, name, 0.0, draw) for _ in range(COMPARISONS))
    slower = Counter(told(pairs, name, PLANTED_NS, draw) for _ in range(COMPARISONS))
    before, now = (sorted(side) for side in zip(*pairs, strict=True))
    middle = median(before)
    by_medians = abs(median(now) - middle) / middle
    by_differences = abs(median(second - first for first, second in pairs)) / middle
    return (
        f"| {engine} | {name} | {middle / 1e6:,.3g} ms | {max(*before, *now) / min(*before, *now):.1f} | "
        f"{by_medians:.1%} | {by_differences:.1%} | {equal['fail']} | {equal['inconclusive']} | {slower['fail']} |"
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--file", type=Path, default=Path(".gradmark/starts.jsonl"), help="Recorded pairs.")
    options.add_argument("--rounds", type=int, default=40, help="Rounds to add; 0 judges what is there.")
    options.add_argument("-e", dest="engines", action="append", choices=list(ENGINES), help="Default: all.")
    chosen = options.parse_args()
    chosen.file.parent.mkdir(exist_ok=True)
    record(chosen.file, chosen.rounds, chosen.engines or list(ENGINES))
    recorded = read(chosen.file)
    if any(len(pairs) < 2 * PAIRS for pairs in recorded.values()):
        options.error(f"{chosen.file} has fewer than {2 * PAIRS} rounds; add some with --rounds")
    print(
        "| engine | metric | typical | slowest / fastest | medians differ by | median difference | "
        f"equal: fail of {COMPARISONS} | inconclusive | +200 ms: fail of {COMPARISONS} |\n" + "|---" * 9 + "|"
    )
    for engine, pairs in recorded.items():
        for entry in ONCE:
            assert entry.in_process is not None
            times = [(entry.in_process(first) or 0.0, entry.in_process(second) or 0.0) for first, second in pairs]
            print(row(engine, entry.name, times))


if __name__ == "__main__":
    main()
