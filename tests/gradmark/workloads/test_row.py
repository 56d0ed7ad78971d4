"""Rows as they are typed: what is printed is accepted, and what does not fit is an error with what there is."""

import pytest

from gradmark import workload
from gradmark.errors import SelectionError
from gradmark.workloads.row import Row, fitted
from gradmark.workloads.selection import select_rows


def points(typed, *, full=False):
    return [point for part in select_rows([typed]) for point in part.points(full=full)]


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("poly/n=1000", [{"n": 1000}]),
        ("poly/n=777", [{"n": 777}]),  # nobody listed it
        ("matmul/n=256", [{"n": 256}]),  # only quick runs have it
        ("chain/f=tanh", [{"f": "tanh"}]),
        ("chain/f=*tan*", [{"f": "tan"}, {"f": "atan"}, {"f": "tanh"}, {"f": "atan2"}]),
        ("matmul/n=*", [{"n": 8}, {"n": 32}, {"n": 128}, {"n": 256}, {"n": 512}, {"n": 1024}]),
        ("mlp_step/batch=8/width=32", [{"batch": 8, "width": 32}]),
        ("mlp_step/width=32/batch=8", [{"batch": 8, "width": 32}]),
        ("mlp_step/batch=512", [{"batch": 512, "width": 32}, {"batch": 512, "width": 256}]),
        ("tensor_operator/operation=gelu, tanh", [{"operation": "gelu, tanh"}]),
    ],
)
def test_sizes(typed, expected):
    assert points(typed) == expected


def test_sizes_that_are_not_named_are_those_of_the_run():
    assert points("elementwise/n=7") == [{"depth": 16, "n": 7}, {"depth": 4, "n": 7}]
    assert points("elementwise/n=7", full=True) == [{"depth": depth, "n": 7} for depth in (4, 16, 64)]


def test_dtype_and_device():
    (part,) = select_rows(["matmul/n=8/dtype=float64/device=cuda"])
    assert (part.points(full=False), part.dtypes, part.devices) == ([{"n": 8}], ["float64"], ["cuda"])
    (part,) = select_rows(["matmul/dtype=*"])
    assert part.dtypes == ["float32", "float64"]


def test_sizes_of_a_suite_or_a_glob_are_those_that_list_them():
    assert [part.workload.name for part in select_rows(["*/n=1000"]) if part.workload.suite != "literature"] == [
        "poly",
        "add_chain",
        "mul_chain",
        "constants",
        "softplus",
        "rosenbrock",
        "rosenbrock_array",
        "broyden",
        "arrowhead",
        "wide_map",
        "logistic",
    ]
    assert [part.workload.name for part in select_rows(["scalar/k=4"])] == ["shared"]
    assert [part.workload.name for part in select_rows(["*_chain/n=5"])] == ["add_chain", "mul_chain"]


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("poly/m=1", "in 'poly/m=1', poly has no size 'm': its sizes are n"),
        ("mlp_step/bach=8", "has no size 'bach': its sizes are batch, width; did you mean batch?"),
        ("expression/n=1", "expression has no size 'n': it has no sizes"),
        ("poly/n=abc", "n must be a whole number above 0, such as 10, 30, 100, 300, 1000, 3000, 10000; got 'abc'"),
        ("poly/n=1.5", "n must be a whole number above 0"),
        ("poly/n=-3", "n must be a whole number above 0"),
        ("matmul/n=9*", "n=9* matches none of 8, 32, 128, 256, 512, 1024"),
        ("chain/f=tanhh", "f cannot be 'tanhh'; did you mean tanh"),
        ("attention/causal=zzz", "causal cannot be 'zzz'; choose from: no, yes"),
        ("matmul/dtype=int8", "matmul has no dtype int8; it has float32, float64"),
        ("poly/n", "'n' is not of the form size=value, such as in poly/n=1000"),
        ("poly/n=", "'n=' is not of the form size=value"),
        ("poly/n=10/n=20", "in 'poly/n=10/n=20', n is said twice; name each value as a row of its own"),
        ("pol/n=10", "no workload or suite is called 'pol'; did you mean poly?"),
        ("*/zzz=1", "has no size 'zzz'"),
        ("poly/n=10@tapegrad", "names an engine; leave out @tapegrad and choose it with -e tapegrad"),
        ("poly@duals:Duals", "names an engine; leave out @duals:Duals and choose it with -e duals:Duals"),
    ],
)
def test_what_does_not_fit(typed, message):
    with pytest.raises(SelectionError) as caught:
        select_rows([typed])
    assert message in str(caught.value)


def test_numbers_are_like_those_that_are_listed():
    made = workload(suite="mine", stresses="x", sizes={"rate": [0.5, 1.0], "shift": [-1, 0]})(lambda ops, x, **_: x)
    (point,) = fitted(made, Row.parsed("f/rate=2/shift=-7")).points(full=True)
    assert point == {"rate": 2.0, "shift": -7}
    assert type(point["rate"]) is float
    for wrong in ("rate=nan", "rate=inf", "rate=0", "shift=0.5"):
        with pytest.raises(SelectionError, match="must be a"):
            fitted(made, Row.parsed(f"f/{wrong}"))


def test_a_size_that_is_too_long():
    """Seen: OverflowError, in a traceback."""
    for typed in ("9" * 400, "9" * 5000, "9" * 20, "inf"):
        with pytest.raises(SelectionError, match=r"n must be a whole number above 0, such as"):
            select_rows([f"poly/n={typed}"])


def test_a_derivative_that_there_is_not_has_a_hint():
    with pytest.raises(SelectionError, match=r"no derivative is called 'hvps'; did you mean hvp\?"):
        select_rows(["poly/n=10/derivative=hvps"])
    with pytest.raises(
        SelectionError, match="no derivative is called 'xyz'; poly has gradient, jvp, vjp, hvp, hessian"
    ):
        select_rows(["poly/n=10/derivative=xyz"])


def test_one_that_the_workload_lacks_is_kept_for_its_row_to_say():
    (part,) = select_rows(["poly/n=10/derivative=jacobian"])
    assert part.derivatives == ["jacobian"]
