"""The graph that is compiled: its nodes, how it is printed, and its limit."""

import pytest

import tapegrad
from tapegrad.compile import graph as graphs
from tapegrad.compile.graph import Graph, Guard
from tapegrad.compile.instructions import graph_of


def test_nodes_that_are_the_same_are_one():
    graph = Graph()
    x, y = graph.input(), graph.input()
    assert graph.add("mul", x, y) == graph.add("mul", x, y)
    assert graph.add("mul", y, x) != graph.add("mul", x, y)
    assert graph.constant(0.0) != graph.constant(-0.0)
    assert graph.constant(1.0) != graph.constant(1.0, "float32")
    assert graph.constant(float("nan")) == graph.constant(float("nan"))
    wide = graph.add("sum", x, shape=(2, 3), dtype="float32", attributes=(("axis", 0),))
    assert str(graph.nodes[wide]) == "sum(%0, axis=0) : float32[2, 3]"


def test_a_program_as_a_graph():
    tape = tapegrad.Tape()
    x, y = tape.var(1.0), tape.var(2.0)
    z = tapegrad.sin(x) * y if x < y else x
    program = tape.freeze([x, y], [tapegrad.where(z > 0.5, z, 2.0), z + tapegrad.sin(x)])
    graph = graph_of(program)
    assert str(graph).splitlines() == [
        "%0 = input() : float64",
        "%1 = input() : float64",
        "%2 = sin(%0) : float64",
        "%3 = mul(%2, %1) : float64",
        "%4 = constant(0.5) : float64",
        "%5 = lt(%4, %3) : float64",
        "%6 = constant(2.0) : float64",
        "%7 = select(%3, %6, %5) : float64",
        "%8 = add(%3, %2) : float64",
        "guard lt(%0, %1) is True",
        "outputs: %7, %8",
    ]
    assert graph.guards == [Guard("lt", 0, 1, True)]


def test_a_long_graph_shows_both_ends():
    tape = tapegrad.Tape()
    x = y = tape.var(1.0)
    for k in range(100):
        y = y * (1.5 + k)
    lines = str(graph_of(tape.freeze([x], [y] * 50))).splitlines()
    assert len(lines) == 42
    assert lines[20] == "… 161 more …"
    assert lines[-1].count("%200") == 20
    assert "… 30 more …" in lines[-1]


def test_a_graph_too_large_says_the_way_out(monkeypatch):
    monkeypatch.setattr(graphs, "MOST_NODES", 3)
    tape = tapegrad.Tape()
    x = tape.var(1.0)
    program = tape.freeze(x, tapegrad.sin(x) * 2.0)
    with pytest.raises(
        tapegrad.InputError, match="expected at most 3 nodes to compile, got more; run this function inter"
    ):
        graph_of(program)
