"""Loops: `scan`, `fori_loop` and `while_loop`, of tensors, arrays and numbers.

In: a function of what is carried from step to step. Out: what was carried last, and of a scan the results of all steps.
Python's loops, which every transform differentiates as it does anything else; inside `jit` the body is traced once,
whatever the count, and the loop stays a loop (compile/staged.py).
"""

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from tapegrad.compile import staged
from tapegrad.compile.symbol import tracing
from tapegrad.errors import InputError, ShapeError
from tapegrad.tensor.carried import carried_items, check_alike, filled, leaves, pair
from tapegrad.tensor.functions import stack
from tapegrad.tensor.tensor import Tensor
from tapegrad.tensor.trees import flat, is_array, matched, rebuilt


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    *,
    reverse: bool = False,
    checkpoint: bool = False,
) -> tuple[Any, Any]:
    """What f carries through all steps, and the results of the steps, stacked: `carry, y = f(carry, x)` for each x.

    init, x and y are arrays, tensors, numbers, or nested lists, tuples and dicts of them; x is a row of each array of
    xs, None without xs: then length says how many steps there are. A y of None gives None. The carry keeps its
    structure, shapes and dtypes; a Python number takes the dtype that the first step gives it, and the first step is
    then computed again from such a number. With reverse the last row comes first; results stay with
    their rows.

    Inside `jit` f is traced once, whatever the length. The backward pass of value_and_grad and vjp reads what each step
    has kept; with checkpoint only every √length-th carry is kept, and the steps between are computed again. Outside
    `jit` every step is recorded, and checkpoint changes nothing.

    >>> import numpy, tapegrad
    >>> total, before = tapegrad.scan(lambda total, x: (total + x, total), 0.0, numpy.array([1.0, 2.0, 3.0]))
    >>> float(total), before
    (6.0, array([0., 1., 3.]))
    >>> def last(w):
    ...     carry, _ = tapegrad.scan(lambda y, _: (w * y, None), w, length=999)
    ...     return carry
    >>> tapegrad.jit(tapegrad.value_and_grad(last))(1.0)
    (1.0, 1000.0)
    """
    count = steps_of(xs, length)
    if tracing():
        return staged.scan(f, init, xs, count, reverse=reverse, checkpoint=checkpoint)
    if not count:
        return init, nothing(f, init, xs)
    carry = init
    results: list[Any] = []
    for k in range(count)[:: -1 if reverse else 1]:
        row = filled(xs, [x[k] for x in leaves(xs)])
        carry, result = advanced(lambda carry, row: pair(f(carry, row)), carry, "scan", row)
        results.append(result)
    if reverse:
        results.reverse()
    first = results[0]
    columns = [matched(result, first, f"the result of step {k}") for k, result in enumerate(results)]
    return carry, rebuilt(first, iter([stacked(column) for column in zip(*columns, strict=True)]))


def fori_loop(lower: Any, upper: Any, body: Callable[[Any, Any], Any], init: Any) -> Any:
    """What body makes of init in the steps from lower to upper - 1: `carry = body(i, carry)` for each i.

    As `scan`, without rows and results; what is said there of the carry holds here. Inside `jit` i is a tensor of one
    integer, and bounds may be such tensors too; then it is a `while_loop`.

    >>> import tapegrad
    >>> tapegrad.fori_loop(1, 6, lambda i, product: product * i, 1)
    120
    >>> tapegrad.grad(lambda x: tapegrad.fori_loop(0, 3, lambda i, y: x * y, x))(2.0)
    32.0
    """
    if tracing():
        return staged.fori_loop(lower, upper, body, init)
    carry = init
    for i in range(operator.index(lower), operator.index(upper)):
        carry, _ = advanced(lambda carry, i: (body(i, carry), None), carry, "fori_loop", i)
    return carry


def while_loop(condition: Callable[[Any], Any], body: Callable[[Any], Any], init: Any) -> Any:
    """What body makes of init, again and again as long as the condition holds: `carry = body(carry)`.
    What `scan` says of the carry holds here.

    Inside `jit` the number of steps may differ from call to call; there it has no reverse mode, for which there would
    have to be a place for every step: use `fori_loop`, or forward mode.

    >>> import tapegrad
    >>> tapegrad.while_loop(lambda x: x < 10, lambda x: 2 * x, 3)
    12
    >>> tapegrad.grad(lambda x: tapegrad.while_loop(lambda y: y < 10, lambda y: x * y, x))(3.0)
    27.0
    """
    if tracing():
        return staged.while_loop(condition, body, init)
    carry = init
    while holds(condition(carry)):
        carry, _ = advanced(lambda carry: (body(carry), None), carry, "while_loop")
    return carry


def holds(met: Any) -> bool:
    """Whether a loop goes on."""
    if math.prod(getattr(met, "shape", ())) != 1:
        raise InputError(
            f"expected the condition of while_loop to be one number, got an array of shape {met.shape}; reduce it"
        )
    return bool(met)


# ---- what is carried ---------------------------------------------------------------------------------------------


def advanced(step: Callable[..., tuple[Any, Any]], carry: Any, loop: str, *others: Any) -> tuple[Any, Any]:
    """What a step makes of what is carried, and its result. A number of Python's first takes the dtype of what follows
    it: the step is computed again from it, so that all steps, and their results, are of the same dtypes."""
    while True:
        following, result = step(carry, *others)
        if type(carry) not in (tuple, list, dict) and alike(following, carry):
            return following, result
        after = carried_items(following, carry)
        if same(after, flat(carry)):
            return following, result
        pairs = enumerate(zip(after, flat(carry), strict=True))
        items = [carried_on(new, old, k, loop) for k, (new, old) in pairs if old is not None]
        if all(before is old for (before, _), old in zip(items, leaves(carry), strict=True)):
            return filled(carry, [new for _, new in items]), result
        carry = filled(carry, [before for before, _ in items])


def same(after: list[Any], before: list[Any]) -> bool:
    """Whether all items are carried on as they are."""
    for new, old in zip(after, before, strict=True):
        if type(new) is not type(old) or (type(old) is not float and old is not None and not alike(new, old)):
            return False
    return True


def alike(new: Any, old: Any) -> bool:
    """Whether an item is carried on as it is."""
    kind = type(new)
    if kind is not type(old):
        return False
    return kind in (float, int) or (hasattr(new, "dtype") and new.shape == old.shape and new.dtype == old.dtype)


def carried_on(new: Any, old: Any, k: int, loop: str) -> tuple[Any, Any]:
    """An item of what is carried, in the dtype of what follows it if it is a number of Python's; and what follows it,
    in the item's dtype if it is such a number. An error if the dtypes do not go together."""
    if type(old) in (int, float):
        if type(new) in (int, float):
            return (float(old), new) if type(new) is float and type(old) is int else (old, type(old)(new))
        dtype = dtype_of(new)
        if dtype is None:
            return old, new  # on a tape
        if shape_of(new) != () or not numpy.can_cast(type(old), dtype, "same_kind"):
            check_alike((shape_of(new), dtype), ((), numpy.dtype(type(old))), k, loop)
        return dtype.type(old), new
    expected = dtype_of(old)
    if expected is None or dtype_of(new) is None:
        return old, new
    if type(new) in (int, float) and shape_of(old) == () and expected.kind in ("f" if type(new) is float else "fiu"):
        return old, expected.type(new)
    check_alike((shape_of(new), dtype_of(new)), (shape_of(old), expected), k, loop)
    return old, new


def dtype_of(value: Any) -> Any:
    """The dtype of something carried, of Python's numbers too; None for a variable of a tape."""
    return numpy.dtype(type(value)) if type(value) in (bool, int, float) else getattr(value, "dtype", None)


def shape_of(value: Any) -> tuple[int, ...]:
    """The shape of something carried."""
    return getattr(value, "shape", ())


# ---- how many steps, and their results --------------------------------------------------------------------------


def steps_of(xs: Any, length: int | None) -> int:
    """How many steps a scan has."""
    rows = leaves(xs)
    for x in rows:
        if not getattr(x, "shape", None):
            raise InputError(
                f"expected xs to hold arrays, a row for each step, got {type(x).__name__} {x!r:.60}; a number that is "
                "the same in every step is a variable of f"
            )
    lengths = sorted({x.shape[0] for x in rows})
    if len(lengths) > 1:
        raise ShapeError(
            f"expected arrays with equally many rows in xs, got {' and '.join(map(str, lengths))}: a step takes a row "
            "of each; cut them, x[:n], or give what is not cut into rows to f another way"
        )
    if length is not None:
        length = operator.index(length)
        if length < 0:
            raise InputError(f"expected length to be 0 or more, got {length}")
        if lengths and lengths[0] != length:
            raise ShapeError(
                f"expected as many rows in xs as length says, {length}, got {lengths[0]}; leave length out"
            )
        return length
    if not lengths:
        raise InputError("scan got neither xs nor length, and so no number of steps; write length=n, or give xs")
    return int(lengths[0])


def stacked(items: Sequence[Any]) -> Any:
    """The results of all steps as one: a tensor of tensors, an array of arrays and floats, a list of variables."""
    if any(type(item) is Tensor for item in items):
        return stack(list(items))
    if items[0] is None:
        return None
    if all(is_array(item) or isinstance(item, (int, float, numpy.generic)) for item in items):
        return numpy.stack([numpy.asarray(item) for item in items])
    return list(items)


def nothing(f: Callable[[Any, Any], Any], init: Any, xs: Any) -> Any:
    """The results of no steps: what f would give is found out by tracing it, where there are arrays."""
    if not any(hasattr(item, "shape") for item in (*leaves(init), *leaves(xs))):
        return []
    return staged.no_results(f, init, xs)
