"""What print shows of tapes and programs."""

import pytest

import tapegrad


@pytest.fixture
def tape():
    return tapegrad.Tape()


def test_a_tape_with_values_and_adjoints(tape):
    x, y = tape.var(3.0), tape.var(0.5)
    z = tapegrad.where(x > 1.0, tapegrad.sin(x), x) - 2.0 / y + x ** (-y)
    tape.backward(z)
    assert str(tape).splitlines() == [
        "Tape(8 instructions, 2 variables)",
        "                       value     adjoint",
        "%0  variable           3         -1.08622",
        "%1  variable           0.5       7.36572",
        "%2  sin(%0)            0.14112   1",
        "%3  1.0 < %0           1         0",
        "%4  where(%3, %2, %0)  0.14112   1",
        "%5  2.0 / %1           4         -1",
        "%6  %4 - %5            -3.85888  1",
        "%7  -%1                -0.5      0.634284",
        "%8  %0 ** %7           0.57735   1",
        "%9  %6 + %8            -3.28153  1",
    ]


def test_a_long_tape_is_elided_in_the_middle(tape):
    x = tape.var(1.0)
    for _ in range(100):
        x = x * 1.5
    lines = str(tape).splitlines()
    assert len(lines) == 2 + 20 + 1 + 20
    assert lines[22] == "… 61 more …"
    assert lines[-1].startswith("%100  %99 * 1.5")


def test_an_empty_tape(tape):
    assert str(tape).splitlines()[0] == "Tape(0 instructions, 0 variables)"


def test_a_program_with_its_rules(tape):
    x, y = tape.var(3.0), tape.var(0.5)
    program = tape.freeze([x, y], [x / y + tapegrad.exp(x), x])
    assert str(program).splitlines() == [
        "Program(2 inputs, 2 outputs, 3 instructions)",
        "%0  input",
        "%1  input",
        "%2  %0 / %1  %0' += %2' / %1; %1' += -%2' * (%2 / %1)",
        "%3  exp(%0)  %0' += %3' * %3",
        "%4  %2 + %3  %2' += %4'; %3' += %4'",
        "outputs: %4, %0",
    ]


def test_every_operation_of_derivatives_can_be_shown(tape):
    x, y = tape.var(0.3), tape.var(0.6)
    everything = x * y
    for name in ("exp", "log", "asin", "tanh", "sigmoid", "erf", "abs", "relu", "atan"):
        everything = everything + getattr(tapegrad, name)(x)
    for name in ("pow", "atan2", "hypot", "maximum", "div"):
        everything = everything + getattr(tapegrad, name)(x, y)
    program = tape.freeze([x, y], tapegrad.where(x > y, everything, x))
    for shown in (program, program.gradient(), program.gradient().tangent()):
        assert str(shown).startswith("Program(")
