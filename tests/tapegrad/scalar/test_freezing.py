"""Freezing: what is removed, what is folded, and what cannot be frozen."""

import numpy as np
import pytest

import tapegrad
from tapegrad import InputError, Tape
from tapegrad.scalar.batching import Batch
from tapegrad.scalar.freezing import Freezer, Frozen
from tapegrad.scalar.replaying import Workspace


@pytest.fixture
def tape():
    return Tape()


def test_dead_instructions_are_removed(tape):
    x = tape.var(2.0)
    for _ in range(10):
        tapegrad.exp(x)
    y = x * x
    for _ in range(10):
        y / x
    program = tape.freeze([x], y)
    assert (program.stats().instrs, program.stats().removed) == (1, 20)
    assert program([3.0]) == 9.0


def test_variables_that_are_no_inputs_become_constants(tape):
    x, y = tape.var(2.0), tape.var(5.0)
    folded = tapegrad.exp(y * y + 1.0)
    z = x * folded + y - x / y + y**x
    program = tape.freeze([x], z)
    assert (program.stats().instrs, program.stats().removed) == (6, 3)
    value, gradient = program.value_and_grad([2.0])
    tape.backward(z)
    assert value == z.value
    assert gradient[0] == x.grad


def test_a_where_with_a_constant_condition_is_its_choice(tape):
    x, y = tape.var(2.0), tape.var(5.0)
    z = tapegrad.where(y > 0, x * x, 1.0 / x) + tapegrad.where(y < 0, x, 3.0) * tapegrad.where(y > 9, 1.0, x)
    program = tape.freeze([x], z)
    assert program.stats().instrs == 3
    tape.backward(z)
    value, gradient = program.value_and_grad([2.0])
    assert (value, gradient[0]) == (z.value, x.grad) == (10.0, 7.0)
    assert program.batch([[2.0]])[1][0, 0] == 7.0


def test_guards_that_the_inputs_cannot_break_are_dropped(tape):
    x, y = tape.var(2.0), tape.var(5.0)
    taken = x * x if y > 3 else x
    taken = taken + 1.0 if x < y else taken
    program = tape.freeze([x], taken)
    assert program.stats().guards == 1
    assert program([4.9]) == 4.9 * 4.9 + 1.0
    with pytest.raises(tapegrad.GuardError, match=r"a = 5\.5 and b = 5\.0"):
        program([5.5])
    other = tape.freeze([y], taken)
    assert other.stats().guards == 2
    with pytest.raises(tapegrad.GuardError, match=r"a = 3\.0 and b = 2\.5"):
        other([2.5])


def test_values_needed_by_a_guard_only(tape):
    x = tape.var(2.0)
    y = x * 3.0 if tapegrad.sin(x * x) < 0.5 else x
    program = tape.freeze([x], y)
    assert program.stats().instrs == 3
    assert program.batch([[2.0], [1.8]])[1].tolist() == [[3.0], [3.0]]
    with pytest.raises(tapegrad.GuardError):
        program([1.0])


def test_the_order_of_inputs_is_the_caller_s(tape):
    x, y, z = tape.var(1.0), tape.var(2.0), tape.var(3.0)
    program = tape.freeze([z, x, y], x * 100.0 + y * 10.0 + z)
    assert program([1.0, 2.0, 3.0]) == 231.0
    assert program.value_and_grad([1.0, 2.0, 3.0])[1].tolist() == [1.0, 100.0, 10.0]


def test_unused_inputs_have_no_gradient(tape):
    x, y = tape.var(1.0), tape.var(2.0)
    program = tape.freeze([x, y], y * y)
    assert program.batch(np.full((40, 2), 3.0))[1].tolist() == [[0.0, 6.0]] * 40


def test_long_programs_reuse_rooms(tape):
    """Adjoints share rooms in a batch: values that live long must keep theirs."""
    x, y = tape.var(1.5), tape.var(0.5)
    kept = [x * k + y for k in range(1, 40)]
    chain = x
    for k in range(1, 200):
        chain = chain * 0.9 + kept[k % 39] * 0.01
        if k % 7 == 0:
            chain = tapegrad.tanh(chain) * kept[3]
    total = chain + sum(kept)
    tape.backward(total)
    program = tape.freeze([x, y], total)
    assert program.value_and_grad([1.5, 0.5])[1].tolist() == [x.grad, y.grad]
    values, gradients = program.batch([[1.5, 0.5]] * 3)
    assert values == pytest.approx([total.value] * 3, rel=1e-12)
    assert gradients[2] == pytest.approx([x.grad, y.grad], rel=1e-12)


def test_what_cannot_be_frozen(tape):
    x = tape.var(1.0)
    y = x * x
    for inputs, outputs, message in [
        (5, y, "expected a Var, or a sequence of them, as inputs, got 5"),
        ([x], 5.0, r"expected a Var, or a sequence of them, as outputs, got 5\.0"),
        ([], y, "at least one Var as inputs"),
        ([x], [], "at least one Var as outputs"),
        ([1.0], y, "expected Vars of this tape as inputs, got float"),
        ([x], ["y"], "expected Vars of this tape as outputs, got str"),
        ([y], y, r"must come from tape\.var"),
        ([tape.const(1.0)], y, r"must come from tape\.var"),
        ([x, x], y, "given twice"),
    ]:
        with pytest.raises(InputError, match=message):
            tape.freeze(inputs, outputs)
    assert tape.freeze([x], y)([3.0]) == 9.0


def test_the_private_parts_refuse_what_would_not_fit(tape):
    """Frozen, Workspace and Batch are reached from Python, and trust nobody."""
    other = Tape()
    x, z = tape.var(1.0), tape.var(2.0)
    y = x * z
    stranger = other.var(1.0)
    stale = other.var(2.0)
    other.reset()
    for inputs, outputs in [
        ([x] * 1000, [y]),
        ([x, x], [y]),
        ([], [y]),
        ([x], []),
        ([y], [y]),
        ([tape.const(1.0)], [y]),
        ([None], [y]),
        ([x], [None]),
        ([x, None, z], [y]),
        ([1.0], [y]),
        ([stranger], [y]),
        ([stale], [y]),
        ([x], [stranger]),
        (None, [y]),
        ([x], None),
        ((x,), [y]),
    ]:
        with pytest.raises((tapegrad.TapegradError, TypeError)):
            Frozen(tape, inputs, outputs)
    for recording in (None, 5, x):
        with pytest.raises(TypeError):
            Frozen(recording, [x], [y])
    assert not hasattr(Freezer, "run")
    # an output may be given again and again
    frozen = Frozen(tape, [x, z], [y] * 1000)
    points = np.ones((3, 2))
    for rooms in ([None], [Workspace(frozen, False)], [Workspace(Frozen(tape, [x], [y]), True)]):
        batch = Batch(frozen, rooms, [1000], [2], points, 1)
        batch.work(True)
        assert rooms == []  # it was taken, refused and not put back
    for strange in (points[:, :1], points.astype(np.float32), points[:, ::-1], [[1.0, 1.0]], points.view(np.matrix)):
        with pytest.raises((tapegrad.TapegradError, AttributeError)):
            Batch(frozen, [], [1000], [2], strange, 1)
    for shapes in (([], [2]), ([999], [2]), ([1000], [1])):
        with pytest.raises(InputError, match="shapes of the program's own"):
            Batch(frozen, [], *shapes, points, 1)
    for arguments in ((), (None, True), (frozen,), (5, 5, 5), (-1, -1, 1)):
        with pytest.raises(TypeError):
            Workspace(*arguments)


def test_an_output_that_is_given_twice_has_two_rows(tape):
    x, z = tape.var(2.0), tape.var(3.0)
    values, jacobian = tape.freeze([x, z], [x * z, z, z]).value_and_grad([4.0, 5.0])
    assert (values.tolist(), jacobian.tolist()) == ([20.0, 5.0, 5.0], [[5.0, 4.0], [0.0, 1.0], [0.0, 1.0]])


def test_freezing_leaves_the_tape_as_it_was(tape):
    x = tape.var(3.0)
    y = x * x
    before = tape.stats()
    tape.freeze([x], y)
    assert tape.stats() == before
    tape.backward(y)
    assert x.grad == 6.0


def test_a_tape_that_is_reset_while_it_is_being_frozen(tape):
    xs = [tape.var(1.0) for _ in range(1000)]

    def outputs():
        tape.reset()
        yield tape.var(2.0)

    with pytest.raises(tapegrad.StaleVarError):
        tape.freeze(xs, outputs())


def test_guards_are_numbered_as_they_were_made(tape):
    x, y = tape.var(2.0), tape.var(5.0)
    taken = x * x if y > 3 and x < y else x
    with pytest.raises(tapegrad.GuardError, match="comparison 1 "):
        tape.freeze([x], taken)([9.0])
