"""Derivatives beside their promises: of programs, with CasADi; sparse ones; of tensors, with torch.func.

    python benchmarks/derivatives.py [--rounds 5] [--json FILE] [--against PYTHON]

One process per engine, fresh in each round, rounds interleaved; what is shown is the floor, the fastest block of all
rounds, and ratios of floors. An engine that is not installed, or cannot do the work, says so. The tensors are the MLP
of `tensor.py`, one thread; rows are those of `gradmark run` that both engines have. With `--against` no other engine is
measured, but another build of tapegrad, row by row.
"""

import itertools
import json
import sys
import time

import tensor
from floors import CHECKS, arguments, builds, floor_ns, interleaved, ratio, reason, save, tell

TERMS = 1000
VARIABLES = 1000
COEFFICIENTS = [1.0 / (k + 1) for k in range(TERMS)]
POINT = 0.999
SPARSE = 10_000  # variables of the tridiagonal map
DENSE = 1000  # and of the one whose dense Jacobian is measured
NETWORK = "MLP"
NETWORK_ROWS = {"value": f"{NETWORK}, value", "gradient": NETWORK, "jvp": f"{NETWORK}, jvp", "hvp": f"{NETWORK}, hvp"}


# ---- the work ----------------------------------------------------------------------------------------------------


def polynomial(xs):
    total = 0.0
    for c in COEFFICIENTS:
        total = total * xs[0] + c
    return total


def rosenbrock(xs):
    total = 0.0
    for x, y in itertools.pairwise(xs):
        total = total + 100.0 * (y - x * x) ** 2 + (1.0 - x) ** 2
    return total


def tridiagonal(xs):
    """Broyden's: each output depends on an input and its neighbours."""
    padded = [0.0, *xs, 0.0]
    return [
        (3.0 - 2.0 * x) * x - before - 2.0 * after + 1.0
        for before, x, after in zip(padded, padded[1:], padded[2:], strict=False)
    ]


WORK = {"polynomial": (polynomial, 1), "rosenbrock": (rosenbrock, VARIABLES)}
ROWS = ("value", "gradient", "jvp", "hvp")


def point_of(count):
    return [POINT] if count == 1 else [0.5 + k / count for k in range(count)]


def direction_of(count):
    return [1.0 if k % 2 == 0 else -0.5 for k in range(count)]


# ---- the engines: each gives a function without arguments for each row, that returns an array ---------------------


def tapegrad(f, count):
    import numpy

    import tapegrad

    tape = tapegrad.Tape()
    xs = [tape.var(x) for x in point_of(count)]
    program = tape.freeze(xs, f(xs))
    point, both = numpy.array(point_of(count)), numpy.array([*point_of(count), *direction_of(count)])

    def bound(derived, x):
        return derived.bind(x, numpy.zeros(derived.stats().outputs))

    gradient = bound(program.gradient(with_values=True), point)
    return {
        "value": bound(program, point),
        "gradient": lambda: gradient()[1:],
        "jvp": bound(program.tangent(), both),
        "hvp": bound(program.gradient().tangent(), both),
    }


def casadi(f, count):
    import casadi
    import numpy

    x, d = casadi.SX.sym("x", count), casadi.SX.sym("d", count)
    y = f([x[k] for k in range(count)])
    gradient = casadi.gradient(y, x)
    point, direction = numpy.array(point_of(count)), numpy.array(direction_of(count))

    def buffered(outputs, size):
        """All that CasADi only points to is kept by the closure."""
        function = casadi.Function("f", [x, d], outputs)
        buffer, evaluate = function.buffer()
        result = numpy.zeros(size)
        buffer.set_arg(0, memoryview(point))
        buffer.set_arg(1, memoryview(direction))
        buffer.set_res(len(outputs) - 1, memoryview(result))

        def run(_kept=(function, buffer, point, direction)):
            evaluate()
            return result

        return run

    return {
        "value": buffered([y], 1),
        "gradient": buffered([y, gradient], count),
        "jvp": buffered([casadi.jtimes(y, x, d)], 1),
        "hvp": buffered([casadi.jtimes(gradient, x, d)], count),
    }


ENGINES = {"tapegrad": tapegrad, "casadi": casadi}
TRIDIAGONAL = "tapegrad, tridiagonal"
TENSORS = {f"{engine}, tensors": engine for engine in ("tapegrad", "torch")}
SUITES = ("scalar", "derivatives")
PROGRAMS, CASADI = "tapegrad:program, rows", "casadi, rows"


# ---- one process -------------------------------------------------------------------------------------------------


def measure(worker):
    """The floors of one worker, in this process, and what it computed; a string where there is none."""
    if worker == TRIDIAGONAL:
        return measure_tridiagonal()
    if worker in (PROGRAMS, CASADI):
        return measure_rows(worker.partition(",")[0])
    if worker in TENSORS:
        return tensor.measure(TENSORS[worker], NETWORK_ROWS.values())
    floors = {}
    for name, (f, count) in WORK.items():
        try:
            rows = ENGINES[worker](f, count)
            for row in ROWS:
                floors[f"{name}, {row}"] = floor_ns(rows[row])
                floors[f"{name}, {row}, {CHECKS}"] = checksum(rows[row]())
        except Exception as error:
            floors |= {f"{name}, {row}": reason(error) for row in ROWS}
    return floors


def measure_rows(engine):
    """One iteration of every row of the suites, as the adapter of the engine does it."""
    from gradmark.measure.job import Job
    from gradmark.measure.worker.prepared import Prepared
    from gradmark.records import Cell, Settings
    from gradmark.records.derivative import has
    from gradmark.workloads.lookup import built_in

    floors = {}
    for of in built_in():
        if of.kind != "scalar" or of.suite not in SUITES:
            continue
        for params, derivative in itertools.product(of.points(full=False), has(of.result)):
            cell = Cell(engine=engine, workload=of.name, suite=of.suite, params=params, derivative=derivative)
            try:
                session = Prepared(Job(kind="inspect", cell=cell, settings=Settings())).session
                floors[cell.row] = floor_ns(session.total, block_ns=1e6, blocks=12)
            except Exception as error:
                floors[cell.row] = reason(error)
    return floors


def checksum(result):
    """The sum of what was computed: the same for all engines, but for rounding."""
    return result if isinstance(result, float) else float(result.sum())


def measure_tridiagonal():
    """A sparse Jacobian, the tangent it is made of, and dense Jacobians in reverse, in one process."""
    import numpy

    import tapegrad

    def frozen(count):
        tape = tapegrad.Tape()
        xs = [tape.var(x) for x in point_of(count)]
        return tape.freeze(xs, tridiagonal(xs))

    program = frozen(SPARSE)
    start = time.perf_counter_ns()
    jacobian = program.jacobian()
    prepared = time.perf_counter_ns() - start
    tangent = program.tangent()
    point = numpy.array(point_of(SPARSE))
    both = numpy.array([*point_of(SPARSE), *direction_of(SPARSE)])
    small = frozen(DENSE)
    dense_point = numpy.array(point_of(DENSE))
    exact = small.value_and_grad(dense_point)[1]
    assert abs(small.jacobian()(dense_point) - exact).max() <= 1e-12, "the sparse Jacobian differs from the dense one"
    return {
        "colours": jacobian.colours,
        "entries": jacobian.nnz,
        "preparation": prepared,
        "sparse": floor_ns(lambda: jacobian(point)),
        "tangent": floor_ns(lambda: tangent(both)),
        "value": floor_ns(lambda: program(point)),
        "dense": floor_ns(lambda: small.value_and_grad(dense_point)),
    }


# ---- all of them -------------------------------------------------------------------------------------------------


def show(floors):
    for name, (_, count) in WORK.items():
        print(f"\n{name}, {count} variable{'s' * (count > 1)}\n{'µs':>14}{''.join(f'{row:>12}' for row in ROWS)}")
        for engine in ENGINES:
            values = [floors[engine][f"{name}, {row}"] for row in ROWS]
            shown = values[0] if isinstance(values[0], str) else "".join(f"{value / 1e3:12.3f}" for value in values)
            print(f"{engine:14}{shown}")
    sparse = floors[TRIDIAGONAL]
    if isinstance(sparse, str):
        print(f"\ntridiagonal map: {sparse}")
    else:
        print(f"\ntridiagonal map of {SPARSE} variables: {sparse['entries']} entries, {sparse['colours']} colours")
        for row in ("value", "tangent", "sparse", "preparation"):
            print(f"{row:14}{sparse[row] / 1e3:12.1f} µs")
        print(f"{'dense':14}{sparse['dense'] / 1e3:12.1f} µs for {DENSE} variables")
    print(f"\n{tensor.TITLES[NETWORK]}, float32\n{'µs':>14}{''.join(f'{row:>12}' for row in ROWS)}")
    for worker, engine in TENSORS.items():
        of = floors[worker]
        shown = of if isinstance(of, str) else "".join(f"{of[NETWORK_ROWS[row]] / 1e3:12.1f}" for row in ROWS)
        print(f"{engine:14}{shown}")


def targets(floors):
    """Each promise with its number: (promise, number, kept)."""
    ours, theirs = floors["tapegrad"], floors["casadi"]
    for name in WORK:
        for row, base, most in (("jvp", "value", 2.0), ("hvp", "gradient", 3.0)):
            promise = f"{name}: {row} ≤ {most:g} × the {base}"
            values = ours[f"{name}, {row}"], ours[f"{name}, {base}"]
            if any(isinstance(value, str) for value in values):
                yield promise, str(values[0]), None
            else:
                yield promise, f"{values[0] / values[1]:.2f} ×", values[0] / values[1] <= most
    for name in WORK:
        for row in ROWS:
            promise = f"{name}, {row}: no slower than CasADi's buffer interface"
            values = ours[f"{name}, {row}"], theirs[f"{name}, {row}"]
            if any(isinstance(value, str) for value in values):
                yield promise, str(values[1]), None
                continue
            checks = ours[f"{name}, {row}, {CHECKS}"], theirs[f"{name}, {row}, {CHECKS}"]
            assert abs(checks[0] - checks[1]) <= 1e-9 * abs(checks[1]), f"{name}, {row}: {checks} differ"
            yield promise, f"{values[0] / values[1]:.2f} × its time", values[0] <= values[1]
    yield every_row(floors[PROGRAMS], floors[CASADI])
    sparse = floors[TRIDIAGONAL]
    if isinstance(sparse, str):
        yield "tridiagonal Jacobian", sparse, None
    else:
        yield from sparse_targets(sparse)
    yield from tensor.derivative_targets({engine: floors[worker] for worker, engine in TENSORS.items()}, NETWORK)


def every_row(ours, theirs):
    """What is promised of all rows that both engines have: the worst of them decides."""
    promise = "programs: no slower than CasADi's buffer interface on every scalar row that both have"
    if isinstance(ours, str) or isinstance(theirs, str):
        return promise, ours if isinstance(ours, str) else theirs, None
    times = {row: ratio(ours[row], theirs[row]) for row in ours}
    times = {row: each for row, each in times.items() if each == each}
    worst = max(times, key=times.__getitem__)
    number = f"{sum(each <= 1.0 for each in times.values())} of {len(times)}, at most {times[worst]:.2f} × ({worst})"
    return promise, number, times[worst] <= 1.0


def sparse_targets(sparse):
    yield f"tridiagonal Jacobian of {SPARSE} variables: 3 colours", f"{sparse['colours']}", sparse["colours"] == 3
    ratio = sparse["sparse"] / sparse["tangent"]
    yield "tridiagonal Jacobian: ≤ 5 evaluations of the tangent", f"{ratio:.2f}", ratio <= 5.0
    # a dense Jacobian in reverse costs a sweep for each output: with n variables n times n
    extrapolated = sparse["dense"] * (SPARSE / DENSE) ** 2
    ratio = extrapolated / sparse["sparse"]
    yield "tridiagonal Jacobian: ≥ 300 × faster than a dense one in reverse", f"{ratio:.0f} ×", ratio >= 300


def main():
    options = arguments(__doc__.split("\n")[0]).parse_args()
    if options.worker:
        print(json.dumps(measure(options.worker)))
        return
    if options.against:
        sys.exit(not builds(__file__, ["tapegrad", TRIDIAGONAL, "tapegrad, tensors"], options.against, options.rounds))
    floors = interleaved(__file__, [*ENGINES, TRIDIAGONAL, PROGRAMS, CASADI, *TENSORS], options.rounds, environment)
    for engine in ENGINES:
        if isinstance(floors[engine], str):
            floors[engine] = {f"{name}, {row}": floors[engine] for name in WORK for row in ROWS}
    show(floors)
    all_kept = tell(targets(floors))
    save(floors, options.json)
    sys.exit(not all_kept)


def environment(worker):
    return tensor.environment(worker, threads=1) if worker in TENSORS else {}


if __name__ == "__main__":
    main()
