"""Does a kill lose anything, or leave anything behind? Verbs are killed at random moments, and what is left is seen.

    python benchmarks/kills.py                        200 kills over all verbs: about 10 minutes
    python benchmarks/kills.py --kills 20 --verb run  some, of one verb; repeatable
    python benchmarks/kills.py --seed 7               other moments
    python benchmarks/kills.py --jobs 8               eight processes, two cores for each, with the seeds 0 to 7

Every verb that works for a while runs in a repository of its own, on rows that take a second or two, and gets SIGKILL
(half of the time), SIGTERM or SIGINT at a moment that is drawn from the time that it takes.

Promised, after each kill:

    lost        every run file has all whole lines that it had at the kill, and can be read; a finished one is the same
    baseline    the file is the old one, or a new one that can be read
    processes   none is left after 3 s, in whatever session
    folders     no temporary folder is left after 3 s
    tracebacks  what SIGTERM and SIGINT end says so in words; before Python has come to gradmark itself it may not

Exit code 1 if one of these is broken. Linux only: nothing else shows what a process was started by.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import side_by_side

from gradmark.errors import GradmarkError
from gradmark.isolation import janitor
from gradmark.store import baselines, runs

MANY = [f"--engine={name}" for name in ("tapegrad", "tapegrad:program", "null", "manual", "python-floats")]
LITTLE = ["--processes=2", "--no-memory"]
VERBS = {
    "run": ["run", "expression", *LITTLE],
    "run of a file": ["run", "mine.py", "--engine=mine:Mine", *LITTLE],
    "run of five engines": ["run", "expression", *MANY, *LITTLE],
    "run --resume": ["run", "--resume", "latest"],
    "compare": ["compare", "first", "second"],
    "check": ["check"],
    "check --against": ["check", "--against", "HEAD", "--pairs", "2"],
    "baseline update": ["baseline", "update"],
    "contract": ["contract", *LITTLE],
    "scale": ["scale", "poly", *LITTLE],
    "ops": ["ops", "scalar", *LITTLE],
    "hypothesis": ["hypothesis", "reuse-allocations", *LITTLE],
    "audit": ["audit", "-k", "allocation"],
    "report": ["report", "first", "second"],
    "history": ["history"],
    "list": ["list"],
    "doctor": ["doctor", "--seconds", "2"],
}
FILES = {
    "mine.py": """
import gradmark
from gradmark.engines.tapegrad import Tapegrad

@gradmark.workload(suite="mine", stresses="a product")
def product(ops, x):
    return x * x

class Mine(Tapegrad):
    name = "mine"
""",
    "pyproject.toml": """
[tool.gradmark]
build = ""
select = ["mine.py"]
engines = ["mine:Mine"]
""",
    ".gitignore": ".gradmark/\n*.html\n__pycache__/\n",
}
SIGNALS = [signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT]
# A verb that takes longer is killed in its first seconds.
MOST_S = 6.0
PATIENCE_S = 3.0
# What starts gradmark as its script does. A shell's background jobs ignore SIGINT.
BEGIN = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from gradmark.commands.main import main; main()"
)
# With what the traceback of an interruption begins that came before `main`, and whose doing it is.
BEFORE_MAIN = 'File "<string>", line 1, in <module>'


@dataclass
class Tally:
    """What was seen of one verb."""

    kills: Counter[str] = field(default_factory=Counter)  # by signal; "" for what had ended by itself
    longest_s: float = 0.0  # until the last process was gone
    broken: list[str] = field(default_factory=list)

    def add(self, other: "Tally") -> None:
        """What another process saw of the same verb."""
        self.kills += other.kills
        self.longest_s = max(self.longest_s, other.longest_s)
        self.broken += other.broken


class Lab:
    """A repository with a baseline and two runs, and a temporary folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.temporary = folder / "repository", folder / "temporary"
        self.mark = f"KILLED_BY={os.getpid()}.{time.monotonic_ns()};"
        for path in (self.folder, self.temporary):
            path.mkdir(parents=True)
        for name, text in FILES.items():
            (self.folder / name).write_text(text)
        git = ["git", "-c", "user.name=n", "-c", "user.email=e"]
        for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "first"]):
            subprocess.run([*git, *words], cwd=self.folder, check=True)
        for arguments in (VERBS["baseline update"], VERBS["run"], VERBS["run"]):
            done = self.start(arguments)
            if done.wait() not in (0, 3):
                raise SystemExit(f"`gradmark {' '.join(arguments)}` ended with {done.returncode}: {self.said()}")
        kept = [path for path in sorted(self.store.glob("*.jsonl")) if runs.load(path).verb == "run"]
        self.names = {"first": kept[0].stem, "second": kept[1].stem}

    @property
    def store(self) -> Path:
        """Where the run files are."""
        return self.folder / runs.FOLDER

    @property
    def baseline(self) -> Path:
        """The file of the baseline."""
        return self.folder / baselines.FILE

    def start(self, arguments: Sequence[str]) -> "subprocess.Popen[bytes]":
        """`gradmark` with a mark that all it starts has, too."""
        names = getattr(self, "names", {})
        environment = {**os.environ, "TMPDIR": str(self.temporary), "KILLED": self.mark}
        with open(self.temporary.parent / "said", "wb") as said:
            return subprocess.Popen(
                [sys.executable, "-c", BEGIN, *(names.get(word, word) for word in arguments)],
                cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said,
                start_new_session=True,
            )  # fmt: skip

    def interrupt(self) -> None:
        """Leaves a run that somebody can go on with."""
        kept = set(self.store.iterdir())
        started = self.start(VERBS["run"])
        while set(self.store.glob("*.jsonl")) <= kept and started.poll() is None:
            time.sleep(0.01)
        started.kill()
        started.wait()
        wait_until(lambda: not left(self), PATIENCE_S)

    def said(self) -> str:
        """What the last one said on standard error."""
        return (self.temporary.parent / "said").read_text(errors="replace")


@dataclass(frozen=True)
class Kept:
    """What is on the disk at one moment."""

    journals: dict[str, bytes]
    baseline: bytes

    @classmethod
    def of(cls, lab: Lab) -> "Kept":
        """All of it, now."""
        return cls({path.name: path.read_bytes() for path in lab.store.glob("*.jsonl")}, lab.baseline.read_bytes())


def lost(before: Kept, lab: Lab) -> list[str]:
    """What of it is not there any more, or cannot be read."""
    problems = []
    now = Kept.of(lab)
    for name, data in before.journals.items():
        whole = data[: data.rfind(b"\n") + 1]
        if not now.journals.get(name, b"").startswith(whole):
            problems.append(f"lost: {name} has not all {len(whole)} bytes that it had")
    for name in now.journals:
        try:
            runs.load(lab.store / name)
        except GradmarkError as error:
            problems.append(f"lost: {error}")
    try:
        baselines.load(lab.baseline)
    except GradmarkError as error:
        problems.append(f"baseline: {error}")
    return problems


def wait_until(over: Callable[[], bool], within_s: float) -> float:
    """The seconds that it took, at most so many."""
    start = time.monotonic()
    while not over() and time.monotonic() - start < within_s:
        time.sleep(0.01)
    return time.monotonic() - start


def left(lab: Lab) -> list[str]:
    """Processes and folders that are still there."""
    processes = [f"processes: {pid} {_command(pid)}" for pid in janitor.marked(lab.mark)]
    return processes + [f"folders: {path.name}" for path in lab.temporary.iterdir()]


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").replace("\0", " ")[:200]
    except OSError:
        return "(just gone)"


def kill(lab: Lab, arguments: Sequence[str], after_s: float, number: signal.Signals) -> tuple[bool, float, list[str]]:
    """Whether it was still at work, the seconds until nothing was left, and which promises were broken."""
    if "--resume" in arguments:
        lab.interrupt()
    started = lab.start(arguments)
    wait_until(lambda: started.poll() is not None, after_s)
    killed = started.poll() is None
    before = Kept.of(lab)
    if killed:
        started.send_signal(number)
    took_s = wait_until(lambda: started.poll() is not None and not left(lab), PATIENCE_S)
    problems = left(lab)
    janitor.end(lambda: janitor.marked(lab.mark))
    started.wait()
    problems += lost(before, lab)
    said = lab.said()
    if "Traceback" in said and BEFORE_MAIN not in said.partition("Traceback")[2][:200]:
        problems.append(f"tracebacks: {said[-300:]}")
    for path in lab.temporary.iterdir():  # each is told once
        shutil.rmtree(path, ignore_errors=True)
    return killed, took_s, problems


def duration(lab: Lab, arguments: Sequence[str]) -> float:
    """How long a verb takes if nobody kills it."""
    if "--resume" in arguments:
        lab.interrupt()
    started = lab.start(arguments)
    took_s = wait_until(lambda: started.poll() is not None, MOST_S)
    if started.poll() is None:
        started.terminate()
    elif started.poll() == 2:  # what is refused does not work for a while
        raise SystemExit(f"`gradmark {' '.join(arguments)}` ended with 2: {lab.said()}")
    started.wait()
    return took_s


def show(tallies: dict[str, Tally]) -> bool:
    """The table; whether every promise was kept."""
    print("| verb | killed | ended by itself before | longest until nothing was left | broken |")
    print("|---|---|---|---|---|")
    for verb, tally in tallies.items():
        kills = ", ".join(f"{count} {name}" for name, count in sorted(tally.kills.items()) if name)
        print(f"| {verb} | {kills or 0} | {tally.kills['']} | {tally.longest_s:.2f} s | {len(tally.broken)} |")
    for verb, tally in tallies.items():
        for problem in tally.broken:
            print(f"BROKEN    {verb}: {problem}")
    count = sum(count for tally in tallies.values() for name, count in tally.kills.items() if name)
    broken = sum(len(tally.broken) for tally in tallies.values())
    print(
        f"{'KEPT' if not broken else 'NOT KEPT':9} nothing lost and nothing left after {count} kills: {broken} broken"
    )
    return not broken


def kill_all(verbs: Sequence[str], kills: int, seed: int) -> dict[str, Tally]:
    """So many kills over these verbs, in turns; which verb comes first is drawn too."""
    draw = random.Random(seed)
    tallies = {verb: Tally() for verb in verbs}
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(Path(folder))
        durations = {verb: duration(lab, VERBS[verb]) for verb in verbs}
        done, turn = 0, draw.randrange(len(verbs))
        while done < kills:
            verb, number = verbs[turn % len(verbs)], draw.choice(SIGNALS)
            turn += 1
            after_s = draw.uniform(0.0, durations[verb])
            killed, took_s, problems = kill(lab, VERBS[verb], after_s, number)
            seen = Tally(Counter([number.name if killed else ""]), took_s)
            seen.broken = [f"seed {seed}, {number.name} after {after_s:.2f} s: {problem}" for problem in problems]
            tallies[verb].add(seen)
            done += killed
            if sys.stderr.isatty():
                print(f"\r{done} of {kills}", end="", file=sys.stderr, flush=True)
    return tallies


def kill_side_by_side(verbs: Sequence[str], kills: int, seed: int, jobs: int) -> tuple[dict[str, Tally], bool]:
    """The same by several processes, and whether each of them came to its end."""
    cores = side_by_side.cores_of(jobs)
    tallies = {verb: Tally() for verb in verbs}
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{k}.json" for k in range(len(cores))]
        words = [
            ["--kills", str(share), "--seed", str(seed + k), "--file", str(files[k])]
            + [f"--verb={verb}" for verb in verbs]
            for k, share in enumerate(side_by_side.shares(kills, len(cores)))
        ]
        codes = side_by_side.run(__file__, words, cores)
        for path in files:
            told = json.loads(path.read_text()) if path.exists() else {}
            for verb, seen in told.items():
                tallies[verb].add(Tally(Counter(seen["kills"]), seen["longest_s"], seen["broken"]))
    for k, code in enumerate(codes):
        if code not in (0, 1):
            print(f"NOT KEPT  the process with seed {seed + k} ended with exit code {code}")
    return tallies, all(code in (0, 1) for code in codes)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--kills", type=int, default=200)
    options.add_argument("--verb", action="append", choices=list(VERBS), help="Only these; repeatable.")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--jobs", type=int, default=1, help="Processes at the same time, each on two cores.")
    options.add_argument("--file", type=Path, help=argparse.SUPPRESS)  # where a process of several says what it saw
    chosen = options.parse_args()
    verbs = chosen.verb or list(VERBS)
    if chosen.jobs > 1:
        tallies, ended = kill_side_by_side(verbs, chosen.kills, chosen.seed, chosen.jobs)
    else:
        tallies, ended = kill_all(verbs, chosen.kills, chosen.seed), True
    if chosen.file is not None:
        chosen.file.write_text(json.dumps({verb: vars(tally) for verb, tally in tallies.items()}))
        return
    sys.exit(not (show(tallies) and ended))


if __name__ == "__main__":
    main()
