"""Loops: written out, eager and compiled give the same, with all derivatives to the second order."""

import sys
import threading
from typing import Any

import numpy
import pytest

import tapegrad
from tapegrad import tensor
from tapegrad.compile import llvm
from tapegrad.compile.symbol import tracing
from tapegrad.errors import InputError, ShapeError, TraceError

W = numpy.random.default_rng(0).normal(size=(3, 3)) / 2
X = numpy.random.default_rng(1).normal(size=(7, 3))
H = numpy.random.default_rng(2).normal(size=3)
V = numpy.random.default_rng(3).normal(size=(3, 3))


def step(w: Any, h: Any, x: Any) -> Any:
    """A step with a product, a kink at 0, a condition and a part of an array."""
    h = tensor.tanh(h @ w + x)
    return tensor.where(h > 0.1, h, tensor.relu(h) + h * h[:1])


def scanned(**options: Any) -> Any:
    def f(w: Any, h: Any = H, xs: Any = X) -> Any:
        def body(carry: Any, x: Any) -> Any:
            h, total = carry["h"], carry["total"]
            h = step(w, h, x)
            return {"h": h, "total": total + (h * x).sum()}, (h, h.sum())

        last, (hs, sums) = tapegrad.scan(body, {"h": h, "total": 0.0}, xs, **options)
        return last["total"] + (hs * hs).sum() + (sums * last["h"].sum()).sum()

    return f


def written_out(w: Any, h: Any = H, xs: Any = X) -> Any:
    total, hs = 0.0, []
    for k in range(len(xs)):
        h = step(w, h, xs[k])
        total = total + (h * xs[k]).sum()
        hs.append(h)
    value = total
    for each in hs:
        value = value + (each * each).sum() + each.sum() * h.sum()
    return value


def assert_close(got: Any, expected: Any) -> None:
    numpy.testing.assert_allclose(numpy.asarray(got), numpy.asarray(expected), rtol=1e-11, atol=1e-12)


TRANSFORMS = {
    "value": lambda f: lambda w, v: f(w),
    "gradient": lambda f: lambda w, v: tapegrad.grad(f)(w),
    "jvp": lambda f: lambda w, v: tapegrad.jvp(f, (w,), (v,))[1],
    "vjp": lambda f: lambda w, v: tapegrad.vjp(f, w)[1](1.5)[0],
    "hvp": lambda f: lambda w, v: tapegrad.hvp(f, (w,), (v,))[0],
    "reverse over reverse": lambda f: lambda w, v: tapegrad.grad(lambda w: (tapegrad.grad(f)(w) * v).sum())(w),
    "reverse over forward": lambda f: lambda w, v: tapegrad.grad(lambda w: tapegrad.jvp(f, (w,), (v,))[1])(w),
    "forward over forward": lambda f: (
        lambda w, v: tapegrad.jvp(lambda w: tapegrad.jvp(f, (w,), (v,))[1], (w,), (v,))[1]
    ),
    "jacobian": lambda f: lambda w, v: tapegrad.jacobian(f)(w),
    "jacobian forward": lambda f: lambda w, v: tapegrad.jacobian(f, mode="forward")(w),
    "hessian": lambda f: lambda w, v: tapegrad.hessian(f)(w),
}


@pytest.mark.slow
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_all_derivatives_of_a_scan(transform: str) -> None:
    made = TRANSFORMS[transform]
    expected = made(written_out)(W, V)
    assert_close(made(scanned())(W, V), expected)
    compiled = tapegrad.jit(made(scanned()))
    assert_close(compiled(W, V), expected)
    assert_close(compiled(W, V), expected)  # what the first call left behind is not read


@pytest.mark.slow
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length", [4, 5, 7])
@pytest.mark.parametrize("transform", ["gradient", "hvp", "reverse over reverse"])
def test_checkpoints(length: int, transform: str, reverse: bool) -> None:
    made = TRANSFORMS[transform]
    expected = made(lambda w: scanned(reverse=reverse)(w, H, X[:length]))(W, V)
    compiled = tapegrad.jit(made(lambda w: scanned(checkpoint=True, reverse=reverse)(w, H, X[:length])))
    assert_close(compiled(W, V), expected)


def test_checkpoints_keep_less() -> None:
    def last(w: Any, checkpoint: bool) -> Any:
        return tapegrad.scan(lambda h, x: (step(w, h, x), None), H, X.repeat(100, 0), checkpoint=checkpoint)[0].sum()

    kept, again = (
        tapegrad.jit(tapegrad.grad(lambda w, c=checkpoint: last(w, c))).report(W).temporary_bytes
        for checkpoint in (False, True)
    )
    assert again < kept / 5


@pytest.mark.parametrize("transform", ["value", "gradient", "hvp", "jvp"])
def test_reverse(transform: str) -> None:
    made = TRANSFORMS[transform]
    expected = made(lambda w: written_out(w, H, X[::-1]))(W, V)
    assert_close(made(scanned(reverse=True))(W, V), made(lambda w: scanned()(w, H, X[::-1]))(W, V))
    assert_close(tapegrad.jit(made(scanned(reverse=True)))(W, V), expected)


def test_gradients_of_init_and_rows() -> None:
    f, wanted = scanned(), (0, 1, 2)
    expected = tapegrad.value_and_grad(written_out, wanted)(W, H, X)
    got = tapegrad.jit(tapegrad.value_and_grad(f, wanted))(W, H, X)
    assert_close(got[0], expected[0])
    for mine, theirs in zip(got[1], expected[1], strict=True):
        assert_close(mine, theirs)


@pytest.mark.parametrize("length", [0, 1])
@pytest.mark.parametrize("wanted", ["value", "gradient", "hvp"])
def test_few_steps(length: int, wanted: str) -> None:
    def f(w: Any) -> Any:
        last, hs = tapegrad.scan(lambda h, x: (step(w, h, x), h), w[0], X[:length])
        return (last * last).sum() + hs.sum()

    def out(w: Any) -> Any:
        last = step(w, w[0], X[0]) if length else w[0]
        return (last * last).sum() + (w[0].sum() if length else 0.0)

    made = TRANSFORMS[wanted]
    assert_close(made(f)(W, V), made(out)(W, V))
    assert_close(tapegrad.jit(made(f))(W, V), made(out)(W, V))


def test_no_steps_give_rows_of_nothing() -> None:
    carry, ys = tapegrad.scan(lambda c, x: (c + x.sum(), (x, c)), 0.0, numpy.zeros((0, 2), numpy.float32))
    assert carry == 0.0
    assert [(y.shape, y.dtype) for y in ys] == [((0, 2), numpy.float32), ((0,), numpy.float32)]


@pytest.mark.parametrize("count", [0, 1, 3])
@pytest.mark.parametrize("reverse", [False, True])
def test_the_dtype_of_results_is_the_same_for_every_number_of_steps(count: int, reverse: bool) -> None:
    def f(x: Any, init: Any) -> Any:
        def body(c: Any, r: Any) -> Any:
            return {"k": c["k"] + 1, "c": c["c"] + r.sum()}, (c["c"], c["k"])

        return tapegrad.scan(body, {"c": init, "k": 0}, x, reverse=reverse)[1]

    x = numpy.ones((count, 2), numpy.float32)
    for init in (0.0, 0):
        eager, compiled = f(x, init), tapegrad.jit(lambda x, init=init: f(x, init))(x)
        assert [y.dtype for y in eager] == [y.dtype for y in compiled] == [numpy.float32, numpy.int64]
        assert eager[0].tolist() == compiled[0].tolist() == [0.0, 2.0, 4.0][:count][:: -1 if reverse else 1]
    if count:
        slope = tapegrad.grad(lambda x: (f(x, 0.0)[0] * f(x, 0.0)[0]).sum())(x)
        assert slope.dtype == numpy.float32


def test_a_scan_of_no_steps_beside_a_trace_in_another_thread() -> None:
    """Its body is traced, and while one thread traces the other waits."""
    inside, other, done = threading.Event(), threading.Event(), threading.Event()
    found = []

    def body(c: Any, x: Any) -> Any:
        inside.set()
        other.wait(0.2)
        return c + x, tensor.tanh(c * x)

    def scan() -> None:
        found.append(tapegrad.scan(body, W[0], W[:0])[1].shape)
        done.set()

    def f(w: Any) -> Any:
        other.set()
        done.wait(1)
        found.append(tracing())
        return w @ w

    thread = threading.Thread(target=scan)
    thread.start()
    inside.wait()
    assert_close(tapegrad.jit(f)(W), W @ W)
    thread.join()
    assert found == [(0, 3), True]


def test_scans_of_no_steps_and_traces_in_two_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llvm, "available", lambda: False)  # what matters is the tracing
    start, errors, interval = threading.Barrier(2), [], sys.getswitchinterval()

    def looped(work: Any) -> None:
        start.wait()
        try:
            for _ in range(1000):
                work()
        except Exception as error:
            errors.append(error)

    scan = lambda: tapegrad.scan(lambda c, x: (c + x, tensor.tanh(c * x)), W[0], W[:0])  # noqa: E731
    threads = [
        threading.Thread(target=looped, args=(work,)) for work in (scan, lambda: tapegrad.jit(lambda w: w @ w)(W))
    ]
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert errors == []


def test_a_scan_without_results_is_returned_whole() -> None:
    def f(w: Any) -> Any:
        return tapegrad.scan(lambda h, x: (step(w, h, x), None), H, X)

    compiled = tapegrad.jit(f)
    for _ in range(2):  # also the quick way
        carry, ys = compiled(W)
        assert ys is None
        assert_close(carry, f(W)[0])
    assert tapegrad.jit(lambda w: {"a": None, "b": [w, None]})(1.0) == {"a": None, "b": [1.0, None]}
    with pytest.raises(InputError, match="got NoneType"):
        tapegrad.jit(lambda w: None)(W)


@pytest.mark.parametrize("compiled", [False, True])
def test_structures_integers_and_constants(compiled: bool) -> None:
    """What is carried may be counted, swapped and left alone; a result may be None, and xs may be a dict."""

    def f(a: Any, b: Any) -> Any:
        def body(carry: Any, rows: Any) -> Any:
            k, (x, y), fixed = carry
            return (k + 1, (y, x + rows["u"] * fixed), fixed), {"k": k, "none": None, "y": [y]}

        return tapegrad.scan(body, (0, (a, b), 2.0), {"u": numpy.arange(4.0), "v": numpy.arange(4)})

    (k, (x, y), fixed), ys = (tapegrad.jit(f) if compiled else f)(1.0, 10.0)
    assert ys.pop("none") is None
    assert (int(k), x, y, fixed) == (4, 1 + 0 + 4, 10 + 2 + 6, 2.0)
    assert ys["k"].tolist() == [0, 1, 2, 3]
    assert numpy.asarray(ys["y"][0]).tolist() == [10, 1, 12, 5]


def test_a_number_takes_the_dtype_of_what_is_added_to_it() -> None:
    f = tapegrad.jit(lambda x: tapegrad.scan(lambda c, r: (c + r.sum(), None), 0.0, x)[0])
    assert f.graph(numpy.ones((3, 2), numpy.float32)).count("float32") >= 2
    assert f(numpy.ones((3, 2), numpy.float32)) == 6


def narrow(c: Any) -> Any:
    """A product that shows whether a number is one of Python's, which leaves float32 alone."""
    return c * numpy.ones(2, numpy.float32)


@pytest.mark.parametrize(
    ("init", "following", "dtype"),
    [
        (0.0, lambda c, r: c + r.sum(), numpy.float64),  # float, then float64: from the first step on
        (0, lambda c, r: c + r.sum(), numpy.float64),
        (1.0, lambda c, r: c * 2.0, numpy.float32),  # Python's in every step
        (1, lambda c, r: c * 1.5, numpy.float32),
        (0.5, lambda c, r: 1, numpy.float32),
        (numpy.float64(2.0), lambda c, r: 1.5, numpy.float64),
        (numpy.float32(2.0), lambda c, r: 1.5, numpy.float32),
    ],
)
@pytest.mark.parametrize("count", [0, 1, 3])
def test_results_have_the_dtype_of_the_carry_eager_and_compiled(
    init: Any, following: Any, dtype: Any, count: int
) -> None:
    def f(x: Any) -> Any:
        return tapegrad.scan(lambda c, r: (following(c, r), narrow(c)), init, x)

    def last(x: Any) -> Any:
        return narrow(tapegrad.fori_loop(0, count, lambda i, c: following(c, x), init))

    x = numpy.full((count, 2), 0.25)
    carry, ys = f(x)
    compiled_carry, compiled_ys = tapegrad.jit(f)(x)
    assert ys.dtype == compiled_ys.dtype == dtype
    numpy.testing.assert_array_equal(numpy.asarray(ys), compiled_ys)
    assert carry == compiled_carry
    if count:
        eager, compiled = last(x), tapegrad.jit(last)(x)
        assert eager.dtype == compiled.dtype == dtype
        numpy.testing.assert_array_equal(numpy.asarray(eager), compiled)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    ("init", "following", "message"),
    [
        (True, lambda c: 2, r"item 0 went in as bool\[\] and came out as int64\[\]; start with a number of int64"),
        (1, lambda c: True, r"int64\[\] and came out as bool\[\]"),
        (
            0.5,
            lambda c: numpy.int64(1),
            r"float64\[\] and came out as int64\[\]; .* or convert what the body returns to",
        ),
        (numpy.int64(1), lambda c: 1.5, r"int64\[\] and came out as float64\[\]"),
        (0.5, lambda c: numpy.ones(2), r"float64\[\] and came out as float64\[2\]; broadcast or reshape init"),
    ],
)
def test_a_number_that_becomes_of_another_kind(init: Any, following: Any, message: str, compiled: bool) -> None:
    """Every loop says the same, and of the same item."""

    def scanned(x: Any) -> Any:
        return tapegrad.scan(lambda c, r: (following(c), None), init, x)[0]

    def counted(x: Any) -> Any:
        return tapegrad.fori_loop(0, 3, lambda i, c: following(c), init)

    def repeated(x: Any) -> Any:
        return tapegrad.while_loop(lambda c: x.sum() < 1, following, init)

    for name, f in (("scan", scanned), ("fori_loop", counted), ("while_loop", repeated)):
        with pytest.raises(ShapeError, match=f"the body of {name} .*{message}"):
            (tapegrad.jit(f) if compiled else f)(numpy.zeros(2))


def test_an_array_beside_a_number_that_takes_a_dtype() -> None:
    """The number is float64 from the first step on, and so is what it is multiplied with."""

    def f(x: Any) -> Any:
        def body(i: Any, carry: Any) -> Any:
            return carry[0] + x.sum(), carry[0] * carry[1]

        return tapegrad.fori_loop(0, 1, body, (0.0, numpy.ones(2, numpy.float32)))

    for g in (f, tapegrad.jit(f)):
        with pytest.raises(ShapeError, match=r"item 1 went in as float32\[2\] and came out as float64\[2\]"):
            g(numpy.ones(3))


def test_numbers_on_a_tape() -> None:
    def f(x: Any) -> Any:
        last, ys = tapegrad.scan(lambda y, k: (tapegrad.sin(y) * x + k, y), x, numpy.arange(3.0))
        return last + ys[0] * ys[1] + tapegrad.fori_loop(0, 3, lambda i, y: y * x + i, x)

    def out(x: Any) -> Any:
        ys, y = [], x
        for k in range(3):
            ys.append(y)
            y = tapegrad.sin(y) * x + k
        z = x
        for i in range(3):
            z = z * x + i
        return y + ys[0] * ys[1] + z

    assert tapegrad.value_and_grad(f)(0.7) == tapegrad.value_and_grad(out)(0.7)
    assert tapegrad.hessian(f)(0.7) == tapegrad.hessian(out)(0.7)


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_fori_loop(transform: str) -> None:
    def f(w: Any) -> Any:
        return tapegrad.fori_loop(2, 6, lambda i, y: tensor.sin(y @ w) * i + tensor.constant(X)[i], H).sum()

    def out(w: Any) -> Any:
        y: Any = H
        for i in range(2, 6):
            y = tensor.sin(y @ w) * i + X[i]
        return y.sum()

    made = TRANSFORMS[transform]
    expected = made(out)(W, V)
    assert_close(made(f)(W, V), expected)
    compiled = tapegrad.jit(made(f))
    assert_close(compiled(W, V), expected)
    assert compiled.report(W, V).interpreted == []


def test_a_row_that_is_not_there() -> None:
    f = tapegrad.jit(lambda w: tapegrad.fori_loop(0, 9, lambda i, y: y + w[i], 0.0))
    with pytest.raises(InputError, match="index"):
        f(numpy.ones(5))


def newton(a: Any) -> Any:
    """√a by Newton's steps, as many as it takes."""
    return tapegrad.while_loop(lambda c: abs(c * c - a) > 1e-12, lambda c: (c + a / c) / 2.0, a + 1.0)


def test_while_loop() -> None:
    for a in (2.0, 1e6):
        exact = numpy.sqrt(a)
        assert newton(a) == pytest.approx(exact, rel=1e-12)
        assert tapegrad.grad(newton)(a) == pytest.approx(0.5 / exact, rel=1e-9)


def test_while_loop_compiled() -> None:
    def f(a: Any) -> Any:
        return tapegrad.while_loop(
            lambda c: ((c * c - a) * (c * c - a)).sum() > 1e-18, lambda c: (c + a / c) / 2.0, a + 1.0
        )

    a = numpy.array([2.0, 9.0])
    g = tapegrad.jit(f)
    assert_close(g(a), numpy.sqrt(a))
    assert_close(g(a * 100), numpy.sqrt(a * 100))
    assert g.traces == 1
    assert g.report(a).interpreted == []
    tangent = tapegrad.jit(lambda a, v: tapegrad.jvp(f, (a,), (v,))[1])
    assert_close(tangent(a, numpy.ones(2)), tapegrad.jvp(f, (a,), (numpy.ones(2),))[1])
    assert_close(tapegrad.jit(lambda a: tapegrad.jacobian(f, mode="forward")(a))(a), tapegrad.jacobian(f)(a))


def test_while_loop_that_does_not_start() -> None:
    assert tapegrad.jit(lambda x: tapegrad.while_loop(lambda c: c < 0, lambda c: c + 1.0, x))(3.0) == 3.0


def test_while_loop_has_no_reverse_mode_inside_jit() -> None:
    def f(x: Any) -> Any:
        return tapegrad.while_loop(lambda c: c < 10, lambda c: c * x, x)

    assert tapegrad.grad(f)(3.0) == 27.0
    with pytest.raises(TraceError, match="fori_loop"):
        tapegrad.jit(tapegrad.grad(f))(3.0)


def test_bounds_that_are_data() -> None:
    f = tapegrad.jit(lambda n, x: tapegrad.fori_loop(0, n, lambda i, y: y * x + i, x))
    for n in (0, 3, 5):
        assert f(numpy.array(n), 0.5) == tapegrad.fori_loop(0, n, lambda i, y: y * 0.5 + i, 0.5)
    assert f.traces == 1


def test_loops_in_loops() -> None:
    def f(w: Any) -> Any:
        def outer(h: Any, x: Any) -> Any:
            gate = h.sum() > 0  # a condition of the outer step, which the inner one reads
            inner = tapegrad.fori_loop(
                0, 3, lambda i, y: tensor.where(gate, tensor.tanh(y @ w), y) + x * h, tensor.tanh(h * x)
            )
            return inner, (h * inner).sum()

        return tapegrad.scan(outer, w[1], X)[1].sum()

    def out(w: Any) -> Any:
        h, total = w[1], 0.0
        for k in range(len(X)):
            gate, y = h.sum() > 0, tensor.tanh(h * X[k])
            for _ in range(3):
                y = (tensor.tanh(y @ w) if gate else y) + X[k] * h
            total = total + (h * y).sum()
            h = y
        return total

    for name in ("value", "gradient", "hvp", "reverse over reverse"):
        made = TRANSFORMS[name]
        assert_close(tapegrad.jit(made(f))(W, V), made(out)(W, V))


def test_derivatives_inside_a_body() -> None:
    """Gradient descent, differentiated by its step."""

    def f(rate: Any) -> Any:
        slope = tapegrad.grad(lambda y: ((y * y - 2.0) * (y * y - 2.0)).sum())
        return tapegrad.fori_loop(0, 5, lambda _, y: y - rate * slope(y), numpy.array([1.0, 2.0])).sum()

    rate = numpy.array([0.01, 0.02])
    value, gradient = tapegrad.value_and_grad(f)(rate)
    got = tapegrad.jit(tapegrad.value_and_grad(f))(rate)
    assert_close(got[0], value)
    assert_close(got[1], gradient)


@pytest.mark.parametrize("name", ["no_grad", "detach", "constant"])
def test_what_is_cut_off_stays_cut_off(name: str) -> None:
    def body(w: Any, y: Any) -> Any:
        if name == "no_grad":
            with tapegrad.no_grad():
                fixed = y * w
        else:
            fixed = (y * w).detach() if name == "detach" else tensor.constant(y * w)
        return y * w + fixed * y

    def f(w: Any) -> Any:
        return tapegrad.fori_loop(0, 3, lambda _, y: body(w, y), w + 1.0).sum()

    one = numpy.ones(1)
    expected = tapegrad.jvp(tapegrad.grad(f), (one / 2,), (one,))
    assert_close(tapegrad.jit(lambda w: tapegrad.jvp(tapegrad.grad(f), (w,), (one,)))(one / 2), expected)


def test_what_is_interpreted_runs_step_by_step() -> None:
    places = numpy.array([2, 0, 1])

    def f(w: Any) -> Any:
        last, ys = tapegrad.scan(lambda h, x: (tensor.tanh(h @ w)[places] + x, h[places]), H, X)
        return (last * ys).sum()

    compiled = tapegrad.jit(tapegrad.value_and_grad(f))
    value, gradient = compiled(W)
    assert "scan" in compiled.report(W).interpreted
    assert_close(value, f(W).item())
    assert_close(gradient, tapegrad.grad(f)(W))


def test_float32_stays_float32() -> None:
    w = W.astype(numpy.float32)
    f = scanned()
    value, gradient = tapegrad.jit(tapegrad.value_and_grad(lambda w: f(w, H.astype("f"), X.astype("f"))))(w)
    assert gradient.dtype == numpy.float32
    numpy.testing.assert_allclose(gradient, tapegrad.grad(f)(W), rtol=1e-4)
    assert value == pytest.approx(float(f(tensor.constant(W)).item()), rel=1e-5)


def test_the_body_is_traced_once() -> None:
    calls = []

    def f(w: Any) -> Any:
        def body(h: Any, x: Any) -> Any:
            calls.append(1)
            return step(w, h, x), None

        return tapegrad.scan(body, H, X)[0].sum()

    tapegrad.jit(lambda w: tapegrad.hvp(f, (w,), (V,)))(W)
    assert len(calls) == 1


@pytest.mark.parametrize("used", [0, 1])
def test_results_that_nothing_reads_have_no_cotangent(used: int) -> None:
    """Zeros times an infinity would be nan; and the loop forwards runs once, whatever is kept."""

    def f(x: Any) -> Any:
        def body(c: Any, r: Any) -> Any:
            c = tensor.tanh(c + r)
            return c, (c, r * c)

        last, rows = tapegrad.scan(body, 0.5, x)
        return last * 3.0 if used else rows[0].sum()

    x = numpy.array([0.5, numpy.inf, 2.0])
    both = tapegrad.value_and_grad(f)
    compiled = tapegrad.jit(both)
    value, gradient = compiled(x)
    assert_close(value, both(x)[0])
    assert_close(gradient, both(x)[1])
    assert numpy.isfinite(gradient).all()
    assert compiled.report(x).loops == 2


def test_the_graph_is_as_long_for_any_count() -> None:
    def operations(count: int) -> int:
        return tapegrad.jit(tapegrad.grad(lambda w: scanned()(w, H, numpy.zeros((count, 3))))).report(W).operations

    assert operations(10) == operations(1000)


BODIES: list[tuple[Any, Any, str]] = [
    (lambda h, x: (h[:1], None), H, r"item 0 went in as float64\[3\] and came out as float64\[1\]"),
    (lambda h, x: ((h, h), None), H, "item 0 of the carry to stay what it was, ndarray, got tuple"),
    (lambda h, x: (h + x, None), H.astype("f"), r"float32\[3\] and came out as float64\[3\]; convert it: init.astype"),
    (lambda h, x: h, H, r"expected the function of scan to return \(carry, y\)"),
    (lambda h, x: ({"b": h["a"]}, None), {"a": H}, r"a dict with the keys \['a'\], got \['b'\]"),
]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(("body", "init", "message"), BODIES)
def test_a_carry_that_changes(body: Any, init: Any, message: str, compiled: bool) -> None:
    def f(x: Any) -> Any:
        return tapegrad.scan(body, init, x)[0]

    with pytest.raises((InputError, ShapeError), match=message):
        (tapegrad.jit(f) if compiled else f)(X)


def test_indices_are_checked_in_every_step_of_a_gradient() -> None:
    def f(w: Any, places: Any) -> Any:
        return tapegrad.scan(lambda c, k: (c + w[k] * w[k], None), 0.0, places)[0]

    g = tapegrad.jit(lambda w, p: tapegrad.hvp(lambda w: f(w, p), (w,), (w,))[0])
    assert g(numpy.ones(3), numpy.array([0, 2, -1])).tolist() == [2, 0, 4]
    with pytest.raises(InputError, match="expected an index of 3 rows"):
        g(numpy.ones(3), numpy.array([0, 3, 0]))


def test_conditions_of_a_step_and_tensors_from_outside() -> None:
    """What has a derivative comes from outside, and what decides from the step."""

    def f(w: Any) -> Any:
        def outer(c: Any, k: Any) -> Any:
            inner = tapegrad.fori_loop(0, 2, lambda i, y: y * tensor.where(k > i, w, w * w)[k].sum(), c)
            return inner + tensor.where(k > 1, w, 2.0 * w).sum(), None

        return tapegrad.scan(outer, 1.0, numpy.arange(3))[0]

    for name in ("value", "gradient", "hvp", "reverse over reverse"):
        made = TRANSFORMS[name]
        assert_close(tapegrad.jit(made(f))(W, V), made(f)(W, V))


def test_how_many_steps() -> None:
    def body(c: Any, x: Any) -> Any:
        return c, x

    with pytest.raises(ShapeError, match="equally many rows in xs, got 2 and 3"):
        tapegrad.scan(body, 0.0, (numpy.zeros(2), numpy.zeros((3, 2))))
    with pytest.raises(InputError, match="neither xs nor length"):
        tapegrad.scan(body, 0.0)
    with pytest.raises(ShapeError, match="as many rows in xs as length says, 4, got 2"):
        tapegrad.scan(body, 0.0, numpy.zeros(2), length=4)
    with pytest.raises(InputError, match="0 or more"):
        tapegrad.scan(body, 0.0, length=-1)
    with pytest.raises(InputError, match="expected xs to hold arrays"):
        tapegrad.scan(body, 0.0, [1.0, 2.0])


def test_a_condition_of_many_numbers() -> None:
    with pytest.raises(InputError, match="condition of while_loop to be one number"):
        tapegrad.jit(lambda x: tapegrad.while_loop(lambda c: c < 3, lambda c: c + 1.0, x))(numpy.zeros(2))


def test_labels_are_checked_in_every_step() -> None:
    def f(x: Any, labels: Any) -> Any:
        return tapegrad.scan(lambda c, row: (c + tensor.softmax_cross_entropy(x, row), None), 0.0, labels)[0]

    g = tapegrad.jit(f)
    assert_close(g(numpy.ones((2, 3)), numpy.array([[0, 1], [2, 2]])), 2 * numpy.log(3))
    with pytest.raises(InputError, match="expected labels from 0 to 2"):
        g(numpy.ones((2, 3)), numpy.array([[0, 1], [2, 3]]))


@pytest.mark.parametrize("transform", ["value", "gradient", "hvp"])
def test_without_llvm_a_loop_runs_step_by_step(transform: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llvm, "available", lambda: False)
    made = TRANSFORMS[transform]
    compiled = tapegrad.jit(made(scanned()))
    assert_close(compiled(W, V), made(written_out)(W, V))
    assert compiled.report(W, V).kernels == 0


def test_a_fraction_that_becomes_an_integer_is_refused_when_compiled() -> None:
    def f(k: Any) -> Any:
        return tapegrad.scan(lambda c, r: (r * 2, None), 0.5, k)[0]

    with pytest.raises(ShapeError, match="int64"):
        tapegrad.jit(f)(numpy.array([3, 4, 5]))


def test_a_condition_that_is_no_number_is_refused_alike_in_both() -> None:
    def f(x: Any) -> Any:
        return tapegrad.while_loop(lambda c: c < 10.0, lambda c: c * 2.0, x)

    for call in (f, tapegrad.jit(f)):
        with pytest.raises(InputError, match=r"expected the condition of while_loop to be one number, got an array of"):
            call(numpy.ones(3))
