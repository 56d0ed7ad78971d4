"""Work outside the timed calls: is the function evaluated there, and does a user wait for more than what is timed?

In: a prepared engine. Out: a status `untimed-work` that says where the work is done, or nothing. What new inputs and
reading take an engine whatever the function is, shows on a small function of the same inputs.
"""

import gc
import inspect
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from gradmark import units
from gradmark.engines.discovery import load
from gradmark.engines.protocol import Derivative, Session
from gradmark.measure.job import Result, Usual
from gradmark.measure.reference.elsewhere import STEPS, others
from gradmark.measure.worker.prepared import Prepared
from gradmark.measure.worker.session import number
from gradmark.measure.worker.timer import elapsed_ns
from gradmark.records import Code, Warning
from gradmark.workloads.workload import Workload

# Fresh inputs for which evaluations are counted: what the last of them says counts.
COUNTED = 2
# Iterations with fresh inputs, of which the fastest counts; fewer of long ones.
ROUNDS, ROUNDS_OF_LONG = 7, 2
# Calls before one `synchronize`: work that is left to it is done once for all of them.
TOGETHER, TOGETHER_OF_LONG = 10, 3
LONG_NS, VERY_LONG_NS = 2e6, 5e7
# Single calls can be told from each other by this much: caches are cold, pages are touched.
NOISE_NS = 3_000.0
# What an engine needs whatever the function is varies by this factor with what else it did.
VARIES = 2.0
# So often, with other inputs and at its fastest, must work be seen elsewhere before it is believed.
TIMES = 5
# So often is it measured what the engine needs whatever the function is, before that excuses anything.
USUAL_TIMES = 3
# Results are kept if the next call for the same inputs is faster by this factor: more than caches and pages explain.
KEPT = 3.0
# Reading a result once more is never faster than the first time by more than this and, of arrays, what each byte takes
# to copy from a device. Where nobody knows what an engine needs whatever the function is, it is suspicious.
LATE_NS, COPYING_NS = 50_000.0, 1.0


class Timed(NamedTuple):
    """How calls were timed: so many in a row, and what each took."""

    iterations: int
    time_ns: float


class Outside(NamedTuple):
    """What came of looking: a failure, a suspicion, and what the engine needs whatever the function is, if known."""

    failed: Result | None = None
    warnings: Sequence[Warning] = ()
    usual: Usual | None = None


# --- evaluations


def evaluations(workload: Workload, call: Callable[[], Any]) -> int:
    """How often the function itself is called meanwhile, in this thread: an engine that compiled it does not."""
    code = getattr(inspect.unwrap(workload.function), "__code__", None)
    calls = 0

    def look(frame: Any, event: str, _argument: Any) -> None:
        nonlocal calls
        calls += event == "call" and frame.f_code is code

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(before)
    return calls


def evaluated_outside(prepared: Prepared, iteration_ns: float) -> Result | None:
    """A result if the function is evaluated when inputs are taken or results are read, or only for new inputs.

    Long iterations are not looked at, which would make them longer: their times tell the same.
    """
    if iteration_ns > LONG_NS:
        return None
    workload, session = prepared.workload, prepared.session
    first, counts = prepared.copy_of_inputs(), {}
    try:
        for place in range(COUNTED):  # an engine may compile once more for the first inputs that it did not begin with
            prepared.write(others(workload, first, STEPS[-1], place))
            counts = {
                "move": evaluations(workload, lambda: session.move and session.move(prepared.inputs)),
                "new": evaluations(workload, prepared.iterate),
                "read": evaluations(workload, lambda: _read(session, None, workload.kind)),
                "same": evaluations(workload, prepared.iterate),
            }
    finally:
        prepared.move(first)
    if counts["read"]:
        return _untimed("the function is evaluated when the result is read, not in the calls that are timed")
    if counts["move"]:
        return _untimed("the function is evaluated in `move`, which is not timed: it must only take the inputs over")
    if counts["new"] > counts["same"]:
        return _untimed("the function is evaluated for new inputs, but not for the same ones again: a result is kept")
    return None


# --- times


class Spent(NamedTuple):
    """What a user waits for, by part, each at its fastest."""

    move_ns: float  # taking new inputs over
    new_ns: float  # the calls, once, for new inputs
    read_ns: float  # value and gradient, the first time
    again_ns: float  # and once more
    same_ns: float  # the calls, once, for the same inputs, after the same pause
    busy_ns: float  # the calls, some times in a row
    waiting_ns: float  # what `synchronize` takes, however many calls were made
    timed_ns: float  # the calls, as they are timed

    @property
    def usual(self) -> Usual:
        """What of it an engine needs whatever the function is, if the function is a small one."""
        return Usual(
            outside_ns=self.move_ns + self.read_ns,
            pending_ns=max(0.0, self.read_ns - self.again_ns),
            new_ns=max(0.0, self.new_ns - self.same_ns),
            waiting_ns=max(0.0, self.waiting_ns),
        )


def paid_outside(
    prepared: Prepared, iteration_ns: float, timed: Timed | None = None, usual: Usual | None = None
) -> Outside:
    """Whether a user waits for much that is not timed: it is done elsewhere, or only for new inputs.

    timed: how the calls were timed, and usual: what the engine needs whatever the function is, as far as is known.
    """
    first = prepared.copy_of_inputs()
    active = [first[place] for place in prepared.active]
    known, small, spent = usual is not None, None, None
    gc.collect()
    gc.disable()
    try:
        for attempt in range(TIMES):
            again = _spent(prepared, prepared.session, first, iteration_ns, COUNTED + attempt * ROUNDS)
            if timed is not None:
                again = again._replace(timed_ns=_timed_ns(prepared, timed))
            spent = again if spent is None else Spent(*map(min, spent, again))
            if not any(excesses(spent, NOTHING, active).values()):
                return Outside(usual=usual)
            if not known and attempt == 0:
                small = small_session(prepared)
            if small is not None:
                usual = lower(usual, usual_of(prepared, small, first))
            beyond = excesses(spent, usual or NOTHING, active)
            if not any(beyond.values()) and (known or attempt + 1 >= USUAL_TIMES):
                return Outside(usual=usual)
    finally:
        gc.enable()
        prepared.move(first)
    where = max(beyond, key=lambda words: beyond[words])
    if usual is None:
        late_ns = beyond[where]
        warning = Warning(code=Code.UNFINISHED, numbers={"late_ns": late_ns})
        return Outside(warnings=[warning] if late_ns > LATE_NS else [])
    return Outside(failed=_untimed(where), usual=usual)


NOTHING = Usual(outside_ns=0.0, pending_ns=0.0, new_ns=0.0, waiting_ns=0.0)


def excesses(spent: Spent, usual: Usual, inputs: Sequence[Any]) -> dict[str, float]:
    """By how much each part is beyond what can be explained, 0 if it is not, with what is wrong then, in words.

    Not so much as the work itself takes is ever wrong: what is shown is then at least half of what a user waits for.
    """
    shown = Spent(*map(units.time, (max(0.0, ns) for ns in spent)))  # type: ignore[arg-type]
    pending, at_first = spent.read_ns - spent.again_ns, min(spent.new_ns, spent.same_ns, spent.busy_ns)
    copying_ns = LATE_NS + COPYING_NS * sum(getattr(x, "nbytes", 8) for x in inputs)
    beyond = {
        f"taking new inputs over takes {shown.move_ns}, reading the result {shown.read_ns}, a timed call "
        f"{shown.timed_ns}: the work is done there": (
            spent.move_ns + spent.read_ns - spent.busy_ns - VARIES * usual.outside_ns - NOISE_NS
        ),
        f"reading a result takes {shown.read_ns} the first time, {shown.again_ns} the second, a timed call "
        f"{shown.timed_ns}: the work is done when it is read": (
            pending - spent.busy_ns - min(VARIES * usual.pending_ns + NOISE_NS, copying_ns)
        ),
        f"a call takes {shown.new_ns} for new inputs, {shown.same_ns} for the same ones: a result is kept": (
            spent.new_ns - KEPT * spent.same_ns - usual.new_ns - NOISE_NS
        ),
        f"a call takes {units.time(at_first)} at first, {shown.timed_ns} when it is timed: a result is kept": (
            at_first - KEPT * spent.timed_ns - NOISE_NS
        ),
        f"`synchronize` takes {shown.waiting_ns} for any number of calls, a timed one {shown.timed_ns}: the work is "
        "done there": spent.waiting_ns - spent.timed_ns - VARIES * usual.waiting_ns - NOISE_NS,
    }
    return {words: max(0.0, ns) for words, ns in beyond.items()}


def small_session(prepared: Prepared) -> Session | None:
    """The engine on a small function of the same inputs; None if it cannot do that."""
    try:
        engine = load(prepared.cell.engine)  # another one: engines may keep what they compiled for the last function
        session = prepared.make(engine, squares(prepared.workload), of_squares(prepared.derivative))
        for call in prepared.calls(session):
            call()
    except Exception:  # whatever an engine raises at a function that nobody asked it for
        return None
    return session


def usual_of(prepared: Prepared, small: Session, first: Sequence[Any]) -> Usual | None:
    """What the engine needs whatever the function is; None if it fails at the small one."""
    try:
        return _spent(prepared, small, first, 0.0, 0).usual
    except Exception:  # as above
        return None


def lower(one: Usual | None, other: Usual | None) -> Usual | None:
    """The lower of both, by part: whatever else the machine did made it more."""
    if one is None or other is None:
        return one or other
    return Usual(**{part: min(getattr(one, part), getattr(other, part)) for part in Usual.__struct_fields__})


def squares(workload: Workload) -> Workload:
    """The sum of the squares of the same inputs: a function that hardly takes any time."""

    def function(ops: Any, *inputs: Any, **_sizes: Any) -> Any:
        active = [x for x in inputs if getattr(getattr(x, "dtype", None), "kind", "f") == "f"]
        terms = [x * x if workload.kind == "scalar" else ops.sum(x * x) for x in active]
        total = sum(terms[1:], terms[0])
        if workload.result == "number":
            return total
        return [total] if workload.kind == "scalar" else ops.reshape(total, (1,))

    # the names of inputs say which are fixed
    function.__signature__ = inspect.signature(workload.function)  # type: ignore[attr-defined]
    return replace(workload, function=function, gradient=None)


def of_squares(derivative: Derivative) -> Derivative:
    """The same of the sum of squares, which is one number where the function has several."""
    if not derivative.shape:
        return derivative
    first = derivative.cotangent
    one = first[:1] if isinstance(first, list) else first if first is None else first.reshape(-1)[:1]
    return replace(derivative, cotangent=one, shape=(1,))


def _spent(prepared: Prepared, session: Session, first: Sequence[Any], iteration_ns: float, place: int) -> Spent:
    """Each part over some rounds with fresh inputs, and as many with the same ones."""
    calls, finish, move = prepared.calls(session), session.synchronize, session.move
    kind, clock = prepared.workload.kind, time.perf_counter_ns
    turns_ns = []
    for turn in range(ROUNDS if iteration_ns < LONG_NS else ROUNDS_OF_LONG if iteration_ns < VERY_LONG_NS else 1):
        prepared.write(others(prepared.workload, first, STEPS[-1], place + turn), session)
        start = clock()
        if move is not None:
            move(prepared.inputs)
        moved = clock()
        returned = [call() for call in calls]
        finish()
        called = clock()
        _read(session, returned[0], kind)
        read = clock()
        _read(session, returned[0], kind)
        again = clock()
        # the same ones: as long a pause, and as little left in the caches
        prepared.write(others(prepared.workload, first, STEPS[-1], place + turn), session)
        resumed = clock()
        for call in calls:
            call()
        finish()
        turns_ns.append((moved - start, called - moved, read - called, again - read, clock() - resumed))
    rounds = ROUNDS if iteration_ns < LONG_NS else 1
    together = TOGETHER if iteration_ns < LONG_NS else TOGETHER_OF_LONG if iteration_ns < VERY_LONG_NS else 1
    busy_ns = _in_a_row_ns(prepared, session, together, rounds)
    waiting_ns = 0.0
    if finish is not Session().synchronize and iteration_ns < LONG_NS:  # longer ones are timed one by one
        waiting_ns = 2 * together * (busy_ns - _in_a_row_ns(prepared, session, 2 * together, rounds))
    return Spent(*(float(min(part)) for part in zip(*turns_ns, strict=True)), busy_ns, waiting_ns, busy_ns)  # type: ignore[call-arg]


def _timed_ns(prepared: Prepared, timed: Timed) -> float:
    """What the calls take when they are timed: as they did, or as they do now, if the machine is slower by now."""
    return max(timed.time_ns, _in_a_row_ns(prepared, prepared.session, timed.iterations, 2))


def _in_a_row_ns(prepared: Prepared, session: Session, together: int, rounds: int) -> float:
    """A call of so many in a row at the same inputs, waited for once."""
    calls = prepared.calls(session)
    return min(elapsed_ns(calls, together, session.synchronize) for _ in range(rounds)) / together


def _read(session: Session, returned: Any, kind: str) -> None:
    """Reads value and gradient as numbers. Whether they are right is seen elsewhere: that would take time here."""
    number(returned if session.value is None else session.value())
    if session.result is not None:
        _read_all(session.result())
    elif session.gradients is None:
        return
    elif kind == "scalar":
        for part in session.gradients():
            float(part)
    else:
        import numpy as np

        for part in session.gradients():
            np.asarray(part)


def _read_all(result: Any) -> None:
    """Reads every number of a derivative: a number, a list of numbers or arrays, a matrix."""
    import numpy as np

    if hasattr(result, "tocsr"):
        np.asarray(result.data)
        return
    for part in result if isinstance(result, list | tuple) else [result]:
        float(part) if isinstance(part, float) else np.asarray(part)


def _untimed(message: str) -> Result:
    return Result(status="untimed-work", message=message)
