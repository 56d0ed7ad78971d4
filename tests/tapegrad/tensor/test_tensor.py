"""Tensors: what they hold, their dtypes, what is recorded, and what they refuse."""

import operator
import threading

import numpy as np
import pytest

import tapegrad
from tapegrad import Tensor, TensorStats, no_grad, tensor


def leaf(values, dtype=float):
    return Tensor(np.array(values, dtype=dtype), requires_grad=True)


# what it holds


def test_attributes():
    x = Tensor(np.ones((2, 3), np.float32), requires_grad=True)
    assert (x.shape, x.ndim, x.size, x.dtype, len(x)) == ((2, 3), 2, 6, np.float32, 2)
    assert x.requires_grad
    assert x.grad is None
    assert type(x.data) is np.ndarray
    assert [row.shape for row in x] == [(3,), (3,)]
    assert repr(Tensor([1.0, 2.0])) == "Tensor([1., 2.])"
    assert repr(leaf([1.0])) == "Tensor([1.], requires_grad=True)"
    assert repr(leaf([1.0]).sum()) == "Tensor(1., requires_grad=True)"


@pytest.mark.parametrize("value", [2, 2.0, True, [1, 2], [[1.5], [2]], (1.0, 2.0), np.float32(3), np.arange(3)])
def test_made_of_numbers_lists_and_arrays(value):
    x = Tensor(value)
    assert x.data.tolist() == np.array(value).tolist()
    assert x.dtype == np.array(value).dtype
    assert not x.requires_grad
    assert Tensor(x).data.tolist() == x.data.tolist()


def test_the_array_is_copied():
    array = np.ones(3)
    x = Tensor(array, requires_grad=True)
    y = Tensor(x)
    array[0] = 5
    x.numpy()[1] = 6
    x.data[2] = 7
    assert x.data.tolist() == [1, 1, 7]
    assert y.data.tolist() == [1, 1, 1]
    assert not y.requires_grad


def test_new_data():
    x = leaf([1.0, 2.0], np.float32)
    y = (x * x).sum()
    new = np.array([3.0, 4.0])
    x.data = new
    new[0] = 9
    assert x.data.tolist() == [3.0, 4.0]
    assert x.dtype == np.float32
    y.backward()
    assert x.grad.tolist() == [2.0, 4.0]  # of the numbers that were there
    with pytest.raises(tapegrad.ShapeError, match=r"new data of shape \(2,\), got \(3,\)"):
        x.data = np.ones(3)
    with pytest.raises(tapegrad.InputError, match="not computed"):
        y.data = 1.0


def test_a_gradient_can_be_set_and_cleared():
    x = leaf([1.0, 2.0], np.float32)
    x.grad = [1, 2]
    assert x.grad.dtype == np.float32
    (x * 3).sum().backward()
    assert x.grad.tolist() == [4.0, 5.0]
    x.grad = None
    assert x.grad is None
    with pytest.raises(tapegrad.ShapeError, match=r"a gradient of shape \(2,\), got \(3,\)"):
        x.grad = np.ones(3)
    for without in (Tensor([1.0]), x * 2):
        assert without.grad is None
        with pytest.raises(tapegrad.ConstantError, match="requires_grad=True"):
            without.grad = [1.0]


def test_conversions():
    x = leaf([[2.5]])
    assert x.item() == 2.5
    assert float(Tensor(2.5)) == 2.5
    assert np.asarray(Tensor([1, 2]), dtype=float).tolist() == [1.0, 2.0]
    assert [10, 20][Tensor(1)] == 20
    assert bool(Tensor(1)) is True
    assert (leaf([1.0, 2.0]) > 1).tolist() == [False, True]
    with pytest.raises(tapegrad.ConversionError, match=r"\.item\(\)"):
        float(x)
    with pytest.raises(tapegrad.ConversionError, match=r"\.data"):
        np.asarray(x)
    with pytest.raises(tapegrad.ConversionError, match="lose its derivative"):
        Tensor([leaf(1.0), leaf(2.0)])
    with pytest.raises(TypeError, match=r"call tapegrad\.tensor\.sin"):
        np.sin(x)
    with pytest.raises(tapegrad.ShapeError, match="one number"):
        leaf([1.0, 2.0]).item()
    with pytest.raises(tapegrad.ShapeError, match="no length"):
        len(leaf(1.0))
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)
    with pytest.raises(ValueError, match="ambiguous"):
        bool(leaf([1.0, 2.0]))


def test_comparisons_give_arrays():
    x, y = leaf([1.0, 2.0, 3.0]), leaf([3.0, 2.0, 1.0])
    assert [type(c) for c in (x < y, x <= 2, x < 2, x == y, x != y)] == [np.ndarray] * 5
    assert (x < y).tolist() == (y > x).tolist() == [True, False, False]
    assert (x == y).tolist() == [False, True, False]
    assert (np.ones(3) >= x).tolist() == [True, False, False]


def test_operators_with_arrays_and_numbers_on_either_side():
    array = np.array([1.0, 2.0])
    x = leaf([3.0, 4.0])
    for got, expected in [
        (array + x, [4.0, 6.0]),
        (array - x, [-2.0, -2.0]),
        (array * x, [3.0, 8.0]),
        (array / x, [1 / 3, 0.5]),
        (array**x, [1.0, 16.0]),
        (array @ x, 11.0),
        (x @ array, 11.0),
        (2 - x, [-1.0, -2.0]),
        (2 / x, [2 / 3, 0.5]),
        (2**x, [8.0, 16.0]),
        (-x, [-3.0, -4.0]),
        (abs(-x), [3.0, 4.0]),
        ([1.0, 2.0] * x, [3.0, 8.0]),
        (np.float64(2) * x, [6.0, 8.0]),
    ]:
        assert type(got) is Tensor
        assert got.requires_grad
        assert got.data.tolist() == expected


def test_writing_into_a_tensor_is_refused():
    x = leaf([1.0, 2.0])
    with pytest.raises(tapegrad.InputError, match="where, concatenate or pad"):
        x[0] = 5.0
    before = y = x * 1
    y += 1  # a new tensor
    assert before.data.tolist() == [1.0, 2.0]
    assert y.data.tolist() == [2.0, 3.0]


@pytest.mark.parametrize("symbol", "+-*/")
def test_a_leaf_is_not_replaced_by_a_result(symbol):
    change = {"+": operator.iadd, "-": operator.isub, "*": operator.imul, "/": operator.itruediv}[symbol]
    w = leaf([1.0, 2.0])
    with pytest.raises(
        tapegrad.InputError, match=rf"write `w.data \{symbol}= …` to change its numbers, or `y = w \{symbol}"
    ):
        change(w, 0.1)
    w.data -= 0.5
    assert w.data.tolist() == [0.5, 1.5]
    constant = Tensor([4.0])
    assert change(constant, 2.0).data.tolist() == [{"+": 6.0, "-": 2.0, "*": 8.0, "/": 2.0}[symbol]]

    def f(x):
        x *= x  # an argument is no leaf of the user's
        return x.sum()

    assert tapegrad.grad(f)(np.array([3.0])).tolist() == [6.0]


def test_numbers_are_formatted():
    assert f"{leaf(2.5):.3f}" == "2.500"
    assert f"{leaf([[2.5]]):8.1f}|" == "     2.5|"
    assert f"{Tensor([1, 2])}" == "Tensor([1, 2])"
    with pytest.raises(
        tapegrad.ShapeError, match=r"format with '.3f', got shape \(2,\); reduce it first, or print .data"
    ):
        f"{leaf([1.0, 2.0]):.3f}"


def test_functions_of_numpy_say_which_to_call():
    x = leaf([1.0, 2.0])
    for function, ours in [
        (np.sum, "sum"),
        (np.sin, "sin"),
        (np.abs, "abs"),
        (np.amax, "max"),
        (np.concatenate, "concatenate"),
    ]:
        with pytest.raises(tapegrad.ConversionError, match=rf"call tapegrad\.tensor\.{ours}, or give numpy"):
            function([x, x] if ours == "concatenate" else x)
    with pytest.raises(tapegrad.ConversionError, match=r"numpy\.cosh of a Tensor .*use the functions of"):
        np.cosh(x)
    with pytest.raises(tapegrad.ConversionError, match=r"numpy\.add of a Tensor .*call tapegrad\.tensor\.add"):
        operator.iadd(np.ones(2), x)
    a = np.array([3.0, 4.0])
    for result, expected in [
        (a + x, a + x.data),
        (a - x, a - [1, 2]),
        (a * x, a * [1, 2]),
        (a / x, a / [1, 2]),
        (a**x, a ** [1, 2]),
    ]:
        assert type(result) is Tensor
        assert result.requires_grad
        assert result.data.tolist() == expected.tolist()
    assert (a @ x).item() == 11.0
    assert (np.float64(3.0) * x).data.tolist() == [3.0, 6.0]
    assert (a > x).tolist() == [True, True]
    assert (a == x).tolist() == [False, False]


@pytest.mark.parametrize("dtype", [int, np.int8, np.uint16, bool])
def test_integers_have_no_gradient(dtype):
    with pytest.raises(tapegrad.DtypeError, match=r"only floating-point tensors.*astype\(float\)"):
        Tensor(np.ones(2, dtype), requires_grad=True)
    x = leaf([1.0, 2.0])
    indices = Tensor(np.array([1, 1], dtype))
    (x * indices).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]
    assert (indices * 2).dtype == np.ones(2, dtype).__mul__(2).dtype
    assert not (indices * 2).requires_grad


@pytest.mark.parametrize("wrong", ["a", None, 1j, [1, None], {"a": 1}, [[1.0], ["b"]]])
def test_what_is_no_array_of_real_numbers(wrong):
    with pytest.raises(tapegrad.DtypeError, match=r"an array of real numbers.*float32 or float64"):
        Tensor(wrong)


# dtypes


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "f",
    [
        lambda x: x + 1,
        lambda x: 2.5 * x - 1,
        lambda x: 1 / x,
        lambda x: x**2,
        lambda x: x**0.5,
        lambda x: 2**x,
        lambda x: tensor.maximum(x, 1),
        lambda x: tensor.where(x > 1, x, 0.0),
        lambda x: tensor.clip(x, 0.0, 1.5),
        lambda x: x.mean() + x.var() + x.sum() * 0.1,
        lambda x: tensor.logsumexp(x, -1),
        lambda x: tensor.layer_norm(x),
        lambda x: tensor.gelu(x) + tensor.gelu(x, "tanh") + tensor.softplus(x),
        lambda x: tensor.dropout(x, 0.1, 0),
        lambda x: tensor.softmax_cross_entropy(x, [0]),
        lambda x: tensor.avg_pool2d(tensor.reshape(x, (1, 1, 1, 2)), (1, 2)),
        lambda x: tensor.scaled_dot_product_attention(x, x, x),
    ],
)
def test_python_numbers_leave_the_dtype_alone(f, dtype):
    x = leaf([[1.0, 2.0]], dtype)
    y = f(x)
    y.sum().backward()
    assert y.dtype == x.grad.dtype == dtype


def test_mixed_dtypes_promote_and_each_leaf_gets_its_own():
    single, double = leaf([1.0, 2.0], np.float32), leaf([3.0, 4.0])
    y = single * double
    assert y.dtype == np.float64
    (y * single).sum().backward()
    assert single.grad.dtype == np.float32
    assert double.grad.dtype == np.float64
    assert single.grad.tolist() == [6.0, 16.0]
    assert double.grad.tolist() == [1.0, 4.0]


def test_a_numpy_number_promotes_as_numpy_does():
    assert (leaf([1.0], np.float32) * np.float64(2)).dtype == np.float64
    assert (leaf([1.0], np.float32) * np.float32(2)).dtype == np.float32
    assert (leaf([1.0], np.float32) * np.arange(1)).dtype == np.float64


# what is recorded


def test_what_needs_no_gradient_is_not_recorded_and_saves_nothing():
    x, constant = leaf(np.ones(10)), Tensor(np.ones(10))
    plain = tensor.exp(constant * constant)
    assert not plain.requires_grad
    assert plain.stats() == TensorStats(0, 0, 0)
    assert (x * plain).stats() == TensorStats(1, 1, 80)  # plain, for x; not x, for plain
    assert (x * x).stats() == TensorStats(1, 1, 80)
    assert (x + plain).stats() == TensorStats(1, 0, 0)
    assert (x @ plain).stats() == TensorStats(1, 1, 80)
    assert tensor.where(constant.data > 0, x, 0.0).stats() == TensorStats(1, 1, 10)


def test_stats_count_instructions_and_memory_once():
    x = leaf(np.ones((4, 5)))
    assert x.stats() == TensorStats(0, 0, 0)
    y = tensor.exp(x)  # saves its result
    z = y * y  # saves it again
    assert y.stats() == TensorStats(1, 1, 160)
    assert z.stats() == TensorStats(2, 1, 160)
    row = z[0] * z[1]  # two views of one array
    assert row.stats() == TensorStats(5, 2, 320)
    total = row.sum()
    assert total.stats() == TensorStats(6, 2, 320)
    total.backward()
    assert total.stats() == TensorStats(6, 0, 0)
    assert tensor.relu(leaf(np.ones(4), np.float32)).stats() == TensorStats(1, 1, 16)


def test_detach():
    x = leaf([1.0, 2.0])
    y = (x * x).detach()
    assert not y.requires_grad
    assert y.grad is None
    (y * x).sum().backward()
    assert x.grad.tolist() == [1.0, 4.0]
    with pytest.raises(tapegrad.ConstantError, match="requires_grad=True"):
        y.sum().backward()


def test_no_grad():
    x = leaf([1.0])
    with no_grad():
        assert not (x * x).requires_grad
        assert Tensor([1.0], requires_grad=True).requires_grad
        with no_grad():
            assert not (x * x).requires_grad
        assert not (x * x).requires_grad
    assert (x * x).requires_grad
    with pytest.raises(ZeroDivisionError), no_grad():
        _ = 1 / 0
    assert (x * x).requires_grad
    y = (x * x).sum()
    with no_grad():
        y.backward()
    assert x.grad.tolist() == [2.0]


def test_no_grad_is_of_one_thread():
    x = leaf([1.0])
    recorded = []
    entered, left = threading.Event(), threading.Event()

    def other():
        with no_grad():
            entered.set()
            left.wait()
            recorded.append((x * x).requires_grad)

    thread = threading.Thread(target=other)
    thread.start()
    entered.wait()
    recorded.append((x * x).requires_grad)
    with no_grad():
        left.set()
        thread.join()
        recorded.append((x * x).requires_grad)
    recorded.append((x * x).requires_grad)
    assert recorded == [True, False, False, True]


def test_threads_record_and_differentiate_apart():
    results = {}

    def work(k):
        x = leaf(np.full(50, 1.0 + k))
        for _ in range(20):
            y = x
            for _ in range(20):
                y = y * 1.0 + 0.0
            (y * y).sum().backward()
        results[k] = x.grad.tolist()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {k: [40.0 * (1 + k)] * 50 for k in range(4)}


# shape ()


def test_a_single_number():
    x = leaf(3.0)
    y = x * x + tensor.exp(x) * 0 + x[()] + x[None][0] + x[...]
    assert y.shape == ()
    y.backward()
    assert x.grad.shape == ()
    assert x.grad.dtype == np.float64
    assert float(x.grad) == 9.0
    y = x * 2
    y.backward()
    y = x * 2
    y.backward()
    assert float(x.grad) == 13.0
    assert type(y.data) is np.ndarray
    for f in (tensor.sum, tensor.mean, tensor.max, tensor.logsumexp, tensor.softplus, tensor.gelu, tensor.softmax):
        z = leaf(3.0)
        f(z).backward()
        assert np.isfinite(float(z.grad))


def test_slices_of_views_of_slices():
    x = leaf(np.arange(24.0).reshape(2, 3, 4))
    y = x[:, ::-1].transpose(2, 0, 1).reshape(4, 6)[1:3, [0, 0, 5]]
    expected = np.arange(24.0).reshape(2, 3, 4)[:, ::-1].transpose(2, 0, 1).reshape(4, 6)[1:3, [0, 0, 5]]
    assert y.data.tolist() == expected.tolist()
    y.sum().backward()
    counts = np.zeros((2, 3, 4))
    for number in expected.flat:
        counts[np.unravel_index(int(number), counts.shape)] += 1
    assert x.grad.tolist() == counts.tolist()


def test_functions_of_python_numbers():
    assert tensor.exp(0.0).data.tolist() == 1.0
    assert tensor.add(1, 2).item() == 3


@pytest.mark.parametrize("name", ["sum", "mean", "var", "logsumexp", "softmax", "log_softmax"])
def test_reductions_of_python_numbers(name):
    assert getattr(tensor, name)(2.0).item() == getattr(tensor, name)(np.array(2.0)).item()


def test_masked_arrays_are_refused():
    """Their mask would be dropped without a word."""
    for use in (Tensor, lambda masked: leaf([1.0, 2.0]) * masked):
        with pytest.raises(tapegrad.TapegradError):
            use(np.ma.array([1.0, 2.0], mask=[0, 1]))


def test_ragged_lists_are_refused():
    with pytest.raises(tapegrad.TapegradError, match="inhomogeneous"):
        Tensor([[1.0], [2.0, 3.0]])
    with pytest.raises(tapegrad.TapegradError, match="inhomogeneous"):
        leaf([1.0]) * [[1.0], [2.0, 3.0]]
