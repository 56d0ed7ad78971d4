"""Error rates: every draw of known noise, judged by the program's own rules; the promises that follow, kept or not.

In: pairs of arms from `noise`. Out: a table with coverage, false alarms and power, a line for each promise, and an exit
code. `statistics.py` starts it and says how.
"""

import json
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path

import msgspec
import numpy as np
from noise import BASE_NS, DATA, DRAWS, NOISE, Arms, Array, arms
from scipy import stats

from gradmark.analyse import hypotheses, standings, unpaired
from gradmark.analyse.paired import sign_test
from gradmark.commands.options import MOST_PROCESSES
from gradmark.records import Accuracy, Cell, Comparison, Measurement, Phase, Sample
from gradmark.records.agreement import LEAST_PROCESSES, agreed
from gradmark.records.order import place_and_coverage, place_and_coverage_of_shift
from gradmark.records.times import process_times
from gradmark.store import runs

PROCESSES = (2, 3, 5, 10, 20)
SLOWER = (1.05, 1.10, 1.20)
CHECKED = 20  # of each kind are judged by the program itself as well
WITHIN = 0.02  # of the stated coverage
LEVEL = 0.05
AA_SHARE = 0.02
LOOKED = 2000  # rows of each noise that are looked at more than once


# --- judging many draws at once, by the program's rules


@dataclass
class Judged:
    """What the program says of each draw."""

    compare: list[str]
    proven: Array  # of two engines one is the only winner
    hypothesis: Array  # decided, either way
    shift_held: Array
    ratio_held: Array


@cache
def _sign_p(above: int, below: int, count: int) -> float:
    return sign_test(above, below, count)


def judge(first: Array, second: Array, effect: float = 1.0) -> Judged:
    """Both arms by process: verdicts of `compare`, standings and hypotheses, and whether intervals hold the effect."""
    n = first.shape[1]
    shown, other = np.median(first, axis=1), np.median(second, axis=1)
    place, coverage = place_and_coverage_of_shift(n, n)
    all_ratios = np.sort((second[:, None, :] / first[:, :, None]).reshape(len(first), -1), axis=1)
    low, high = all_ratios[:, place], all_ratios[:, -1 - place]
    typical = np.exp(np.median(np.log(all_ratios), axis=1))
    p_processes = stats.mannwhitneyu(first, second, axis=1, method="exact").pvalue
    columns = map(np.ndarray.tolist, (shown, other, typical, low, high, p_processes))
    said = [
        unpaired.verdict(
            Comparison(
                metric="total", first=a, second=b, ratio=b / a, typical=t, low=lo, high=hi, coverage=coverage,
                p_value=p, processes=(n, n),
            )
        )[0]
        for a, b, t, lo, hi, p in zip(*columns, strict=True)
    ]  # fmt: skip
    above, below = (second > first).sum(axis=1), (second < first).sum(axis=1)
    p_rounds = np.array([_sign_p(a, b, n) for a, b in zip(above.tolist(), below.tolist(), strict=True)])
    rounds = np.sort(second / first, axis=1)
    middle = np.median(rounds, axis=1)
    k, _ = place_and_coverage(n)
    return Judged(
        compare=said,
        proven=_proven(first, second, middle, p_rounds, p_processes),
        hypothesis=(n >= hypotheses.LEAST_ROUNDS) & (p_rounds <= hypotheses.LEVEL) & ((middle < 1) == (other < shown)),
        shift_held=(low <= effect) & (effect <= high),
        ratio_held=(rounds[:, k] <= effect) & (effect <= rounds[:, -1 - k]),
    )


def _proven(first: Array, second: Array, middle: Array, p_rounds: Array, p_processes: Array) -> Array:
    """Whether the engine with the smaller number is the only winner."""
    n = first.shape[1]
    shown, other = np.median(first, axis=1), np.median(second, axis=1)
    behind = np.where(other >= shown, 1.0, -1.0)  # 1: the second is behind
    apart = np.where(behind > 0, first.max(axis=1) < second.min(axis=1), second.max(axis=1) < first.min(axis=1))
    wins = (second[:, None, :] > first[:, :, None]).sum(axis=(1, 2)) - n * n / 2
    rounds = np.where(np.sign(middle - 1.0) == behind, p_rounds, 1.0)
    processes = np.where(np.sign(wins) == behind, p_processes, 1.0)
    columns = map(np.ndarray.tolist, (np.maximum(shown / other, other / shown), apart, rounds, processes))
    return np.array(
        [
            standings.is_proven(standings.Lead(ratio=r, processes=n, apart=a, p_rounds=p, p_processes=q))
            for r, a, p, q in zip(*columns, strict=True)
        ]
    )


def calm(ns: float) -> Phase:
    """Blocks of one process, all of them calm."""
    return Phase(iterations=1, block_ns=[ns] * 3, pilots={"core": [(10.0, 10.0)] * 3}, reference={"core": 10.0})


def measurement(engine: str, times: Array) -> Measurement:
    samples = [
        Sample(process=k, phases={"total": calm(float(ns))}, once_ns={}, harness_ns=0.0, clock_ns=1.0)
        for k, ns in enumerate(times)
    ]
    checked = Accuracy(reference="", relative_error=0.0, tolerance=1.0)  # only engines with a gradient compete
    cell = Cell(engine=engine, workload="w", suite="s")
    return Measurement(cell=cell, status="ok", samples=samples, accuracy=checked)


def disagreements(first: Array, second: Array, judged: Judged) -> int:
    """How often the program, given the same processes, says something else."""
    claim = hypotheses.Hypothesis("h", "c", hypotheses.Arm("a", "w", "total"), hypotheses.Arm("b", "w", "total"))
    count = 0
    for k in range(CHECKED):
        time_ = unpaired.compare("total", first[k].tolist(), second[k].tolist())
        row = [measurement("a", first[k]), measurement("b", second[k])]
        alone = any(s.outcome == "fastest" for s in standings.standings(row))
        decided = hypotheses.judge(claim, row).verdict != "undecided"
        ours = (judged.compare[k], bool(judged.proven[k]), bool(judged.hypothesis[k]))
        count += ours != (unpaired.verdict(time_)[0], alone, decided)
    return count


# --- what is promised


@dataclass
class Promise:
    """One thing that must hold for every noise and number of processes; the worst case is shown."""

    text: str
    limit: float
    worst: float = 0.0
    where: str = ""

    def add(self, value: float, where: str) -> None:
        """One case."""
        if value > self.worst:
            self.worst, self.where = value, where

    @property
    def kept(self) -> bool:
        """Whether the worst case is within the limit."""
        return self.worst <= self.limit


@dataclass
class Promises:
    """All of them, in the order in which they are printed."""

    entries: dict[str, Promise] = field(default_factory=dict)

    def add(self, text: str, limit: float, value: float, where: str) -> None:
        """One case of a promise."""
        self.entries.setdefault(text, Promise(text, limit)).add(value, where)


HEADER = (
    "                              median of      ratio of       shift of     equal arms told apart   "
    "compare finds       standings find\n"
    "  n  noise                    processes       rounds          runs        compare table hypoth.  "
    "+5 +10 +20 %        +5 +10 +20 %"
)


def simulate(promises: Promises) -> None:
    """The table, a line for each noise and number of processes."""
    draw = np.random.default_rng(12)
    print(HEADER)
    for n in PROCESSES:
        for one in arms(draw, n):
            print(_line(n, one, promises), flush=True)
        print()


def _line(n: int, one: Arms, promises: Promises) -> str:
    where = f"{one.name}, {n} processes"
    null = judge(one.first, one.second)
    texts = []
    k, stated = place_and_coverage(n)
    ordered = np.sort(one.first, axis=1)
    median_held = (ordered[:, k] <= one.truth) & (one.truth <= ordered[:, -1 - k])
    shift_stated = place_and_coverage_of_shift(n, n)[1]
    for text, claimed, held in (
        ("the interval of a median over processes covers what it states", stated, median_held),
        ("the interval of a ratio over rounds covers what it states", stated, null.ratio_held),
        ("the interval of a shift between runs covers what it states", shift_stated, null.shift_held),
    ):
        true = float(np.mean(held))
        if one.independent:
            promises.add(f"{text}, within {100 * WITHIN:g} points", WITHIN, abs(true - claimed), where)
            texts.append(f"{100 * claimed:5.1f} {100 * true:5.1f}")
        else:
            texts.append(" " * 11 if text.startswith("the interval of a median") else f"    – {100 * true:5.1f}")
    alarms = float(np.mean([word in ("slower", "faster") for word in null.compare]))
    alone, decided = float(np.mean(null.proven)), float(np.mean(null.hypothesis))
    promises.add("`compare` calls equal runs slower or faster in at most 5 %", LEVEL, alarms, where)
    if not one.name.startswith("sessions"):  # engines and arms of hypotheses are measured in turns
        promises.add("a table has one winner among two equal engines in at most 5 %", LEVEL, alone, where)
        promises.add("a hypothesis about equal arms is decided in at most 5 %", LEVEL, decided, where)
    differ = disagreements(one.first, one.second, null)
    found = {"compare": [], "standings": []}
    for factor in SLOWER:
        slowed = judge(one.first, factor * one.second, factor)
        found["compare"].append(np.mean([word == "slower" for word in slowed.compare]))
        behind = factor * np.median(one.second, axis=1) > np.median(one.first, axis=1)
        found["standings"].append(np.mean(slowed.proven & behind))
        differ += disagreements(one.first, factor * one.second, slowed)
    promises.add("the simulation decides as the program does: cases that differ", 0, differ, where)
    power = ["".join(f"{100 * value:4.0f}" for value in values) for values in found.values()]
    return (
        f"{n:3}  {one.name:22}  {'   '.join(texts)}   {100 * alarms:6.1f} {100 * alone:5.1f} {100 * decided:6.1f}     "
        f"{'         '.join(power)}"
    )


def five_engines(promises: Promises) -> None:
    """Five equal engines in a row: the more there are, the luckier is the fastest."""
    draw = np.random.default_rng(5)
    for n in PROCESSES:
        for name, noise in NOISE.items():
            engines = BASE_NS * np.stack([noise(draw, (DRAWS // 5, n)) for _ in range(5)])
            leader = np.median(engines, axis=2).argmin(axis=0)
            draws = np.arange(DRAWS // 5)
            slower = [judge(engines[leader, draws], engines[k]).proven & (leader != k) for k in range(5)]
            alone = float(np.mean(np.sum(slower, axis=0) == 4))
            text = "a table has one winner among five equal engines in at most 5 %"
            promises.add(text, LEVEL, alone, f"{name}, {n} processes")


def looking_again(promises: Promises) -> None:
    """Equal engines that are looked at more than once: a row that is not settled gets further processes.

    With two processes at first and up to two more, as `gradmark run -e all` has them; and each engine by itself until
    its interval is narrow, as other runs have them.
    """
    draw = np.random.default_rng(21)
    for name, noise in NOISE.items():
        for count in (2, 5):
            engines = BASE_NS * noise(draw, (LOOKED * count, 4)).reshape(LOOKED, count, 4)
            alone = float(np.mean([_wins_alone(_until_settled(row)) for row in engines]))
            text = f"a row of {count} equal engines that gets further processes has one winner in at most 5 %"
            promises.add(text, LEVEL, alone, name)
        engines = BASE_NS * noise(draw, (LOOKED * 2, MOST_PROCESSES)).reshape(LOOKED, 2, MOST_PROCESSES)
        alone = float(np.mean([_wins_alone([_until_agreed(m) for m in _row(row)]) for row in engines]))
        text = "two equal engines, each measured until its processes agree, have one winner in at most 5 %"
        promises.add(text, LEVEL, alone, name)


def _row(times: Array) -> list[Measurement]:
    return [measurement(f"e{k}", one) for k, one in enumerate(times)]


def _first(m: Measurement, count: int) -> Measurement:
    return msgspec.structs.replace(m, samples=m.samples[:count])


def _until_settled(times: Array) -> list[Measurement]:
    """The row as it is after two processes each, and up to two more of those that may be the fastest."""
    whole = _row(times)
    row = [_first(m, 2) for m in whole]
    for _ in range(2):
        unsettled = {cell.engine for cell in standings.unsettled(row)}
        row = [
            _first(all_of, len(m.samples) + (m.cell.engine in unsettled)) for m, all_of in zip(row, whole, strict=True)
        ]
    return row


def _until_agreed(whole: Measurement) -> Measurement:
    return next((m for n in range(LEAST_PROCESSES, MOST_PROCESSES) if agreed(m := _first(whole, n))), whole)


def _wins_alone(row: list[Measurement]) -> bool:
    return any(standing.outcome == "fastest" for standing in standings.standings(row))


def aa(folder: Path) -> int:
    """Runs of one and the same code, each with the next: how many rows are called slower or faster."""
    found = [runs.load(path) for path in sorted(folder.iterdir()) if path.suffix in (".json", ".jsonl")]
    ordered = sorted(found, key=lambda run: run.started)
    words: Counter[str] = Counter()
    for old, new in pairwise(ordered):
        rows = unpaired.differences(old, new)
        words.update(row.verdict for row in rows)
        for row in rows:
            if row.verdict in ("slower", "faster") and row.time is not None:
                print(f"{old.id} {new.id}  {row.cell.id}: {row.verdict}, {row.time.ratio:.3f}")
    total = sum(words.values())
    wrong = words["slower"] + words["faster"]
    print(f"{max(0, len(ordered) - 1)} pairs, {total} rows: " + ", ".join(f"{n} {word}" for word, n in words.items()))
    kept = total > 0 and wrong <= AA_SHARE * total
    share = 100 * wrong / total if total else 0.0
    print(f"{'KEPT' if kept else 'NOT KEPT'}: {share:.2f} % of rows are called slower or faster; at most 2 % may be")
    return 0 if kept else 1


def keep(paths: list[Path]) -> None:
    """The time of every process that saw a calm machine, in the order of the rounds."""
    sessions = []
    for path in paths:
        run = runs.load(path)
        cells = {}
        for m in run.measurements:
            cells[m.cell.id] = [round(ns, 1) for ns in process_times(m.samples, "total")]
        sessions.append({"started": run.started, "cpu": run.environment.cpu, "cells": cells})
    note = "python benchmarks/statistics.py --keep; its docstring has the command that measured"
    DATA.parent.mkdir(exist_ok=True)
    DATA.write_text(json.dumps({"made_by": note, "sessions": sessions}) + "\n")


def rates() -> int:
    """The whole simulation. 1 if a promise is not kept."""
    start, promises = time.monotonic(), Promises()
    simulate(promises)
    five_engines(promises)
    looking_again(promises)
    for promise in promises.entries.values():
        word = "KEPT" if promise.kept else "NOT KEPT"
        shown = f"{promise.worst:g}" if promise.limit == 0 else f"{100 * promise.worst:.1f}"
        print(f"{word:8}  {promise.text}; worst: {shown}{f' ({promise.where})' if promise.where else ''}")
    print(f"{time.monotonic() - start:.0f} s, {DRAWS} draws each")
    return 0 if all(promise.kept for promise in promises.entries.values()) else 1
