"""Workloads of a user, one of them broken."""

from gradmark import workload


@workload(suite="mine", stresses="nothing", sizes={"n": [3, 5, 7]}, operations=lambda n: n)
def fine(ops, x, *, n):
    y = x
    for _ in range(n):
        y = y * x
    return y


@workload(suite="mine", stresses="patience")
def broken(ops, x):
    return x * undefined_name  # noqa: F821  that is the fault
