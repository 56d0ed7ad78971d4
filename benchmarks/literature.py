"""The suite of the literature: is every problem right, and is its writing fair?

    python benchmarks/literature.py --check     every problem against independent references
    python benchmarks/literature.py --by-hand   the JAX adapter beside the same functions written by hand for jax.jit

--check compares derivatives with results that ADBench and GradBench publish, with 50 digits (functions of numbers, at
small sizes), with the other writing of the same problem, and with PyTorch and JAX, where they are installed. Exit
code 1 if one is off by more than is allowed.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradmark.engines import discovery
from gradmark.errors import GradmarkError, MissingEngineError, UnsupportedError
from gradmark.measure.job import Job
from gradmark.measure.reference import along, exact
from gradmark.measure.worker import check
from gradmark.measure.worker.asked import whole
from gradmark.measure.worker.prepared import Prepared
from gradmark.records import Cell, Settings
from gradmark.workloads.literature import EVALS, OTHERS, files
from gradmark.workloads.lookup import named

PUBLISHED = 1e-8  # what ADBench's own tests allow
AGREED = 1e-9  # two engines in double precision
# GradBench: what its evals expect of the whole descent.
PARTICLE, SADDLE = 0.2071918746486116, 8.246324826140356e-06
PEERS = ("torch", "jax")
# Sizes for two engines: those of papers, if they take seconds.
LARGE = {
    "gmm_array": {"d": 10, "k": 25, "n": 1000},
    "adbench_gmm_array": {"d": 20, "k": 50, "n": 1000},
    "lstm_array": {"l": 2, "c": 1024},
    "ba_array": {"p": 31843},
    "ode_array": {"n": 1000, "s": 100},
    "kmeans_array": {"k": 100, "n": 10_000, "d": 16},
}


class Line(NamedTuple):
    """One comparison. error: relative to the largest entry; None if there is none, and why."""

    row: str
    against: str
    error: float | None
    allowed: float
    note: str = ""

    @property
    def failed(self) -> bool:
        """Whether it is off by more than is allowed."""
        return self.error is not None and not self.error <= self.allowed

    def show(self) -> str:
        """One line of what is printed."""
        verdict = "-" if self.error is None else "WRONG" if self.failed else "ok"
        error = self.note if self.error is None else f"{self.error:.1e}"
        return f"{self.row:68} {self.against:34} {error:>9}  {verdict}"


def prepared(name: str, params: Mapping[str, Any], engine: str, derivative: str) -> tuple[Prepared, Job]:
    """An engine that has computed a derivative once."""
    workload = named(name)[0]
    cell = Cell(
        engine=engine, workload=name, suite=workload.suite, params=dict(params), kind=workload.kind, dtype="float64",
        derivative=derivative,
    )  # fmt: skip
    job = Job(kind="inspect", cell=cell, settings=Settings())
    return Prepared(job), job


def entries(one: Prepared) -> Any:
    """The derivative, as one vector or matrix."""
    if one.cell.derivative == "gradient":
        return np.concatenate([np.ravel(np.asarray(part, dtype=float)) for part in one.result()])
    matrix = whole(one.result())
    return matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix)


def apart(got: Any, right: Any) -> float:
    got, right = np.asarray(got, dtype=float), np.asarray(right, dtype=float)
    if got.shape != right.shape:
        return float("inf")
    return float(np.abs(got - right).max() / (np.abs(right).max() or 1.0))


# --- what is published


def published() -> Iterator[Line]:
    """ADBench's expected results, and the ends of GradBench's descents."""
    yield from gradients()
    yield from jacobians()
    yield from descents()


def gradients() -> Iterator[Line]:
    """Objectives and gradients that ADBench expects."""
    expected = json.loads((files.OWN / "expected.json").read_text())
    for name, key, params in (
        ("adbench_gmm", "gmm", {"d": 2, "k": 3, "n": 1}),
        ("adbench_gmm_array", "gmm", {"d": 2, "k": 3, "n": 1}),
        ("lstm", "lstm", {"l": 2, "c": 1024}),
        ("lstm_array", "lstm", {"l": 2, "c": 1024}),
    ):
        one, _ = prepared(name, params, "tapegrad", "gradient")
        got, right = entries(one), np.array(expected[key]["gradient"])
        if key == "gmm":
            got = in_their_order(got, **params)
        value = one.value(one.iterate())
        assert value is not None
        yield Line(one.cell.row, "ADBench: objective", abs(value - expected[key]["objective"]), PUBLISHED)
        yield Line(one.cell.row, "ADBench: gradient", float(np.abs(got - right).max()), PUBLISHED)


def jacobians() -> Iterator[Line]:
    """Jacobians that ADBench expects."""
    expected = json.loads((files.OWN / "expected.json").read_text())
    for name, engine in (("ht", "tapegrad"), ("ht_array", "tapegrad"), ("ht_complicated", "tapegrad:program")):
        dense = "sparse-jacobian" if name == "ht_complicated" else "jacobian"
        one, _ = prepared(name, {"model": "small", "c": 2}, engine, dense)
        right = np.array(expected[name.removesuffix("_array")]["jacobian"]).reshape(-1, 6).T
        got = compressed(entries(one)) if name == "ht_complicated" else entries(one)
        yield Line(one.cell.row, "ADBench: Jacobian", float(np.abs(got - right).max()), PUBLISHED)
    one, _ = prepared("ba", {"p": 10}, "tapegrad:program", "sparse-jacobian")
    matrix, columns = entries(one), [*range(11), *range(22, 25), 52]
    got = np.array([*matrix[0, columns], *matrix[1, columns], matrix[-1, -1]])
    yield Line(one.cell.row, "ADBench: Jacobian", apart(got, expected["ba"]["jacobian"]), PUBLISHED)


def in_their_order(gradient: Any, d: int, k: int, n: int) -> Any:  # noqa: ARG001
    """ADBench has the logarithms and the rest of a component's factor beside each other."""
    before, ends = gradient[: k + k * d], k + 2 * k * d
    q, below = gradient[k + k * d : ends].reshape(k, d), gradient[ends:].reshape(k, -1)
    return np.concatenate([before, np.concatenate([q, below], axis=1).ravel()])


def compressed(matrix: Any) -> Any:
    """ADBench has the two columns of every point's own place in front, on top of each other."""
    points = len(matrix) // 3
    own = np.concatenate([matrix[3 * k : 3 * k + 3, 26 + 2 * k : 28 + 2 * k] for k in range(points)])
    return np.concatenate([own, matrix[:, :26]], axis=1)


def descents() -> Iterator[Line]:
    """The descents of GradBench, whole: outer derivatives by tapegrad, in all four pairs of modes."""
    import tapegrad
    from gradmark.engines.floats import FLOATS
    from gradmark.engines.tapegrad import operations
    from gradmark.workloads.literature.descent import lowest
    from gradmark.workloads.literature.particle import particle
    from gradmark.workloads.literature.saddle import START, saddle

    ops = operations(float)
    for workload, start, right in ((particle, [0.0], [PARTICLE]), (saddle, list(START), [SADDLE, SADDLE])):
        for outer in ("forward", "reverse"):
            for inner in ("forward", "reverse"):

                def f(xs: Sequence[Any], ops: Any = FLOATS, workload: Any = workload, inner: str = inner) -> Any:
                    return workload(ops, *xs, inner=inner)

                def slope(xs: Sequence[Any], f: Any = f, outer: str = outer) -> Sequence[Any]:
                    if outer == "reverse":
                        gradient: Sequence[Any] = tapegrad.grad(lambda ys: f(ys, ops))(list(xs))
                        return gradient
                    units = [[float(k == place) for k in range(len(xs))] for place in range(len(xs))]
                    return [tapegrad.jvp(lambda ys: f(ys, ops), (list(xs),), (unit,))[1] for unit in units]

                got = lowest(FLOATS, f, slope, start)
                yield Line(
                    f"{workload.name}: whole descent, {outer} over {inner}", "GradBench", apart(got, right), 1e-8
                )


# --- 50 digits, the other writing, two other engines


def rows() -> Iterator[tuple[str, dict[str, Any], str]]:
    """Every quick row of the suite, each derivative that it has."""
    for name in [*(name for names in EVALS.values() for name in names), *OTHERS]:
        workload = named(name)[0]
        for params in workload.points(full=False):
            for derivative in workload.usual_derivatives:
                yield name, params, derivative


def by_reference(name: str, params: dict[str, Any], derivative: str) -> Iterator[Line]:
    """tapegrad against the laboratory's own reference: 50 digits for numbers, differences for arrays."""
    for engine in ("tapegrad", "tapegrad:program"):
        try:
            one, job = prepared(name, params, engine, derivative)
        except UnsupportedError:
            continue
        try:
            _, judged, _ = check.examine(one, job)
        except exact.NoReferenceError as error:
            known = along.exactly(one.workload, one.inputs, params, one.derivative)
            if known is None:
                yield Line(one.cell.row, f"{engine}: reference", None, 0.0, str(error)[:40])
            else:
                yield Line(
                    one.cell.row,
                    f"exact {derivative} ({engine})",
                    apart(np.ravel(entries(one)), np.ravel(known)),
                    AGREED,
                )
            continue
        if judged is not None:
            words = judged.reference.split("; ")[0].replace("central differences", "differences")[:24]
            yield Line(one.cell.row, f"{words} ({engine})"[:34], judged.relative_error, judged.tolerance)


def by_engines(name: str, params: dict[str, Any], derivative: str, peers: Sequence[str]) -> Iterator[Line]:
    """tapegrad's entries against those of two engines that share nothing with it."""
    try:
        one, _ = prepared(name, params, "tapegrad", derivative)
    except UnsupportedError:
        one, _ = prepared(name, params, "tapegrad:program", derivative)
    right = entries(one)
    for peer in peers:
        try:
            other, _ = prepared(name, params, peer, derivative)
        except UnsupportedError as error:
            yield Line(one.cell.row, peer, None, 0.0, "n/a: " + str(error)[:40])
            continue
        yield Line(one.cell.row, peer, apart(entries(other), right), AGREED)


def by_writing() -> Iterator[Line]:
    """Number by number and with arrays: two writings of one function, at the same inputs."""
    for name, params in (
        ("lse", {"n": 2500}), ("llsq", {"n": 32, "m": 128}), ("ode", {"n": 1000, "s": 10}), ("det", {"ell": 6}),
        ("gmm", {"d": 10, "k": 5, "n": 100}), ("adbench_gmm", {"d": 10, "k": 5, "n": 100}), ("lstm", {"l": 4, "c": 64}),
        ("kmeans", {"k": 10, "n": 1000, "d": 8}), ("hierarchical", {"n": 1000, "groups": 50}),
        ("libor", {"n": 80, "paths": 5}), ("heston", {"paths": 100, "steps": 20}),
    ):  # fmt: skip
        one, _ = prepared(name, params, "tapegrad", "gradient")
        other, _ = prepared(f"{name}_array", params, "tapegrad", "gradient")
        got = entries(other)
        yield Line(one.cell.row, "the same with arrays", apart(got, entries(one)), AGREED)
    for name, params in (("ht", {"model": "small", "c": 100}), ("ht_complicated", {"model": "small", "c": 100})):
        one, _ = prepared(name, params, "tapegrad", "jacobian")
        other, _ = prepared(f"{name}_array", params, "tapegrad", "jacobian")
        yield Line(one.cell.row, "the same with arrays", apart(entries(other), entries(one)), AGREED)


def available(engine: str) -> bool:
    try:
        discovery.load(engine)
    except (MissingEngineError, GradmarkError):
        return False
    return True


def checks() -> Iterator[Line]:
    peers = [name for name in PEERS if available(name)]
    yield from published()
    yield from by_writing()
    for name, params, derivative in rows():
        yield from by_reference(name, params, derivative)
        if named(name)[0].kind == "tensor":
            yield from by_engines(name, params, derivative, peers)
    for name, params in LARGE.items():
        for derivative in named(name)[0].usual_derivatives:
            yield from by_engines(name, params, derivative, peers)


def run_checks() -> int:
    lines = []
    for line in checks():
        print(line.show(), flush=True)
        lines.append(line)
    wrong = sum(line.failed for line in lines)
    done = sum(line.error is not None for line in lines)
    print(f"{done} comparisons, {wrong} wrong, {len(lines) - done} not possible")
    return int(wrong > 0)


# --- JAX, by hand


def by_hand() -> int:
    """Array forms through the adapter, beside jax.jit of the same formula as one would write it without gradmark."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)

    def lse(x: Any) -> Any:
        return jax.scipy.special.logsumexp(x)

    def llsq(x: Any, signs: Any, powers: Any) -> Any:
        return 0.5 * jnp.sum((signs - powers @ x) ** 2)

    def ode(x: Any, steps: int) -> Any:
        h = 2.0 / steps

        def slopes(y: Any) -> Any:
            return x * jnp.roll(y, 1).at[0].set(1.0)

        def step(y: Any, _: Any) -> Any:
            k1 = slopes(y)
            k2 = slopes(y + h / 2 * k1)
            k3 = slopes(y + h / 2 * k2)
            k4 = slopes(y + h * k3)
            return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), None

        return jnp.sum(jax.lax.scan(step, jnp.zeros_like(x), None, length=steps)[0])

    def kmeans(centres: Any, points: Any) -> Any:
        distances = (points**2).sum(1)[:, None] + (centres**2).sum(1) - 2 * points @ centres.T
        return distances.min(1).sum()

    def det(a: Any, signs: Any, columns: Any) -> Any:
        return jnp.sum(signs * jnp.prod(jnp.take_along_axis(a, columns, axis=1), axis=0))

    def gmm(parameters: Any, x: Any, d: int) -> Any:
        alpha, mu, q, below = parameters
        columns, rows_ = np.triu_indices(d, 1)
        factors = jax.vmap(lambda q, own: jnp.zeros((d, d)).at[rows_, columns].set(own) + jnp.diag(jnp.exp(q)))(
            q, below
        )
        scaled = jnp.einsum("kij,nj->nki", factors, x) - jnp.einsum("kij,kj->ki", factors, mu)
        betas = alpha + q.sum(1) - 0.5 * (scaled**2).sum(2)
        total = jax.scipy.special.logsumexp(betas, axis=1).sum() - len(x) * jax.scipy.special.logsumexp(alpha)
        return total - 0.5 * (factors**2).sum()

    def lstm(parameters: Any, state: Any, text: Any, layers: int) -> Any:
        main, extra = parameters
        w, b = main[0::2].reshape(layers, 4, 14), main[1::2].reshape(layers, 4, 14)

        def step(carry: Any, bits: Any) -> Any:
            x, states = bits * extra[0], []
            for k in range(layers):
                h, c = carry[k]
                forget, leave = jax.nn.sigmoid(x * w[k, 0] + b[k, 0]), jax.nn.sigmoid(x * w[k, 2] + b[k, 2])
                enter, change = jax.nn.sigmoid(h * w[k, 1] + b[k, 1]), jnp.tanh(h * w[k, 3] + b[k, 3])
                c = c * forget + enter * change
                x = leave * jnp.tanh(c)
                states.append((x, c))
            return tuple(states), x * extra[1] + extra[2]

        start = tuple((state[2 * k], state[2 * k + 1]) for k in range(layers))
        y = jax.lax.scan(step, start, text[:-1])[1]
        normal = jnp.log(jnp.exp(y).sum(1, keepdims=True) + 2)
        return -(text[1:] * (y - normal)).mean()

    def drawn(name: str, **params: int) -> list[Any]:
        return [jnp.array(x) for x in named(name)[0].draw(0, params, "float64")]

    cases: list[tuple[str, dict[str, int], Any, Any]] = []
    for n in (2500, 160_000):
        cases.append(("lse_array", {"n": n}, lse, drawn("lse_array", n=n)[0]))
    for n in (128, 2048):
        signs, powers, x = drawn("llsq_array", n=n, m=128)
        cases.append(("llsq_array", {"n": n, "m": 128}, lambda x, s=signs, p=powers: llsq(x, s, p), x))
    for n, s in ((1000, 10), (10_000, 10)):
        cases.append(("ode_array", {"n": n, "s": s}, lambda x, s=s: ode(x, s), drawn("ode_array", n=n, s=s)[0]))
    for ell in (5, 7):
        signs, columns, a = drawn("det_array", ell=ell)
        columns = columns - ell * np.arange(ell)[:, None]
        cases.append(("det_array", {"ell": ell}, lambda a, s=signs, c=columns: det(a, s, c), a))
    for d, k in ((2, 5), (10, 25)):
        _, x, *parameters = drawn("gmm_array", d=d, k=k, n=1000)
        cases.append(("gmm_array", {"d": d, "k": k, "n": 1000}, lambda p, x=x, d=d: gmm(p, x, d), parameters))
    for c in (16, 64, 1024):
        state, main, extra, text = drawn("lstm_array", l=2, c=c)
        cases.append(("lstm_array", {"l": 2, "c": c}, lambda p, s=state, t=text: lstm(p, s, t, 2), (main, extra)))
    for k, d in ((10, 8), (100, 16)):
        points, centres = drawn("kmeans_array", k=k, n=1000, d=d)
        cases.append(("kmeans_array", {"k": k, "n": 1000, "d": d}, lambda c, p=points: kmeans(c, p), centres))
    print(f"{'row':40} {'adapter':>10} {'by hand':>10} {'ratio':>6}")
    for name, params, function, point in cases:
        one, _ = prepared(name, params, "jax", "gradient")
        hand = jax.jit(jax.value_and_grad(function))
        (call,) = one.calls(one.session)  # what the laboratory times
        through, alone = timed([call, lambda hand=hand, point=point: jax.block_until_ready(hand(point))])
        size = "/".join(f"{key}={value}" for key, value in params.items())
        print(
            f"{name + '/' + size:40} {through * 1e6:8.1f} µs {alone * 1e6:8.1f} µs {through / alone:6.2f}", flush=True
        )
    return 0


def timed(calls: Sequence[Any], blocks: int = 40, least_s: float = 0.004) -> list[float]:
    """The fastest block's seconds per call of each, of blocks that take at least so long, in turns."""
    counts = []
    for call in calls:
        call()
        start = time.perf_counter()
        call()
        counts.append(max(1, round(least_s / max(time.perf_counter() - start, 1e-7))))
    fastest = [float("inf")] * len(calls)
    for _ in range(blocks):
        for k, call in enumerate(calls):
            start = time.perf_counter()
            for _ in range(counts[k]):
                call()
            fastest[k] = min(fastest[k], (time.perf_counter() - start) / counts[k])
    return fastest


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="every problem against independent references")
    parser.add_argument("--by-hand", action="store_true", help="the JAX adapter beside jax.jit by hand")
    asked = parser.parse_args()
    if not (asked.check or asked.by_hand):
        parser.error("say --check or --by-hand")
    return (run_checks() if asked.check else 0) or (by_hand() if asked.by_hand else 0)


if __name__ == "__main__":
    sys.exit(main())
