"""Progress: a bar in a terminal, one line that changes in a notebook, plain lines in a log; with the time that is left.

In: the orchestrator's steps. Out: what is done, of how many. Nothing is silent for longer than ten seconds.
"""

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from gradmark.commands.terminal import console, say

if TYPE_CHECKING:
    from gradmark.measure.orchestrator import Step

# A log gets a line this often, and one at the start of every round.
LINE_EVERY_S = 10.0
Watch = Callable[["Step"], None]


@contextlib.contextmanager
def progress() -> Iterator[Watch]:
    """A function that shows steps, while it lasts."""
    from gradmark.commands import notebook

    with bar() if sys.stderr.isatty() else notebook.line() if notebook.is_here() else lines() as watch:
        yield watch


@contextlib.contextmanager
def bar() -> Iterator[Watch]:
    """In a terminal."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = [
        BarColumn(20),
        TextColumn("{task.completed}/{task.total}"),
        TimeRemainingColumn(elapsed_when_finished=True),
        TextColumn("{task.description}", markup=False),
    ]
    pace = Pace()
    with Progress(*columns, console=console(err=True), transient=True) as shown:
        task = shown.add_task("", total=None)

        def watch(step: "Step") -> None:
            if pace.begins(step):
                shown.reset(task, total=step.total, completed=step.done)
            pace.note(step, time.monotonic())
            shown.update(task, completed=step.done, description=f"{_stage(step)}: {step.cell}")

        yield watch


@contextlib.contextmanager
def lines(write: Callable[[str], None] | None = None, every_s: float = LINE_EVERY_S) -> Iterator[Watch]:
    """In a log: a line at every round, and one every ten seconds whatever the workers do."""
    shown = _Lines(write or _to_stderr, every_s)
    with _every(every_s, lambda _elapsed_s: shown.again()):
        yield shown.watch


class _Lines:
    """The lines of a log, written by whoever does the steps and by a clock."""

    def __init__(self, write: Callable[[str], None], every_s: float) -> None:
        self.write = write
        self.every_s = every_s
        self.pace = Pace()
        self.lock = threading.Lock()
        self.written_s = 0.0

    def watch(self, step: "Step") -> None:
        """A line if a round begins."""
        with self.lock:
            latest = self.pace.latest
            self.pace.note(step, time.monotonic())
            if step.done < step.total and (latest is None or _stage(step) != _stage(latest)):
                self._line(step)

    def again(self) -> None:
        """A line, unless a round has just begun."""
        with self.lock:
            if self.pace.latest is not None and time.monotonic() - self.written_s > self.every_s / 2:
                self._line(self.pace.latest)

    def _line(self, step: "Step") -> None:
        self.written_s = time.monotonic()
        self.write(line(step, self.pace.left_s(self.written_s)))


@contextlib.contextmanager
def working(text: str, *, quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """Work without steps, such as a build: said at once, unless `quiet`, and every ten seconds that it goes on.

    Gives a function that changes the text.
    """
    current = [text]
    if not quiet:
        _to_stderr(text)
    with _every(LINE_EVERY_S, lambda elapsed_s: _to_stderr(f"{current[0]}: {duration(elapsed_s)} so far")):
        yield lambda changed: current.__setitem__(0, changed)


class Pace:
    """How fast steps of one kind are done, and so how long the rest takes."""

    def __init__(self) -> None:
        self.first: tuple[Step, float] | None = None  # and when it was
        self.latest: Step | None = None

    def begins(self, step: "Step") -> bool:
        """Whether a step is the first of its kind: what came before says nothing of its pace."""
        latest = self.latest
        return latest is None or (latest.kind, latest.total) != (step.kind, step.total) or step.done < latest.done

    def note(self, step: "Step", now_s: float) -> None:
        """One step more."""
        if self.begins(step):
            self.first = step, now_s
        self.latest = step

    def left_s(self, now_s: float) -> float | None:
        """None while nothing was done that it could be told from."""
        if self.first is None or self.latest is None:
            return None
        first, start_s = self.first
        steps = self.latest.done - first.done
        return (now_s - start_s) / steps * (self.latest.total - self.latest.done) if steps else None


def line(step: "Step", left_s: float | None) -> str:
    """A step as a line of a log: `round 2 of 5: 37 of 160 samples, about 40 s left`."""
    from gradmark.report.model.characters import plural

    total = plural(step.total, "sample" if step.kind == "sample" else "cell")
    left = f", about {duration(left_s)} left" if left_s is not None else ""
    return f"{_stage(step)}: {step.done} of {total}{left}"


def duration(seconds: float) -> str:
    """In the unit that one would say it in.

    >>> duration(40.2), duration(130), duration(4000)
    ('40 s', '2 min', '1 h 7 min')
    """
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _stage(step: "Step") -> str:
    if step.kind == "sample":
        return f"round {step.round} of {step.rounds}" if step.rounds else f"round {step.round}, one more"
    if step.kind == "row":
        return "on the fleet"
    return "inspecting" if step.kind == "inspection" else "counting instructions"


def _to_stderr(text: str) -> None:
    say(text, err=True)


@contextlib.contextmanager
def _every(seconds: float, act: Callable[[float], None]) -> Iterator[None]:
    """Calls a function with the time that has passed, again and again, from a thread of its own."""
    over, start_s = threading.Event(), time.monotonic()

    def wait() -> None:
        while not over.wait(seconds):
            act(time.monotonic() - start_s)

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
