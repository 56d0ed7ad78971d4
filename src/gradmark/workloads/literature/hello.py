"""hello: the square of a number.

    f(x) = x²,  f'(x) = 2·x

Source: GradBench, evals/hello. Its tools take turns: the square of 1, the derivative there, the square of that, and so
on; the sizes are the numbers at which it asks for derivatives.
"""

from typing import Any

from gradmark.workloads.workload import workload


@workload(
    suite="literature",
    stresses="the overhead of one derivative",
    sizes={"x": [1, 4, 64, 16384]},
    quick={"x": [4]},
    inputs=lambda draw, x: [float(x)],  # noqa: ARG005
    operations=lambda: 1,
)
def hello(ops: Any, value: Any, **_sizes: Any) -> Any:  # noqa: ARG001  plain arithmetic needs no ops
    """The square of a number."""
    return value * value
