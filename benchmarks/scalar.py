"""The scalar engine's speed, side by side with plain Python floats and with other engines.

    python benchmarks/scalar.py [--rounds 5] [--json FILE] [--against PYTHON]

One process per engine, fresh in each round, rounds interleaved; what is shown is the floor, the fastest block of all
rounds, and ratios of floors. An engine that is not installed, or cannot do the work, says so. With `--against` no other
engine is measured, but another build of tapegrad, row by row.
"""

import itertools
import json
import math
import struct
import sys
import time
import timeit
from functools import partial

from floors import arguments, builds, floor_ns, interleaved, reason, save, tell

TERMS = 1000
COEFFICIENTS = [1.0 / (k + 1) for k in range(TERMS)]
SHORT = 100  # terms that engines with a recursive backward pass can do too
POINT = 0.999
POINTS = 4096  # of a batch
DEPTH = 100  # applications of a function in a chain
COMPILED_SIZES = [1000, 2000, 5000, 10_000, 20_000]  # instructions
ROSENBROCK = 1000  # numbers
STATEMENTS_NS, BLOCKS = 5e6, 30  # timeit's blocks of one statement


# ---- the work ----------------------------------------------------------------------------------------------------


def horner(x, sin):  # noqa: ARG001  all work has the same signature
    total = 0.0
    for c in COEFFICIENTS:
        total = total * x + c
    return total


def short(x, sin):  # noqa: ARG001
    total = 0.0
    for c in COEFFICIENTS[:SHORT]:
        total = total * x + c
    return total


def powers(x, sin):  # noqa: ARG001
    total, power = 0.0, 1.0
    for c in COEFFICIENTS:
        total = total + c * power
        power = power * x
    return total


def expression(x, sin):
    return x * x + sin(x)


WORK = {"horner": horner, "powers": powers, "short": short, "expression": expression}
TITLES = {
    "horner": f"polynomial of {TERMS} terms, Horner's rule (total*x + c)",
    "powers": f"polynomial of {TERMS} terms, sum of powers (total + c*x^k)",
    "short": f"polynomial of {SHORT} terms, Horner's rule",
    "expression": "x*x + sin(x), in a function that a function calls",
    "statement": "x*x + sin(x), written out in timeit's loop",
}


# ---- the engines: each gives a function without arguments that returns the derivative (floats: the value) ----------


def floats(f):
    return lambda: f(POINT, math.sin)


def tapegrad_reused(f):
    import tapegrad

    tape, sin = tapegrad.Tape(), tapegrad.sin

    def run():
        tape.reset()
        x = tape.var(POINT)
        tape.backward(f(x, sin))
        return x.grad

    return run


def tapegrad_fresh(f):
    import tapegrad

    def run():
        tape = tapegrad.Tape()
        x = tape.var(POINT)
        tape.backward(f(x, tapegrad.sin))
        return x.grad

    return run


def program_of(f):
    import tapegrad

    tape = tapegrad.Tape()
    x = tape.var(POINT)
    return tape.freeze(x, f(x, tapegrad.sin))


def tapegrad_program(f):
    program = program_of(f)
    return lambda: program.value_and_grad(POINT)[1]


def tapegrad_compiled(f):
    """Machine code, in bound arrays: as CasADi's buffer interface is called."""
    import numpy

    return bound(program_of(f).compile(), [numpy.array([POINT]), numpy.zeros(1), numpy.zeros(1)])


def bound(compiled, arrays):
    call, slope = compiled.bind(*arrays), arrays[-1]

    def run():
        call()
        return slope[0]

    return run


def llvm_floor(f):
    """The same sums and products, written out for LLVM by hand: Horner's rule and the sum of powers, nothing else."""
    import numpy

    from tapegrad.compile import llvm
    from tapegrad.scalar.compiled import CompiledProgram
    from tapegrad.scalar.native import Native

    if f not in (horner, powers):
        raise NotImplementedError("only polynomials are written out")
    code = llvm.compiled(straight_line(f), optimise=3, passes=3, wide=False)
    native = Native(code.address("run"), code, inputs=1, values=1, slopes=1, weights=0, slots=0, lanes=1, points=1)
    compiled = CompiledProgram(program_of(f), lambda _: native, dict)
    return bound(compiled, [numpy.array([POINT]), numpy.zeros(1), numpy.zeros(1)])


def straight_line(f):
    """Value and derivative in one function of LLVM's, operation by operation."""
    lines, used = [], 0

    def put(op, a, b):
        nonlocal used
        used += 1
        lines.append(f"%t{used} = {op} double {a}, {b}")
        return f"%t{used}"

    total = power = None
    kept = []  # what backward needs again: totals of Horner's rule, powers of the sum
    for c in COEFFICIENTS:
        number = f"0x{struct.unpack('<Q', struct.pack('<d', c))[0]:016X}"
        if f is horner:
            kept.append(total)
            total = number if total is None else put("fadd", put("fmul", total, "%x"), number)
        else:
            term = number if power is None else put("fmul", number, power)
            total = term if total is None else put("fadd", total, term)
            kept.append((number, power))
            power = "%x" if power is None else put("fmul", power, "%x")
    slope = adjoint = None
    if f is horner:
        for before in reversed(kept[1:]):
            share = before if adjoint is None else put("fmul", adjoint, before)
            slope = share if slope is None else put("fadd", slope, share)
            adjoint = "%x" if adjoint is None else put("fmul", adjoint, "%x")
    else:
        for number, before in reversed(kept[:-1]):
            following = COEFFICIENTS[kept.index((number, before)) + 1]
            number = f"0x{struct.unpack('<Q', struct.pack('<d', following))[0]:016X}"
            adjoint = number if adjoint is None else put("fadd", put("fmul", adjoint, "%x"), number)
            share = adjoint if before is None else put("fmul", adjoint, before)
            slope = share if slope is None else put("fadd", slope, share)
    return (
        "define i32 @run(ptr noalias %xs, ptr noalias %v, ptr noalias %g, ptr %w, i64 %n) {\n"
        "%x = load double, ptr %xs\n" + "\n".join(lines) + f"\nstore double {total}, ptr %v\n"
        f"store double {slope}, ptr %g\nret i32 0\n}}\n"
    )


def xad_fresh(f):
    """As its documentation shows: a tape in a with statement."""
    import xad.adj_1st
    import xad.math

    def run():
        with xad.adj_1st.Tape() as tape:
            x = xad.adj_1st.Real(POINT)
            tape.registerInput(x)
            tape.newRecording()
            y = f(x, xad.math.sin)
            tape.registerOutput(y)
            y.derivative = 1.0
            tape.computeAdjoints()
            return x.derivative

    return run


def xad_reused(f):
    """The fastest way that was found: one tape, cleared after each use (without that, each recording is slower)."""
    import xad.adj_1st
    import xad.math

    tape = xad.adj_1st.Tape.getActive() or xad.adj_1st.Tape()
    if not tape.isActive():
        tape.activate()

    def run():
        x = xad.adj_1st.Real(POINT)
        tape.registerInput(x)
        tape.newRecording()
        y = f(x, xad.math.sin)
        tape.registerOutput(y)
        y.derivative = 1.0
        tape.computeAdjoints()
        slope = x.derivative
        tape.clearAll()
        return slope

    return run


def micrograd(f):
    from micrograd.engine import Value

    def sin(x):
        raise NotImplementedError("micrograd has no sin")

    def run():
        x = Value(POINT)
        f(x, sin).backward()
        return x.grad

    return run


def autograd(f):
    import autograd
    import autograd.numpy

    both = autograd.value_and_grad(lambda x: f(x, autograd.numpy.sin))
    return lambda: both(POINT)[1]


def casadi(f):
    return casadi_buffers(f, {})


def casadi_in_c(f):
    """Its generated code, compiled by the C compiler that is there: its option `jit`."""
    return casadi_buffers(f, IN_C)


def casadi_buffers(f, options):
    import casadi
    import numpy

    x = casadi.SX.sym("x")
    y = f(x, casadi.sin)
    function = casadi.Function("f", [x], [y, casadi.gradient(y, x)], options)
    buffer, evaluate = function.buffer()
    point, value, slope = numpy.array([POINT]), numpy.zeros(1), numpy.zeros(1)
    buffer.set_arg(0, memoryview(point))
    buffer.set_res(0, memoryview(value))
    buffer.set_res(1, memoryview(slope))

    def run(_kept=(function, buffer, point, value)):  # CasADi only points to them
        evaluate()
        return slope[0]

    return run


def torch(f):
    import torch

    torch.set_num_threads(1)

    def run():
        x = torch.tensor(POINT, dtype=torch.float64, requires_grad=True)
        f(x, torch.sin).backward()
        return x.grad

    return run


def jax_jit(f):
    import jax
    import jax.numpy

    jax.config.update("jax_enable_x64", True)
    both = jax.jit(jax.value_and_grad(lambda x: f(x, jax.numpy.sin)))
    return lambda: both(POINT)[1].block_until_ready()


IN_C = {"jit": True, "compiler": "shell", "jit_options": {"compiler": "cc", "flags": ["-O3", "-march=native"]}}
ENGINES = {
    "floats": floats,
    "tapegrad fresh tape": tapegrad_fresh,
    "tapegrad reused tape": tapegrad_reused,
    "tapegrad program": tapegrad_program,
    "tapegrad compiled": tapegrad_compiled,
    "LLVM by hand": llvm_floor,
    "xad fresh tape": xad_fresh,
    "xad reused tape": xad_reused,
    "micrograd": micrograd,
    "autograd": autograd,
    "casadi": casadi,
    "casadi in C": casadi_in_c,
    "torch": torch,
    "jax.jit": jax_jit,
}
# The same once more without Python's own calls, which take 60 ns: what timeit runs before its loop, and in it.
STATEMENTS = {
    "floats": ("from math import sin", "y = x0*x0 + sin(x0)"),
    "tapegrad fresh tape": (
        "from tapegrad import Tape, sin",
        "tape = Tape(); x = tape.var(x0); y = x*x + sin(x); tape.backward(y); slope = x.grad",
    ),
    "tapegrad reused tape": (
        "from tapegrad import Tape, sin; tape = Tape()",
        "tape.reset(); x = tape.var(x0); y = x*x + sin(x); tape.backward(y); slope = x.grad",
    ),
    "xad fresh tape": (
        "from xad.adj_1st import Real, Tape; from xad.math import sin",
        "with Tape() as tape:\n"
        "  x = Real(x0); tape.registerInput(x); tape.newRecording(); y = x*x + sin(x); tape.registerOutput(y)\n"
        "  y.derivative = 1.0; tape.computeAdjoints(); slope = x.derivative",
    ),
    "xad reused tape": (
        "from xad.adj_1st import Real, Tape; from xad.math import sin\n"
        "tape = Tape.getActive() or Tape()\n"
        "if not tape.isActive(): tape.activate()",
        "x = Real(x0); tape.registerInput(x); tape.newRecording(); y = x*x + sin(x); tape.registerOutput(y)\n"
        "y.derivative = 1.0; tape.computeAdjoints(); slope = x.derivative; tape.clearAll()",
    ),
    "torch": (
        "from torch import float64, sin, tensor",
        "x = tensor(x0, dtype=float64, requires_grad=True); y = x*x + sin(x); y.backward(); slope = x.grad",
    ),
}
BATCH = "tapegrad batch"
COMPILED = "tapegrad compiled code"
DEFINE_BY_RUN = ["xad fresh tape", "xad reused tape", "micrograd", "autograd", "torch"]

CHAINS = {
    "exp": lambda tg, y: tg.exp(-y),
    "log": lambda tg, y: tg.log(y + 3.0),
    "sin": lambda tg, y: tg.sin(y + 1.0),
    "cos": lambda tg, y: tg.cos(y + 1.0),
    "tanh": lambda tg, y: tg.tanh(y + 0.5),
    "pow": lambda tg, y: tg.pow(y + 1.0, 0.7),
}


def chain_of(function):
    import tapegrad

    tape = tapegrad.Tape()
    x = y = tape.var(0.5)
    for _ in range(DEPTH):
        y = CHAINS[function](tapegrad, y)
    return tape.freeze(x, y)


# ---- one process -------------------------------------------------------------------------------------------------


def measure(engine):
    """The floors of one engine, in this process; a string where there is none."""
    if engine == BATCH:
        return measure_batch()
    if engine == COMPILED:
        return measure_compiled()
    if engine.startswith("hvp "):
        return measure_hvp(engine)
    found = {}
    for name, f in WORK.items():
        try:
            run = ENGINES[engine](f)
            slope = float(run())
            if engine != "floats":
                check(slope, name)
            found[name] = floor_ns(run)
        except Exception as error:
            found[name] = reason(error)
    try:
        found["statement"] = floor_of_statement(*STATEMENTS[engine]) if engine in STATEMENTS else "only as a function"
    except Exception as error:
        found["statement"] = reason(error)
    return found


def floor_of_statement(setup, statement):
    """The fastest block's mean time per statement, its gradient checked first."""
    setup = f"x0 = {POINT}\n{setup}"
    seen = {}
    exec(f"{setup}\n{statement}", seen)
    if "slope" in seen:
        check(float(seen["slope"]), "expression")
    timer = timeit.Timer(statement, setup, timer=time.perf_counter_ns)
    count = 1
    while timer.timeit(count) < STATEMENTS_NS:
        count *= 2
    return min(timer.repeat(BLOCKS, count)) / count


def check(slope, name):
    exact = derivative(name)
    assert abs(slope - exact) <= 1e-9 * abs(exact), f"wrong gradient: {slope}, expected {exact}"


def derivative(name):
    if name == "expression":
        return 2 * POINT + math.cos(POINT)
    terms = SHORT if name == "short" else TERMS
    degrees = range(terms) if name == "powers" else range(terms - 1, -1, -1)
    return math.fsum(c * k * POINT ** (k - 1) for c, k in zip(COEFFICIENTS, degrees, strict=False))


def measure_batch():
    """Batches beside one point at a time, in one process so that the ratios are of one moment."""
    import numpy

    points = numpy.linspace(0.5, POINT, POINTS)
    found = {}
    for name, f in WORK.items():
        program = program_of(f)
        for threads in (1, 2):
            found[f"{name}, {threads} threads"] = floor_ns(partial(program.batch, points, threads=threads)) / POINTS
        found[f"{name}, instructions"] = program.stats().instrs
    for function in CHAINS:
        program = chain_of(function)
        found[f"{function}, batch"] = floor_ns(partial(program.batch, points)) / POINTS
        found[f"{function}, one by one"] = floor_ns(partial(program.value_and_grad, 0.75))
    return found


def measure_compiled():
    """Batches of machine code, and how long compiling takes."""
    import numpy

    import tapegrad.compile

    points = numpy.linspace(0.5, POINT, POINTS)
    found = {}
    for name, f in WORK.items():
        program = program_of(f)
        compiled = program.compile()
        for threads in (1, 2):
            found[f"{name}, {threads} threads"] = floor_ns(partial(compiled.batch, points, threads=threads)) / POINTS
        found[f"{name}, instructions"] = program.stats().instrs
    for function in CHAINS:
        found[f"{function}, batch"] = floor_ns(partial(chain_of(function).compile().batch, points)) / POINTS
    for count in COMPILED_SIZES:
        tape = tapegrad.Tape()
        x = y = tape.var(0.5)
        for k in range(count // 4):  # four instructions of the derivative program for each
            y = y * x + (1.0 + 1.0 / (k + 2))
        program = tape.freeze(x, y)
        instructions = program.gradient(with_values=True).stats().instrs
        times = []
        for _ in range(3):
            tapegrad.compile.forget()
            start = time.perf_counter_ns()
            program.compile("value_and_grad")
            times.append((time.perf_counter_ns() - start) / instructions)
        found[f"compile {count}"] = min(times)
    return found


def rosenbrock(xs):
    total = 0.0
    for x, following in itertools.pairwise(xs):
        bend, away = following - x * x, 1.0 - x
        total = total + (100.0 * (bend * bend) + away * away)
    return total


def measure_hvp(engine):
    """A Hessian-vector product of Rosenbrock's function, as each engine does it best."""
    import numpy

    draw = numpy.random.default_rng(0)
    x, along = draw.uniform(0.5, 1.5, ROSENBROCK), draw.uniform(-1.0, 1.0, ROSENBROCK)
    try:
        run = HVP[engine](x, along)
        slopes = run()
        step = 1e-6
        ahead, behind = (gradient_of_rosenbrock(x + sign * step * along) for sign in (1, -1))
        assert numpy.allclose(slopes, (ahead - behind) / (2 * step), rtol=1e-4, atol=1e-4), "wrong product"
        return {"hvp": floor_ns(run)}
    except Exception as error:
        return {"hvp": reason(error)}


def gradient_of_rosenbrock(x):
    import numpy

    slope = numpy.zeros_like(x)
    bend = x[1:] - x[:-1] ** 2
    slope[:-1] += -400.0 * bend * x[:-1] - 2.0 * (1.0 - x[:-1])
    slope[1:] += 200.0 * bend
    return slope


def hvp_compiled(x, along):
    import numpy

    import tapegrad

    tape = tapegrad.Tape()
    xs = [tape.var(number) for number in x]
    program = tape.freeze(xs, rosenbrock(xs)).gradient().tangent()
    product = numpy.zeros(len(x))
    call = program.compile().bind(numpy.concatenate([x, along]), product)

    def run():
        call()
        return product

    return run


def hvp_casadi(x, along, options=None):
    import casadi
    import numpy

    xs, v = casadi.SX.sym("x", len(x)), casadi.SX.sym("v", len(x))
    y = rosenbrock(casadi.vertsplit(xs))
    product = casadi.jtimes(casadi.gradient(y, xs), xs, v)
    function = casadi.Function("f", [xs, v], [casadi.densify(product)], options or {})
    buffer, evaluate = function.buffer()
    result = numpy.zeros(len(x))
    buffer.set_arg(0, memoryview(x))
    buffer.set_arg(1, memoryview(along))
    buffer.set_res(0, memoryview(result))

    def run(_kept=(function, buffer)):
        evaluate()
        return result

    return run


def hvp_jax(x, along):
    import jax

    jax.config.update("jax_enable_x64", True)

    def f(x):
        bend, away = x[1:] - x[:-1] ** 2, 1.0 - x[:-1]
        return (100.0 * bend**2 + away**2).sum()

    compute = jax.jit(lambda x, v: jax.jvp(jax.grad(f), (x,), (v,))[1])
    x, along = jax.numpy.asarray(x), jax.numpy.asarray(along)
    return lambda: compute(x, along).block_until_ready()


HVP = {
    "hvp compiled": hvp_compiled,
    "hvp casadi": hvp_casadi,
    "hvp casadi in C": lambda x, along: hvp_casadi(x, along, IN_C),
    "hvp jax.jit": hvp_jax,  # on arrays: a thousand numbers one by one take it minutes to compile
}


# ---- all of them -------------------------------------------------------------------------------------------------


def show(floors):
    for name, title in TITLES.items():
        base = floors["floats"][name]
        ours = floors["tapegrad reused tape"][name]
        print(f"\n{title}\n{'':24}{'µs':>12}{'× floats':>12}{'× reused tape':>16}")
        for engine in ENGINES:
            value = floors[engine][name]
            if isinstance(value, str):
                print(f"{engine:24}{value}")
            else:
                print(f"{engine:24}{value / 1e3:12.3f}{value / base:12.2f}{value / ours:16.2f}")
        batch = floors[BATCH]
        for threads in (1, 2) if name in WORK else ():
            value = batch[f"{name}, {threads} threads"]
            label = f"{BATCH}, {threads} thread" + "s" * (threads > 1)
            print(f"{label:24}{value / 1e3:12.3f}{value / base:12.3f}{value / ours:16.3f}")
    print(f"\nbatches of {POINTS} points, value and gradient\n{'':24}{'ns/op/point':>12}{'2 threads':>12}")
    for name in ("horner", "powers"):
        one, two = (batch[f"{name}, {threads} threads"] for threads in (1, 2))
        print(f"{name:24}{one / batch[f'{name}, instructions']:12.3f}{one / two:11.2f}×")
    print(f"\ncompiled batches of {POINTS} points, value and gradient\n{'':24}{'ns/op/point':>12}{'2 threads':>12}")
    code = floors[COMPILED]
    for name in ("horner", "powers"):
        one, two = (code[f"{name}, {threads} threads"] for threads in (1, 2))
        print(f"{name:24}{one / code[f'{name}, instructions']:12.3f}{one / two:11.2f}×")
    print("\ncompiling, µs an instruction")
    for count in COMPILED_SIZES:
        print(f"{count:<24}{code[f'compile {count}'] / 1e3:12.1f}")
    print(f"\nHessian-vector product of Rosenbrock's function of {ROSENBROCK} numbers\n{'':24}{'µs':>12}")
    for engine in HVP:
        value = floors[engine]["hvp"]
        print(f"{engine:24}{value if isinstance(value, str) else f'{value / 1e3:12.3f}'}")
    print(f"\nchains of {DEPTH} functions, a point\n{'':24}{'one by one µs':>16}{'batch µs':>12}{'faster':>10}")
    for function in CHAINS:
        one, many = batch[f"{function}, one by one"], batch[f"{function}, batch"]
        print(f"{function:24}{one / 1e3:16.3f}{many / 1e3:12.3f}{one / many:9.2f}×")


def targets(floors):
    """Each promise with its number: (promise, number, kept)."""
    ours, batch = floors["tapegrad reused tape"], floors[BATCH]
    for name in ("horner", "powers"):
        ratio = ours[name] / floors["floats"][name]
        yield f"record + backward, {name}: ≤ 2.0 × floats", f"{ratio:.2f} ×", ratio <= 2.0
    yield "x*x + sin(x) on a reused tape: ≤ 300 ns", f"{ours['expression']:.0f} ns", ours["expression"] <= 300
    for peer in DEFINE_BY_RUN:
        for name in TITLES:
            value = floors[peer][name]
            needed = 25 if name in ("expression", "statement") and peer.startswith("xad") else 20
            promise = f"{name}: ≥ {needed} × faster than {peer}"
            if isinstance(value, str):
                yield promise, value, None
            else:
                yield promise, f"{value / ours[name]:.1f} ×", value / ours[name] >= needed
    for name in ("horner", "powers"):
        value = floors["casadi"][name]
        promise = f"program, {name}: no slower than CasADi's buffer interface"
        if isinstance(value, str):
            yield promise, value, None
        else:
            ratio = floors["tapegrad program"][name] / value
            yield promise, f"{ratio:.2f} × its time", ratio <= 1.0
    for name in ("horner", "powers"):
        one, two = (batch[f"{name}, {threads} threads"] for threads in (1, 2))
        each = one / batch[f"{name}, instructions"]
        yield f"batch, {name}: ≤ 1.0 ns per operation and point", f"{each:.2f} ns", each <= 1.0
        yield f"batch, {name}: ≥ 1.7 × faster on two threads", f"{one / two:.2f} ×", one / two >= 1.7
    for function in CHAINS:
        ratio = batch[f"{function}, one by one"] / batch[f"{function}, batch"]
        yield f"batch, {function}: ≥ 3 × faster than one point at a time", f"{ratio:.1f} ×", ratio >= 3.0
    yield from compiled_targets(floors)


def compiled_targets(floors):
    """What machine code promises."""
    compiled, code = floors["tapegrad compiled"], floors[COMPILED]
    for peer in ("casadi", "casadi in C"):
        for name in WORK:
            yield ahead(f"compiled, {name}: ahead of {peer}", compiled[name], floors[peer][name])
    for name in ("horner", "powers"):
        promise = f"compiled, {name}: ≤ 1.3 × LLVM by hand"
        yield ahead(promise, compiled[name], floors["LLVM by hand"][name], 1.3)
    yield ahead("compiled, x*x + sin(x) in bound arrays: ≤ 80 ns", compiled["expression"], 80.0)
    for name in ("horner", "powers"):
        one, two = (code[f"{name}, {threads} threads"] for threads in (1, 2))
        each = one / code[f"{name}, instructions"]
        yield f"compiled batch, {name}: ≤ 0.25 ns per operation and point", f"{each:.3f} ns", each <= 0.25
        yield f"compiled batch, {name}: ≥ 1.8 × faster on two threads", f"{one / two:.2f} ×", one / two >= 1.8
    for count in (COMPILED_SIZES[0], COMPILED_SIZES[-1]):
        each = code[f"compile {count}"] / 1e3
        yield f"compiling {count} instructions: ≤ 100 µs each", f"{each:.1f} µs", each <= 100.0
    low, high = exponent([code[f"compile {count}"] * count for count in COMPILED_SIZES])
    yield "compiling: exponent below 1.1", f"{low:.2f} to {high:.2f}", high < 1.1
    for peer in list(HVP)[1:]:
        yield ahead(f"hvp of Rosenbrock: ahead of {peer[4:]}", floors["hvp compiled"]["hvp"], floors[peer]["hvp"])


def ahead(promise, ours, limit, factor=1.0):
    """Whether our time is within a multiple of another."""
    for value in (ours, limit):
        if isinstance(value, str):
            return promise, value, None
    return promise, f"{ours:.0f} ns, {ours / limit:.2f} ×", ours <= factor * limit


def exponent(times):
    """Of time against size: the 95 % interval of the slope of the logarithms."""
    import numpy
    from scipy import stats

    fit = stats.linregress(numpy.log(COMPILED_SIZES), numpy.log(times))
    half = stats.t.ppf(0.975, len(times) - 2) * fit.stderr
    return fit.slope - half, fit.slope + half


def main():
    options = arguments(__doc__.split("\n")[0]).parse_args()
    if options.worker:
        print(json.dumps(measure(options.worker)))
        return
    ours = [engine for engine in ENGINES if engine.startswith("tapegrad")]
    if options.against:
        sys.exit(not builds(__file__, [*ours, BATCH], options.against, options.rounds))
    floors = interleaved(__file__, [*ENGINES, BATCH, COMPILED, *HVP], options.rounds)
    rows = [*TITLES, "hvp"]
    floors = {engine: dict.fromkeys(rows, of) if isinstance(of, str) else of for engine, of in floors.items()}
    from tapegrad.scalar.batching import vector_library

    print(f"Python {sys.version.split()[0]}, vector maths: {vector_library()}")
    show(floors)
    all_kept = tell(targets(floors))
    save(floors, options.json)
    sys.exit(not all_kept)


if __name__ == "__main__":
    main()
