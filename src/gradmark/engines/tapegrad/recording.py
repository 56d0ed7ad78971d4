"""What `gradmark explain` shows: a function as tapegrad records it, and its derivative as operations.

In: a workload, its inputs and a derivative. Out: a `Recording`. Functions of numbers become programs, and those of
arrays what `tapegrad.jit` traces.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import tapegrad
from gradmark.engines.protocol import Derivative, namespace
from gradmark.engines.tapegrad.operations import operations
from gradmark.engines.tapegrad.programs import derived_program, recorded
from gradmark.engines.tapegrad.transforms import functional_session
from gradmark.records import Param
from gradmark.records.derivative import USUAL_DERIVATIVE
from gradmark.records.recording import Recording
from gradmark.workloads.vocabulary import TENSOR_FUNCTIONS
from gradmark.workloads.workload import Workload
from tapegrad import tensor
from tapegrad.compile.graph import Graph, Node
from tapegrad.compile.grouped import graph_of as graph_of_nodes
from tapegrad.compile.symbol import ordered
from tapegrad.compile.trace import traced
from tapegrad.scalar.showing import operations as counted_operations

MOST_INPUTS = 6
# Operations of a traced function that compute nothing, and those that look at each number of their operand once.
FREE = {
    *("input", "constant", "reshape", "transpose", "broadcast_to", "slice", "astype"),
    *("arange", "copy", "concatenate", "getitem"),
}
OF_OPERAND = {"sum", "max", "min", "argmax", "argmin"}
ELEMENTWISE = {
    *("negative", "exp", "expm1", "log", "log1p", "sqrt", "square", "sin", "cos", "tanh", "absolute", "sign", "erf"),
    *("add", "subtract", "multiply", "divide", "power", "maximum", "minimum", "remainder", "expit", "where"),
    *("less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "bitwise_and", "bitwise_or", "invert"),
    *("isfinite", "put", "add_at", "cumsum"),
}


def recording(
    workload: Workload, inputs: Sequence[Any], params: Mapping[str, Param], derivative: Derivative
) -> Recording:
    """The recording at these inputs."""
    if workload.kind == "tensor":
        return of_arrays(workload, inputs, params, derivative)
    return of_numbers(workload, inputs, params, derivative)


def of_numbers(
    workload: Workload, inputs: Sequence[float], params: Mapping[str, Param], derivative: Derivative
) -> Recording:
    """Of a tape, with values and adjoints; of a function with several results, its program."""
    program = recorded(workload, inputs, params, derivative)
    rules = [_fields(line) for line in str(program).splitlines()[1:]]
    lines = [["", "", "backward adds"], *rules]
    if workload.result == "number":
        tape = tapegrad.Tape()
        y = workload.function(operations(tape.const), *[tape.var(x) for x in inputs], **params)
        tape.backward(y)
        lines = _with_rules([_fields(line) for line in str(tape).splitlines()[1:]], rules)
    usual = derivative.name == USUAL_DERIVATIVE
    derived = program.gradient(with_values=True) if usual else derived_program(program, derivative)
    return Recording(
        **_named(workload, inputs, lambda x: f"{x:.6g}"),
        function=_aligned(lines),
        derivative=_aligned([_fields(line)[:2] for line in str(derived).splitlines()[1:]]),
        operations=counted_operations(program),
        derivative_operations=counted_operations(derived),
    )


def _fields(line: str) -> list[str]:
    """A line of what tapegrad prints, in its columns."""
    return re.split(r"\s{2,}", line)


def _with_rules(lines: list[list[str]], rules: list[list[str]]) -> list[list[str]]:
    """Values and adjoints, and what backward adds, where the program is the recording line by line."""
    head, values = ["", "", "value", "adjoint"], lines[1:]
    own = dict(zip((fields[0] for fields in rules), rules, strict=True))
    if any(len(fields) > 1 and _rule(fields, own) is None for fields in values):
        return [head, *values]
    return [[*head, "backward adds"], *([*fields, _rule(fields, own) or ""] for fields in values)]


def _rule(fields: list[str], own: dict[str, list[str]]) -> str | None:
    """The rule of a line of the tape; None if the program has something else there."""
    theirs = own.get(fields[0], [""])
    if fields[1:2] == ["variable"]:
        return "" if theirs[1:2] == ["input"] else None
    return theirs[2] if theirs[1:2] == fields[1:2] and len(theirs) > 2 else None


def _aligned(rows: list[list[str]]) -> list[str]:
    """Columns of the same width; a line that is left out, or a list of outputs, has one."""
    full = [row for row in rows if len(row) > 1]
    widths = [max(len(row[k]) for row in full if k < len(row)) for k in range(max(map(len, full), default=0))]
    return [
        "  ".join(field.ljust(width) for field, width in zip(row, widths, strict=False)).rstrip()
        if len(row) > 1
        else row[0]
        for row in rows
    ]


def of_arrays(
    workload: Workload, inputs: Sequence[Any], params: Mapping[str, Param], derivative: Derivative
) -> Recording:
    """Of what is traced; each operation counts as often as it computes a number."""
    ops = namespace({name: getattr(tensor, name) for name in TENSOR_FUNCTIONS}, "tapegrad")

    def f(*arrays: Any) -> Any:
        return workload.function(ops, *arrays, **params)

    if derivative.name == USUAL_DERIVATIVE:
        graph = graph_of(tapegrad.value_and_grad(f, tuple(workload.active(inputs))), inputs)
    else:
        graph = _traced(workload, inputs, params, derivative)
    own = graph_of(f, inputs)
    (computed, strange), (with_derivative, others) = counted(own.nodes), counted(graph.nodes)
    uncounted = sorted({*strange, *others})
    return Recording(
        **_named(workload, inputs, lambda x: f"{x.dtype}[{', '.join(map(str, x.shape))}]"),
        function=str(own).splitlines(),
        derivative=str(graph).splitlines(),
        operations=None if uncounted else computed,
        derivative_operations=None if uncounted else with_derivative,
        counted="operations on numbers",
        reason=f"nobody counts the operations of {', '.join(uncounted)}" if uncounted else "",
    )


def graph_of(f: Callable[..., Any], arguments: Sequence[Any]) -> Graph:
    """What jit would compile, before anything is fused."""
    function = traced(f, tuple(arguments))
    return graph_of_nodes(ordered(function.outputs), function)


def _traced(workload: Workload, inputs: Sequence[Any], params: Mapping[str, Param], derivative: Derivative) -> Graph:
    """The trace of a derivative other than the gradient."""
    graphs: list[Graph] = []

    def kept(derive: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            graphs.append(graph_of(derive, arguments))
            return derive(*arguments)

        return call

    total = functional_session(workload, inputs, params, derivative, kept).total
    assert total is not None
    total()
    return graphs[0]


def _named(workload: Workload, inputs: Sequence[Any], text: Callable[[Any], str]) -> dict[str, Any]:
    names = workload.names(len(inputs))[:MOST_INPUTS]
    shown = {name: text(x) for name, x in zip(names, inputs, strict=False)}
    return {"inputs": shown, "inputs_left_out": len(inputs) - len(shown)}


def counted(nodes: Sequence[Node]) -> tuple[float, set[str]]:
    """How many numbers the operations of a traced function compute, and the names of those that nobody can count.

    A product of matrices has a multiplication and an addition for each pair of numbers that meet.

    >>> x = Node("input", (), "float64", (3, 4))
    >>> counted([x, Node("matmul", (0, 0), "float64", (3, 3)), Node("tanh", (1,), "float64", (3, 3))])
    (81.0, set())
    """
    total, strange = 0.0, set[str]()
    for node in nodes:
        first = nodes[node.operands[0]].shape if node.operands else ()
        if node.op in ELEMENTWISE:
            total += prod(node.shape)
        elif node.op in OF_OPERAND:
            total += prod(first)
        elif node.op == "matmul":
            total += 2.0 * prod(node.shape) * (first[-1] if first else 1)
        elif node.op not in FREE:
            strange.add(node.op)
    return total, strange
