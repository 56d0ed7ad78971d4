"""`gradmark scale`: what is swept."""

import pytest


@pytest.mark.slow
def test_a_tensor_workload_is_swept_in_one_dtype(gradmark, quick):
    called = gradmark("scale", "logsumexp", *quick)
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
