"""Floors: the fastest block of calls, from fresh processes in interleaved rounds; what the speed benchmarks share.

In: a script that prints the floors of one worker as JSON when called with `--worker NAME`. Out: the floors of all
workers, lines that say which promises are kept, and the floors of two builds side by side.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

# A row's time in nanoseconds, a count, or why there is none. `CHECKS` ends the keys of what was computed.
Floors = dict[str, Any]
CHECKS = "checks"
# A row may be so much slower than with the build that it is compared with.
MOST_SLOWER = 1.03


def floor_ns(run: Callable[[], object], block_ns: float = 5e6, blocks: int = 30) -> float:
    """The fastest block's mean time per call, warmed up. A block lasts at least `block_ns`."""

    def timed(count: int) -> int:
        start = time.perf_counter_ns()
        for _ in range(count):
            run()
        return time.perf_counter_ns() - start

    run()
    count = 1
    while (elapsed := timed(count)) < block_ns:
        count *= 2
    return min(elapsed, *(timed(count) for _ in range(blocks))) / count


def reason(error: Exception) -> str:
    """Why there is no floor, in a line."""
    return f"{type(error).__name__}: {error}".splitlines()[0][:70]


def arguments(description: str) -> argparse.ArgumentParser:
    """The options that every script has."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--rounds", type=int, default=3, help="fresh processes per engine (default 3)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the floors, in nanoseconds, to FILE")
    parser.add_argument(
        "--against",
        type=Path,
        metavar="PYTHON",
        help="compare with the tapegrad that this Python has, and with nothing else: say, .venv/bin/python of a "
        "checkout of another commit",
    )
    parser.add_argument("--worker", metavar="NAME", help=argparse.SUPPRESS)
    return parser


def spawn(script: str, worker: str, python: str | Path = sys.executable, environment: Mapping[str, str] | None = None):
    """The floors of one worker in a process of its own; a string says why there are none."""
    done = subprocess.run(
        [str(python), script, "--worker", worker],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **(environment or {})},
    )
    if done.returncode:
        return f"failed: {(done.stderr.strip().splitlines() or ['no message'])[-1][:60]}"
    return json.loads(done.stdout.splitlines()[-1])


def interleaved(
    script: str,
    workers: Sequence[str],
    rounds: int,
    environments: Callable[[str], Mapping[str, str]] = lambda _worker: {},
) -> dict[str, Floors | str]:
    """The floors of every worker over all rounds: each round is one process of each."""
    seen: dict[str, list[Floors | str]] = {worker: [] for worker in workers}
    for number in range(rounds):
        for worker in workers:
            _progress(f"round {number + 1} of {rounds}: {worker}")
            seen[worker].append(spawn(script, worker, environment=environments(worker)))
    _progress("")
    return {worker: fastest(processes) for worker, processes in seen.items()}


def _progress(text: str) -> None:
    print(f"\r{text:70}", end="" if text else "\r", file=sys.stderr, flush=True)


def fastest(processes: Sequence[Floors | str]) -> Floors | str:
    """Per row the smallest of all processes; a message stays a message, and what was computed is that of the first."""
    failed = [floors for floors in processes if isinstance(floors, str)]
    if failed:
        return failed[0]
    numbers: Floors = {}
    for floors in processes:
        for name, value in floors.items():
            before = numbers.get(name, value)
            if name.endswith(CHECKS) or isinstance(before, str):
                numbers[name] = before
            else:
                numbers[name] = value if isinstance(value, str) else min(before, value)
    return numbers


def tell(promises: Iterable[tuple[str, str, bool | None]]) -> bool:
    """Prints each promise: what, its number, whether it is kept (None: not measured). Whether none is broken."""
    print("\npromises")
    verdicts = []
    for promise, number, kept in promises:
        verdicts.append(kept)
        print(f"{'not measured' if kept is None else 'kept' if kept else 'NOT KEPT':14}{promise}: {number}")
    return False not in verdicts


def save(floors: Mapping[str, Floors | str], path: Path | None) -> None:
    """Writes the floors where they were asked for."""
    if path:
        path.write_text(json.dumps(floors, indent=1))


# ---- two builds --------------------------------------------------------------------------------------------------


def builds(script: str, workers: Sequence[str], python: Path, rounds: int) -> bool:
    """Rows of this build and of the one that another Python has, interleaved; whether none is more than 3 % slower.

    Both run this very script. The order of the two alternates; a row's number is the ratio of its floors, and beside
    it stands the median over rounds of the ratio of the two neighbours.
    """
    origins = [_origin(path) for path in (python, Path(sys.executable))]
    if origins[0] == origins[1]:
        sys.exit(f"both have the tapegrad in {origins[0]}: install the other one editable in a Python of its own")
    print(f"before: {origins[0]}\nnow:    {origins[1]}")
    pairs: dict[str, list[tuple[Floors, Floors]]] = {worker: [] for worker in workers}
    for number in range(rounds):
        for worker in workers:
            _progress(f"round {number + 1} of {rounds}: {worker}")
            sides = [python, Path(sys.executable)]
            order = (0, 1) if number % 2 == 0 else (1, 0)
            floors = {side: spawn(script, worker, sides[side]) for side in order}
            if any(isinstance(side, str) for side in floors.values()):
                sys.exit(f"\n{worker}: before: {floors[0]:.200}\nnow: {floors[1]:.200}")
            pairs[worker].append((floors[0], floors[1]))
    _progress("")
    width = max(
        len(f"{worker}, {name}")
        for worker, processes in pairs.items()
        for name in processes[0][1]
        if not name.endswith(CHECKS)
    )
    print(f"\n{'':{width}}{'before µs':>12}{'now µs':>12}{'now/before':>12}{'by rounds':>12}")
    worst = 0.0
    for worker, processes in pairs.items():
        before, now = (fastest([pair[side] for pair in processes]) for side in (0, 1))
        assert isinstance(before, dict)
        assert isinstance(now, dict)
        for name, floor in now.items():
            label = f"{worker}, {name}"
            if name.endswith(CHECKS) or not isinstance(floor, float):
                continue
            if not isinstance(before.get(name), float):
                print(f"{label:{width}}  before: {before.get(name, 'no such row')}")
                continue
            ratio = floor / before[name]
            by_rounds = statistics.median(pair[1][name] / pair[0][name] for pair in processes)
            worst = max(worst, ratio)
            late = "  slower" if ratio > MOST_SLOWER else ""
            print(f"{label:{width}}{before[name] / 1e3:12.3f}{floor / 1e3:12.3f}{ratio:12.3f}{by_rounds:12.3f}{late}")
    return tell([("no row more than 3 % slower than before", f"{worst:.3f} × at most", worst <= MOST_SLOWER)])


def _origin(python: Path) -> str:
    code = "import sys, numpy, tapegrad; print(tapegrad.__file__, sys.version.split()[0], numpy.__version__)"
    done = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{python} has no tapegrad: {(done.stderr.splitlines() or ['no message'])[-1]}")
    path, version, arrays = done.stdout.rsplit(maxsplit=2)
    return f"{path}, Python {version}, NumPy {arrays}"


def ratio(over: Any, under: Any) -> float:
    """Of two floors; not a number where one of them is missing."""
    return math.nan if isinstance(over, str) or isinstance(under, str) else over / under
