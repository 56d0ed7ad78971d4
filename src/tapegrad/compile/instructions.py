"""Instructions: from a program to the graph that is compiled.

In: a program, which may be a derivative. Out: a `Graph` of the same operations in the same order.
"""

from functools import cache
from typing import TYPE_CHECKING

from tapegrad.compile.graph import Graph, Guard
from tapegrad.rules.opcodes import codes, numbered

if TYPE_CHECKING:
    from tapegrad.scalar.program import Program


@cache
def operations() -> dict[int, str]:
    """The operation of every opcode."""
    starts = numbered()
    return {starts[name] + form: name.lower() for name, count in codes() for form in range(count)}


def graph_of(program: "Program") -> Graph:
    """The graph of a program. Instructions that are the same become one node, as they do in derivatives."""
    from tapegrad.scalar.program import guards, instruction, length_of_program, outputs

    graph, names = Graph(), operations()
    places: list[int] = []

    def place(operand: int | float) -> int:
        return graph.constant(operand) if isinstance(operand, float) else places[operand]

    for i in range(length_of_program(program)):
        op, operands = instruction(program, i)
        name = names[op]
        if name == "input":
            places.append(graph.input())
        elif name == "constant":
            places.append(place(operands[0]))
        else:
            name = "select" if name == "where" else name
            places.append(graph.add(name, *[place(operand) for operand in operands]))
    graph.outputs = [place(output) for output in outputs(program)]
    graph.guards = [
        Guard(names[op], place(lhs), place(rhs), bool(outcome)) for op, lhs, rhs, outcome in guards(program)
    ]
    return graph
