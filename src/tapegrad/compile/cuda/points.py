"""A program at many points on a CUDA device: one kernel, a thread for each point or two.

In: a program, and points in an array of CuPy's. Out: values and gradients, arrays there. The operations are the rules
of the scalar engine, from the same data as the C of tapes. Nothing waits: a point that breaks a guard, or takes another
branch than the recorded one, has nan for its value and its gradient.
"""

from typing import TYPE_CHECKING, Any

import numpy

from tapegrad.compile.devices import device_of
from tapegrad.compile.graph import Graph, Node
from tapegrad.compile.instructions import graph_of
from tapegrad.errors import InputError
from tapegrad.rules.code import SCALARS, helpers_h, inlined, literal, text
from tapegrad.rules.language import Expression
from tapegrad.rules.table import RULES

if TYPE_CHECKING:
    from tapegrad.scalar.program import Program

THREADS = 256
# Beyond, NVRTC takes minutes, as its time grows faster than the code.
MOST_NODES = 20_000
COMPARISONS = {"lt": "<", "le": "<=", "eq": "==", "ne": "!="}
PRELUDE = """
#ifndef NAN
#define NAN double_of(0x7ff8000000000000ull)
#endif
#define inf double_of(0x7ff0000000000000ull)
/* The exponent of x as frexp gives it, and x * 2^y: exact. */
INLINE double exponent(double x) { int n; frexp(x, &n); return n; }
INLINE double scaled(double x, double y) { return ldexp(x, (int)y); }
"""


class Writing:
    """Statements that compute an expression of a rule: repairs are conditions of their own."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names = dict(SCALARS)

    def value(self, x: Expression) -> Expression:
        """The expression with a name in place of each repair."""
        if x.name != "repaired":
            return Expression(x.name, tuple(self.value(operand) for operand in x.operands), x.number)
        usual, when, instead = x.operands
        name = f"r{len(self.lines)}"
        self.lines.append(f"double {name} = {text(self.value(usual), self.names)};")
        before, self.names = self.names, {**self.names, "r": name}
        condition, other = text(self.value(when), self.names), text(self.value(instead), self.names)
        self.lines.append(f"if ({condition}) {name} = {other};")
        self.names = {**before, name: name}
        return Expression(name)


def function_of(name: str) -> str:
    """The rule of an operation as a function."""
    rule = RULES[name]
    writing = Writing()
    value = text(writing.value(inlined(rule.value)), writing.names)
    taken = ", ".join(f"double {operand}" for operand in "abc"[: rule.arity])
    return f"INLINE double op_{name}({taken}) {{ {' '.join(writing.lines)} return {value}; }}\n"


def statements(graph: Graph, outputs: int, gradient: str) -> list[str]:
    """One point: x[…] and, for several outputs, w[…] in; v[…] and g[…] out; ok says whether guards hold."""
    lines = []
    inputs = {place: k for k, place in enumerate(graph.inputs)}
    pairs = shared_sines(graph.nodes)
    for k, node in enumerate(graph.nodes):
        operands = [f"n{place}" for place in node.operands]
        if node.op == "input":
            value = f"x[{inputs[k]}]"
        elif node.op == "constant":
            value = literal(float(node.number or 0.0)) if node.number == node.number else "NAN"
        elif node.op == "select":
            value = f"{operands[2]} != 0.0 ? {operands[0]} : {operands[1]}"
        elif k in pairs:
            if pairs[k] == k:
                lines.append(f"double sin{k}, cos{k}; sincos({operands[0]}, &sin{k}, &cos{k});")
            value = f"{node.op}{pairs[k]}"
        else:
            value = f"op_{node.op}({', '.join(operands)})"
        lines.append(f"const double n{k} = {value};")
    for guard in graph.guards:
        word = f"n{guard.lhs} {COMPARISONS[guard.op]} n{guard.rhs}"
        lines.append(f"ok = ok && {'' if guard.outcome else '!'}({word});")
    for k, place in enumerate(graph.outputs):
        target = f"v[{k}]" if k < outputs else f"{gradient}[{k - outputs}]"
        lines.append(f"{target} = n{place};")
    return lines


def shared_sines(nodes: list[Node]) -> dict[int, int]:
    """The sines and cosines of the same number: both are computed at once, by the first."""
    first: dict[int, list[int]] = {}
    for k, node in enumerate(nodes):
        if node.op in ("sin", "cos"):
            first.setdefault(node.operands[0], []).append(k)
    return {k: places[0] for places in first.values() if len(places) == 2 for k in places}


def source(program: "Program", gradients: bool) -> str:
    """The kernel in CUDA C++, without the words that begin every source."""
    stats = program.stats()
    several = gradients and not program.form()[1]
    graph = graph_of(program.gradient(with_values=True) if gradients else program)
    if len(graph.nodes) > MOST_NODES:
        raise InputError(
            f"expected a program of at most {MOST_NODES:,} operations with its gradient for a CUDA device, got "
            f"{len(graph.nodes):,}; run the batch on the CPU: compiled.batch(cupy.asnumpy(x))"
        )
    operations = sorted({node.op for node in graph.nodes} - {"input", "constant", "select"})
    functions = "".join(function_of(name) for name in operations)
    n, outputs = stats.inputs, stats.outputs
    both = n == 1 and outputs == 1  # then two points are a vector
    each = 2 if both else 1
    lines = [
        f"INLINE bool one_point(const double* x, double* v{', double* g' if gradients else ''}) {{",
        "bool ok = true;",
    ]
    lines += [*statements(graph, outputs, "g"), "return ok;", "}"]
    slopes = ", double* RESTRICT slopes" if gradients else ""
    lines += [
        f"KERNEL({THREADS}, 1) points(const double* RESTRICT from, double* RESTRICT values{slopes}, long long count)",
        "{",
        f"const long long k = {each} * ((long long)BLOCK * {THREADS} + THREAD);",
        "if (k >= count) return;",
    ]
    given = ", p + {0}, s + {0}" if gradients else ", p + {0}"
    if both:
        lines += [
            "double x[2], p[2], s[2]; (void)s;",
            "const bool two = k + 1 < count;",
            "if (two) { const Pack<double, 2> r = several<double, 2>(from + k); x[0] = r.v[0]; x[1] = r.v[1]; }",
            "else { x[0] = x[1] = from[k]; }",
            "UNROLL for (int j = 0; j < 2; ++j)",
            f"  if (!one_point(x + j{given.format('j')})) p[j] = s[j] = NAN;",
            "if (two) {",
            "  Pack<double, 2> r; r.v[0] = p[0]; r.v[1] = p[1]; *(Pack<double, 2>*)(values + k) = r;",
            *(["  r.v[0] = s[0]; r.v[1] = s[1]; *(Pack<double, 2>*)(slopes + k) = r;"] if gradients else []),
            f"}} else {{ values[k] = p[0]; {'slopes[k] = s[0];' if gradients else ''} }}",
        ]
    elif not several:
        lines += [
            f"double x[{n}], p[{outputs}], s[{n}]; (void)s;",
            f"UNROLL for (int i = 0; i < {n}; ++i) x[i] = from[k * {n} + i];",
            f"const bool ok = one_point(x{given.format('0')});",
            f"UNROLL for (int m = 0; m < {outputs}; ++m) values[k * {outputs} + m] = ok ? p[m] : NAN;",
        ]
        if gradients:
            lines.append(f"UNROLL for (int i = 0; i < {n}; ++i) slopes[k * {n} + i] = ok ? s[i] : NAN;")
    else:
        lines += [
            f"double x[{n + outputs}], p[{outputs}], s[{n}];",
            f"UNROLL for (int i = 0; i < {n}; ++i) x[i] = from[k * {n} + i];",
            f"for (int m = 0; m < {outputs}; ++m) {{",
            f"  UNROLL for (int j = 0; j < {outputs}; ++j) x[{n} + j] = j == m ? 1.0 : 0.0;",
            "  const bool ok = one_point(x, p, s);",
            f"  UNROLL for (int i = 0; i < {n}; ++i) slopes[(k * {outputs} + m) * {n} + i] = ok ? s[i] : NAN;",
            f"  values[k * {outputs} + m] = ok ? p[m] : NAN;",
            "}",
        ]
    return PRELUDE + helpers_h() + functions + "\n".join([*lines, "}", ""])


class Points:
    """The kernels of one program, for each device."""

    def __init__(self, program: "Program"):
        self._program = program
        self._functions: dict[tuple[str, bool], int] = {}

    def batch(self, x: Any, gradients: bool = True) -> Any:
        """Values and gradients at many points, a row for each, as arrays on the device of x; without gradients, values
        alone. The host waits for nothing."""
        device, program = device_of(x), self._program
        stats, (one_input, one_output) = program.stats(), program.form()
        inner = () if one_input else (stats.inputs,)
        if x.dtype != numpy.float64 or x.shape[1:] != inner or not x.ndim:
            rows = "(points,)" if one_input else f"(points, {stats.inputs})"
            raise InputError(f"expected points as an array {rows} of float64, got {x.dtype} of shape {x.shape}")
        x = device.xp.ascontiguousarray(x)
        x = x.copy() if device.pointer(x) % 16 else x
        count, shape = len(x), () if one_output else (stats.outputs,)
        values = device.empty((count, *shape), numpy.float64)
        slopes = device.empty((count, *shape, *inner), numpy.float64) if gradients else None
        if count:
            arrays = [array for array in (x, values, slopes) if array is not None]
            given = numpy.array([*map(device.pointer, arrays), count], numpy.uint64)
            places = given.ctypes.data + 8 * numpy.arange(len(given), dtype=numpy.uint64)
            each = THREADS * (2 if stats.inputs == stats.outputs == 1 else 1)
            function = self._function(device, gradients)
            device.launch(function, -(-count // each), THREADS, device.stream(), places.ctypes.data)
        return (values, slopes) if gradients else values

    def _function(self, device: Any, gradients: bool) -> int:
        key = device.name, gradients
        if key not in self._functions:
            with device.chosen():
                code = source(self._program, gradients)
                (self._functions[key],) = device.functions(code, ["points"], exact=True)
        return self._functions[key]
