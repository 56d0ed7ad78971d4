"""A hypothesis of one's own, with a workload of its own: `gradmark hypothesis examples/hypothesis.py`."""

from gradmark import workload
from gradmark.analyse.hypotheses import Arm, Hypothesis


@workload(suite="mine", stresses="a power as products", sizes={"n": [50]}, operations=lambda n: 3 * n)
def by_products(ops, x, *, n):  # noqa: ARG001
    """The fourth power, n times, with * only."""
    total = 0.0
    for _ in range(n):
        total = total + x * x * x * x
    return total


@workload(suite="mine", stresses="a power as a function", sizes={"n": [50]}, operations=lambda n: 2 * n)
def by_power(ops, x, *, n):  # noqa: ARG001
    """The fourth power, n times, with **."""
    total = 0.0
    for _ in range(n):
        total = total + x**4
    return total


products_are_faster = Hypothesis(
    name="products",
    claim="three multiplications are faster than x**4",
    first=Arm("tapegrad", "by_power", "total", {"n": 50}),
    second=Arm("tapegrad", "by_products", "total", {"n": 50}),
)

if __name__ == "__main__":
    print(products_are_faster.claim)
