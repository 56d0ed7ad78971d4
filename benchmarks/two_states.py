"""Do pilots find the calm moments of a shared machine? Their error rates on simulated machines, and on recorded blocks.

    python benchmarks/two_states.py               exit code 1 if a promise is not kept (under a minute)
    python benchmarks/two_states.py --seed 2      the same machines, other draws
    python benchmarks/two_states.py --csv FILE    every machine of the grid, a row for each

`machines` simulates cores that are calm and slow in turns, and a worker that times blocks of half a millisecond between
pilots. `estimates` has what Gradmark and other tools say of them, relative to the truth: what a block takes on a calm
core at its full clock, in the best layout of memory, without jitter.

Jitter, layouts and interruptions are the same on every machine of the grid. Two cells in ten have a jitter of 2 % to
either side, and their fastest blocks lie up to 4 % below the truth, on a machine that is always calm too. Half of the
cells have two layouts 12 % apart, as likely as each other: whoever sees few processes is off by 12 % at times.

Promises are about some of the machines, all taken together; beside each is the worst single machine, which may be over
the limit. The limits are round numbers above what was seen with the seeds 1 and 2; seed 3, tried afterwards, keeps them
too. What is not promised is a figure.
"""

import argparse
import csv
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import recorded_blocks
from estimates import EIGHT, FASTEST, FIXED, GRADMARK, MEAN, MEDIAN, RULES, TIMEIT, Row, quantile, simulate
from machines import CELLS, CLOCK_OF_A_RUN, EXPONENTIAL, HEAVY, RUNS

from gradmark.commands.options import MOST_PROCESSES
from gradmark.records.agreement import LEAST_PROCESSES
from gradmark.records.pilots import CALM, CORE, REFERENCE_SHARE

CALM_SHARES = (0.1, 0.3, 0.6, 0.9)
SLOW_DWELLS = (0.3, 3.0, 30.0, 1000.0)
RATIOS = (1.15, 1.4, 1.8)
DRIFTS = (0.0, 0.05, 0.1)
Rows = Sequence[Row]


def grid(seed: int) -> list[Row]:
    """All machines."""
    rows = []
    for family in (EXPONENTIAL, HEAVY):
        for share, dwell in product(CALM_SHARES, SLOW_DWELLS):
            rows += simulate(family, share, dwell, list(product(RATIOS, DRIFTS)), seed)
        rows += simulate(family, 1.0, 0.0, [(1.0, drift) for drift in DRIFTS], seed)
    return rows


def _length(ms: float) -> str:
    return f"{ms:g} ms" if ms < 1000.0 else f"{ms / 1000.0:g} s"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def where(row: Row) -> str:
    """One machine in words."""
    if row.share == 1.0:
        return f"always calm, drift {_percent(row.drift)}, {row.family}"
    slow = f"slow for {_length(row.dwell)}, ×{row.ratio:g}"
    return f"{_percent(row.share)} calm, {slow}, drift {_percent(row.drift)}, {row.family}"


# --- what is promised


def _error(rows: Rows, share: float) -> float:
    return quantile(np.abs(np.concatenate([row.errors(GRADMARK) for row in rows])), share)


def _apart(rows: Rows, share: float = 0.5, rule: str = GRADMARK) -> float:
    return quantile(np.concatenate([row.apart(rule) for row in rows]), share)


def _behind(rows: Rows) -> float:
    return _apart(rows) - min(_apart(rows, rule=rule) for rule in (TIMEIT, MEAN, MEDIAN))


def _missed(rows: Rows) -> float:
    return sum(row.missed for row in rows) / max(1, sum(row.calm for row in rows))


def _refused(rows: Rows) -> float:
    return sum(row.refused for row in rows) / max(1, sum(row.quiet for row in rows))


def _none(rows: Rows) -> float:
    return float(np.mean([row.none for row in rows]))


@dataclass
class Promise:
    """One thing that holds on a set of machines, all of them together."""

    text: str
    limit: float
    value: Callable[[Rows], float]

    def check(self, rows: Rows) -> bool:
        """Whether it is kept, after two lines that say so."""
        found = self.value(rows)
        worst = max(rows, key=lambda row: np.nan_to_num(self.value([row])))
        text = self.text.format(f"{100 * self.limit:g} %")
        print(f"{'KEPT' if found <= self.limit else 'NOT KEPT':9} {text}: {100 * found:.1f} %")
        print(f"{'':9}   worst machine: {100 * self.value([worst]):.1f} %, {where(worst)}")
        return found <= self.limit


NEAR = (
    Promise("half of the times are within {} of the truth", 0.01, lambda rows: _error(rows, 0.5)),
    Promise("nine of ten times are within {} of the truth", 0.04, lambda rows: _error(rows, 0.9)),
)
REPEAT = Promise("for nine of ten cells five runs agree within {}", 0.03, lambda rows: _apart(rows, 0.9))
USUAL = (
    *NEAR,
    REPEAT,
    Promise("five runs lie closer than by timeit, mean or median, difference at most {}", 0.0, _behind),
    Promise("of the blocks called calm, at most {} were slow", 0.05, _missed),
    Promise("of the blocks that were calm, at most {} are called slow", 0.02, _refused),
    Promise("at most {} of the cells have no time", 0.01, _none),
)
PROMISES: dict[str, tuple[Callable[[Row], bool], tuple[Promise, ...]]] = {
    "calm 30 % of the time or more, slow for 3 to 30 ms at a time, clock drifts by up to 5 %": (
        lambda row: row.share >= 0.3 and (row.share == 1.0 or 3.0 <= row.dwell <= 30.0) and row.drift <= 0.05,
        USUAL,
    ),
    "the same, clock drifts by 10 %": (
        lambda row: row.share >= 0.3 and (row.share == 1.0 or 3.0 <= row.dwell <= 30.0) and row.drift > 0.05,
        (*NEAR, REPEAT),
    ),
    "the same as the first, slow for a second at a time": (
        lambda row: 0.3 <= row.share < 1.0 and row.dwell == 1000.0 and row.drift <= 0.05,
        NEAR,
    ),
}


def promises(rows: Rows, seed: int) -> bool:
    """Whether all are kept."""
    kept = []
    print("WHAT THE METHOD KEEPS ON THESE MACHINES")
    for machines, (about, entries) in PROMISES.items():
        those = [row for row in rows if about(row)]
        print(f"\n{len(those)} machines: {machines}")
        kept += [promise.check(those) for promise in entries]
    print("\nA real machine, recorded: how far two halves of the processes of a cell lie apart, mean, %")
    splits = recorded_blocks.halves(seed)
    print(" " * 27 + "".join(f"{NAMES[rule]:>9}" for rule in recorded_blocks.RULES))
    for cell, apart in splits.items():
        print(f"{cell:27}" + "".join(f"{100 * value:9.1f}" for value in apart.mean(axis=0)))
    overall = np.mean([apart.mean(axis=0) for apart in splits.values()], axis=0)
    means = dict(zip(recorded_blocks.RULES, overall.tolist(), strict=True))
    rule = min((TIMEIT, MEAN, MEDIAN), key=lambda rule: means[rule])
    kept.append(means[EIGHT] < means[rule])
    text = "the halves agree better than by timeit, mean or median"
    numbers = f"{100 * means[EIGHT]:.1f} %; {rule}: {100 * means[rule]:.1f} %"
    print(f"{'KEPT' if kept[-1] else 'NOT KEPT':9} {text}: {numbers}")
    return all(kept)


# --- figures

NAMES = dict(zip(RULES, ("ours", "ours", "best", "timeit", "mean", "median"), strict=True))
SHOWN = (GRADMARK, FASTEST, TIMEIT, MEAN, MEDIAN)
OURS = f"{LEAST_PROCESSES} to {MOST_PROCESSES}"
LEGEND = f"""\
none     of 100 cells, those without a time: no process had enough calm blocks
miss     of 100 blocks called calm, those that the slow state made longer by more than 1 %
false    of 100 blocks that were calm from beginning to end, those called slow
ours     Gradmark: calm blocks of {OURS} processes
9in10    Gradmark: for nine of ten cells five runs lie at most so far apart
best     the fastest block of {FIXED} processes that waited for calm pilots too
timeit   the least of five times 0.2 s in one process
mean     of a second in one process, as pytest-benchmark has it
median   of 60 times 0.1 s in 20 processes, as pyperf and asv have it
Machines are named by how often they are calm, and for how long they are slow at a time (mean)."""
HEADER = f"""\
{"":21}{"pilots, %":15}{"time above the truth, %":33}five runs lie apart by, %
{"":17} none miss false  ours best timeit mean median   ours 9in10 best timeit mean median"""
WIDTHS = (5, 5, 6, 6, 5, 7, 5, 7, 7, 6, 5, 7, 5, 7)


def line(name: str, rows: Rows) -> str:
    """A line of a table: shares, then medians over all cells; of the five runs also what nine of ten are within."""
    errors = [quantile(np.concatenate([row.errors(rule) for row in rows])) for rule in SHOWN]
    apart = [_apart(rows, rule=rule) for rule in SHOWN]
    values = [*errors, apart[0], _apart(rows, 0.9), *apart[1:]]
    texts = [f"{100 * value:.0f}" for value in (_none(rows), _missed(rows), _refused(rows))]
    texts += ["–" if np.isnan(value) else f"{100 * value:.1f}" for value in values]
    return f"{name:17}" + "".join(f"{text:>{width}}" for text, width in zip(texts, WIDTHS, strict=True))


def _name(share: float, dwell: float) -> str:
    return f"{_percent(share)} calm, {_length(dwell)}" if share < 1.0 else "always calm"


def tables(rows: Rows) -> None:
    """The grid, first by when it is slow, then by how slow."""
    print(f"\n\nALL {len(rows)} MACHINES, {RUNS} runs of {CELLS} cells on each; medians\n{LEGEND}\n\n{HEADER}")
    for share, dwell in dict.fromkeys((row.share, row.dwell) for row in rows):
        print(line(_name(share, dwell), [row for row in rows if (row.share, row.dwell) == (share, dwell)]))
    print(f"\nThose that are slow for 3 ms or more at a time, by how slow, drift of the clock, and kind\n{HEADER}")
    long = [row for row in rows if row.dwell >= 3.0]
    for ratio, drift in product(RATIOS, DRIFTS):
        print(line(f"×{ratio:g}, drift {_percent(drift)}", [r for r in long if (r.ratio, r.drift) == (ratio, drift)]))
    for family in (EXPONENTIAL, HEAVY):
        print(line(family, [row for row in long if row.family == family]))


def stopping(rows: Rows) -> None:
    """What a cell that stops by itself costs and gains."""
    print(f"\n\nHOW MANY PROCESSES: {OURS} until the fastest agree (ours), or always {FIXED}; slow for 3 ms or more")
    print(f"{'':17}processes  time above the truth, %  nine of ten cells: five runs apart by, %")
    print(f"{'':17}{'ours':>9}{'ours':>15}{f'always {FIXED}':>10}{'ours':>16}{f'always {FIXED}':>10}")
    for share in (*CALM_SHARES, 1.0):
        some = [row for row in rows if row.share == share and (share == 1.0 or row.dwell >= 3.0)]
        errors = [quantile(np.concatenate([row.errors(rule) for row in some])) for rule in (GRADMARK, EIGHT)]
        apart = [_apart(some, 0.9, rule) for rule in (GRADMARK, EIGHT)]
        print(
            f"{f'{_percent(share)} calm':17}{np.mean([row.processes for row in some]):9.1f}"
            f"{100 * errors[0]:15.1f}{100 * errors[1]:10.1f}{100 * apart[0]:16.1f}{100 * apart[1]:10.1f}"
        )


FAILURES = {
    "never calm": (EXPONENTIAL, 0.0, 1000.0, 1.8, 0.0),
    "1 % calm, 30 ms": (EXPONENTIAL, 0.01, 30.0, 1.8, 0.0),
    "1 % calm, 1 s": (EXPONENTIAL, 0.01, 1000.0, 1.8, 0.0),
    "50 % calm, 0.1 ms": (EXPONENTIAL, 0.5, 0.1, 1.8, 0.0),
    "×1.05": (EXPONENTIAL, 0.3, 30.0, 1.05, 0.0),
    "one clock a run": (CLOCK_OF_A_RUN, 0.6, 30.0, 1.4, 0.1),
}
REASONS = f"""\
Calm for less than {_percent(REFERENCE_SHARE)}: the reference itself is slow, and slow blocks pass for calm ones.
Slow for less than a block: a neighbour comes and goes between two pilots.
Slower by less than {_percent(CALM[CORE] - 1)}: it passes for a low clock, and is corrected as one.
A clock that is low for a whole run: nothing in the run is faster. Other runs are.
Slow for a second at a time (first table): with few calm processes the faster layout is missed."""


OFF = 0.02


def failures(rows: Rows, seed: int) -> None:
    """What no pilot can see, and where in the grid the numbers are wrong."""
    print(f"\n\nWHERE IT CANNOT HELP: the numbers are wrong, or there are none\n{HEADER}")
    for name, (family, share, dwell, ratio, drift) in FAILURES.items():
        print(line(name, simulate(family, share, dwell, [(ratio, drift)], seed)))
    print(
        f"{REASONS}\n\nMachines above on which half of the times are off by more than {_percent(OFF)}, or are missing"
    )
    for share, dwell in dict.fromkeys((row.share, row.dwell) for row in rows):
        those = [row for row in rows if (row.share, row.dwell) == (share, dwell)]
        bad = sum(not _error([row], 0.5) <= OFF or row.none > 0.5 for row in those)
        if bad:
            print(f"{_name(share, dwell):17} {bad:2} of {len(those)}")


def write_csv(path: Path, rows: Rows) -> None:
    """A row for each machine."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        fixed = ["family", "calm", "slow_ms", "ratio", "drift", "none", "miss", "false", "processes", "reference"]
        kinds = ("bias", "bias_90", "repeat", "repeat_90")
        writer.writerow([*fixed, *(f"{rule} {kind}" for rule in RULES for kind in kinds)])
        for row in rows:
            shares = [row.none, row.miss, row.false, row.processes, row.reference]
            both = [values for rule in RULES for values in (row.errors(rule), row.apart(rule))]
            values = [quantile(one, share) for one in both for share in (0.5, 0.9)]
            machine = [row.family, row.share, row.dwell, row.ratio, row.drift]
            writer.writerow([*machine, *(f"{value:.4f}" for value in [*shares, *values])])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write every machine of the grid")
    parser.add_argument("--seed", type=int, default=1, help="of all random draws (default: 1)")
    options = parser.parse_args()
    start = time.monotonic()
    rows = grid(options.seed)
    if options.csv:
        write_csv(options.csv, rows)
    kept = promises(rows, options.seed)
    tables(rows)
    stopping(rows)
    failures(rows, options.seed)
    print(f"\n{'All promises are kept.' if kept else 'A promise is NOT KEPT.'} {time.monotonic() - start:.0f} s")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
