"""Loops while `jit` traces: the body is traced once and becomes a `Loop` of the graph.

In: what `scan`, `fori_loop` and `while_loop` were given. Out: tensors, as from any other operation.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy

from tapegrad.compile.bodies import Kind, Recorder, node_of_tensor, traced_body
from tapegrad.compile.loopnode import Loop
from tapegrad.compile.loops import run
from tapegrad.compile.symbol import Symbol, constant, current, filled, namespaces, node_of, opened
from tapegrad.errors import InputError
from tapegrad.tensor.carried import carried_items, check_alike, leaves, pair
from tapegrad.tensor.carried import filled as refilled
from tapegrad.tensor.nesting.levels import Level, no_grad
from tapegrad.tensor.nesting.traced import plain
from tapegrad.tensor.rules import shapes
from tapegrad.tensor.tensor import Tensor, apply, wrapped


class OtherKindError(Exception):
    """A Python number among what is carried took another dtype, which its first value gets then too."""

    def __init__(self, kinds: list[Kind]):
        self.kinds = kinds


def kind_of(value: Any, what: str) -> Kind:
    """What something carried is like."""
    if isinstance(value, bool):
        return Kind((), numpy.dtype(bool))
    if type(value) in (int, float):
        return Kind((), numpy.dtype(type(value)), True)
    if not hasattr(value, "dtype"):
        raise InputError(
            f"expected {what} to hold arrays, tensors and numbers, got {type(value).__name__} {value!r:.60}"
        )
    array = plain(value._array) if type(value) is Tensor else value
    return Kind(value.shape, value.dtype, type(array) is Symbol and array.node.weak)


def is_weak(value: Any) -> bool:
    """Whether a value is a number of Python's, known or not."""
    return type(value) in (int, float) or (hasattr(value, "dtype") and kind_of(value, "the carry").weak)


def tensor_like(value: Any, kind: Kind) -> Tensor:
    """A value as a tensor of a kind."""
    if type(value) is Tensor:
        return value
    if type(value) in (int, float) and kind.dtype.kind in ("f" if type(value) is float else "fiu"):
        return wrapped(Symbol(filled((), value, kind.dtype)))
    return wrapped(value if type(value) is Symbol else Symbol(constant(value)))


class TracedBody:
    """A body that was traced: the function of a loop, with what is carried in a list. own: something carried that is
    the loop's own, before what the user carries."""

    def __init__(
        self,
        step: Callable[[Any, list[Tensor]], tuple[Any, list[Any]]],
        init: Any,
        rows: Any,
        loop: str,
        own: Any = None,
    ):
        self.loop, self.structure = loop, init
        self.own = 0 if own is None else 1
        self.init = [*([] if own is None else [own]), *leaves(init)]
        carried = [kind_of(value, "init") for value in self.init]
        rows_of = [Kind(x.shape[1:], x.dtype) for x in rows]
        self.message = ""
        while True:  # again where a number takes another dtype
            trace = current()
            before = len(trace.checks)
            try:
                self.body, self.taken, _ = traced_body(partial(self._traced, step, carried), [*carried, OK, *rows_of])
                break
            except OtherKindError as error:
                carried = error.kinds
                del trace.checks[before:]
        self.carried = carried

    def _traced(self, step: Any, kinds: list[Kind], recorder: Recorder, given: list[Tensor]) -> list[Tensor]:  # noqa: ARG002
        trace = current()
        before, count = len(trace.checks), len(kinds)
        before_users, users = given[: self.own], refilled(self.structure, given[self.own : count])
        carried, results = step((before_users[0], users) if self.own else users, given[count + 1 :])
        first, carried = ([carried[0]], carried[1]) if self.own else ([], carried)
        items = [*first, *[x for x in carried_items(carried, self.structure) if x is not None]]
        following, changed = [], list(kinds)
        for k, (item, kind) in enumerate(zip(items, kinds, strict=True)):
            after = tensor_like(item, kind)
            weak = is_weak(item)
            # 0.5 that becomes an integer is refused below: as its first value it would be 0
            becomes = kind.weak and after.shape == () and numpy.can_cast(kind.dtype, after.dtype, "same_kind")
            if becomes and (after.dtype, weak) != (kind.dtype, True):
                changed[k] = Kind((), after.dtype, weak)
            else:
                check_alike((after.shape, after.dtype), (kind.shape, kind.dtype), k - self.own, self.loop)
            following.append(after)
        if changed != kinds:
            raise OtherKindError(changed)
        checks = trace.checks[before:]
        del trace.checks[before:]
        fine: Any = plain(given[count]._array)
        for condition, message in checks:
            fine = fine & namespaces[0].all(Symbol(condition)) if condition.shape else fine & Symbol(condition)
            if message not in self.message:
                self.message += (" or " if self.message else "") + message
        return [*following, wrapped(fine), *[tensor_like(item, kind_of(item, "the results")) for item in results]]

    def operands(self) -> list[Tensor]:
        """What comes before the rows."""
        first = [tensor_like(value, kind) for value, kind in zip(self.init, self.carried, strict=True)]
        cast = [
            x if x.dtype == kind.dtype else wrapped(plain(x._array).astype(kind.dtype))
            for x, kind in zip(first, self.carried, strict=True)
        ]
        return [*cast, wrapped(Symbol(constant(True)))]

    def checked(self, results: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        """What was carried last, and the rest; the body's conditions become the function's."""
        count = len(self.carried)
        if self.message:
            current().checks.append((node_of_tensor(results[count]), self.message))
        return results[:count], results[count + 1 :]


OK = Kind((), numpy.dtype(bool))


def scan(
    f: Callable[[Any, Any], Any], init: Any, xs: Any, count: int, *, reverse: bool, checkpoint: bool
) -> tuple[Any, Any]:
    """A scan of `count` steps, as a loop of the graph."""

    rows = [x if type(x) is Tensor else wrapped(Symbol(node_of(x))) for x in leaves(xs)]
    shape: list[Any] = []

    def step(carry: Any, row: list[Tensor]) -> tuple[Any, list[Any]]:
        following, result = pair(f(carry, refilled(xs, row)))
        shape[:] = [result]
        return following, leaves(result)

    body = TracedBody(step, init, rows, "scan")
    carried, results = repeated(body, rows, count, reverse, checkpoint)
    return refilled(init, carried), refilled(shape[0], results)


def repeated(
    body: TracedBody, rows: list[Tensor], count: int, reverse: bool, checkpoint: bool
) -> tuple[list[Tensor], list[Tensor]]:
    """The results of a body over rows."""
    carried = len(body.carried) + 1
    loop = Loop(body.body, len(body.taken), carried, count, reverse)
    if not checkpoint or count < 4:
        return body.checked(run(loop, [*body.taken, *body.operands(), *rows]))
    size = math.isqrt(count)
    whole = count // size * size
    # what is left over comes last
    early, late = (
        (slice(count - whole, count), slice(0, count - whole))
        if reverse
        else (
            slice(0, whole),
            slice(whole, count),
        )
    )
    inner = Loop(body.body, len(body.taken), carried, size, reverse)
    parts = [
        apply(shapes.RESHAPE, (apply(shapes.GETITEM, (x,), early),), (count // size, size, *x.shape[1:])) for x in rows
    ]

    def segment(recorder: Recorder, given: list[Tensor]) -> list[Tensor]:  # noqa: ARG001  every body's
        return run(inner, [*body.taken, *given])

    kinds = [*body.carried, OK]
    outer, taken, _ = traced_body(segment, [*kinds, *[Kind(x.shape[1:], x.dtype) for x in parts]])
    first = run(
        Loop(outer, len(taken), carried, count // size, reverse, keep=False), [*taken, *body.operands(), *parts]
    )
    results = [apply(shapes.RESHAPE, (y,), (whole, *y.shape[2:])) for y in first[carried:]]
    if whole == count:
        return body.checked([*first[:carried], *results])
    rest = Loop(body.body, len(body.taken), carried, count - whole, reverse)
    last = run(rest, [*body.taken, *first[:carried], *[apply(shapes.GETITEM, (x,), late) for x in rows]])
    both = [
        apply(shapes.CONCATENATE, (y, x) if reverse else (x, y), 0)
        for x, y in zip(results, last[carried:], strict=True)
    ]
    return body.checked([*last[:carried], *both])


def fori_loop(lower: Any, upper: Any, body: Callable[[Any, Any], Any], init: Any) -> Any:
    """A loop over integers: a scan if their number is known, else a while_loop."""
    bounds = [plain(x._array) if type(x) is Tensor else x for x in (lower, upper)]
    if any(type(bound) is Symbol for bound in bounds):
        start, end = [wrapped(x if type(x) is Symbol else Symbol(node_of(numpy.asarray(x)))) for x in bounds]
        return while_loop(
            lambda carry: carry[0] < end,
            lambda carry: (carry[0] + 1, body(carry[0], carry[1])),
            (apply_astype(start, end), init),
        )[1]
    first, last = (int(bound.__index__()) for bound in bounds)

    def step(carry: Any, row: list[Tensor]) -> tuple[Any, list[Any]]:  # noqa: ARG001  it has none
        return (carry[0] + 1, body(carry[0], carry[1])), []

    traced = TracedBody(step, init, [], "fori_loop", own=first)
    carried, _ = repeated(traced, [], max(0, last - first), False, False)
    return refilled(init, carried[1:])


def apply_astype(start: Tensor, end: Tensor) -> Tensor:
    """The first integer in the dtype that both bounds and 1 have."""
    array = plain(start._array)
    return wrapped(array.astype(numpy.result_type(array.dtype, end.dtype, numpy.int64)))


def while_loop(condition: Callable[[Any], Any], body: Callable[[Any], Any], init: Any) -> Any:
    """A loop whose end its numbers decide."""

    def holds(carry: Any) -> Any:
        value = condition(carry)
        value = plain(value._array) if type(value) is Tensor else value
        if getattr(value, "shape", ()) != ():
            raise InputError(
                f"expected the condition of while_loop to be one number, got an array of shape {value.shape}; reduce it"
            )
        array = value if type(value) is Symbol else Symbol(constant(bool(value)))
        return array if array.dtype == bool else array != 0

    def step(carry: Any, row: list[Tensor]) -> tuple[Any, list[Any]]:  # noqa: ARG001  it has none
        following = body(carry[1])
        return (wrapped(holds(following)), following), []

    lifted = refilled(init, [tensor_like(x, kind_of(x, "init")) for x in leaves(init)])
    traced = TracedBody(step, init, [], "while_loop", own=wrapped(holds(lifted)))
    loop = Loop(traced.body, len(traced.taken), len(traced.carried) + 1, None)
    carried, _ = traced.checked(run(loop, [*traced.taken, *traced.operands()]))
    return refilled(init, carried[1:])


def no_results(f: Callable[[Any, Any], Any], init: Any, xs: Any) -> Any:
    """The results of a scan of no steps: arrays without rows."""
    with opened(), no_grad(), Level():
        _, results = scan(f, init, xs, 0, reverse=False, checkpoint=False)
        empty = [numpy.zeros(x.shape, x.dtype) for x in leaves(results)]
    return refilled(results, empty)
