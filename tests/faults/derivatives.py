"""Engines with second derivatives of Rosenbrock's function, written by hand, right and with a fault each."""

import dataclasses

from gradmark import Capabilities, Session

SPARSE = {"hvp": "by hand", "jvp": "by hand", "sparse-hessian": "by hand", "hessian": "by hand"}


def product(xs, vs):
    """The Hessian of Rosenbrock's function times a vector."""
    result = [0.0] * len(xs)
    for k in range(len(xs) - 1):
        x, after = xs[k], xs[k + 1]
        result[k] += (1200.0 * x * x - 400.0 * after + 2.0) * vs[k] - 400.0 * x * vs[k + 1]
        result[k + 1] += 200.0 * vs[k + 1] - 400.0 * x * vs[k]
    return result


def units(count):
    return [[float(j == k) for j in range(count)] for k in range(count)]


class Right:
    """As it should be."""

    name = "right"

    def capabilities(self):
        return Capabilities(derivatives=SPARSE, compiled=True)

    def prepare(self, workload, inputs, params, *, derivative):
        computed = None

        def total():
            nonlocal computed
            if derivative.name == "hvp":
                computed = product(inputs, derivative.tangents)
            else:
                computed = [product(inputs, unit) for unit in units(len(inputs))]

        session = Session(total=total, result=lambda: self.read(computed, derivative.name), mode="closed form")
        return dataclasses.replace(session, **self.faults(session, inputs, derivative))

    def read(self, computed, name):
        if name != "sparse-hessian":
            return computed
        from scipy.sparse import csr_matrix

        return csr_matrix(computed)

    def faults(self, session, inputs, derivative):
        return {}


def reading(change):
    """The result is changed when it is read."""

    def faults(self, session, inputs, derivative):
        return {"result": lambda: change(session.result())}

    return faults


class OffByLittle(Right):
    faults = reading(lambda result: [y * (1 + 1e-6) for y in result])


class OneEntryWrong(Right):
    faults = reading(lambda result: [*result[:-1], result[-1] * 1.001])


class OneSmallEntryWrong(Right):
    """By so little that three directions of 300 entries do not show it."""

    faults = reading(lambda result: [result[0] + 5e-9 * max(map(abs, result)), *result[1:]])


class OneEntryMissing(Right):
    """Of a matrix: an entry of the last diagonal block."""

    def read(self, computed, name):
        computed = [list(row) for row in computed]
        computed[-1][-2] = computed[-2][-1] = 0.0
        return super().read(computed, name)


class Transposed(Right):
    """The direction's order is turned round."""

    faults = reading(lambda result: result[::-1])


class NotANumber(Right):
    faults = reading(lambda result: [float("nan"), *result[1:]])


class TooShort(Right):
    faults = reading(lambda result: result[:-1])


class AWord(Right):
    faults = reading(lambda result: "none")


class NotSparse(Right):
    def read(self, computed, name):
        return computed


class WrongSide(Right):
    def read(self, computed, name):
        return [row[:-1] for row in computed]


class NoResult(Right):
    def faults(self, session, inputs, derivative):
        return {"result": None}


class FirstInputs(Right):
    """What `prepare` saw, whatever the inputs are now."""

    def faults(self, session, inputs, derivative):
        known = product(list(inputs), derivative.tangents)
        return {"total": lambda: None, "result": lambda: known}


class WhenRead(Right):
    """All the work is done when the result is read."""

    def faults(self, session, inputs, derivative):
        return {"total": lambda: None, "result": lambda: product(inputs, derivative.tangents)}


class Untold:
    """Cannot be told what is wanted."""

    name = "untold"

    def prepare(self, workload, inputs, params):
        return Session()

    def capabilities(self):
        return Capabilities(derivatives=SPARSE)


class Heir(Right):
    """Has a `prepare` of its own, as it was before there were derivatives."""

    def prepare(self, workload, inputs, params):
        return Session(total=list, gradients=list)


class NoSuchDerivative(Right):
    def capabilities(self):
        return Capabilities(derivatives={"hesian": "rev"})
