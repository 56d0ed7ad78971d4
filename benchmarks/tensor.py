"""The tensor engine's speed, side by side with PyTorch eager and jax.jit.

    python benchmarks/tensor.py [--rounds 5] [--threads 1] [--json FILE] [--against PYTHON]

Value and gradients of the same functions, float32, the same inputs; of two networks also jvp and hvp. One process per
engine, fresh in each round, rounds interleaved, equal threads; what is shown is the floor, the fastest block of all
rounds, and ratios of floors. Peak memory is memray's high-water mark of one step, after others have warmed up. An
engine that is not installed says so. With `--against` no other engine is measured, but another build of tapegrad, row
by row.
"""

import json
import math
import os
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
from floors import CHECKS, arguments, builds, floor_ns, interleaved, ratio, reason, save, tell

BLOCK_NS, BLOCKS = 2e7, 12
DEPTH = 100  # primitives in a chain
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
    wide = draw.normal(size=(1024, 1024)).astype(np.float32)
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
}
PER_PRIMITIVE = {"chain mul", "chain add", "chain tanh"}
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


def of_tapegrad(name, what="gradient"):
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

    data, parameters = inputs(name)
    data = [tensor.constant(array) if array.dtype.kind == "f" else array for array in data]
    along = directions(parameters)

    def f(parameters):
        return WORK[name](Ops, data, *parameters)

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


def of_torch(name, what="gradient"):
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

        @staticmethod
        def layer_norm(x, weight, bias):
            return functional.layer_norm(x, weight.shape, weight, bias)

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    data, parameters = inputs(name)
    along = [torch.tensor(array) for array in directions(parameters)]
    data = [torch.tensor(array) for array in data]
    parameters = [torch.tensor(array) for array in parameters]

    def f(*parameters):
        return WORK[name](Ops, data, *parameters)

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


ENGINES = {"tapegrad": of_tapegrad, "torch": of_torch, "jax.jit": of_jax}


# ---- measuring ---------------------------------------------------------------------------------------------------


def peak_bytes(step):
    """memray's high-water mark of one step: what is alive before it is not counted."""
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
            step = ENGINES[engine](name, what or "gradient")
            numbers, arrays = step()
        except Exception as error:  # what a build or an engine lacks
            floors[row] = reason(error)
            continue
        norms = [float(np.linalg.norm(np.asarray(array))) for array in arrays]
        floors[f"{row}, {CHECKS}"] = [[float(number) for number in numbers], norms]
        floors[row] = floor_ns(step, BLOCK_NS, BLOCKS) / (DEPTH if name in PER_PRIMITIVE else 1)
        if row == "block":
            floors["block, peak bytes"] = peak_bytes(step)
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
    for row in TITLES:
        for engine, theirs in floors.items():
            if isinstance(theirs, str) or f"{row}, {CHECKS}" not in theirs:
                continue
            values, norms = theirs[f"{row}, {CHECKS}"]
            our_values, our_norms = ours[f"{row}, {CHECKS}"]
            same = np.allclose(values, our_values, rtol=1e-3, atol=1e-3) and np.allclose(norms, our_norms, rtol=1e-3)
            if not same:
                return f"{row}: {engine} does not agree with tapegrad"
    return None


def derivative_targets(floors, network):
    """What is promised of a network's derivatives: (promise, number, kept). Also `derivatives.py` prints them."""
    ours, torch = floors["tapegrad"], floors["torch"]
    title = TITLES[network]
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
        theirs = floors[peer] if isinstance(floors[peer], str) else floors[peer][name]
        if isinstance(theirs, str):
            return promise, theirs, None
        number = ratio(ours[name], theirs)
        return promise, f"{number:.2f} ×", number <= bound

    yield beside("torch", "tiny MLP", 1)
    yield beside("jax.jit", "tiny MLP", 1)
    for name in PER_PRIMITIVE:
        yield f"{TITLES[name]}: ≤ 4 µs", f"{ours[name] / 1e3:.2f} µs", ours[name] <= 4000
        yield beside("torch", name, 1)
    for name in ("matmul", "MLP", "block", "broadcast add", "reduce sum", "logsumexp", "cross entropy"):
        yield beside("torch", name, 1.2)
    yield beside("torch", "convolution", 2)
    if not isinstance(floors["torch"], str):
        mine, theirs = ours["block, peak bytes"], floors["torch"]["block, peak bytes"]
        number = f"{mine / theirs:.2f} × ({mine / 1e6:.1f} and {theirs / 1e6:.1f} MB)"
        yield "peak memory of the transformer block's step: ≤ torch's", number, mine <= theirs
    yield from derivative_targets(floors, "MLP")


def main():
    parser = arguments(__doc__.split("\n")[0])
    parser.add_argument("--threads", type=int, default=1, help="threads of every engine (default 1)")
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(measure(options.worker)))
        return
    variables = partial(environment, threads=options.threads)
    if options.against:
        os.environ.update(variables("tapegrad"))
        sys.exit(not builds(__file__, ["tapegrad"], options.against, options.rounds))
    floors = interleaved(__file__, list(ENGINES), options.rounds, variables)
    if isinstance(floors["tapegrad"], str):
        sys.exit(f"tapegrad {floors['tapegrad']}")
    print(f"Python {sys.version.split()[0]}, NumPy {np.__version__}, {options.threads} thread(s), µs")
    print(f"{'':42}" + "".join(f"{engine:>12}" for engine in ENGINES) + f"{'ours/torch':>14}")
    for row, title in TITLES.items():
        shown = [of if isinstance(of, str) else of[row] for of in floors.values()]
        texts = ["–" if isinstance(floor, str) else f"{floor / 1e3:.1f}" for floor in shown]
        print(f"{title:42}" + "".join(f"{text:>12}" for text in texts) + f"{ratio(shown[0], shown[1]):14.2f}")
    tell(targets(floors))
    print(f"\nvalues and gradients: {agree(floors) or 'all engines agree'}")
    save(floors, options.json)


if __name__ == "__main__":
    main()
