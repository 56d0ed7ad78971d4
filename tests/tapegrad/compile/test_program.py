"""Compiled programs: called like programs, with the same results and the same errors."""

import itertools
import os
import threading
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.graphs import graphs, recording, run

import tapegrad
from tapegrad import Tape
from tapegrad.compile import kernels, llvm, program

pytest.importorskip("llvmlite", reason="needs llvmlite; `pip install 'gradmark[compile]'`")


def frozen(f, *values, one_input=False):
    tape = Tape()
    xs = [tape.var(v) for v in values]
    return tape.freeze(xs[0] if one_input else xs, f(*xs))


def equal(got, expected):
    assert type(got) is type(expected)
    if isinstance(got, tuple):
        for one, other in zip(got, expected, strict=True):
            equal(one, other)
    else:
        np.testing.assert_array_equal(got, expected, strict=isinstance(got, np.ndarray))


@pytest.fixture
def short_chunks(monkeypatch):
    """Code cut after every third node."""
    cut(monkeypatch, 3)


def cut(monkeypatch, chunk):
    monkeypatch.setattr(program, "CHUNK", chunk)
    monkeypatch.setattr(program, "CHUNK_ALIKE", chunk)


FORMS = {
    "one number in, one out": frozen(lambda x: x * x + tapegrad.sin(x), 0.5, one_input=True),
    "one number in, several out": frozen(lambda x: [x * x, 3.0 * x, x], 0.5, one_input=True),
    "several in, one out": frozen(lambda x, y: x * tapegrad.exp(y), 0.5, 0.25),
    "several in and out": frozen(lambda x, y: [x * y, x / y, tapegrad.hypot(x, y)], 0.5, 0.25),
    "an input as output": frozen(lambda x, y: [x, y, x], 0.5, 0.25),
    "an input that nothing needs": frozen(lambda x, y: x * 2.0, 0.5, 0.25),
    "a choice": frozen(lambda x, y: tapegrad.where(x > y, x * y, 2.0), 0.5, 0.25),
    "a constant choice": frozen(lambda x, y: tapegrad.where(x > y, 1.0, 2.0), 0.5, 0.25),
}


@pytest.mark.parametrize("source", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("chunks", ["long", "short"])
def test_every_form(source, chunks, request):
    if chunks == "short":
        request.getfixturevalue("short_chunks")
    compiled = source.compile()
    inputs = source.stats().inputs
    for point in ([0.75, 0.5], [-2.0, 3.0]):
        point = point[0] if source.form()[0] else point[:inputs]
        equal(compiled(point), source(point))
        equal(compiled.value_and_grad(point), source.value_and_grad(point))
    assert compiled.program is source


def test_inputs_of_any_kind():
    source = FORMS["several in, one out"]
    compiled = source.compile()
    for point in ([1, 2.0], (True, np.float32(0.5)), np.array([1.0, 2.0]), np.arange(4.0)[::2], np.array([1, 2])):
        equal(compiled.value_and_grad(point), source.value_and_grad(point))


@pytest.mark.parametrize("x", [[1.0], [1.0, 2.0, 3.0], 1.0, "ab", None, [1.0, None]])
def test_wrong_inputs_give_the_error_of_the_program(x):
    source = FORMS["several in, one out"]
    compiled = source.compile()
    for call in ("__call__", "value_and_grad"):
        with pytest.raises(tapegrad.TapegradError) as expected:
            getattr(source, call)(x)
        with pytest.raises(type(expected.value)) as got:
            getattr(compiled, call)(x)
        assert str(got.value) == str(expected.value)


def test_called_with_variables_it_is_recorded():
    compiled = FORMS["several in, one out"].compile()
    tape = Tape()
    x, y = tape.var(0.5), tape.var(0.25)
    result = compiled([x, y])
    tape.backward(result)
    assert (result.value, [x.grad, y.grad]) == (compiled([0.5, 0.25]), compiled.value_and_grad([0.5, 0.25])[1].tolist())


def test_every_derivative_is_a_program_that_compiles(short_chunks):
    source = frozen(lambda x, y: tapegrad.sin(x * y) / (1.5 + x * x), 0.5, 0.25)
    point, along = [0.5, 0.75], [1.0, -2.0]
    for derivative in (source.tangent(), source.gradient().tangent(), source.tangent().tangent().gradient()):
        given = [*point, *along, *along, *along][: derivative.stats().inputs]
        given += [0.5] * (derivative.stats().inputs - len(given))
        equal(derivative.compile()(given), derivative(given))


def test_what_is_computed_alike_for_many_inputs():
    """By vector instructions, which give the same bits."""
    source = frozen(lambda *xs: sum(a * b - tapegrad.sin(a) / b for a, b in itertools.pairwise(xs)), *[0.5] * 20)
    point = np.linspace(0.1, 2.0, 20)
    equal(source.compile().value_and_grad(point), source.value_and_grad(point))
    hvp = source.gradient().tangent()
    equal(hvp.compile()([*point, *point]), hvp([*point, *point]))


# ---- guards ------------------------------------------------------------------------------------------------------


def branching(x, y):
    z = x * y if x < y else x / y
    if z != 1.0:
        z = z + 1.0
    return [z * x, y] if y >= 3.0 else [z, y]


@pytest.mark.parametrize("chunks", ["long", "short"])
@pytest.mark.parametrize("point", [[4.0, 2.0], [1.0, 1.0], [1.0, 4.0], [np.nan, 1.0]])
def test_a_broken_guard_is_named_and_nothing_is_written(chunks, point, request):
    if chunks == "short":
        request.getfixturevalue("short_chunks")
    source = frozen(branching, 0.75, 2.0)
    compiled = source.compile()
    equal(compiled.value_and_grad([1.5, 2.0]), source.value_and_grad([1.5, 2.0]))
    with pytest.raises(tapegrad.GuardError) as expected:
        source(point)
    x, value, gradient = np.array(point), np.full(2, 7.0), np.full((2, 2), 7.0)
    calls = (
        partial(compiled, point),
        partial(compiled.value_and_grad, point),
        compiled.bind(x, value),
        compiled.bind(x, value, gradient),
    )
    for call in calls:
        with pytest.raises(tapegrad.GuardError) as got:
            call()
        assert str(got.value) == str(expected.value)
    assert value.tolist() == [7.0, 7.0]
    assert gradient.tolist() == [[7.0, 7.0], [7.0, 7.0]]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("broken", [0, 17, 31, 32, 99])
def test_a_batch_names_the_first_point_that_breaks_a_guard(broken, threads):
    source = frozen(branching, 0.75, 2.0)
    points = np.tile([0.75, 2.0], (100, 1))
    points[broken:] = [4.0, 2.0]
    with pytest.raises(tapegrad.GuardError) as expected:
        source.batch(points, threads=threads)
    with pytest.raises(tapegrad.GuardError) as got:
        source.compile().batch(points, threads=threads)
    assert str(got.value) == str(expected.value)
    assert f"point {broken} takes another branch" in str(got.value)


# ---- batches -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("count", [0, 1, 16, 33, 64, 100])
@pytest.mark.parametrize("threads", [1, 3])
def test_batches_of_every_form(source, count, threads):
    inputs = source.stats().inputs
    points = np.random.default_rng(count).uniform(0.5, 2.0, (count, inputs))
    points = points[:, 0] if source.form()[0] else points
    compiled = source.compile()
    for got, expected in zip(compiled.batch(points, threads), source.batch(points, threads), strict=True):
        assert got.shape == expected.shape
        np.testing.assert_allclose(got, expected, rtol=1e-15)
    np.testing.assert_allclose(
        compiled.batch(points, threads, gradients=False), source.batch(points, gradients=False), rtol=1e-15
    )


def test_batches_in_chunks(short_chunks):
    source = FORMS["several in and out"]
    points = np.random.default_rng(0).uniform(0.5, 2.0, (50, 2))
    for got, expected in zip(source.compile().batch(points), source.batch(points), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-15)


@pytest.mark.parametrize(("points", "threads"), [(np.ones(3), 1), (np.ones((3, 3)), 1), (np.ones((3, 2)), 0)])
def test_wrong_batches(points, threads):
    source = FORMS["several in, one out"]
    with pytest.raises(tapegrad.InputError) as expected:
        source.batch(points, threads)
    with pytest.raises(tapegrad.InputError) as got:
        source.compile().batch(points, threads)
    assert str(got.value) == str(expected.value)


def test_masked_points_are_refused():
    points = np.ma.masked_array(np.ones((3, 2)), mask=[[True, False]] * 3)
    source = FORMS["several in, one out"]
    with pytest.raises(tapegrad.InputError) as expected:
        source.batch(points)
    with pytest.raises(tapegrad.InputError) as got:
        source.compile().batch(points)
    assert str(got.value) == str(expected.value)


def test_points_of_any_layout():
    source = FORMS["several in, one out"]
    points = np.random.default_rng(0).uniform(0.5, 2.0, (2, 80)).astype(np.float32)
    for given_points in (points.T, points.T[::3], points.T.tolist()):
        for got, expected in zip(source.compile().batch(given_points), source.batch(given_points), strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-15)


def test_threads_share_a_compiled_program():
    source = FORMS["several in, one out"]
    compiled = source.compile()
    points = np.random.default_rng(0).uniform(0.5, 2.0, (500, 2))
    expected = [source(point) for point in points]
    results = [[] for _ in range(4)]
    threads = [
        threading.Thread(target=lambda answers=answers: answers.extend(compiled(point) for point in points))
        for answers in results
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 4


# ---- bound arrays ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", FORMS.values(), ids=FORMS)
def test_bound_arrays(source):
    compiled, stats = source.compile(), source.stats()
    x, value = np.full(stats.inputs, 0.75), np.empty(stats.outputs)
    gradient = np.empty((stats.outputs, stats.inputs))
    alone, both = compiled.bind(x, value), compiled.bind(x, value, gradient)
    for number in (0.75, 1.5):
        x[:] = number
        alone()
        point = number if source.form()[0] else x
        np.testing.assert_array_equal(value, np.reshape(source(point), value.shape))
        value[:] = 0.0
        both()
        expected = source.value_and_grad(point)
        np.testing.assert_array_equal(value, np.reshape(expected[0], value.shape))
        np.testing.assert_array_equal(gradient, np.reshape(expected[1], gradient.shape))


def test_arrays_that_cannot_be_bound():
    compiled = FORMS["several in, one out"].compile()
    x, value, gradient = np.ones(2), np.empty(1), np.empty(2)
    fixed = np.empty(1)
    fixed.flags.writeable = False
    for arrays, words in [
        (([1.0, 2.0], value), r"inputs as a NumPy array of 2 float64, got \[1.0, 2.0\]"),
        ((np.ones(3), value), r"inputs as a NumPy array of 2 float64, got float64\(3,\)"),
        ((np.ones(2, np.float32), value), "got float32"),
        ((np.ones(4)[::2], value), "contiguous"),
        ((x, fixed), "written to"),
        ((x, value, np.empty(3)), "gradients as a NumPy array of 2 float64"),
        ((x, x[:1], gradient), "overlap"),
    ]:
        with pytest.raises(tapegrad.InputError, match=words):
            compiled.bind(*arrays)


def test_a_bound_array_stays():
    compiled = FORMS["several in, one out"].compile()
    x, value = np.ones(2), np.empty(1)
    call = compiled.bind(x, value)
    with pytest.raises(ValueError, match="cannot resize"):
        x.resize(1000)
    del x, compiled
    call()
    assert value == [np.e]


# ---- kernels -----------------------------------------------------------------------------------------------------


def test_kernels_are_compiled_when_they_are_needed():
    compiled = FORMS["several in, one out"].compile()
    assert repr(compiled) == "CompiledProgram(Program(2 inputs, 1 outputs, 2 instructions); compiled: nothing yet)"
    assert compiled.stats().kernels == {}
    compiled([1.0, 2.0])
    assert list(compiled.stats().kernels) == ["value"]
    compiled.prepare("batch")
    assert repr(compiled).endswith("compiled: value, batch)")
    counts = compiled.stats().kernels["value"]
    assert (counts.nodes, counts.origin) == (4, "compiled")
    assert counts.nbytes > 100
    with pytest.raises(tapegrad.InputError, match="value_and_grad, batch_value, batch, got 'gradient'"):
        compiled.prepare("gradient")
    both = FORMS["several in, one out"].compile("value_and_grad", "batch_value")
    assert list(both.stats().kernels) == ["value_and_grad", "batch_value"]


def test_the_same_code_is_made_once_in_a_process(monkeypatch):
    monkeypatch.setattr(llvm, "_kept", type(llvm._kept)())
    tape = Tape()
    x = tape.var(1.0)
    sources = [tape.freeze(x, x * 1.2345678), tape.freeze(x, x * 1.2345678)]
    assert [source.compile()(2.0) for source in sources] == [2.4691356, 2.4691356]
    assert len(llvm._kept) == 1
    monkeypatch.setattr(llvm, "MOST_KEPT", 2)
    compiled = [tape.freeze(x, x * number).compile("value") for number in (1.5, 2.5, 3.5)]
    assert len(llvm._kept) == 2
    assert [program(2.0) for program in compiled] == [3.0, 5.0, 7.0]


def test_code_is_kept_on_disk_where_it_is_asked_for(tmp_path, monkeypatch):
    def compiled():
        monkeypatch.setattr(llvm, "_kept", type(llvm._kept)())  # as in another process
        source = frozen(lambda x: x * 3.7654321 + tapegrad.exp(x), 1.0, one_input=True)
        program = source.compile("value", cache=tmp_path / "code")
        assert program(2.0) == source(2.0)
        return program.stats().kernels["value"].origin

    assert [compiled(), compiled()] == ["compiled", "disk"]
    (kept,) = (tmp_path / "code").iterdir()
    content = kept.read_bytes()
    for damaged in (content[:100], content[:-1] + bytes([content[-1] ^ 1]), b""):
        kept.write_bytes(damaged)
        assert compiled() == "compiled"
        assert kept.read_bytes() == content
    (tmp_path / "file").touch()
    with pytest.raises(tapegrad.InputError, match="expected a folder that code can be kept in, got"):
        frozen(lambda x: x * 3.7654322, 1.0).compile("value", cache=tmp_path / "file")


def test_without_llvmlite_everything_is_interpreted_and_that_is_said_once(monkeypatch):
    monkeypatch.setattr(llvm, "binding", lambda: None)
    monkeypatch.setattr(llvm, "_told", False)
    source = FORMS["several in and out"]
    compiled = source.compile()
    with pytest.warns(UserWarning, match=r"llvmlite is not installed, so this runs interpreted; `pip install"):
        compiled.prepare("value")
    point = [0.5, 0.25]
    equal(compiled(point), source(point))
    equal(compiled.value_and_grad(point), source.value_and_grad(point))
    equal(compiled.batch([point]), source.batch([point]))
    x, value, gradient = np.array(point), np.empty(3), np.empty((3, 2))
    compiled.bind(x, value, gradient)()
    equal((value, gradient), source.value_and_grad(point))
    assert compiled.stats().kernels == {}
    assert compiled.stats().vector_maths == "interpreted"


# ---- random programs ---------------------------------------------------------------------------------------------

# How many random graphs: 10,000 with GRADMARK_GRAPHS=10000.
GRAPHS = int(os.environ.get("GRADMARK_GRAPHS", "60"))
NUMBERS = st.one_of(
    st.floats(-2.0, 2.0), st.sampled_from([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1e-310, 1e300, -1e300])
)


@pytest.mark.slow
@settings(max_examples=GRAPHS, deadline=None)
@given(graphs(), st.lists(NUMBERS, min_size=6, max_size=6), st.sampled_from([3, kernels.CHUNK]), st.booleans())
def test_random_programs(graph, numbers, chunk, alike):
    """To second order, at ordinary and extreme points: the same bits at one point; in batches close, nan where nan."""
    inputs, steps = graph
    tape = Tape()
    xs = [tape.var(x) for x in inputs]
    source = tape.freeze(xs, run(steps, xs, recording)[-1])
    hvp = source.gradient().tangent()
    point, along = numbers[: len(inputs)], numbers[3 : 3 + len(inputs)]
    with pytest.MonkeyPatch.context() as patch:
        cut(patch, chunk)
        patch.setattr(program, "FEWEST_ALIKE", 1 if alike else 100)
        compiled = source.compile()
        for given_point in (inputs, point):
            equal(compiled.value_and_grad(given_point), source.value_and_grad(given_point))
            equal(hvp.compile()([*given_point, *along]), hvp([*given_point, *along]))
        points = [inputs] * 17 + [point]
        for got, expected in zip(compiled.batch(points), source.batch(points), strict=True):
            np.testing.assert_allclose(
                got[0], expected[0], rtol=1e-9, atol=1e-9 * max(1.0, np.max(np.abs(expected[0])))
            )
            np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))
