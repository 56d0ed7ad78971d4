"""Does the gate fail what did not change, and catch what did? Real calls of `gradmark check`, many of them.

    python benchmarks/gate_trials.py unchanged --trials 100    nothing changed: tapegrad and the installed peers
    python benchmarks/gate_trials.py slower --trials 100       one row takes 8 % longer, the budget is 5 %
    python benchmarks/gate_trials.py small --trials 30         a gradient off by 1e-9, an allocation, 64 bytes kept
    …  --jobs 4              so many at the same time, each on two cores of its own
    …  --hogs busy,bursts    a third of the trials beside one of them
    …  --first 200           numbers of trials begin there, and with them what is drawn: for a second machine
    …  --file A --file B     trials are added to the first; all are judged, each a line
    …  --trials 0            judges what is there

Each trial is a repository of its own: an engine or several, a few rows of the short suites drawn at random. Of the
unchanged ones every other makes a fresh baseline and calls `gradmark check`, the rest call `check --against HEAD`.
A planted fault stands in the file of the engine, and its commit has the engine as it is.

Promised: of 100 unchanged ones at most one fails; of 100 rows that take 8 % longer at least 98 fail, by that row;
small faults always do. Exit code 1 if that is not kept.
"""

import argparse
import concurrent.futures
import contextlib
import importlib.util
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import side_by_side
from hogs import HOGS, running

GRADMARK = [sys.executable, "-P", "-c", "from gradmark.commands.main import main; main()"]
GIT = ["git", "-c", "user.name=gradmark", "-c", "user.email=gradmark@localhost"]
PEERS = ["torch", "jax", "autograd", "mygrad", "casadi", "xad", "micrograd", "tinygrad"]
# Rows that most engines have, of numbers and of arrays, and that take no engine minutes.
SHARED_ROWS = ["expression", "poly/n=10", "tree/depth=2", "reuse", "shared/k=4", "difference_check"]
SHARED_ROWS += ["matmul/n=8", "softplus/n=10000", "elementwise/depth=16/n=1", "mlp_step/batch=8/width=32"]
OWN_ROWS = ["poly/n=100", "poly/n=1000", "add_chain/n=1000", "mul_chain/n=1000", "chain/f=exp", "chain/f=log"]
OWN_ROWS += ["chain/f=sin", "chain/f=tanh", "chain/f=pow", "tree/depth=6", "tree/depth=10", "constants/n=1000"]
ROWS_AT_ONCE = 2
# Side by side each cell takes dozens of processes: each trial has one row and some of the peers, others each time.
PEERS_SIDE_BY_SIDE = 2
BESIDE_HOG = 1 / 3
# A trial lies beside others of its kind: a slower row among rows that are not.
OTHER_ROWS = 2
HONEST = "from gradmark.engines.tapegrad import Tapegrad\n\n\nclass Subject(Tapegrad):\n    name = 'subject'\n"
# Only on one row: the others must not be accused.
PLANTED = """\
import time
from gradmark.engines.tapegrad import Tapegrad
from gradmark.revisions.faults import Faulty


clock = time.perf_counter_ns
tick = min(-(clock() - clock()) for _ in range(1000))


def slowed(call):
    # by 8 % of what each call takes, whatever the machine does; what the clock itself takes is part of it
    def slow():
        start = clock()
        call()
        now = clock()
        until = now + 0.08 * (now - start) - 3 * tick
        while clock() < until:
            pass

    return slow


class Planted(Faulty):
    def faults(self, session, forward, backward):
{body}


class Subject(Tapegrad):
    name = 'subject'

    def prepare(self, workload, inputs, params):
        chosen = Planted() if workload.name == {workload!r} and dict(params) == {params!r} else super()
        return chosen.prepare(workload, inputs, params)
"""
BODIES = {
    "8 % slower": "        return {'forward': slowed(forward), 'backward': slowed(backward)}",
    "gradient off by 1e-9": (
        "        read = session.gradients\n        return {'gradients': lambda: [g * (1 + 1e-9) for g in read()]}"
    ),
    "an allocation more": (
        "        def more():\n            bytes(600)\n            forward()\n        return {'forward': more}"
    ),
    "64 bytes kept": (
        "        kept = [None]\n"
        "        def keep():\n"
        "            kept[0] = (kept[0], None, None)  # a tuple of three has 64 bytes\n"
        "            forward()\n"
        "        return {'forward': keep}"
    ),
}
# The metrics of which one must say it.
SAID_BY = {
    "8 % slower": {"forward", "backward", "total"},
    "gradient off by 1e-9": {"gradient_error"},
    "an allocation more": {"allocations"},
    "64 bytes kept": {"leaked_bytes"},
}
KINDS = {"slower": ["8 % slower"], "small": ["gradient off by 1e-9", "an allocation more", "64 bytes kept"]}


def params_of(row: str) -> dict[str, Any]:
    """The sizes in the name of a row."""
    parts = (part.split("=") for part in row.split("/")[1:])
    return {name: int(value) if value.isdigit() else value for name, value in parts}


class Repository:
    """A user's repository in a folder of its own, on some cores."""

    def __init__(self, folder: Path, engines: list[str], rows: list[str]) -> None:
        self.folder = folder
        self.rows = rows
        (folder / "pyproject.toml").write_text(
            f"[tool.gradmark]\nengines = {json.dumps(engines)}\nselect = {json.dumps(rows)}\nbuild = ''\n"
        )
        (folder / ".gitignore").write_text("/.gradmark/\n__pycache__/\n")

    def commit(self) -> None:
        """Commits what is there."""
        for arguments in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "as it is"]):
            subprocess.run([*GIT, *arguments], cwd=self.folder, check=True)

    def call(self, *arguments: str) -> dict[str, Any]:
        """What a command says."""
        start = time.monotonic()
        done = subprocess.run(
            [*GRADMARK, *arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        lines = [line for line in done.stdout.splitlines() if re.match(r"fail|inconclusive", line)]
        return {
            "code": done.returncode,
            "seconds": round(time.monotonic() - start, 1),
            "lines": lines,
            "error": done.stderr[-500:] if done.returncode not in (0, 1, 3) else "",
        }


def unchanged(number: int, folder: Path) -> dict[str, Any]:
    """One A/A check over all engines."""
    draw = random.Random(f"unchanged/{number}")
    rows, peers = draw.sample(SHARED_ROWS, ROWS_AT_ONCE), [name for name in PEERS if importlib.util.find_spec(name)]
    if number % 2:
        rows, peers = rows[:1], draw.sample(peers, min(PEERS_SIDE_BY_SIDE, len(peers)))
    engines = ["tapegrad", *peers]
    repository = Repository(folder, engines, rows)
    if number % 2:
        (folder / "README").write_text("unchanged\n")
        repository.commit()
        return {"what": "check --against", "rows": rows, **repository.call("check", "--against", "HEAD")}
    begun = repository.call("baseline", "update")
    if begun["code"]:
        return {"what": "baseline update", "rows": rows, **begun}
    return {"what": "check", "rows": rows, **repository.call("check")}


def planted(number: int, folder: Path, kind: str) -> dict[str, Any]:
    """One check with a fault in one row, beside rows without."""
    draw = random.Random(f"{kind}/{number}")
    whats = KINDS[kind]
    what = whats[number % len(whats)]
    row, *others = draw.sample(OWN_ROWS, 1 + OTHER_ROWS)
    repository = Repository(folder, ["subject:Subject"], [row, *others])
    (folder / "subject.py").write_text(HONEST)
    repository.commit()
    against = kind == "slower" or number // len(whats) % 2 == 1
    if not against:
        begun = repository.call("baseline", "update")
        if begun["code"]:
            return {"what": "baseline update", "rows": [row], **begun}
    (folder / "subject.py").write_text(
        PLANTED.format(body=BODIES[what], workload=row.split("/")[0], params=params_of(row))
    )
    called = repository.call("check", *(["--against", "HEAD"] if against else []))
    said = [match for line in called["lines"] if (match := re.match(r"fail\s+(\S+)@\S+ (\w+):", line))]
    return {
        "what": what,
        "verb": "check --against" if against else "check",
        "rows": [row],
        "caught": any(match[1] == row and match[2] in SAID_BY[what] for match in said),
        "accused": sorted({match[1] for match in said} - {row}),
        **called,
    }


def trial(kind: str, number: int, cores: list[int], hog: str) -> dict[str, Any]:
    """A trial on these cores, beside a hog if one is named."""
    os.sched_setaffinity(0, cores)
    with (
        tempfile.TemporaryDirectory(prefix="gate-trial-") as folder,
        running(hog) if hog else contextlib.nullcontext(),
    ):
        done = unchanged(number, Path(folder)) if kind == "unchanged" else planted(number, Path(folder), kind)
    return {"kind": kind, "number": number, "hog": hog, **done}


def record(path: Path, kind: str, trials: int, jobs: int, hogs: list[str], until_s: float, first: int | None) -> None:
    """Adds trials to the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if first is None:
        first = max((one["number"] + 1 for one in read(path) if one["kind"] == kind), default=0)
    cores_of_jobs = side_by_side.cores_of(jobs)
    start = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(len(cores_of_jobs)) as pool, open(path, "a") as file:

        def one(number: int) -> None:
            if time.monotonic() - start > until_s:
                return
            cores = free.pop()
            draw = random.Random(f"hog/{number}")
            hog = draw.choice(hogs) if hogs and draw.random() < BESIDE_HOG else ""
            told = json.dumps({"kind": kind, "number": number, "cores": cores, "hog": hog})
            done = subprocess.run(
                [sys.executable, __file__, "--one", told], capture_output=True, text=True, check=False
            )
            free.append(cores)
            if done.returncode:
                print(done.stderr[-2000:], file=sys.stderr)
                return
            file.write(done.stdout)
            file.flush()
            said = json.loads(done.stdout)
            print(number, said["what"], hog, said["code"], f"{said['seconds']} s", *said["lines"][:3], flush=True)

        free = list(cores_of_jobs)
        list(pool.map(one, range(first, first + trials)))


def read(path: Path) -> list[dict[str, Any]]:
    """The trials that are there."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def judge(trials: list[dict[str, Any]]) -> bool:
    """Prints what came of the trials, and whether the promises are kept."""
    kept = True
    same = [one for one in trials if one["kind"] == "unchanged"]
    for what in ("check", "check --against"):
        some = [one for one in same if one["what"] == what]
        if some:
            codes = {code: sum(one["code"] == code for one in some) for code in (0, 1, 3)}
            beside = sum(bool(one["hog"]) for one in some)
            print(
                f"nothing changed, {what}: {len(some)} trials, {beside} beside a hog: {codes[0]} pass, "
                f"{codes[1]} fail, {codes[3]} inconclusive, {len(some) - sum(codes.values())} could not be run; "
                f"{sum(one['seconds'] for one in some) / len(some):.0f} s each"
            )
    if same:
        failed = sum(one["code"] == 1 for one in same)
        kept &= 100 * failed <= len(same)
        for one in same:
            for line in one["lines"] if one["code"] == 1 else []:
                print("   ", line)
    for what in BODIES:
        some = [one for one in trials if one["what"] == what]
        if not some:
            continue
        caught, accused = sum(one["caught"] for one in some), sum(bool(one["accused"]) for one in some)
        print(f"{what}: {caught} of {len(some)} caught, another row accused in {accused}")
        missed = [
            f"{one['rows'][0]} ({one['verb']}{', ' + one['hog'] if one['hog'] else ''})"
            for one in some
            if not one["caught"]
        ]
        if missed:
            print("    missed:", ", ".join(missed))
        kept &= caught >= (0.98 if what == "8 % slower" else 1.0) * len(some) and 100 * accused <= len(some)
    unrun = [one for one in trials if one["code"] not in (0, 1, 3)]
    for one in unrun:
        print(f"could not be run: {one['kind']} {one['number']}: {one['error']}")
    print("KEPT" if kept and not unrun else "NOT KEPT")
    return kept and not unrun


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("kind", nargs="?", choices=["unchanged", *KINDS])
    options.add_argument("--trials", type=int, default=0, help="Trials to add; 0 judges what is there.")
    options.add_argument("--jobs", type=int, default=1, help="Trials at the same time, each on two cores.")
    options.add_argument("--hogs", default="", help=f"Beside a third of the trials: {', '.join(HOGS)}.")
    options.add_argument("--seconds", type=float, default=float("inf"), help="Begin none after so long.")
    options.add_argument("--first", type=int, help="Number of the first trial; default: after those in the file.")
    options.add_argument("--file", type=Path, action="append", help="Default: .gradmark/gate_trials.jsonl")
    options.add_argument("--one", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.one is not None:
        told = json.loads(chosen.one)
        print(json.dumps(trial(told["kind"], told["number"], told["cores"], told["hog"])))
        return
    hogs = [name for name in chosen.hogs.split(",") if name]
    files = chosen.file or [Path(".gradmark/gate_trials.jsonl")]
    if chosen.trials and chosen.kind is None:
        options.error("say what to try: unchanged, slower or small")
    if chosen.trials:
        record(files[0], chosen.kind, chosen.trials, chosen.jobs, hogs, chosen.seconds, chosen.first)
    sys.exit(0 if judge([one for path in files for one in read(path)]) else 1)


if __name__ == "__main__":
    main()
