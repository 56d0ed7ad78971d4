"""Differentiation of functions of numbers, for the transforms.

In: a function, its arguments, and which of them to differentiate by: numbers, or nested lists, tuples and dicts of
them. Out: the result, and derivatives of the same structure.

The function runs once, on a tape. What it recorded becomes a program, that program is derived, and the derivative is
computed at the same point. Within another transform all this happens on the tape of the outermost: there the derivative
is not computed but recorded, so that it can be differentiated again. So any nesting works, also where a function takes
variables of the one around it from its closure.
"""

import os
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tapegrad.errors import InputError, OperandError
from tapegrad.scalar.program import Program, between, constant_on, gradient_by, length_of, record, tangent_by, tape_of
from tapegrad.scalar.tape import Tape
from tapegrad.scalar.variables import Var
from tapegrad.tensor.differentiate import flat, rebuilt


class _Present(threading.local):
    """The tape of the outermost transform that this thread is in."""

    tape: Tape | None = None


PRESENT = _Present()


class Recorded(NamedTuple):
    """A function that has run: what it was given, what came out, and the program between."""

    tape: Tape
    nested: bool  # whether derivatives are to be recorded, because something around it wants to differentiate them
    given: list[Any]  # the numbers, or variables of an outer function, to differentiate by
    outside: list[Any]  # what the function has used of an outer one
    result: Any
    outputs: list[Any]  # its numbers, in order
    program: Program

    def compute(self, program: Program, seeds: Sequence[Any]) -> list[Any]:
        """What a derivative gives at the point, and these seeds: floats, or variables of the outer tape."""
        if not self.given:
            return []
        inputs = [*self.given, *self.outside, *seeds]
        if self.nested or any(isinstance(seed, Var) for seed in seeds):
            return record(program, self.tape, inputs)
        values: list[float] = program(inputs).tolist()
        return values

    def compute_many(self, program: Program, seeds: NDArray[np.float64]) -> NDArray[Any]:
        """The same for many seeds, a row for each: all in one batch where the point is one of numbers."""
        if not self.given:
            return np.zeros((len(seeds), 0))
        if self.nested:
            return np.array([self.compute(program, row) for row in seeds.tolist()], dtype=object).reshape(
                len(seeds), -1
            )
        points = np.empty((len(seeds), len(self.given) + seeds.shape[1]))
        points[:, : len(self.given)] = self.given
        points[:, len(self.given) :] = seeds
        return program.batch(points, gradients=False)


class Run(NamedTuple):
    """A function that has run on a tape."""

    tape: Tape
    start: int  # how long the tape was before
    within: bool  # whether it is the tape of a transform around this one, or of variables that were given
    given: list[Any]  # the numbers to differentiate by
    variables: list[Var]  # what the function got for them
    result: Any


def run(f: Callable[..., Any], args: Sequence[Any], argnums: Sequence[int]) -> Run:
    """Calls f with variables for the numbers of the chosen arguments."""
    trees = [args[k] for k in argnums]
    values = flat(trees)
    outer = next((tape for tape in map(tape_of, flat(list(args))) if tape is not None), PRESENT.tape)
    tape = Tape() if outer is None else outer
    start = length_of(tape)
    variables = [_variable(tape, outer is not None, x) for x in values]
    lifted = list(args)
    for k, tree in zip(argnums, rebuilt(trees, iter(variables)), strict=True):
        lifted[k] = tree
    before, PRESENT.tape = PRESENT.tape, tape
    try:
        result = f(*lifted)
    finally:
        PRESENT.tape = before
    result = result.tolist() if isinstance(result, np.ndarray) else result
    return Run(tape, start, outer is not None, values, variables, result)


def _variable(tape: Tape, within: bool, x: Any) -> Var:
    """A variable of its own for a number to differentiate by, which outer functions can see through."""
    if _is_recorded(x):
        return x * 1.0  # type: ignore[no-any-return]
    return constant_on(tape, tape.value(_number(x))) if within else tape.var(_number(x))


def _number(x: Any) -> Any:
    return x.value if isinstance(x, Var) else x


def recorded(f: Callable[..., Any], args: Sequence[Any], argnums: Sequence[int]) -> Recorded:
    """Runs f and makes a program of it."""
    recording = run(f, args, argnums)
    outputs = flat(recording.result)
    places = [x if isinstance(x, Var) else recording.tape.const(x) for x in map(_checked, outputs)]
    # a program has inputs and outputs, whatever the function has
    inputs, places = recording.variables or [recording.tape.var(0.0)], places or [recording.tape.const(0.0)]
    program, outside = between(recording.tape, recording.start, inputs, places)
    nested = recording.within and (bool(outside) or any(_is_recorded(x) for x in recording.given))
    if not nested:
        outputs = [_number(x) for x in outputs]
    values = recording.given if nested else [_number(x) for x in recording.given]
    return Recorded(recording.tape, nested, values, outside, recording.result, outputs, program)


def _is_recorded(x: Any) -> bool:
    return isinstance(x, Var) and not x.is_constant


def _checked(x: Any) -> Any:
    if isinstance(x, str) or x is None:
        raise OperandError(f"expected the function to return numbers, got {x!r:.60}")
    return x


def _one(result: Any) -> Any:
    """The number that a function returned; anything else is an error."""
    if isinstance(result, list | tuple | dict | np.ndarray) or result is None:
        raise InputError(
            f"expected the function to return one number, got {type(result).__name__}; "
            "return a single value, or use tapegrad.jacobian for several"
        )
    return result


def _like(what: str, tree: Any, expected: Any) -> list[Any]:
    """The numbers of a tree that must have the structure of another one."""
    if _shape(tree) != _shape(expected):
        raise InputError(
            f"expected {what} of the structure {_shown(expected)}, got {_shown(tree)}; "
            "give one number for each number, in the same lists, tuples and dicts"
        )
    return flat(tree)


def _shape(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: _shape(item) for key, item in tree.items()}
    return [_shape(item) for item in tree] if isinstance(tree, list | tuple) else None


def _shown(tree: Any) -> str:
    text = repr(rebuilt(tree, iter(_Blank() for _ in flat(tree))))
    return text if len(text) <= 60 else f"{text[:57]}…"


class _Blank:
    """A number in an error about structures."""

    def __repr__(self) -> str:
        return "·"


def _direction(args: Sequence[Any], argnums: Sequence[int], tangents: Sequence[Any]) -> list[Any]:
    """The numbers of the tangents, which must have the structure of the arguments."""
    return [x for k, tangent in zip(argnums, tangents, strict=True) for x in _like("a tangent", tangent, args[k])]


def jvp_of(
    f: Callable[..., Any], args: Sequence[Any], argnums: Sequence[int], tangents: Sequence[Any]
) -> tuple[Any, Any]:
    """The result of f, and its derivative in the direction of the tangents, one for each of the chosen arguments."""
    direction = _direction(args, argnums, tangents)
    recording = recorded(f, args, argnums)
    slopes = (
        recording.compute(tangent_by(recording.program, len(recording.given)), direction)
        if recording.given
        else [0.0] * len(recording.outputs)
    )
    return rebuilt(recording.result, iter(recording.outputs)), rebuilt(recording.result, iter(slopes))


def vjp_of(
    f: Callable[..., Any], args: Sequence[Any], argnums: Sequence[int]
) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """The result of f, and the function from cotangents of it to gradients, one for each of the chosen arguments."""
    recording = recorded(f, args, argnums)
    program = gradient_by(recording.program, len(recording.given), True)
    trees = [args[k] for k in argnums]

    def pullback(cotangent: Any) -> tuple[Any, ...]:
        weights = _like("a cotangent", cotangent, recording.result)
        return tuple(rebuilt(trees, iter(recording.compute(program, weights))))

    return rebuilt(recording.result, iter(recording.outputs)), pullback


def gradients_of(f: Callable[..., Any], args: Sequence[Any], argnums: Sequence[int]) -> tuple[Any, tuple[Any, ...]]:
    """The result of f, one number, and its gradient with respect to each of the chosen arguments."""
    unique = list(dict.fromkeys(argnums))
    if len(unique) < len(argnums):  # one that is named twice has one gradient
        result, gradients_of_unique = gradients_of(f, args, unique)
        return result, tuple(gradients_of_unique[unique.index(k)] for k in argnums)
    recording = run(f, args, argnums)
    result, tape = _one(recording.result), recording.tape
    trees = [args[k] for k in argnums]
    gradients: list[Any]
    if recording.within and _is_recorded(result):
        # the tape's own pass back would leave adjoints on what is not finished
        program, outside = between(tape, recording.start, recording.variables, [result])
        gradient = gradient_by(program, len(recording.given), False)
        if outside or any(map(_is_recorded, recording.given)):
            gradients = record(gradient, tape, [*recording.given, *outside])
            return result, tuple(rebuilt(trees, iter(gradients)))
        gradients = gradient([_number(x) for x in recording.given]).tolist()
        return result.value, tuple(rebuilt(trees, iter(gradients)))
    if _is_recorded(result):
        tape.backward(result)
    gradients = [x.grad for x in recording.variables] if not recording.within else [0.0] * len(recording.variables)
    return tape.value(result), tuple(rebuilt(trees, iter(gradients)))


def hvp_of(
    f: Callable[..., Any], args: Sequence[Any], argnums: Sequence[int], tangents: Sequence[Any]
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The gradients of f, and their derivatives in the direction of the tangents: forward over reverse."""
    direction = _direction(args, argnums, tangents)
    recording = recorded(lambda *lifted: _one(f(*lifted)), args, argnums)
    count = len(recording.given)
    gradient = gradient_by(recording.program, count, False)
    gradients = recording.compute(gradient, [])
    products = recording.compute(tangent_by(gradient, count), direction)
    trees = [args[k] for k in argnums]
    return tuple(rebuilt(trees, iter(gradients))), tuple(rebuilt(trees, iter(products)))


def _array_shape(tree: Any) -> tuple[int, ...]:
    """The shape of an argument as an array of numbers."""
    try:
        shape = np.asarray(rebuilt(tree, iter([0.0] * len(flat(tree)))), dtype=np.float64).shape
    except (TypeError, ValueError) as error:
        raise InputError(f"expected a float or an array-like of floats, got {tree!r:.60}") from error
    for x in flat(tree):
        if not isinstance(x, Var):
            try:
                float(x)
            except (TypeError, ValueError) as error:
                raise InputError(f"expected a float or an array-like of floats, got {tree!r:.60}") from error
    return shape


def hessian_of(f: Callable[..., Any], args: Sequence[Any], argnum: int) -> NDArray[Any]:
    """All second derivatives of f with respect to one argument: the shape of the argument, twice."""
    shape = _array_shape(args[argnum])
    recording = recorded(lambda *lifted: _one(f(*lifted)), args, [argnum])
    count = len(recording.given)
    refuse_large(count, count, "program.hessian()")
    program = tangent_by(gradient_by(recording.program, count, False), count)
    return recording.compute_many(program, np.eye(count)).reshape(shape + shape)


def jacobian_of(f: Callable[..., Any], args: Sequence[Any], argnum: int, mode: str | None = None) -> NDArray[Any]:
    """All derivatives of f's outputs with respect to one argument: the shape of the outputs, then of the argument.

    mode: "forward" (a direction for each input), "reverse" (a weight for each output), or None: whichever are fewer.
    """
    if mode not in (None, "forward", "reverse"):
        raise InputError(f"expected mode to be 'forward', 'reverse' or None, got {mode!r}")
    shape = _array_shape(args[argnum])
    recording = recorded(f, args, [argnum])
    if isinstance(recording.result, dict) or recording.result is None:
        raise OperandError(
            f"expected the function to return a number or a sequence of them, got {recording.result!r:.60}"
        )
    outer = _array_shape(rebuilt(recording.result, iter([0.0] * len(recording.outputs))))
    rows, columns = len(recording.outputs), len(recording.given)
    refuse_large(rows, columns, "program.jacobian()")
    if rows == 0 or columns == 0:
        return np.zeros(outer + shape)
    if mode == "forward" or (mode is None and columns <= rows):
        derivatives = recording.compute_many(tangent_by(recording.program, columns), np.eye(columns)).T
    else:
        derivatives = recording.compute_many(gradient_by(recording.program, columns, True), np.eye(rows))
    return derivatives.reshape(outer + shape)


def refuse_large(rows: int, columns: int, instead: str) -> None:
    """Raises where a dense matrix would not fit into memory, before anything is computed."""
    nbytes = 8 * rows * columns
    room = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 2**40
    if nbytes > room // 2:
        raise InputError(
            f"a dense matrix of {rows} x {columns} derivatives takes {nbytes / 2**30:.1f} GiB and this machine has "
            f"{room / 2**30:.1f}; freeze the function and use the sparse one, {instead}"
        )
