"""The tensor engine's speed, interpreted and compiled, side by side with PyTorch, eager and compiled, and jax.jit.

    python benchmarks/tensor.py [--rounds 5] [--threads 1] [--json FILE] [--against PYTHON]
                                [--without ENGINE] [ROW ...]

Value and gradients of the same functions, float32, the same inputs; of two networks also jvp and hvp. One process per
engine, fresh in each round, rounds interleaved, equal threads; what is shown is the floor, the fastest block of all
rounds, and ratios of floors. Peak memory is memray's high-water mark of one step, after others have warmed up, and
what a compiled function keeps from call to call. An engine that is not installed says so. With `--against` no other
engine is measured, but another build of tapegrad, row by row.
"""

import json
import math
import os
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
from floors import CHECKS, arguments, builds, floor_ns, interleaved, ratio, reason, save, tell

from gradmark.workloads.literature.lstm import lstm_array, read

BLOCK_NS, BLOCKS = 2e7, 12
DEPTH = 100  # primitives in a chain
ROWS = "TAPEGRAD_BENCHMARK_ROWS"  # tells workers which rows
HEADS = 4

# ---- the work: a function of a namespace, its data and its parameters --------------------------------------------


def mlp(ops, data, w1, b1, w2, b2, activation="tanh"):
    x, labels = data
    hidden = getattr(ops, activation)(ops.matmul(x, w1) + b1)
    return ops.cross_entropy(ops.matmul(hidden, w2) + b2, labels)


def chain_mul(ops, data, x):  # noqa: ARG001  all work has the same signature
    y = x
    for _ in range(DEPTH):
        y = y * x
    return ops.sum(y)


def chain_add(ops, data, x):  # noqa: ARG001  all work has the same signature
    y = x
    for _ in range(DEPTH):
        y = y + x
    return ops.sum(y)


def chain_tanh(ops, data, x):  # noqa: ARG001  all work has the same signature
    y = x
    for _ in range(DEPTH):
        y = ops.tanh(y)
    return ops.sum(y)


def matmul(ops, data, x, y):  # noqa: ARG001  all work has the same signature
    return ops.sum(ops.matmul(x, y))


def heads(ops, x):
    batch, length, width = x.shape
    return ops.transpose(ops.reshape(x, (batch, length, HEADS, width // HEADS)), (0, 2, 1, 3))


def block(ops, data, x, wq, wk, wv, wo, n1, c1, n2, c2, w1, b1, w2, b2):  # noqa: ARG001  all work has the same signature
    normal = ops.layer_norm(x, n1, c1)
    q, k, v = (heads(ops, ops.matmul(normal, w)) for w in (wq, wk, wv))
    mixed = ops.reshape(ops.transpose(ops.attention(q, k, v), (0, 2, 1, 3)), x.shape)
    x = x + ops.matmul(mixed, wo)
    hidden = ops.gelu(ops.matmul(ops.layer_norm(x, n2, c2), w1) + b1)
    return ops.sum(x + (ops.matmul(hidden, w2) + b2))


def convolution(ops, data, x, w):  # noqa: ARG001  all work has the same signature
    return ops.sum(ops.conv2d(x, w))


def chain_16(ops, data, x):  # noqa: ARG001  all work has the same signature
    y = x
    for _ in range(16):
        y = y * x
    return ops.sum(y)


def product_chain(ops, data, x):  # noqa: ARG001  all work has the same signature
    y = x
    for _ in range(4):
        y = y * x
    return ops.sum(y)


def softplus(ops, data, x):  # noqa: ARG001  all work has the same signature
    return ops.sum(ops.softplus(x))


def normalised(ops, data, x, weight, bias):  # noqa: ARG001  all work has the same signature
    y = ops.layer_norm(x, weight, bias)
    return ops.sum(y * y)


def attention(ops, data, q, k, v):  # noqa: ARG001  all work has the same signature
    y = ops.attention(q, k, v)
    return ops.sum(y * y)


def lstm_step(ops, data, x, h, c, wx, wh, bias):  # noqa: ARG001  all work has the same signature
    gates = ops.matmul(x, wx) + ops.matmul(h, wh) + bias
    width = h.shape[1]
    enter, forget, leave = (ops.sigmoid(gates[:, k * width : (k + 1) * width]) for k in range(3))
    c = forget * c + enter * ops.tanh(gates[:, 3 * width :])
    return ops.sum(leave * ops.tanh(c))


def lstm_scan(ops, data, main, extra):
    state, text = data
    return lstm_array.function(ops, state, main, extra, text, l=2, c=len(text))


def broadcast_add(ops, data, x, b):  # noqa: ARG001  all work has the same signature
    return ops.sum(x + b)


def reduce_sum(ops, data, x):  # noqa: ARG001  all work has the same signature
    return ops.sum(x)


def logsumexp(ops, data, x):  # noqa: ARG001  all work has the same signature
    return ops.sum(ops.logsumexp(x))


def cross_entropy(ops, data, x):
    return ops.cross_entropy(x, data[0])


def inputs(name):
    """Data and parameters of a row, the same for every engine."""
    draw = np.random.default_rng(0)

    def normal(*shape):
        return (draw.normal(size=shape) / math.sqrt(shape[0])).astype(np.float32)

    def network(batch, wide, hidden, classes):
        data = [draw.normal(size=(batch, wide)).astype(np.float32), draw.integers(0, classes, size=batch)]
        return data, [normal(wide, hidden), normal(hidden), normal(hidden, classes), normal(classes)]

    if name == "tiny MLP":
        return network(8, 16, 32, 4)
    if name == "MLP":
        return network(128, 784, 256, 10)
    if name.startswith("chain"):
        return [], [np.full(1, 0.999, np.float32)]
    if name == "matmul":
        return [], [normal(512, 512), normal(512, 512)]
    if name == "block":
        width = 256
        square = [normal(width, width) for _ in range(4)]
        norms = [np.ones(width, np.float32), np.zeros(width, np.float32)] * 2
        dense = [normal(width, 4 * width), normal(4 * width), normal(4 * width, width), normal(width)]
        return [], [draw.normal(size=(2, 128, width)).astype(np.float32), *square, *norms, *dense]
    if name == "convolution":
        return [], [draw.normal(size=(8, 16, 32, 32)).astype(np.float32), normal(32, 16, 3, 3)]
    if name == "product chain":
        return [], [draw.uniform(0.99, 1.01, size=100_000).astype(np.float32)]
    if name.startswith("softplus"):
        return [], [draw.normal(size=int(name.split()[1])).astype(np.float32)]
    if name.startswith("attention"):
        return [], [draw.normal(size=(2, HEADS, int(name.split()[1]), 64)).astype(np.float32) for _ in range(3)]
    if name == "lstm step":
        state = [draw.normal(size=(32, 256)).astype(np.float32) for _ in range(3)]
        return [], [*state, normal(256, 1024), normal(256, 1024), normal(1024)]
    if name.startswith("lstm scan"):
        state, main, extra, text = (np.asarray(array, np.float32) for array in read(2, int(name.split()[2])))
        return [state, text], [main, extra]
    wide = draw.normal(size=(1024, 1024)).astype(np.float32)
    if name == "layer norm":
        return [], [wide, normal(1024), normal(1024)]
    if name == "broadcast add":
        return [], [wide, normal(1024)]
    return ([draw.integers(0, 1024, size=1024)] if name == "cross entropy" else []), [wide]


WORK = {
    "tiny MLP": mlp,
    "chain mul": chain_mul,
    "chain add": chain_add,
    "chain tanh": chain_tanh,
    "matmul": matmul,
    "MLP": partial(mlp, activation="relu"),
    "block": block,
    "convolution": convolution,
    "broadcast add": broadcast_add,
    "reduce sum": reduce_sum,
    "logsumexp": logsumexp,
    "cross entropy": cross_entropy,
    "chain 16": chain_16,
    "product chain": product_chain,
    "softplus 10000": softplus,
    "softplus 1000000": softplus,
    "layer norm": normalised,
    "attention 64": attention,
    "attention 256": attention,
    "lstm step": lstm_step,
    "lstm scan 1024": lstm_scan,
    "lstm scan 10000": lstm_scan,
}
TITLES = {
    "tiny MLP": "tiny MLP 8×16–32–4, value and gradient",
    "chain mul": "mul on 1 element, per primitive",
    "chain add": "add on 1 element, per primitive",
    "chain tanh": "tanh on 1 element, per primitive",
    "matmul": "matmul 512",
    "MLP": "MLP 128×784–256–10",
    "block": "transformer block 2×128×256, 4 heads",
    "convolution": "convolution 8×16×32×32, 3×3, 32 out",
    "broadcast add": "broadcast add 1024×1024",
    "reduce sum": "reduce sum 1024×1024",
    "logsumexp": "logsumexp 1024×1024",
    "cross entropy": "softmax cross-entropy 1024×1024",
    "chain 16": "chain of 16 products on one number",
    "product chain": "chain of 4 products, 100,000",
    "softplus 10000": "softplus 10,000",
    "softplus 1000000": "softplus 1,000,000",
    "layer norm": "layer norm 1024×1024",
    "attention 64": "attention 2×4×64×64",
    "attention 256": "attention 2×4×256×64",
    "lstm step": "LSTM step 32×256",
    "lstm scan 1024": "LSTM of ADBench, l=2, c=1024, scan",
    "lstm scan 10000": "LSTM of ADBench, l=2, c=10000, scan",
}
PER_PRIMITIVE = {"chain mul", "chain add", "chain tanh"}
# What compiled functions promise beside the faster of jax.jit and PyTorch, eager or compiled.
COMPILED = {
    "product chain": 0.6,
    "softplus 10000": 0.6,
    "softplus 1000000": 0.6,
    "cross entropy": 0.8,
    "layer norm": 0.8,
    "logsumexp": 1,
    "broadcast add": 1,
    "reduce sum": 1,
    "tiny MLP": 0.35,
    "MLP": 1,
    "block": 1,
    "attention 64": 1,
    "attention 256": 1,
    "lstm step": 1,
    "lstm scan 1024": 0.8,
    "lstm scan 10000": 0.8,
    "convolution": 1.4,
}
COMPILED_NS = {"tiny MLP": 10_000, "chain 16": 2_500}
# The seconds of their first call, which traces and compiles, whatever the number of steps.
FIRST_CALL_S = {"lstm scan 1024": 1.0, "lstm scan 10000": 1.0}
# The networks that are differentiated otherwise too, and by what: the value alone is what a jvp is compared with.
NETWORKS = ("MLP", "block")
DERIVATIVES = ("value", "jvp", "hvp")
TITLES |= {f"{name}, {what}": f"{TITLES[name]}, {what}" for name in NETWORKS for what in DERIVATIVES}


def directions(parameters):
    """One for each parameter, the same for every engine."""
    draw = np.random.default_rng(1)
    return [draw.normal(size=parameter.shape).astype(np.float32) for parameter in parameters]


# ---- the engines: for each row a function without arguments that gives numbers, and arrays -----------------------
#
# Numbers are the value, of a jvp also the tangent; arrays are the gradients or, of an hvp, the products.


def of_tapegrad(name, what="gradient", compiled=False):
    import tapegrad
    from tapegrad import tensor

    class Ops:
        sum, matmul, tanh, relu = tensor.sum, tensor.matmul, tensor.tanh, tensor.relu
        reshape, transpose, layer_norm = tensor.reshape, tensor.transpose, tensor.layer_norm
        cross_entropy = tensor.softmax_cross_entropy
        attention = tensor.scaled_dot_product_attention
        gelu = partial(tensor.gelu, approximate="tanh")
        conv2d = partial(tensor.conv2d, padding=1)
        logsumexp = partial(tensor.logsumexp, axis=-1)
        sigmoid, softplus = tensor.sigmoid, tensor.softplus
        exp, log, scan = tensor.exp, tensor.log, tapegrad.scan

    unrolled(name, compiled)
    data, parameters = inputs(name)
    data = [tensor.constant(array) if array.dtype.kind == "f" else array for array in data]
    along = directions(parameters)

    def f(parameters):
        return WORK[name](Ops, data, *parameters)

    if compiled:
        compute = tapegrad.jit(
            {
                "value": lambda p, along: ([f(p)], []),  # noqa: ARG005
                "gradient": lambda p, along: tapegrad.value_and_grad(f)(p),  # noqa: ARG005
                "jvp": lambda p, along: (tapegrad.jvp(f, [p], [along]), []),
                "hvp": lambda p, along: ([], tapegrad.hvp(f, [p], [along])[0]),
            }[what],
            threads=int(os.environ["OMP_NUM_THREADS"]),
        )
        if what != "gradient":
            return lambda: compute(parameters, along)

        def compiled_step():
            return of_one(*compute(parameters, along))

        compiled_step.kept_bytes = compute.report(parameters, along).temporary_bytes  # there before the step too
        return compiled_step

    match what:
        case "value":
            return lambda: ([f(parameters)], [])
        case "jvp":
            return lambda: (tapegrad.jvp(f, [parameters], [along]), [])
        case "hvp":
            return lambda: ([], tapegrad.hvp(f, [parameters], [along])[0])
    both = tapegrad.value_and_grad(f)

    def step():
        value, gradients = both(parameters)
        return [value], gradients

    return step


def unrolled(name, compiled):
    """Python's loop over 10,000 steps takes seconds; the row is there for the first call of compiled loops."""
    if name == "lstm scan 10000" and not compiled:
        raise ValueError("only compiled loops have this row")


def of_one(value, gradients):
    """A value as the list that the other derivatives give."""
    return [value], gradients


def of_torch(name, what="gradient", compiled=False):
    import torch
    from torch.nn import functional
    from torch.nn.attention import SDPBackend, sdpa_kernel

    class Ops:
        sum, matmul, tanh, relu = torch.sum, torch.matmul, torch.tanh, torch.relu
        reshape, transpose = torch.reshape, torch.permute
        cross_entropy, attention = functional.cross_entropy, functional.scaled_dot_product_attention
        gelu = partial(functional.gelu, approximate="tanh")
        conv2d = partial(functional.conv2d, padding=1)
        logsumexp = partial(torch.logsumexp, dim=-1)
        sigmoid, softplus = torch.sigmoid, functional.softplus
        exp, log = torch.exp, torch.log

        @staticmethod
        def scan(step, carry, xs):  # Python's loop: PyTorch has no other that is differentiated
            results = []
            for x in xs:
                carry, result = step(carry, x)
                results.append(result)
            return carry, torch.stack(results)

        @staticmethod
        def layer_norm(x, weight, bias):
            return functional.layer_norm(x, weight.shape, weight, bias)

    unrolled(name, False)
    if compiled and name.startswith("lstm scan"):
        raise ValueError("torch.compile unrolls the loop")
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    data, parameters = inputs(name)
    along = [torch.tensor(array) for array in directions(parameters)]
    data = [torch.tensor(array) for array in data]
    parameters = [torch.tensor(array) for array in parameters]

    def f(*parameters):
        return WORK[name](Ops, data, *parameters)

    if compiled:
        if what != "gradient":
            raise ValueError(f"{what} is measured eagerly")
        f = torch.compile(f)

    def step():
        for parameter in parameters:
            parameter.grad = None
        value = f(*parameters)
        value.backward()  # into .grad: arrays of their own, as ours are; autograd.grad may give views
        return [value], [parameter.grad for parameter in parameters]

    def derived(transform):
        with sdpa_kernel(SDPBackend.MATH):  # the fused kernel has neither tangents nor second derivatives
            return transform(tuple(parameters), tuple(along))

    match what:
        case "value":
            return lambda: ([f(*parameters)], [])
        case "jvp":
            return lambda: (derived(partial(torch.func.jvp, f)), [])
        case "hvp":
            slopes = torch.func.grad(f, argnums=tuple(range(len(parameters))))
            return lambda: ([], derived(partial(torch.func.jvp, slopes))[1])
    for parameter in parameters:
        parameter.requires_grad_()
    return step


def of_jax(name, what="gradient"):
    import jax
    import jax.numpy as jnp

    def attention(q, k, v):
        weights = jax.nn.softmax(jnp.matmul(q, jnp.swapaxes(k, -1, -2)) / math.sqrt(q.shape[-1]))
        return jnp.matmul(weights, v)

    def layer_norm(x, weight, bias):
        normal = x - x.mean(-1, keepdims=True)
        return normal / jnp.sqrt((normal * normal).mean(-1, keepdims=True) + 1e-5) * weight + bias

    def cross_entropy(logits, labels):
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1).mean()

    class Ops:
        sum, matmul, tanh, relu = jnp.sum, jnp.matmul, jnp.tanh, jax.nn.relu
        reshape, transpose = jnp.reshape, jnp.transpose
        gelu = partial(jax.nn.gelu, approximate=True)
        logsumexp = partial(jax.nn.logsumexp, axis=-1)
        sigmoid, softplus = jax.nn.sigmoid, jax.nn.softplus
        exp, log, scan = jnp.exp, jnp.log, jax.lax.scan

        @staticmethod
        def conv2d(x, w):
            return jax.lax.conv(x, w, (1, 1), "SAME")

    Ops.attention, Ops.layer_norm, Ops.cross_entropy = attention, layer_norm, cross_entropy
    data, parameters = inputs(name)
    data = [jnp.asarray(array) for array in data]
    along = [jnp.asarray(array) for array in directions(parameters)]
    parameters = [jnp.asarray(array) for array in parameters]

    def f(parameters):
        return WORK[name](Ops, data, *parameters)

    def gradient(parameters, along):  # noqa: ARG001  all have the same signature
        value, gradients = jax.value_and_grad(f)(parameters)
        return [value], gradients

    compute = jax.jit(
        {
            "value": lambda parameters, along: ([f(parameters)], []),  # noqa: ARG005
            "gradient": gradient,
            "jvp": lambda parameters, along: (jax.jvp(f, [parameters], [along]), []),
            "hvp": lambda parameters, along: ([], jax.jvp(jax.grad(f), [parameters], [along])[1]),
        }[what]
    )
    return lambda: jax.block_until_ready(compute(parameters, along))


ENGINES = {
    "tapegrad": of_tapegrad,
    "tapegrad.jit": partial(of_tapegrad, compiled=True),
    "torch": of_torch,
    "torch.compile": partial(of_torch, compiled=True),
    "jax.jit": of_jax,
}


# ---- measuring ---------------------------------------------------------------------------------------------------


def peak_bytes(step):
    """memray's high-water mark of one step: what is alive before it, such as parameters, is not counted."""
    import memray

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "step.bin"
        with memray.Tracker(path, native_traces=False):
            step()
        return memray.FileReader(path).metadata.peak_memory


def measure(engine, rows=tuple(TITLES)):
    floors = {}
    for row in rows:
        name, _, what = row.partition(", ")
        try:
            start = time.perf_counter()  # some engines compile while a step is made, some in its first call
            step = ENGINES[engine](name, what or "gradient")
            numbers, arrays = step()
            if name in FIRST_CALL_S:
                floors[f"{row}, first call"] = (time.perf_counter() - start) * 1e9
        except Exception as error:  # what a build or an engine lacks
            floors[row] = reason(error)
            continue
        norms = [float(np.linalg.norm(np.asarray(array))) for array in arrays]
        floors[f"{row}, {CHECKS}"] = [[float(number) for number in numbers], norms]
        floors[row] = floor_ns(step, BLOCK_NS, BLOCKS) / (DEPTH if name in PER_PRIMITIVE else 1)
        if row == "block":
            floors["block, peak bytes"] = peak_bytes(step) + getattr(step, "kept_bytes", 0)
    return floors


def environment(engine, threads):
    """The variables that give an engine so many threads."""
    variables = {f"{name}_NUM_THREADS": str(threads) for name in ("OMP", "OPENBLAS", "MKL")}
    if engine == "jax.jit" and threads == 1:
        variables["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
        variables["NPROC"] = "1"
    return variables


def agree(floors):
    """Engines that computed something else must not be compared: the first row that differs, or None."""
    ours = floors["tapegrad"]
    for row in TITLES.keys() & ours.keys():
        for engine, theirs in floors.items():
            if isinstance(theirs, str) or f"{row}, {CHECKS}" not in theirs or f"{row}, {CHECKS}" not in ours:
                continue
            values, norms = theirs[f"{row}, {CHECKS}"]
            our_values, our_norms = ours[f"{row}, {CHECKS}"]
            same = np.allclose(values, our_values, rtol=1e-3, atol=1e-3) and np.allclose(norms, our_norms, rtol=1e-3)
            if not same:
                return f"{row}: {engine} does not agree with tapegrad"
    return None


def derivative_targets(floors, network):
    """What is promised of a network's derivatives: (promise, number, kept). Also `derivatives.py` prints them."""
    ours, torch = floors["tapegrad"], floors.get("torch", "left out")
    title = TITLES[network]
    if not {network, f"{network}, hvp"} <= ours.keys():
        return
    number = ratio(ours[f"{network}, hvp"], ours[network])
    yield f"{title}: hvp ≤ 3 × the gradient", f"{number:.2f} ×", number <= 3.0
    theirs = torch if isinstance(torch, str) else torch[f"{network}, hvp"]
    if isinstance(theirs, str):
        yield f"{title}: hvp no slower than torch.func", theirs, None
        return
    number = ratio(ours[f"{network}, hvp"], theirs)
    yield f"{title}: hvp no slower than torch.func", f"{number:.2f} × its time", number <= 1.0


def targets(floors):
    """Each promise with its number: (promise, number, kept)."""
    ours = floors["tapegrad"]

    def beside(peer, name, bound):
        promise = f"{TITLES[name]}: " + (f"≤ {bound} × {peer}" if bound != 1 else f"faster than {peer}")
        theirs = floors.get(peer, "left out")
        if not isinstance(theirs, str):
            theirs = theirs.get(name, "left out")
        if isinstance(theirs, str):
            return promise, theirs, None
        number = ratio(ours[name], theirs)
        return promise, f"{number:.2f} ×", number <= bound

    yield beside("torch", "tiny MLP", 1)
    yield beside("jax.jit", "tiny MLP", 1)
    for name in PER_PRIMITIVE:
        if name in ours:
            yield f"{TITLES[name]}: ≤ 4 µs", f"{ours[name] / 1e3:.2f} µs", ours[name] <= 4000
        yield beside("torch", name, 1)
    for name in ("matmul", "MLP", "block", "broadcast add", "reduce sum", "logsumexp", "cross entropy"):
        yield beside("torch", name, 1.2)
    yield beside("torch", "convolution", 2)
    if "block" in ours and not isinstance(floors.get("torch", ""), str):
        mine, theirs = ours["block, peak bytes"], floors["torch"]["block, peak bytes"]
        number = f"{mine / theirs:.2f} × ({mine / 1e6:.1f} and {theirs / 1e6:.1f} MB)"
        yield "peak memory of the transformer block's step: ≤ torch's", number, mine <= theirs
    yield from derivative_targets(floors, "MLP")


def compiled_targets(floors):
    """Those of compiled functions, beside the fastest of the others."""
    ours = floors.get("tapegrad.jit", "left out")
    if isinstance(ours, str):
        return
    peers = {e: rows for e, rows in floors.items() if not e.startswith("tapegrad") and not isinstance(rows, str)}
    for name, bound in COMPILED.items():
        known = {peer: rows[name] for peer, rows in peers.items() if not isinstance(rows.get(name, ""), str)}
        if known and name in ours:
            best = min(known, key=known.__getitem__)
            number = ratio(ours[name], known[best])
            yield f"compiled {TITLES[name]}: ≤ {bound} × the best", f"{number:.2f} × {best}", number <= bound
    for name, bound in COMPILED_NS.items():
        if name in ours:
            yield f"compiled {TITLES[name]}: ≤ {bound / 1e3} µs", f"{ours[name] / 1e3:.2f} µs", ours[name] <= bound
    for name, bound in FIRST_CALL_S.items():
        if name in ours:
            seconds = ours[f"{name}, first call"] / 1e9
            yield f"compiled {TITLES[name]}: first call ≤ {bound} s", f"{seconds:.2f} s", seconds <= bound
    smallest = min([rows.get("block, peak bytes", math.inf) for rows in peers.values()], default=math.inf)
    if smallest < math.inf:
        number = ours["block, peak bytes"] / smallest
        yield "compiled transformer block: memory ≤ 0.8 × the smallest", f"{number:.2f} ×", number <= 0.8


def main():
    parser = arguments(__doc__.split("\n")[0])
    parser.add_argument("--threads", type=int, default=1, help="threads of every engine (default 1)")
    parser.add_argument("--without", action="append", default=[], choices=list(ENGINES)[1:], help="leave an engine out")
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"some of: {', '.join(TITLES)} (default: all)")
    options = parser.parse_args()
    if unknown := set(options.rows) - TITLES.keys():
        parser.error(f"expected rows among {', '.join(TITLES)}; got {', '.join(sorted(unknown))}")
    if options.rows:
        os.environ[ROWS] = "|".join(options.rows)
    rows = os.environ[ROWS].split("|") if ROWS in os.environ else list(TITLES)
    engines = [engine for engine in ENGINES if engine not in options.without]
    if options.worker:
        print(json.dumps(measure(options.worker, rows)))
        return
    variables = partial(environment, threads=options.threads)
    if options.against:
        os.environ.update(variables("tapegrad"))
        sys.exit(not builds(__file__, ["tapegrad"], options.against, options.rounds))
    floors = interleaved(__file__, engines, options.rounds, variables)
    if isinstance(floors["tapegrad"], str):
        sys.exit(f"tapegrad {floors['tapegrad']}")
    print(f"Python {sys.version.split()[0]}, NumPy {np.__version__}, {options.threads} thread(s), µs")
    print(f"{'':42}" + "".join(f"{engine:>14}" for engine in engines))
    for row in rows:
        shown = [of if isinstance(of, str) else of.get(row, "–") for of in floors.values()]
        texts = ["–" if isinstance(floor, str) else f"{floor / 1e3:.1f}" for floor in shown]
        print(f"{TITLES[row]:42}" + "".join(f"{text:>14}" for text in texts))
    all_kept = tell([*targets(floors), *compiled_targets(floors)])
    print(f"\nvalues and gradients: {agree(floors) or 'all engines agree'}")
    save(floors, options.json)
    sys.exit(not all_kept)


if __name__ == "__main__":
    main()
