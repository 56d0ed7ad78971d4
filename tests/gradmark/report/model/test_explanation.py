"""The explanation as people read it."""

import pytest

from gradmark.analyse.departures import Departure, Part
from gradmark.records.recording import Recording
from gradmark.report.model.explanation import Explanation, lines, operations, sentences

RECORDING = Recording(
    inputs={"x": "2"},
    inputs_left_out=3,
    function=["                value  adjoint  backward adds", "%0  variable  2  4"],
    derivative=["%0  input", "%1  live_mul(%0, %0)"],
    operations=3,
    derivative_operations=6,
)


def departure(ratio=2.0, **more):
    known = {"function_ns": 100.0, "total_ns": 100.0 * ratio, "ratio": ratio, "predicted": 2.0, "bound": 4.0}
    return Departure(engine="mine", **{**known, **more})


def explanation(recording=RECORDING, derivative="gradient", engines=()):
    return Explanation(row="f/n=3", derivative=derivative, recording=recording, engines=list(engines))


def test_from_the_function_to_the_engines():
    shown = list(lines(explanation(engines=[departure(), Departure(engine="other", problem="crash: signal 11")])))
    assert shown[:2] == ["f/n=3", "inputs: x = 2, and 3 more"]
    assert "  %0  variable  2  4" in shown
    assert "Its gradient, as operations (with the value)" in shown
    assert [line for line in shown if line.startswith("A product named live_ or both is 0")]
    assert "operations: function 3, with its gradient 6: 2.00 × the function; theory's bound is 4 ×" in shown
    table = shown.index("engine  function   total  × function  predicted  per operation  allocs")
    assert shown[table + 1] == "mine      100 ns  200 ns        2.00       2.00            n/a     n/a"
    assert shown[-1] == "other: crash: signal 11"


def test_a_bound_that_is_exceeded_says_why():
    many = Recording(inputs={}, function=[], derivative=[], operations=1, derivative_operations=5)
    assert operations(explanation(many)).endswith(
        "5.00 × the function; theory's bound is 4 ×. It is exceeded where the derivative of an operation takes several "
        "others"
    )


def test_what_was_not_counted_says_why():
    unknown = Recording(inputs={}, function=[], derivative=[], reason="nobody counts the operations of cumsum")
    assert operations(explanation(unknown, "jvp")) == (
        "operations: not counted: nobody counts the operations of cumsum; theory's bound is 2.5 ×"
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (departure(), ["function and derivative take 2.00 × the function, within theory's bound of 4 ×; as the "
                       "operations predict"]),
        (
            departure(
                6.0,
                parts=[
                    Part(name="forward", ratio=5.0, predicted=1.0),
                    Part(name="backward", ratio=1.0, predicted=1.0),
                ],
            ),
            [
                "function and derivative take 6.00 × the function, above theory's bound of 4 ×; 3.00 times what the "
                "operations predict",
                "most of the excess is forward, which evaluates and records: 5.00 × the function, predicted 1.00 ×",
            ],
        ),
        (departure(1.0), ["function and derivative take 1.00 × the function, within theory's bound of 4 ×; 2.00 times "
                          "as fast as the operations predict"]),
        (departure(ratio=3.0, predicted=None, bound=None), ["function and derivative take 3.00 × the function"]),
        (Departure(engine="mine", total_ns=9.0), ["the function alone was not timed, or is too short to compare with"]),
    ],
)  # fmt: skip
def test_where_an_engine_departs(given, said):
    assert sentences(given) == said
