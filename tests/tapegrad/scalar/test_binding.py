"""Programs bound to arrays: what is there when they are called goes in, and what comes out is written over."""

import gc

import numpy as np
import pytest

import tapegrad
from tapegrad import GuardError, InputError, Tape


def frozen(f, *values):
    tape = Tape()
    xs = [tape.var(v) for v in values]
    return tape.freeze(xs, f(*xs))


@pytest.fixture
def program():
    return frozen(lambda x, y: [x * y, tapegrad.sin(x), 0.0 * x + 2.0, y], 2.0, 3.0)


def test_it_reads_and_writes_the_arrays(program):
    point, out = np.array([2.0, 3.0]), np.full(4, np.nan)
    compute = program.bind(point, out)
    assert compute() is out
    assert out.tolist() == program([2.0, 3.0]).tolist()
    point[:] = 5.0, 7.0
    compute()
    assert out.tolist() == program([5.0, 7.0]).tolist()


def test_several_are_bound_to_one_program(program):
    points, outs = np.array([[2.0, 3.0], [5.0, 7.0]]), np.zeros((2, 4))
    first, second = (program.bind(points[k], outs[k]) for k in range(2))
    second(), first(), second()
    assert outs.tolist() == [program(point).tolist() for point in points]


def test_value_and_gradient():
    program = frozen(lambda x, y: x * y * y, 2.0, 3.0)
    out = np.zeros(3)
    assert program.gradient(with_values=True).bind(np.array([2.0, 3.0]), out)().tolist() == [18.0, 9.0, 12.0]


def test_the_arrays_stay():
    compute = frozen(lambda x: x * x, 2.0).bind(np.array([3.0]), np.zeros(1))
    gc.collect()
    assert compute().tolist() == [9.0]


def test_an_array_that_is_held_does_not_move(program):
    point = np.array([2.0, 3.0])
    compute = program.bind(point, np.zeros(4))
    with pytest.raises(ValueError, match=r"resize|references"):
        point.resize(1000)
    assert compute()[0] == 6.0


def test_another_branch_is_an_error():
    tape = Tape()
    x = tape.var(2.0)
    point, out = np.array([3.0]), np.array([-1.0])
    compute = tape.freeze([x], x * x if x > 1.0 else -x).bind(point, out)
    assert compute()[0] == 9.0
    point[0] = 0.5
    with pytest.raises(GuardError, match="this point takes another branch"):
        compute()
    assert out[0] == 9.0


ROOM = np.zeros(8)


@pytest.mark.parametrize(
    ("x", "out", "message"),
    [
        (
            [2.0, 3.0],
            np.zeros(4),
            "expected as inputs a contiguous float64 array of 2 numbers, got [2.0, 3.0]; make one",
        ),
        (
            np.zeros(3),
            np.zeros(4),
            "as inputs a contiguous float64 array of 2 numbers, got one of float64 with shape (3,)",
        ),
        (np.zeros(2, dtype=np.float32), np.zeros(4), "got one of float32 with shape (2,)"),
        (np.zeros((1, 2)), np.zeros(4), "got one of float64 with shape (1, 2)"),
        (np.zeros(2), ROOM[::2], "as outputs a contiguous float64 array of 4 numbers, got one with gaps; bind a copy"),
        (np.zeros(2), np.broadcast_to(0.0, 4), "got one with gaps"),
        (
            np.zeros(2),
            None,
            "expected as outputs a contiguous float64 array of 4 numbers, got None; make one with numpy",
        ),
    ],
)
def test_what_cannot_be_bound(program, x, out, message):
    with pytest.raises(InputError) as error:
        program.bind(x, out)
    assert message in str(error.value)


def test_what_cannot_be_written_to(program):
    out = np.zeros(4)
    out.flags.writeable = False
    with pytest.raises(InputError, match="got one that cannot be written to; bind a copy"):
        program.bind(np.zeros(2), out)
