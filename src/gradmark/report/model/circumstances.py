"""The circumstances: how a run was measured, as far as a reader of its numbers must know.

In: a run. Out: notes on the machine, the clock, devices, times that engines took themselves, and the harness.
"""

from collections.abc import Iterator

from gradmark import units
from gradmark.analyse.calm import machine
from gradmark.records import Machine, Run
from gradmark.records.metric import harness_ns
from gradmark.report.model.characters import one_line, plural, some
from gradmark.report.model.note import Note, info, quoted, warning
from gradmark.report.model.rows import Row
from gradmark.report.model.words import LOOK, SELF_TIMED

# So much of the time a machine is calm that nobody need think of it, and so little that few blocks are left.
CALM_ENOUGH, HARDLY_CALM = 0.995, 0.2
# By how much a run's clock must differ from the usual one to be worth a word: rows repeat within as much at best.
CLOCK_WORTH_A_WORD = 0.01


def circumstances(run: Run, fine: list[Row]) -> Iterator[Note]:
    """All of them; `fine` are the rows that were measured."""
    yield from calmness(run)
    yield from _machines(run)
    yield from _devices(run)
    yield from _self_timed(fine)
    yield from _transcripts(run)
    yield from _workers(run)
    yield from _harness(run)


def calmness(run: Run) -> Iterator[Note]:
    """How calm the machine was, in one sentence or two; nothing if nothing was timed."""
    watched = machine(run.measurements)
    if watched.calm is None:
        if any(m.samples for m in run.measurements):
            yield info(
                "machine: an older version made this run, without pilots; all blocks count as calm, at any clock speed."
            )
        return
    clock = _clock(watched)
    if watched.calm >= CALM_ENOUGH:
        yield info(f"machine: calm all the time.{clock}")
        return
    slow = f"; when slow, work took {watched.slowness:.1f} times as long" if watched.slowness else ""
    share = f"for {100 * watched.calm:.0f} % of the measuring time{slow}. Times come from calm blocks"
    if watched.calm >= HARDLY_CALM:
        yield info(f"machine: calm {share}.{clock}")
    else:
        yield warning(
            f"machine: calm only {share}, and few blocks were calm. Close other programs, or measure again later; "
            f"{LOOK}.{clock}"
        )


def _clock(watched: Machine) -> str:
    """A sentence if the run's own clock was not the one at which its times are stated."""
    if (
        watched.own_ns is None
        or watched.core_ns is None
        or abs(watched.core_ns / watched.own_ns - 1.0) < CLOCK_WORTH_A_WORD
    ):
        return ""
    percent = 100 * (watched.core_ns / watched.own_ns - 1.0)
    speed = f"{abs(percent):.0f} % {'faster' if percent > 0 else 'slower'}"
    return f" Its clock was {speed} than usual; times are stated at its usual clock."


def _machines(run: Run) -> Iterator[Note]:
    """Which machines of a fleet took part, and which rows went from one to another."""
    if not run.machines:
        return
    names = [machine.instance for machine in run.machines]
    yield info(f"fleet: measured on {plural(len(names), 'machine')} of one class: {some(names)}; each row on one.")
    moved = [m.cell.row for m in run.measurements if len({sample.machine for sample in m.samples}) > 1]
    if moved:
        yield warning(
            f"moved: {some(list(dict.fromkeys(moved)))}. The machine was lost, and another one of its class measured "
            "the rest. Within a round, all engines of a row ran on the same machine: ratios hold, times mix two "
            "machines."
        )


def _devices(run: Run) -> Iterator[Note]:
    """Whose memory it is, where it is not the host's."""
    engines = dict.fromkeys(m.cell.engine for m in run.measurements if m.memory is not None and m.memory.of_device)
    if engines:
        whose = "its device" if len(engines) == 1 else "their devices"
        yield info(
            f"device: memory and allocations of {some(list(engines))} are those of {whose}, by the engine's own "
            "counters; what the host allocates is not included."
        )


def _self_timed(fine: list[Row]) -> Iterator[Note]:
    """Whose word is taken for a time."""
    engines = dict.fromkeys(row.engine for row in fine if row.time is not None and row.time.how == "self-timed")
    if engines:
        yield info(
            f"self-timed: the times of {some(list(engines))}, marked {SELF_TIMED}, are those that it reports of its "
            "own runs; its gradients were checked here. The first run of each message is left out, and the first of "
            "all is in its first call. Its memory, and what it does between runs, are not counted."
        )


def _transcripts(run: Run) -> Iterator[Note]:
    """Where to read what was said to a program that failed."""
    failed = [m.cell for m in run.measurements if m.transcript]
    if failed:
        names = dict.fromkeys(f"{one_line(cell.row)} on {one_line(cell.engine)}" for cell in failed)
        yield info(
            f"transcript: the messages exchanged before {some(list(names))} failed are in the run file; the page of "
            f"`{quoted(['gradmark', 'report', run.id])}` shows it."
        )


def _workers(run: Run) -> Iterator[Note]:
    """What is not measured for each process by itself, because compilers of many engines would take too long."""
    if run.settings.shared_cache and any(m.samples for m in run.measurements):
        yield info(
            "workers: later processes of an engine reused what its first process compiled, so its first call is "
            "that of its first process. With `--full` or fewer engines, every process compiles for itself."
        )


def _harness(run: Run) -> Iterator[Note]:
    """What the harness itself costs, because it is not in the numbers."""
    cost = harness_ns(*run.measurements)
    if cost is not None:
        yield info(
            f"harness: an empty call takes {units.time(cost)} here. This is subtracted from each call, "
            "accurate to 5 ns."
        )
