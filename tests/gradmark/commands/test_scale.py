"""`gradmark scale`: what is swept."""

import pytest
from oracles.watched import never_calm

from gradmark.commands.scale import left_out
from gradmark.records import Cell, Measurement, Phase, Sample


@pytest.mark.slow
def test_a_tensor_workload_is_swept_in_one_dtype(gradmark, quick):
    # One process may never meet a calm moment of a busy machine, and has no time then; four do.
    called = gradmark("scale", "logsumexp", *quick, "--processes", "4")
    assert called.code == 0
    assert "tensor, float32, cpu" in called.out
    assert "logsumexp/n=*@tapegrad: cost = a + b·n^p, n counts bytes" in called.out
    assert "  tape              p = 0.00  (0.00 to 0.02)  constant" in called.out
    assert "logsumexp/n=*@tapegrad: total\n" in called.out
    assert "o total   · fit" in called.out


@pytest.mark.parametrize("workload", ["convolution", "expression", "chain"])
def test_too_few_sizes(gradmark, workload):
    called = gradmark("scale", workload)
    assert (called.code, called.err) == (
        2,
        f"gradmark: {workload} has no parameter with 4 sizes or more; `gradmark list` shows which do\n",
    )


def test_a_dtype_that_it_does_not_have(gradmark):
    called = gradmark("scale", "poly", "--dtype", "float32")
    assert called.code == 2
    assert "no selected workload has float32; functions of numbers have only float64" in called.err


def test_sizes_in_no_fit_are_named():
    def measured(n):
        phases = {"total": Phase(iterations=1, block_ns=[10.0 * n])}
        sample = Sample(process=0, phases=phases, once_ns={}, harness_ns=0.0, clock_ns=1.0)
        return Measurement(
            cell=Cell(engine="e", workload="w", suite="s", params={"n": n}), status="ok", samples=[sample]
        )

    rows = [measured(n) for n in (10, 100, 1000)]
    assert left_out(rows) == []
    assert left_out([never_calm(rows[0]), rows[1], never_calm(rows[2])]) == [
        "left out (machine never calm): times of n=10, n=1000"
    ]
