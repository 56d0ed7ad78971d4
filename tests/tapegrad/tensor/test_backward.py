"""The backward pass: accumulation, seeds, what is released and when, and graphs of every shape."""

import gc
import sys
import threading
import weakref

import numpy as np
import pytest
from oracles import agreement
from oracles import tensor as oracle
from oracles.problems import PROBLEMS

import tapegrad
from tapegrad import Tensor, TensorStats, tensor
from tapegrad.tensor.instruction import PRIMITIVES


def leaf(values, dtype=float):
    return Tensor(np.array(values, dtype=dtype), requires_grad=True)


@pytest.fixture
def calls(monkeypatch):
    """The names of the primitives whose rules ran, in order."""
    seen = []

    def counted(name, rule):
        def vjp(i, g):
            seen.append(name)
            return rule(i, g)

        return vjp

    for name, primitive in PRIMITIVES.items():
        monkeypatch.setattr(primitive, "vjp", counted(name, primitive.vjp))
    return seen


@pytest.fixture
def reused(monkeypatch):
    """Arrays of any size are written over when they are no longer needed, not only large ones."""
    modules = [m for name, m in sys.modules.items() if name.startswith("tapegrad.tensor") and hasattr(m, "REUSED")]
    for module in modules:
        monkeypatch.setattr(module, "REUSED", 2)  # NumPy's results of shape () cannot be written to


# accumulation


def test_gradients_add_up_over_backward_passes_in_place():
    x = leaf([1.0, 2.0])
    (x * x).sum().backward()
    first = x.grad
    (x * 3).sum().backward()
    assert x.grad is first
    assert first.tolist() == [5.0, 7.0]


def test_the_gradients_of_leaves_are_their_own_arrays():
    """Rules hand one cotangent to several operands: what the user gets must not be shared."""
    seed = np.ones(2)
    x, y, z = leaf([1.0, 2.0]), leaf([3.0, 4.0]), leaf([5.0, 6.0])
    (x + y + tensor.reshape(z, (2,))).backward(seed)
    for array in (x.grad, y.grad, z.grad):
        array += 10
    assert seed.tolist() == [1.0, 1.0]
    assert [x.grad.tolist(), y.grad.tolist(), z.grad.tolist()] == [[11.0, 11.0]] * 3


def test_a_gradient_can_always_be_written_to():
    for f in (tensor.sum, tensor.mean, lambda x: x.T, lambda x: tensor.broadcast_to(x, (2, 2, 3)), lambda x: x[0]):
        for size in (3, 5000):
            x = leaf(np.ones((2, size)))
            y = f(x) if size == 3 else tensor.sum(x)
            y.backward(np.ones(y.shape))
            x.grad += 1


@pytest.mark.parametrize(
    ("f", "slope"),
    [
        (lambda x: x * x, 6.0),
        (lambda x: x + x, 2.0),
        (lambda x: x - x, 0.0),
        (lambda x: x / x, 0.0),
        (lambda x: tensor.maximum(x, x), 1.0),
        (lambda x: tensor.where([True, False], x, x), 1.0),
        (lambda x: tensor.concatenate([x, x]), 2.0),
        (lambda x: tensor.stack([x, x * 2, x]), 4.0),
        (lambda x: tensor.einsum("i,i->i", x, x), 6.0),
        (lambda x: x[[0, 1, 1, 0]] + x[[1, 1, 0, 0]], 4.0),
        (lambda x: x[0] + x[1] + x[0:2].sum(), 2.0),
    ],
)
def test_the_same_tensor_as_several_operands(f, slope):
    x = leaf([3.0, 3.0])
    f(x).sum().backward()
    assert x.grad.tolist() == [slope, slope]


def test_shared_subexpressions():
    x = leaf([2.0])
    a = x * x  # 4
    b = a * x  # 8
    c = a * b + a + b  # x^5 + x^2 + x^3
    c.backward()
    assert x.grad.tolist() == [5 * 16 + 2 * 2 + 3 * 4.0]


def test_several_leaves_of_which_some_are_not_reached():
    x, y, unused = leaf([1.0]), leaf([2.0]), leaf([3.0])
    (x * y).backward()
    assert (x.grad.tolist(), y.grad.tolist(), unused.grad) == ([2.0], [1.0], None)


@pytest.mark.parametrize("size", [2, 5000])
def test_gathering_from_many_parts(size):
    """Slices, whole tensors and cotangents that others see come together in one array."""
    x = leaf(np.ones((3, size)))
    y = x[0] + x[1] * 2 + x[[2, 2]].sum(0) + (x + x).sum(0) + (x * 5)[1]
    y.sum().backward()
    assert x.grad[:, 0].tolist() == [3.0, 9.0, 4.0]
    assert (x.grad == x.grad[:, :1]).all()


# seeds


def test_seeds():
    for seed in ([1.0, 10.0], (1, 10), np.array([1, 10]), Tensor([1.0, 10.0]), np.array([1.0, 10.0], np.float32)):
        x = leaf([2.0, 3.0])
        (x * x).backward(seed)
        assert x.grad.tolist() == [4.0, 60.0]
    x = leaf([[2.0]])
    (x * x).backward()  # one number needs none
    assert x.grad.tolist() == [[4.0]]


def test_a_seed_is_of_the_shape_of_the_result():
    x = leaf([2.0, 3.0])
    with pytest.raises(tapegrad.ShapeError, match=r"shape \(2,\) needs a seed.*\.sum\(\)"):
        (x * x).backward()
    with pytest.raises(tapegrad.ShapeError, match=r"a seed of shape \(2,\), got \(\)"):
        (x * x).backward(1.0)
    with pytest.raises(tapegrad.ShapeError, match=r"a seed of shape \(2,\), got \(1, 2\)"):
        (x * x).backward([[1.0, 2.0]])
    assert x.grad is None


def test_a_leaf_is_its_own_gradient():
    x = leaf([2.0, 3.0])
    seed = np.array([4.0, 5.0])
    x.backward(seed)
    seed[0] = 7
    x.backward(seed)
    assert x.grad.tolist() == [11.0, 10.0]


def test_a_constant_has_none():
    for constant in (Tensor(1.0), leaf(1.0).detach(), Tensor(2.0) * 3):
        with pytest.raises(tapegrad.ConstantError, match="make the inputs with requires_grad=True"):
            constant.backward()


# released and retained


def test_a_second_backward_through_released_values():
    x = leaf([2.0])
    y = tensor.exp(x) * 2
    y.backward()
    with pytest.raises(tapegrad.ReleasedError, match=r"'mul'.*compute the result again.*retain=True"):
        y.backward()
    assert x.grad.tolist() == [2 * np.exp(2.0)]


def test_a_part_that_two_results_share_is_released_by_the_first():
    x = leaf([2.0])
    shared = x * x
    first, second = shared * 2, shared * 3
    first.backward()
    with pytest.raises(tapegrad.ReleasedError, match="'mul'"):
        second.backward()
    assert x.grad.tolist() == [8.0]
    x.grad = None
    shared = x * x
    first, second = shared * 2, shared * 3
    first.backward(retain=True)
    second.backward()
    assert x.grad.tolist() == [20.0]


@pytest.mark.parametrize("everything", [False, True], ids=["as it is", "everything reused"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_retained_recording_gives_the_same_again(request, name, everything):
    """No rule writes into what it saved, nor into what others see, while that is still needed."""
    if everything:
        request.getfixturevalue("reused")

    def check(outcome, rng):
        operands = [leaf(x) for x in outcome.exact]
        y = outcome.problem.ours(*operands) * 1.5
        y.backward(outcome.seed, retain=True)
        first = [x.grad.copy() for x in operands]
        y.backward(outcome.seed, retain=True)
        second = [x.grad.copy() for x in operands]
        y.backward(outcome.seed)
        for x, once, twice in zip(operands, first, second, strict=True):
            assert (twice == 2 * once).all()
            assert (x.grad == twice + once).all()

    agreement.agree(name, check, examples=8)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.usefixtures("reused")
def test_gradients_are_those_of_differences_also_where_arrays_are_written_over(name):
    agreement.with_differences(name, examples=15)


def test_large_arrays_are_written_over(monkeypatch):
    """What the test above relies on: with so many numbers a rule is given the cotangent's array to write into."""
    given = []
    rule = PRIMITIVES["exp"].vjp
    monkeypatch.setattr(PRIMITIVES["exp"], "vjp", lambda i, g: given.append(i.scratch is g) or rule(i, g))
    for size in (10, 100_000):
        x = leaf(np.zeros(size))
        (tensor.exp(x) * 2.0).sum().backward()
        assert (x.grad == 2).all()
    assert given == [False, True]


@pytest.mark.usefixtures("reused")
def test_small_arrays_are_written_over_where_a_test_says_so(monkeypatch):
    given = []
    rule = PRIMITIVES["exp"].vjp
    monkeypatch.setattr(PRIMITIVES["exp"], "vjp", lambda i, g: given.append(i.scratch is g) or rule(i, g))
    (tensor.exp(leaf([1.0, 2.0])) * 2.0).sum().backward()
    assert given == [True]


ROWS, COLUMNS = 64, 128
BY_ROW = {
    "mul": lambda x: x * x * 2.0,
    "div": lambda x: (x + 3.0) / (x * x + 1.0),
    "elementwise": lambda x: tensor.tanh(tensor.sigmoid(-tensor.exp(tensor.sin(x)))) * tensor.cos(x),
    "slopes": lambda x: tensor.gelu(tensor.gelu(tensor.softplus(x), "tanh")),
    "kinks": lambda x: tensor.relu(tensor.clip(tensor.abs(x) - 0.5, None, 1.0)),
    "softmax": lambda x: tensor.softmax(x * 1.0) * 3.0,
    "log_softmax": lambda x: tensor.log_softmax(x * 1.0) * 3.0,
    "logsumexp": lambda x: tensor.logsumexp(x * 1.0, -1) * 3.0,
    "layer_norm": lambda x: tensor.layer_norm(x * 1.0, np.linspace(1, 2, COLUMNS), np.ones(COLUMNS)) * 3.0,
    "cross_entropy": lambda x: tensor.softmax_cross_entropy(x * 1.0, np.arange(len(x)) % 7, "none") * 3.0,
    "var": lambda x: tensor.var(x * 1.0, -1) + x.max(-1) + x.mean(-1),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BY_ROW)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_large_array_has_the_gradients_of_its_rows(name, dtype):
    """Large arrays are computed in place, small ones are not."""
    values = np.random.default_rng(0).normal(size=(ROWS, COLUMNS)).astype(dtype)
    whole = Tensor(values, requires_grad=True)
    weights = np.random.default_rng(1).normal(size=BY_ROW[name](whole).shape).astype(dtype)
    for _ in range(2):
        (BY_ROW[name](whole) * weights).sum().backward()
    # the labels of the rows repeat with period 7
    for start in range(0, ROWS - 7, 7):
        part = Tensor(values[start : start + 7], requires_grad=True)
        (BY_ROW[name](part) * weights[start : start + 7]).sum().backward()
        np.testing.assert_allclose(whole.grad[start : start + 7], 2 * part.grad, rtol=0, atol=200 * np.finfo(dtype).eps)


# memory


def test_saved_values_are_released_during_backward(monkeypatch):
    """When the first rule of the forward pass runs, as the last one, all that the others had saved is gone."""
    x = leaf(np.ones(100))
    y, saved = tensor.sin(x), []
    for _ in range(5):
        y = tensor.exp(y * 0.5)
        saved.append(weakref.ref(y._array))
    y = y.sum()
    gc.collect()
    assert [reference() is None for reference in saved] == [False] * 5
    alive = []
    rule = PRIMITIVES["sin"].vjp

    def spy(i, g):
        alive.append(sum(reference() is not None for reference in saved))
        return rule(i, g)

    monkeypatch.setattr(PRIMITIVES["sin"], "vjp", spy)
    gc.disable()
    try:
        y.backward()
    finally:
        gc.enable()
    assert alive == [0]
    assert y.stats() == TensorStats(12, 0, 0)


def test_what_no_rule_saved_is_free_at_once():
    x = leaf(np.ones(100))
    gc.disable()
    try:
        y = x + 1
        memory = weakref.ref(y._array)
        z = (y - 2).sum()
        del y
        assert memory() is None
    finally:
        gc.enable()
    z.backward()
    assert x.grad.tolist() == [1.0] * 100


@pytest.mark.parametrize("retain", [False, True])
def test_a_recording_goes_with_its_last_tensor(retain):
    """There are no cycles: nothing waits for the garbage collector."""
    x = leaf(np.ones(100))
    gc.collect()
    gc.disable()
    try:
        y = tensor.exp(x)
        memory = weakref.ref(y._array)
        y = (y * y).sum()
        y.backward(retain=retain)
        del y
        assert memory() is None
    finally:
        gc.enable()


def test_an_error_in_a_rule_leaves_gradients_alone(monkeypatch):
    x, y = leaf([1.0]), leaf([2.0])
    (x * y).backward()

    def broken(i, g):
        raise MemoryError

    monkeypatch.setattr(PRIMITIVES["sin"], "vjp", broken)
    with pytest.raises(MemoryError):
        (tensor.sin(x) * y + x * 5).backward()
    assert (x.grad.tolist(), y.grad.tolist()) == ([2.0], [1.0])


# every shape of graph


def test_each_rule_runs_once(calls):
    """60 doublings are 2^60 paths, but 60 instructions."""
    x = leaf([1.0])
    y = x
    for _ in range(60):
        y = y + y
    y.backward()
    assert x.grad.tolist() == [2.0**60]
    assert calls == ["add"] * 60


@pytest.mark.parametrize("width", [1, 10, 100])
def test_backward_is_linear_in_instructions(calls, width):
    x = leaf([1.0])
    y = sum((tensor.sin(x * k) for k in range(width)), start=x * 0.0)
    assert y.stats().instructions == 3 * width + 1
    y.backward()
    assert len(calls) == 3 * width + 1


def test_rules_run_in_the_reverse_order_of_execution(calls):
    x = leaf([1.0])
    a = tensor.sin(x)
    b = tensor.cos(x)
    (tensor.exp(b) + tensor.tanh(a)).backward()
    assert calls == ["add", "tanh", "exp", "cos", "sin"]


def test_only_what_leads_to_the_result_is_visited(calls):
    x = leaf([1.0])
    unused = tensor.exp(x)
    tensor.sin(x).backward()
    assert calls == ["sin"]
    unused.backward()
    assert calls == ["sin", "exp"]


DEEP = 100_000


def in_a_small_stack(work):
    """Runs in a thread whose stack recursion would soon exhaust."""
    failed = []

    def run():
        try:
            work()
        except BaseException as error:
            failed.append(error)

    before = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert failed == []


def chain(x):
    for _ in range(DEEP):
        x = x + 1.0
    return x


@pytest.mark.slow
def test_deep_chains():
    def work():
        x = leaf([1.0])
        y = chain(x)
        assert y.stats().instructions == DEEP
        y.backward()
        assert x.grad.tolist() == [1.0]
        assert y.data.tolist() == [DEEP + 1.0]
        del y

    in_a_small_stack(work)


@pytest.mark.slow
@pytest.mark.parametrize("last", [lambda y: y, lambda y: y * 2 + y, lambda y: tensor.concatenate([y, y])])
def test_deep_chains_that_are_dropped(last):
    def work():
        x = leaf([1.0])
        y = last(chain(x))
        del y
        assert x.grad is None

    in_a_small_stack(work)


@pytest.mark.slow
def test_the_oracle_runs_the_engine_it_is_asked_to(calls):
    """The problems of a primitive do reach its rule."""
    for name in PROBLEMS:
        calls.clear()
        agreement.agree(name, lambda outcome, rng: oracle.check_value(outcome), examples=5)
        assert name in calls
