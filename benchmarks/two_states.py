"""Do pilots find the calm moments of a shared machine? Their error rates on simulated machines, and on recorded blocks.

    python benchmarks/two_states.py               exit code 1 if a promise is not kept (under a minute)
    python benchmarks/two_states.py --seed 2      the same machines, other draws
    python benchmarks/two_states.py --csv FILE    every machine of the grid, a row for each

`machines` simulates cores that are calm and slow in turns, and a worker that times blocks of half a millisecond between
pilots. `estimates` has what Gradmark and other tools say of them, each beside its own truth: the median of what it says
of a machine that is always calm, at its full clock. `intervals` has how often an interval holds that truth.

Jitter, layouts and interruptions are the same on every machine of the grid. Layouts move each process by a lognormal
share: by 1, 2, 3 or 4 % in two cells of ten each. The last two cells have two layouts 10 % apart, half of the processes
each: there a median is on either side by chance. They are shown apart, and nothing is promised of them. Processes of
recorded blocks are spread more, by 2 to 6 %, and upwards; `intervals` has such a kind of layouts.

Promises are about some of the machines, all taken together; beside each is the worst single machine, which may be over
the limit. The limits are round numbers that were set before this grid was first run; seeds 1 to 4 keep them. What is
not promised is a figure.
"""

import argparse
import csv
import sys
import time
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import intervals
import numpy as np
from estimates import FASTEST, FLOOR, GRADMARK, MEAN, MEDIAN, MOST, RULES, TIMEIT, Row, quantile, simulate
from machines import CELLS, CLOCK_OF_A_RUN, EXPONENTIAL, HEAVY, RUNS, TWO_LAYOUTS
from promises import Rows, apart, bias, error, length, missed, none, percent, promises, refused

from gradmark.commands.options import MOST_PROCESSES
from gradmark.records.agreement import LEAST_PROCESSES
from gradmark.records.pilots import CALM, CORE, REFERENCE_SHARE

CALM_SHARES = (0.1, 0.3, 0.6, 0.9)
SLOW_DWELLS = (0.3, 3.0, 30.0, 1000.0)
RATIOS = (1.15, 1.4, 1.8)
DRIFTS = (0.0, 0.05, 0.1)


def grid(seed: int) -> list[Row]:
    """All machines."""
    rows = []
    for family in (EXPONENTIAL, HEAVY):
        for share, dwell in product(CALM_SHARES, SLOW_DWELLS):
            rows += simulate(family, share, dwell, list(product(RATIOS, DRIFTS)), seed)
        rows += simulate(family, 1.0, 0.0, [(1.0, drift) for drift in DRIFTS], seed)
    return rows


# --- figures

SHOWN = (GRADMARK, FLOOR, FASTEST, TIMEIT, MEAN, MEDIAN)
OURS = f"{LEAST_PROCESSES} to {MOST_PROCESSES}"
LEGEND = f"""\
none     of 100 cells, those without a time: no process had enough calm blocks
miss     of 100 blocks called calm, those that the slow state made longer by more than 1 %
false    of 100 blocks that were calm from beginning to end, those called slow
stated   of 100 intervals, those that hold the truth by what they say (of one process: none)
found    of 100 intervals, those that hold the truth
error    nine of ten times are within so much of the truth
apart    for nine of ten cells five runs lie at most so far apart
ours     Gradmark: the median of {OURS} processes, each the median of its calm blocks
floor    the fastest calm block of the same processes, at the clock of the reference
best     the fastest of all blocks of the same processes, calm or not
timeit   the least of five times 0.2 s in one process
mean     of a second in one process, as pytest-benchmark has it
median   of 60 times 0.1 s in 20 processes, as pyperf and asv have it
Machines are named by how often they are calm, and for how long they are slow at a time (mean)."""
TRUST = f"""\
{"":17}{"pilots, %":>16}{"":10}{"interval, %":>14}{"error, %":>18}{"apart, %":>18}
{"":17} none miss false processes  stated found   ours floor median   ours floor median"""
TRUST_WIDTHS = (5, 5, 6, 10, 8, 6, 7, 6, 7, 7, 6, 7)
RULES_HEADER = f"""\
{"":17}{"time above its own truth, median, %":38}five runs lie apart by, median, %
{"":17}  ours floor  best timeit  mean median   ours floor  best timeit  mean median"""
RULES_WIDTHS = (6, 6, 6, 7, 6, 7)


def _line(name: str, texts: Sequence[str], widths: Sequence[int]) -> str:
    return f"{name:17}" + "".join(f"{text:>{width}}" for text, width in zip(texts, widths, strict=True))


def _figure(share: float) -> str:
    return "–" if np.isnan(share) else f"{100 * share:.1f}"


def trust(name: str, rows: Rows) -> str:
    """How often pilots are wrong, how many processes there are, what intervals cover, and how far off times are."""
    texts = [f"{100 * value:.0f}" for value in (none(rows), missed(rows), refused(rows))]
    texts.append(f"{np.mean([row.taken for row in rows]):.1f}")
    held, stated = (np.concatenate(values) for values in zip(*((r.held(), r.stated()) for r in rows), strict=True))
    texts += [f"{100 * values.mean():.0f}" if len(values) else "–" for values in (stated, held)]
    texts += [_figure(error(rows, 0.9, rule)) for rule in (GRADMARK, FLOOR, MEDIAN)]
    texts += [_figure(apart(rows, 0.9, rule)) for rule in (GRADMARK, FLOOR, MEDIAN)]
    return _line(name, texts, TRUST_WIDTHS)


def by_rule(name: str, rows: Rows) -> str:
    """Bias and repeatability of every rule: medians over all cells."""
    texts = [_figure(bias(rows, rule)) for rule in SHOWN] + [_figure(apart(rows, rule=rule)) for rule in SHOWN]
    return _line(name, texts, (*RULES_WIDTHS, 7, *RULES_WIDTHS[1:]))


def _name(share: float, dwell: float) -> str:
    return f"{percent(share)} calm, {length(dwell)}" if share < 1.0 else "always calm"


def tables(rows: Rows) -> None:
    """The grid, first by when it is slow, then by how slow."""
    groups = {
        _name(share, dwell): [row for row in rows if (row.share, row.dwell) == (share, dwell)]
        for share, dwell in dict.fromkeys((row.share, row.dwell) for row in rows)
    }
    long = [row for row in rows if row.dwell >= 3.0]
    kinds = {
        f"×{ratio:g}, drift {percent(drift)}": [row for row in long if (row.ratio, row.drift) == (ratio, drift)]
        for ratio, drift in product(RATIOS, DRIFTS)
    }
    kinds |= {family: [row for row in long if row.family == family] for family in (EXPONENTIAL, HEAVY)}
    print(f"\n\nALL {len(rows)} MACHINES, {RUNS} runs of {CELLS} cells on each; cells with two layouts are not in it")
    print(f"{LEGEND}\n\n{RULES_HEADER}")
    for name, those in groups.items():
        print(by_rule(name, those))
    print("\nSlow for 3 ms or more at a time, by how slow, drift of the clock, and kind")
    for name, those in kinds.items():
        print(by_rule(name, those))
    print(f"\n{TRUST}")
    for name, those in (groups | kinds).items():
        print(trust(name, those))


def stopping(rows: Rows, seed: int) -> None:
    """What a cell that stops by itself costs and gains, and what that does to the interval."""
    print(f"\n\nHOW MANY PROCESSES: {OURS} until the interval is narrow (ours), or always {MOST_PROCESSES}")
    print(f"{'':17}processes     error, %          apart, %       two layouts: apart, %    covered, %")
    print(f"{'':17}     ours     ours    always    ours    always     ours    floor    stated    found")
    for share in (*CALM_SHARES, 1.0):
        some = [row for row in rows if row.share == share and (share == 1.0 or row.dwell >= 3.0)]
        values = [error(some, 0.9, rule) for rule in (GRADMARK, MOST)]
        values += [apart(some, 0.9, rule) for rule in (GRADMARK, MOST)]
        values += [quantile(np.concatenate([r.apart(rule, TWO_LAYOUTS) for r in some])) for rule in (GRADMARK, FLOOR)]
        values += [np.concatenate([r.stated(TWO_LAYOUTS) for r in some]).mean()]
        values += [np.concatenate([r.held(TWO_LAYOUTS) for r in some]).mean()]
        texts = [f"{np.mean([row.taken for row in some]):.1f}", *map(_figure, values)]
        print(_line(f"{percent(share)} calm", texts, (9, 9, 10, 8, 10, 9, 9, 10, 9)))
    print(f"\nThe same on a machine that is always calm: {intervals.CELLS} cells of each kind of layouts")
    intervals.show(seed)
    print("""\
To stop when an interval is narrow costs coverage: the stated one is that of a fixed number.
Of two layouts 10 % apart the median is on either side by chance, and so are narrow intervals.
Where no layout is faster than a best one, or there are two, a floor repeats as well or better.""")


FAILURES = {
    "never calm": (EXPONENTIAL, 0.0, 1000.0, 1.8, 0.0),
    "1 % calm, 30 ms": (EXPONENTIAL, 0.01, 30.0, 1.8, 0.0),
    "1 % calm, 1 s": (EXPONENTIAL, 0.01, 1000.0, 1.8, 0.0),
    "50 % calm, 0.1 ms": (EXPONENTIAL, 0.5, 0.1, 1.8, 0.0),
    "×1.05": (EXPONENTIAL, 0.3, 30.0, 1.05, 0.0),
    "one clock a run": (CLOCK_OF_A_RUN, 0.6, 30.0, 1.4, 0.1),
}
REASONS = f"""\
Calm for less than {percent(REFERENCE_SHARE)}: the reference itself is slow, and slow blocks pass for calm ones.
Slow for less than a block: a neighbour comes and goes between two pilots. There a floor is nearer.
Slower by less than {percent(CALM[CORE] - 1)}: it passes for a low clock, and is corrected as one.
A clock that is low for a whole run: nothing in the run is faster. Other runs are.
Two layouts far apart (above): no number of processes within reason makes the median of them repeat."""


OFF = 0.02


def failures(rows: Rows, seed: int) -> None:
    """What no pilot can see, and where in the grid the numbers are wrong."""
    print(f"\n\nWHERE IT CANNOT HELP: the numbers are wrong, or there are none\n{RULES_HEADER}")
    found = {
        name: simulate(family, share, dwell, [(ratio, drift)], seed)
        for name, (family, share, dwell, ratio, drift) in FAILURES.items()
    }
    for name, those in found.items():
        print(by_rule(name, those))
    print(TRUST)
    for name, those in found.items():
        print(trust(name, those))
    print(f"{REASONS}\n\nMachines above on which half of the times are off by more than {percent(OFF)}, or are missing")
    for share, dwell in dict.fromkeys((row.share, row.dwell) for row in rows):
        those = [row for row in rows if (row.share, row.dwell) == (share, dwell)]
        bad = sum(not error([row], 0.5) <= OFF or row.none > 0.5 for row in those)
        if bad:
            print(f"{_name(share, dwell):17} {bad:2} of {len(those)}")


def write_csv(path: Path, rows: Rows) -> None:
    """A row for each machine."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        fixed = ["family", "calm", "slow_ms", "ratio", "drift", "none", "miss", "false", "processes", "stated", "found"]
        kinds = ("bias", "bias_90", "repeat", "repeat_90")
        writer.writerow([*fixed, *(f"{rule} {kind}" for rule in RULES for kind in kinds)])
        for row in rows:
            shares = [row.none, row.miss, row.false, row.taken.mean(), row.stated().mean(), row.held().mean()]
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
    stopping(rows, options.seed)
    failures(rows, options.seed)
    print(f"\n{'All promises are kept.' if kept else 'A promise is NOT KEPT.'} {time.monotonic() - start:.0f} s")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
