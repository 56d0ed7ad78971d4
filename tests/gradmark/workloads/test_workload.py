"""Workloads: sizes, inputs and counts."""

import functools

import numpy as np
import pytest

from gradmark import Workload, workload
from gradmark.errors import WorkloadError


def test_the_decorator_makes_a_workload():
    @workload(suite="mine", stresses="x", sizes={"n": [1, 2], "m": ["a", "b"]}, quick={"n": [1]})
    def f(ops, x, *, n, m):
        return (ops, x, n, m)

    assert isinstance(f, Workload)
    assert (f.name, f.suite, f.stresses, f.file) == ("f", "mine", "x", __file__)
    assert f.points() == [{"n": 1, "m": "a"}, {"n": 1, "m": "b"}, {"n": 2, "m": "a"}, {"n": 2, "m": "b"}]
    assert f.points(full=False) == [{"n": 1, "m": "a"}, {"n": 1, "m": "b"}]
    assert f("ops", 1.0, n=3, m="z") == ("ops", 1.0, 3, "z")
    assert f.count({"n": 1, "m": "a"}) is None


def test_without_brackets_the_missing_arguments_are_named():
    with pytest.raises(TypeError, match="missing 2 required keyword-only arguments: 'suite' and 'stresses'"):

        @workload
        def f(ops, x):
            return x


def test_inputs_depend_on_seed_name_and_size_only():
    @workload(suite="mine", stresses="x", sizes={"n": [1]}, inputs=lambda draw, n: [draw.random() for _ in range(n)])
    def f(ops, *xs, n):
        return xs

    assert f.draw(0, {"n": 3}) == f.draw(0, {"n": 3}) != f.draw(1, {"n": 3})
    assert [len(f.draw(0, {"n": n})) for n in (1, 4)] == [1, 4]
    assert f.draw(0, {"n": 3})[0] != f.draw(0, {"n": 4})[0]


def test_inputs_that_do_not_depend_on_the_size():
    @workload(suite="mine", stresses="x", sizes={"n": [1, 2]})
    def f(ops, x, *, n):
        return x

    assert len(f.draw(0, {"n": 2})) == 1
    assert f.points(full=False) == f.points()


def test_operations_are_counted_from_the_sizes():
    @workload(suite="mine", stresses="x", sizes={"n": [1, 2]}, operations=lambda n: 2 * n)
    def f(ops, x, *, n):
        return x

    assert f.count({"n": 7}) == 14


def test_quick_sizes_must_be_sizes():
    with pytest.raises(WorkloadError, match=r"quick names sizes that it does not have: \{'m'\}"):
        workload(suite="mine", stresses="x", sizes={"n": [1]}, quick={"m": [1]})(lambda ops, x: x)


@pytest.mark.parametrize("quick", [{"f": ["a/b"]}, [{"f": "a/b"}]])
def test_a_word_that_would_split_the_name_of_a_row_is_refused(quick):
    with pytest.raises(WorkloadError, match="size f has the value 'a/b'; row names are split at '/': use another word"):
        workload(suite="mine", stresses="x", sizes={"f": ["a/b"]})(lambda ops, x: x)
    with pytest.raises(WorkloadError, match="size f has the value 'a/b'"):
        workload(suite="mine", stresses="x", sizes={"f": ["a"]}, quick=quick)(lambda ops, x: x)


@pytest.mark.parametrize(
    "wrong", [True, None, float("nan"), float("inf"), -float("inf"), 2**63, np.float64("inf"), [1]]
)
def test_sizes_are_numbers_or_words(wrong):
    with pytest.raises(WorkloadError, match="size n must be numbers or words"):
        workload(suite="mine", stresses="x", sizes={"n": [wrong]})(lambda ops, x: x)


def test_sizes_of_numpy_become_plain():
    made = workload(suite="mine", stresses="x", sizes={"n": np.arange(1, 3)})(lambda ops, x, *, n: x)
    assert [(type(p["n"]), p["n"]) for p in made.points()] == [(int, 1), (int, 2)]


def test_quick_may_be_a_list_of_points():
    made = workload(suite="mine", stresses="x", sizes={"n": [1, 2], "m": [3, 4]}, quick=[{"n": 1, "m": 4}])
    found = made(lambda ops, x, *, n, m: x)
    assert found.points(full=False) == [{"n": 1, "m": 4}]
    assert len(found.points()) == 4


@workload(
    suite="mine",
    stresses="x",
    sizes={"n": [2], "m": [3]},
    arrays=lambda draw, n: [draw.normal(size=(n, n)), draw.normal(size=n), draw.integers(9, size=n)],
    fixed=["data"],
    operations=lambda m: 5 * m,
    flops=lambda n, m: n * m,
    bytes=lambda n: 7 * n,
    gradient=lambda x, data, labels, m: [m * x],
)
def arrays(ops, x, data, labels, *, n, m):
    return ops.sum(x)


def test_arrays_are_drawn_from_the_seed_and_have_the_dtype():
    point = {"n": 2, "m": 3}
    single, double = arrays.draw(0, point, "float32"), arrays.draw(0, point, "float64")
    assert [x.dtype.name for x in single] == ["float32", "float32", "int64"]
    assert [x.dtype.name for x in double] == ["float64", "float64", "int64"]
    assert [x.shape for x in single] == [(2, 2), (2,), (2,)]
    for one, other in zip(single, double, strict=True):
        assert np.array_equal(one, other.astype(one.dtype))
    assert not np.array_equal(double[0], arrays.draw(1, point)[0])


def test_what_is_differentiated():
    inputs = arrays.draw(0, {"n": 2, "m": 3})
    assert (arrays.kind, arrays.dtypes) == ("tensor", ("float32", "float64"))
    assert arrays.names(3) == ["x", "data", "labels"]
    assert arrays.active(inputs) == [0]  # neither what is fixed nor integers


def test_inputs_without_names_have_numbers():
    made = workload(suite="mine", stresses="x", arrays=lambda draw: [draw.normal(size=1)] * 3)(lambda ops, x, *xs: x)
    assert made.names(3) == ["x", "input 1", "input 2"]
    assert made.active(made.draw(0, {})) == [0, 1, 2]


def test_what_is_declared_takes_the_sizes_that_it_needs():
    point = {"n": 2, "m": 3}
    assert arrays.count(point) == 15
    assert arrays.work(point, "float32") == (6.0, 4.0 * 14)
    assert arrays.work(point, "float64") == (6.0, 8.0 * 14)
    inputs = arrays.draw(0, point)
    assert np.array_equal(arrays.exact(inputs, point)[0], 3 * inputs[0])


def test_numbers_have_no_flops():
    made = workload(suite="mine", stresses="x")(lambda ops, x: x)
    assert (made.kind, made.dtypes, made.work({}, "float64"), made.exact([1.0], {})) == (
        "scalar",
        ("float64",),
        (None, None),
        None,
    )


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"flops": lambda: 1, "fixed": ["x"]}, "fixed, flops need arrays; give arrays=, not inputs="),
        ({"arrays": list, "inputs": list}, "has both inputs and arrays"),
        ({"arrays": list, "fixed": ["y"]}, r"fixed names inputs that the function does not have: \{'y'\}"),
    ],
)
def test_what_contradicts_itself(more, message):
    with pytest.raises(WorkloadError, match=message):
        workload(suite="mine", stresses="x", **more)(lambda ops, x: x)


def scaled(ops, x, y, *, n, factor=2.0):
    return x * y * n * factor


class Scaled:
    """An object that can be called, and cannot be hashed."""

    __hash__ = None

    def __call__(self, ops, x, y, *, n):
        return x * y * n


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (scaled, "scaled"),
        (functools.partial(scaled, factor=3.0), "scaled"),
        (functools.partial(functools.partial(scaled, factor=3.0), factor=4.0), "scaled"),
        (Scaled(), "Scaled"),
        (functools.wraps(scaled)(lambda *given, **sizes: scaled(*given, **sizes)), "scaled"),
    ],
    ids=["a function", "a partial", "a partial of one", "an object", "a wrapped function"],
)
def test_whatever_can_be_called_can_be_a_workload(function, name):
    made = workload(
        suite="mine", stresses="x", sizes={"n": [1]}, inputs=functools.partial(lambda draw, n, k: [0.5] * k, k=2)
    )
    found = made(function)
    assert (found.name, found.file, found.names(3)) == (name, __file__, ["x", "y", "input 2"])
    assert found.draw(0, {"n": 1}) == [0.5, 0.5]
    assert found(None, 1.0, 2.0, n=3) in (6.0, 12.0, 18.0, 24.0)


def test_a_function_with_defaults_takes_its_sizes():
    made = workload(suite="mine", stresses="x", sizes={"n": [1]}, operations=lambda n=7, *, m=2: n * m)(scaled)
    assert made.count({"n": 3, "other": 9}) == 6


def test_a_name_of_its_own():
    made = workload(suite="mine", stresses="x", name="third")(functools.partial(scaled, n=1))
    assert made.name == "third"


def test_sizes_do_not_take_the_words_of_rows():
    with pytest.raises(WorkloadError, match="a size cannot be called device: row names use that word; rename it"):
        workload(suite="mine", stresses="x", sizes={"device": ["a"]})(lambda ops, x, **_: x)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"suite": 5}, "a workload's suite must be a word, such as suite='mine'; got 5"),
        ({"name": 5}, "a workload's name must be a word, such as name='mine'; got 5"),
        ({"stresses": None}, "a workload's stresses must be a word, such as stresses='mine'; got None"),
        ({"sizes": {5: [1]}}, "a workload's size must be a word, such as size='mine'; got 5"),
        (
            {"name": "\ud800"},
            "a workload's name must be text that UTF-8 has, got '\\ud800'; write it without surrogates",
        ),
        ({"sizes": {"f": ["\ud800"]}}, "a workload's size f must be text that UTF-8 has, got '\\ud800'"),
    ],
)
def test_what_no_run_file_can_keep_is_refused_where_it_is_declared(given, message):
    """Seen: runs that were written, and could not be read."""
    with pytest.raises(WorkloadError) as error:
        workload(**{"suite": "mine", "stresses": "x"} | given)(lambda ops, x: x)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize("count", [-1, float("inf"), float("nan"), 1e31, "many", True])
def test_counts_that_are_none(count):
    arrays = {"arrays": lambda draw: [draw.normal(size=2)]}
    made = workload(suite="mine", stresses="x", operations=lambda: count, flops=lambda: count, **arrays)(
        lambda ops, x: x
    )
    with pytest.raises(
        WorkloadError, match=r"operations must be a number from 0 to 9e\+15, got .*; correct the function"
    ):
        made.count({})
    with pytest.raises(WorkloadError, match=r"flops must be a number from 0 to 1e\+30, got "):
        made.work({}, "float32")
