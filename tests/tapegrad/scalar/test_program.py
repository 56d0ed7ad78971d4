"""Programs: replay at one point and at many, shapes, guards, threads, errors."""

import _thread
import math
import numbers
import signal
import sys
import threading

import numpy as np
import pytest

import tapegrad
from tapegrad import GuardError, InputError, Tape
from tapegrad.scalar.batching import vector_library


def frozen(f, *values, one_input=False):
    tape = Tape()
    xs = [tape.var(v) for v in values]
    return tape.freeze(xs[0] if one_input else xs, f(*xs))


def mixed(x, y):
    return x * y + tapegrad.sin(x) / (2.0 + y * y) - 3.0


def mixed_gradient(x, y):
    d = 2.0 + y * y
    return [y + math.cos(x) / d, x - 2.0 * y * math.sin(x) / (d * d)]


def test_value_and_gradient_at_other_points():
    program = frozen(mixed, 1.0, 2.0)
    for given in ([0.5, -1.0], (3.0, 0.0), np.array([-2.0, 0.25]), [np.float32(1.5), 2]):
        value, gradient = program.value_and_grad(given)
        point = [float(x) for x in given]
        assert value == program(given)
        assert value == pytest.approx(mixed(*point), rel=1e-15)
        assert gradient == pytest.approx(mixed_gradient(*point), rel=1e-14)
    assert program(iter([1.0, 1.0])) == program([1.0, 1.0])
    assert program.value_and_grad(iter([1.0, 1.0]))[1].tolist() == program.value_and_grad([1.0, 1.0])[1].tolist()


def test_one_input_and_one_output_are_numbers():
    program = frozen(lambda x: x * x, 1.0, one_input=True)
    assert program(3) == 9.0
    assert program.value_and_grad(3.0) == (9.0, 6.0)
    values, gradients = program.batch(np.array([1.0, 2.0]))
    assert (values.tolist(), gradients.tolist()) == ([1.0, 4.0], [2.0, 4.0])


def test_a_program_called_with_variables_is_recorded():
    program = frozen(mixed, 1.0, 2.0)
    tape = Tape()
    x = tape.var(0.5)
    y = program([x * 2.0, -1.0]) * x
    tape.backward(y)
    value, gradient = program.value_and_grad([1.0, -1.0])
    assert (y.value, x.grad) == (value * 0.5, pytest.approx(value + 0.5 * 2.0 * gradient[0], rel=1e-15))
    again = tape.freeze(x, y)
    assert again(0.25) == program([0.5, -1.0]) * 0.25
    assert program([tape.const(1.0), -1.0]) == value
    guarded = frozen(branchy, 2.0)
    with pytest.raises(GuardError):
        guarded([x])
    assert tape.freeze(x, guarded([x + 1.0])).stats().guards == 1


def test_several_outputs_give_a_jacobian():
    program = frozen(lambda x, y: [x * y, x, x.value + 0 * y, x + y * y], 2.0, 3.0)
    values, jacobian = program.value_and_grad([4.0, 5.0])
    assert values.tolist() == program([4.0, 5.0]).tolist() == [20.0, 4.0, 2.0, 29.0]
    assert jacobian.tolist() == [[5.0, 4.0], [1.0, 0.0], [0.0, 0.0], [1.0, 10.0]]
    values, jacobians = program.batch([[4.0, 5.0]] * 33)
    assert (values.shape, jacobians.shape) == ((33, 4), (33, 4, 2))
    assert values[32].tolist() == [20.0, 4.0, 2.0, 29.0]
    assert jacobians[32].tolist() == jacobian.tolist()


def test_one_input_and_several_outputs():
    program = frozen(lambda x: (x, x * x), 1.0, one_input=True)
    values, derivatives = program.value_and_grad(3.0)
    assert (values.tolist(), derivatives.tolist()) == ([3.0, 9.0], [1.0, 6.0])
    values, derivatives = program.batch([3.0, 4.0])
    assert (values.tolist(), derivatives.tolist()) == ([[3.0, 9.0], [4.0, 16.0]], [[1.0, 6.0], [1.0, 8.0]])


def test_an_output_that_is_a_constant_or_an_input():
    tape = Tape()
    x = tape.var(1.0)
    program = tape.freeze([x], tape.const(7.0))
    assert program([2.0]) == 7.0
    value, gradient = program.value_and_grad([2.0])
    assert (value, gradient.tolist()) == (7.0, [0.0])
    assert [a.tolist() for a in program.batch([[2.0], [3.0]])] == [[7.0, 7.0], [[0.0], [0.0]]]
    program = tape.freeze([x], x)
    assert [a.tolist() for a in program.batch([[2.0], [3.0]])] == [[2.0, 3.0], [[1.0], [1.0]]]


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("count", [0, 1, 31, 32, 33, 64, 1000])
def test_batch_is_the_same_as_one_at_a_time(count, threads):
    program = frozen(lambda x, y: (x * y + 1.0) * (x - y) / (2.0 + y * y), 1.0, 2.0)
    points = np.random.default_rng(0).normal(size=(count, 2))
    values, gradients = program.batch(points, threads=threads)
    one_by_one = [program.value_and_grad(p) for p in points]
    assert values.tolist() == [value for value, _ in one_by_one]
    assert gradients.tolist() == [gradient.tolist() for _, gradient in one_by_one]


def test_batch_takes_any_layout():
    program = frozen(mixed, 1.0, 2.0)
    points = np.random.default_rng(1).integers(-9, 9, size=(2, 70)).astype(np.float64)
    expected = program.batch(points.T.copy())
    for layout in (points.T, points.T.astype(np.float32), points.T.astype(np.int8), points.T.tolist()):
        for got, wanted in zip(program.batch(layout), expected, strict=True):
            assert got.tolist() == wanted.tolist()


def test_a_batch_of_points_that_are_not_aligned():
    program = frozen(tapegrad.sin, 0.5, one_input=True)
    memory = bytearray(8 * 101 + 1)
    points = np.frombuffer(memory, np.float64, offset=1)
    points[:] = np.linspace(0.0, 1.0, 101)
    assert not points.flags.aligned
    assert program.batch(points)[1].tolist() == program.batch(points.copy())[1].tolist()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this platform has no timer of signals")
@pytest.mark.parametrize("threads", [1, 2])
def test_a_signal_ends_a_long_batch(threads):
    class RingError(Exception):
        pass

    def ring(*_):
        raise RingError

    tape = Tape()
    x = y = tape.var(0.5)
    for _ in range(10_000):
        y = tapegrad.tanh(y + 0.5)
    program = tape.freeze(x, y)
    points = np.zeros(2_000_000)  # minutes of work
    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(RingError):
            program.batch(points, threads=threads)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert program.batch(np.zeros(3))[1].tolist() == [program.value_and_grad(0.0)[1]] * 3


def test_batches_in_several_threads_at_once():
    program = frozen(mixed, 1.0, 2.0)
    points = np.random.default_rng(2).normal(size=(4, 500, 2))
    expected = [program.batch(p)[1].tolist() for p in points]
    got: list = [None] * 4

    def work(k):
        for _ in range(5):
            got[k] = program.batch(points[k], threads=2)[1].tolist()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == expected


def test_more_threads_than_blocks_are_not_started(monkeypatch):
    program = frozen(mixed, 1.0, 2.0)
    started = []
    start = _thread.start_new_thread
    monkeypatch.setattr(_thread, "start_new_thread", lambda *task: (started.append(task), start(*task))[1])
    program.batch(np.ones((70, 2)), threads=np.int64(20_000))
    assert len(started) == 2


def test_where_no_thread_can_be_started_the_calling_one_does_the_work(monkeypatch):
    def refuse(*_):
        raise RuntimeError("can't start new thread")

    program = frozen(mixed, 1.0, 2.0)
    points = np.random.default_rng(4).normal(size=(1000, 2))
    expected = program.batch(points)[1].tolist()
    monkeypatch.setattr(_thread, "start_new_thread", refuse)
    assert program.batch(points, threads=4)[1].tolist() == expected


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_the_first_point_that_breaks_a_guard_is_named(threads):
    program = frozen(lambda x: x * 2.0 if x < 1.0 else x, 0.5, one_input=True)
    points = np.zeros(5000)
    points[[321, 322, 3000, 4999]] = 2.0
    for _ in range(20):
        with pytest.raises(GuardError, match=r"^point 321 "):
            program.batch(points, threads=threads)
    assert program.batch(np.zeros(100), threads=threads)[1].tolist() == [2.0] * 100


class Calling:
    """A number that uses the program, or the tape, while it is converted."""

    def __init__(self, action):
        self.action = action

    def __float__(self):
        self.action()
        return 1.0


numbers.Real.register(Calling)


def test_a_program_called_while_its_inputs_are_converted():
    program = frozen(lambda x, y: x + y, 1.0, 2.0)
    assert program([1.0, Calling(lambda: program([100.0, 100.0]))]) == 2.0


def test_a_list_that_shrinks_while_it_is_read():
    program = frozen(lambda *xs: sum(xs), *[1.0] * 50)
    given = [Calling(lambda: given.clear()), *[1.0] * 49]
    assert program(given) == 50.0


def test_a_program_shared_by_threads():
    program = frozen(lambda *xs: sum(xs), *[1.0] * 10)
    wrong = []

    def work(k):
        for _ in range(3000):
            if program([np.float32(k)] * 10) != 10 * k:
                wrong.append(k)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert wrong == []


def test_a_guard_that_only_the_vector_maths_breaks():
    """It may differ from the C library in the last place: a batch must judge by its own values."""
    program = frozen(tapegrad.exp, 0.5, one_input=True)
    points = np.random.default_rng(0).uniform(0.0, 1.0, 20_000)
    larger = [k for k, value in enumerate(program.batch(points)[0]) if value > program(points[k])]
    if not larger:
        pytest.skip("the vector maths agrees with the C library here")
    point = points[larger[0]]
    limit = program(point)
    program = frozen(lambda x: x * x if tapegrad.exp(x) <= limit else -x, 0.1, one_input=True)
    assert program(point) == point * point
    batch = np.full(1000, 0.05)
    batch[50] = point
    with pytest.raises(GuardError, match=r"^point 50 takes another branch"):
        program.batch(batch)


def test_a_program_outlives_its_tape():
    tape = Tape()
    x = tape.var(1.0)
    program = tape.freeze([x], x * x)
    tape.reset()
    tape.var(5.0)
    del tape
    assert program([3.0]) == 9.0


def branchy(x):
    return x * x if x > 1.0 else -x


def test_a_guard_stops_a_flipped_branch():
    program = frozen(branchy, 2.0)
    assert program.stats().guards == 1
    assert program([1.5]) == 2.25
    for use in (program, program.value_and_grad):
        with pytest.raises(GuardError, match=r"this point.*comparison 0 .*a = 1\.0 and b = 0\.5.*tapegrad\.where"):
            use([0.5])
    assert program([1.5]) == 2.25


@pytest.mark.parametrize("threads", [1, 2])
def test_a_batch_names_the_first_point_that_breaks_a_guard(threads):
    program = frozen(branchy, 2.0)
    points = np.full((300, 1), 2.0)
    points[[77, 140, 299]] = 0.0
    with pytest.raises(GuardError, match=r"^point 77 takes another branch"):
        program.batch(points, threads=threads)
    program = frozen(branchy, 2.0, one_input=True)
    with pytest.raises(GuardError, match=r"^point 3 takes another branch"):
        program.batch([2.0, 2.0, 3.0, 1.0])


@pytest.mark.parametrize(
    ("compare", "flipped", "kept"),
    [
        (lambda x: x < 3.0, 3.0, 2.9),
        (lambda x: x <= 2.0, 2.1, 2.0),
        (lambda x: x > 1.0, 1.0, 1.1),
        (lambda x: x >= 2.0, 1.9, 2.0),
        (lambda x: x == 2.0, 2.1, 2.0),
        (lambda x: x != 1.0, 1.0, 1.1),
        (lambda x: 3.0 > x, 3.0, 2.95),  # noqa: SIM300  the reflected comparison is meant
        (lambda x: x < x * x, 1.0, 1.5),
        (lambda x: x, 0.0, 0.5),
        (lambda x: x < 3.0, math.nan, 2.0),
        (lambda x: not x > 3.0, 4.0, math.nan),
    ],
)
def test_every_comparison_is_guarded(compare, flipped, kept):
    program = frozen(lambda x: x * 2.0 if compare(x) else x, 2.0)
    program([kept])
    program.batch([[kept]])
    with pytest.raises(GuardError):
        program([flipped])
    with pytest.raises(GuardError):
        program.batch([[kept], [flipped]])


def test_where_needs_no_guard():
    program = frozen(lambda x: tapegrad.where(x > 1.0, x * x, -x), 2.0, one_input=True)
    assert program.stats().guards == 0
    values, gradients = program.batch([2.0, 0.5, 1.0, math.nan])
    assert values[:3].tolist() == [4.0, -0.5, -1.0]
    assert gradients[:3].tolist() == [4.0, -1.0, -1.0]
    assert [program.value_and_grad(x) for x in (2.0, 0.5)] == [(4.0, 4.0), (-0.5, -1.0)]


@pytest.mark.parametrize("choices", [(5.0, 7.0), (None, 7.0), (5.0, None), (None, None)])
def test_where_with_constant_choices(choices):
    def f(x):
        first, second = choices
        return 2.0 * tapegrad.where(x <= 0, x * x if first is None else first, -x if second is None else second)

    program = frozen(f, 2.0, one_input=True)
    tape = Tape()
    for value in (-3.0, 3.0):
        tape.reset()
        x = tape.var(value)
        y = f(x)
        tape.backward(y)
        expected = (y.value, x.grad)
        assert program.value_and_grad(value) == expected
        assert tuple(a[0] for a in program.batch([value])) == expected


@pytest.mark.parametrize("x", [[], [1.0], [1.0, 2.0, 3.0], np.zeros(5)])
def test_a_wrong_number_of_inputs(x):
    program = frozen(mixed, 1.0, 2.0)
    with pytest.raises(InputError, match=f"expected 2 inputs.* got {len(x)}"):
        program(x)
    with pytest.raises(InputError, match=r"expected an array of shape \(points, 2\)"):
        program.batch([x])
    assert program([1.0, 2.0]) == pytest.approx(mixed(1.0, 2.0))


def test_wrong_inputs():
    program = frozen(mixed, 1.0, 2.0)
    for wrong in (["a", 1.0], [None, 1.0], [[1.0, 2.0], 1.0]):
        with pytest.raises(tapegrad.OperandError):
            program(wrong)
    with pytest.raises(tapegrad.ConversionError):
        program.value_and_grad([Tape().var(1.0), 2.0])
    for wrong in (3.0, None, np.array(3.0)):
        with pytest.raises(InputError, match="expected a sequence of 2 numbers"):
            program(wrong)
    for wrong in ([["4", "5"]], [[None, 1.0]], [[1j, 2.0]]):
        with pytest.raises(InputError, match="expected an array of real numbers"):
            program.batch(wrong)
    with pytest.raises(InputError, match=r"shape \(points, 2\), got \(2,\)"):
        program.batch([1.0, 2.0])
    with pytest.raises(InputError, match=r"shape \(points,\), got \(1, 1\)"):
        frozen(lambda x: x * x, 1.0, one_input=True).batch([[1.0]])
    for threads in (0, -1, 1.5, "2", None, 2**70):
        with pytest.raises(InputError, match="threads"):
            program.batch([[1.0, 2.0]], threads=threads)


def test_stats_and_repr():
    program = frozen(mixed, 1.0, 2.0)
    stats = program.stats()
    assert (stats.inputs, stats.outputs, stats.instrs, stats.constants, stats.guards) == (2, 1, 7, 2, 0)
    assert stats.nbytes == (2 + 7) * 22 + 2 * 8 + 4
    assert repr(program) == "Program(2 inputs, 1 outputs, 7 instructions)"


def test_the_vector_library_is_named():
    assert vector_library() in ("libmvec, AVX2", "plain loops")
