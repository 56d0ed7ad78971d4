"""Bodies of loops: what is computed in one step, noted down once, to be repeated on other tensors.

In: a function of tensors that stand for a step's operands. Out: `Body`: primitives in order, which can be applied again
to tensors of any level, so that the one set of rules differentiates a step to any order, and the nodes that they came
to, which are compiled. A body is closed: whatever it uses from outside is an operand.
"""

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy

from tapegrad.compile.fusion import FREE, is_splat
from tapegrad.compile.symbol import Node, Symbol, constant, current, node_of, ordered
from tapegrad.tensor.nesting.levels import Level, switches
from tapegrad.tensor.nesting.stage import Stage, recorders
from tapegrad.tensor.nesting.traced import Traced, plain
from tapegrad.tensor.tensor import Tensor, apply, wrapped


class Kind(NamedTuple):
    """What an operand of a step is like."""

    shape: tuple[int, ...]
    dtype: Any
    weak: bool = False  # a Python number, which leaves dtypes alone


@dataclass
class Equation:
    """A primitive, or a loop, applied to tensors of this step; arrays among its operands and settings have no
    derivative."""

    primitive: Any
    operands: tuple[Any, ...]
    settings: Any
    results: list[Tensor]


@dataclass
class Place:
    """An operand of a body: the node that stands for it, and the tensors, none for what has no derivative."""

    node: Node
    tensors: list[Tensor] = field(default_factory=list)


@dataclass(eq=False)
class Body:
    """One step: its operands, what is done with them, and what it gives."""

    places: list[Place]
    equations: list[Equation]
    outputs: list[Tensor]

    @property
    def inputs(self) -> list[Node]:
        """The nodes that stand for the operands."""
        return [place.node for place in self.places]

    @property
    def results(self) -> list[Node]:
        """The nodes that are given back."""
        return [node_of_tensor(output) for output in self.outputs]


def node_of_tensor(tensor: Tensor) -> Node:
    """The node of a tensor's numbers."""
    return node_of(plain(tensor._array))


def mark(value: Any) -> int:
    """What tells a tensor of a step from others."""
    return id(value._node) if type(value) is Tensor and value._node is not None else 0


def array_of(tensor: Tensor) -> Any:
    """A tensor as an array that records for whatever level it is of."""
    return tensor._array if tensor._node is None else Traced(tensor)


def tensor_of(array: Any) -> Tensor:
    """An array as a tensor, of the level that it records for."""
    return array.tensor if type(array) is Traced else wrapped(array)


class Recorder:
    """What notes down the primitives of a step while it is traced."""

    def __init__(self, level: int):
        self.level = level
        self.equations: list[Equation] = []
        self.captured: dict[int, tuple[Tensor, Tensor]] = {}  # tensors from outside, and what stands for them
        self.inputs: list[Node] = []
        self.thread = threading.get_ident()

    def variable(self, kind: Kind) -> Tensor:
        """A tensor that stands for an operand."""
        self.inputs.append(Node("input", (), None, kind.shape, kind.dtype, kind.weak))
        return self.staged(Symbol(self.inputs[-1]))

    def here(self) -> bool:
        """Whether it is this thread that traces."""
        return self.thread == threading.get_ident()

    def reads(self, values: Sequence[Any], settings: Any) -> bool:
        """Whether arrays without derivative among operands and settings are of this step."""
        roots = loose(Equation(None, tuple(values), settings, []))
        if not roots:
            return False
        depends = changing(roots, self.inputs)[1]
        return any(id(root) in depends for root in roots)

    def staged(self, array: Any) -> Tensor:
        """A tensor of this step."""
        variable = wrapped(array)
        variable._node = Stage(self.level, self)
        return variable

    def owns(self, value: Any) -> bool:
        """Whether a value is a tensor of this step."""
        return type(value) is Tensor and type(value._node) is Stage and value._node.level == self.level

    def inside(self, value: Any) -> Any:
        """A value as one of this step: a tensor from outside with a derivative becomes an operand."""
        if type(value) is not Tensor or value._node is None or self.owns(value):
            return value
        known = self.captured.get(id(value._node))
        if known is None:
            weak = type(plain(value._array)) is Symbol and plain(value._array).node.weak
            known = value, self.variable(Kind(value.shape, value.dtype, weak))
            self.captured[id(value._node)] = known
        return known[1]

    def record(self, primitive: Any, values: Sequence[Any], settings: Any) -> Tensor:
        """The result of a primitive, as `apply` wants it."""
        operands = tuple([self.inside(value) for value in values])
        bare = tuple([wrapped(value._array) if type(value) is Tensor else value for value in operands])
        result = self.staged(apply(primitive, bare, settings)._array)
        self.equations.append(Equation(primitive, operands, settings, [result]))
        return result

    def record_loop(self, loop: Any, values: Sequence[Any], run: Callable[..., list[Any]]) -> list[Tensor]:
        """The results of a loop inside this step."""
        operands = tuple([self.inside(value) for value in values])
        results = [self.staged(array) for array in run(loop, [value._array for value in operands])]
        self.equations.append(Equation(loop, operands, None, results))
        return results


@contextlib.contextmanager
def repeated_checks() -> Iterator[None]:
    """A context in which conditions on what stands for operands are forgotten: the loop that was traced first has them
    among its results."""
    checks = current().checks
    count = len(checks)
    yield
    del checks[count:]


@contextlib.contextmanager
def recording() -> Iterator[Recorder]:
    """A context in which a body is traced; gives who notes it down."""
    with repeated_checks(), Level() as level:
        recorder = Recorder(level)
        recorders.append(recorder)
        switches.bodies += 1
        try:
            yield recorder
        finally:
            switches.bodies -= 1
            recorders.pop()


def traced_body(f: Callable[..., Any], kinds: Sequence[Kind]) -> tuple[Body, list[Tensor], Recorder]:
    """The body of a function that is given a recorder and tensors and gives a list of tensors, and what it took from
    outside: operands that come before the others."""
    with recording() as recorder:
        variables = [recorder.variable(kind) for kind in kinds]
        outputs = f(recorder, variables)
        places = [Place(node_of_tensor(variable), [variable]) for variable in variables]
        body, taken = closed(recorder, places, outputs)
    return body, taken, recorder


def part_of(
    recorder: Recorder, places: list[Place], outputs: Sequence[Any], run: Callable[..., list[Tensor]]
) -> tuple[Body, list[Tensor]]:
    """A body for these outputs, in which some of the results that were noted down are operands; and what it takes from
    outside. Traced anew: nodes of what follows from such a result may have passed it by, where it is a view."""
    noted, first = closed(recorder, places, outputs, False)
    kinds = [Kind(node.shape, node.dtype, node.weak) for node in noted.inputs]
    body, taken, _ = traced_body(lambda _, given: replayed(noted, given, run), kinds)
    return body, [*taken, *first]


def closed(
    recorder: Recorder, places: list[Place], outputs: Sequence[Any], nodes: bool = True
) -> tuple[Body, list[Tensor]]:
    """A body for these outputs, with no more equations than they need; and what it takes from outside. nodes: whether
    the nodes of the outputs are the body's."""
    inner = [recorder.inside(output) for output in outputs]
    equations = needed(recorder, places, inner)
    used = {mark(x) for equation in equations for x in equation.operands} | {mark(output) for output in inner}
    taken, first = [], []
    for outside, variable in recorder.captured.values():
        if mark(variable) in used:
            taken.append(outside)
            first.append(Place(node_of_tensor(variable), [variable]))
    roots = [node_of_tensor(output) for output in inner if nodes or not mark(output)]
    for equation in equations:
        roots += loose(equation)
    inputs = [place.node for place in [*first, *places]]
    for node in unchanging(roots, inputs):
        taken.append(wrapped(Symbol(node)))
        first.append(Place(node))
    return Body([*first, *places], equations, inner), taken


def needed(recorder: Recorder, places: list[Place], outputs: Sequence[Tensor]) -> list[Equation]:
    """The equations that lead to outputs; what a place stands for is not computed."""
    given = {mark(tensor) for place in places for tensor in place.tensors}
    wanted = {mark(output) for output in outputs} - given
    leading = []
    for equation in reversed(recorder.equations):
        if any(mark(result) in wanted for result in equation.results):
            leading.append(equation)
            wanted |= {mark(x) for x in equation.operands if recorder.owns(x)} - given
    return leading[::-1]


def loose(equation: Equation) -> list[Node]:
    """The arrays without derivative that an equation uses: conditions, indices, constants."""
    nodes: list[Node] = []

    def collect(value: Any) -> None:
        if type(value) is Symbol:
            nodes.append(value.node)
        elif type(value) in (tuple, list):
            for item in value:
                collect(item)

    for value in equation.operands:
        if type(value) is Tensor:
            if value._node is None:
                collect(plain(value._array))
        else:
            collect(value)
    collect(equation.settings)
    return nodes


def changing(roots: Iterable[Node], inputs: Iterable[Node]) -> tuple[list[Node], set[int]]:
    """The nodes that lead to some, and the identities of those that depend on inputs."""
    depends = {id(node) for node in inputs}
    nodes = ordered(roots, depends)
    for node in nodes:
        if any(id(operand) in depends for operand in node.operands):
            depends.add(id(node))
    return nodes, depends


def unchanging(roots: list[Node], inputs: list[Node]) -> list[Node]:
    """What a step reads that is the same in every step: nodes from outside. Known numbers stay inside."""
    nodes, depends = changing(roots, inputs)
    fixed: dict[int, Node] = {}
    for reader in nodes:
        if id(reader) in depends:
            fixed |= {id(x): x for x in reader.operands if id(x) not in depends}
    fixed |= {id(root): root for root in roots if id(root) not in depends}
    return [node for node in fixed.values() if not is_splat(node) and node.op not in FREE]


class Substitution:
    """Nodes of a body with other operands in the places of its own."""

    def __init__(self, body: Body, operands: Sequence[Tensor]):
        self.known: dict[int, Node] = {}
        self.body = body  # whose nodes' identities these are
        for place, operand in zip(body.places, operands, strict=True):
            self.known[id(place.node)] = node_of_tensor(operand)

    def node(self, root: Node) -> Node:
        """The node that takes another one's place."""
        for node in ordered([root], set(self.known)):
            operands = tuple([self.known[id(x)] for x in node.operands])
            if all(x is y for x, y in zip(operands, node.operands, strict=True)):
                self.known[id(node)] = node
                continue
            replacement = current().node(node.op, operands, node.settings, node.shape, node.dtype)
            replacement.weak = node.weak
            self.known[id(node)] = replacement
        return self.known[id(root)]

    def value(self, value: Any) -> Any:
        """The same of arrays in operands and settings."""
        if type(value) is Symbol:
            return Symbol(self.node(value.node))
        if type(value) is tuple:
            return tuple([self.value(item) for item in value])
        return value


def replayed(body: Body, operands: Sequence[Tensor], run: Callable[..., list[Tensor]]) -> list[Tensor]:
    """What a body gives for other operands; run: what executes the loops in it."""
    tensors: dict[int, Tensor] = {}
    for place, operand in zip(body.places, operands, strict=True):
        for tensor in place.tensors:
            tensors[mark(tensor)] = operand
    substitution = Substitution(body, operands)

    def looked_up(value: Any) -> Any:
        if type(value) is Tensor:
            known = tensors.get(mark(value))
            return wrapped(substitution.value(plain(value._array))) if known is None else known
        return substitution.value(value)

    for equation in body.equations:
        values = tuple([looked_up(value) for value in equation.operands])
        if hasattr(equation.primitive, "body"):
            results = run(equation.primitive, list(values))
        else:
            results = [apply(equation.primitive, values, substitution.value(equation.settings))]
        for old, new in zip(equation.results, results, strict=True):
            tensors[mark(old)] = new
    return [looked_up(output) for output in body.outputs]


def zeros(kind: Kind) -> Tensor:
    """Zeros of a kind."""
    return wrapped(Symbol(constant(numpy.broadcast_to(numpy.zeros((), kind.dtype), kind.shape))))


def kind_of(node: Node) -> Kind:
    """What a node is like."""
    return Kind(node.shape, node.dtype)
