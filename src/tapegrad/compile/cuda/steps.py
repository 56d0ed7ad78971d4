"""What a traced function becomes on a device: kernels, products and what CuPy does, in order.

In: a traced function in groups. Out: `Steps`: one kernel for everything if it is small, else one for each group, calls
of cuBLAS for products, and the operations that have neither.
"""

from dataclasses import dataclass, field
from typing import Any

from tapegrad.compile.cuda.geometry import Geometry, UnsupportedGroupError, fits
from tapegrad.compile.cuda.kernel import Kernel, Surroundings
from tapegrad.compile.cuda.products import Call, product, with_even_stacks
from tapegrad.compile.cuda.rowkernels import kernels
from tapegrad.compile.cuda.whole import THREADS, is_small, small_product, whole
from tapegrad.compile.fusion import Fusion, Group
from tapegrad.compile.grouped import GroupedFunction
from tapegrad.compile.operations import REDUCTIONS
from tapegrad.compile.symbol import Node, ordered
from tapegrad.compile.trace import TracedFunction
from tapegrad.errors import UnsupportedError


@dataclass
class Launch:
    """A kernel, with the addresses of what it is given."""

    kernel: Kernel
    function: int = 0
    parameters: Any = None  # addresses of the places of the table that hold them
    address: int = 0


@dataclass
class Multiply:
    """A call of cuBLAS; places in the table."""

    call: Call
    left: int
    right: int
    result: int


@dataclass
class Interpret:
    """An operation that CuPy does."""

    node: Node


@dataclass
class Steps:
    """What a function is made of, in order."""

    steps: list[Launch | Multiply | Interpret] = field(default_factory=list)
    text: str = ""
    spare_bytes: int = 0
    over: list[tuple[Node, Node]] = field(default_factory=list)


class SteppedFunction(GroupedFunction):
    """A traced function and its steps on a device."""

    def __init__(self, function: TracedFunction, device: Any, tf32: bool):
        self.device, self.tf32 = device, tf32
        super().__init__(function)
        if any(node.op in ("scan", "part") for node in self.nodes):
            raise UnsupportedError(
                "expected a function without scan, fori_loop and while_loop, got one with a loop: jit on a CUDA device "
                "has no loops yet; call it without jit, or write a Python loop of few steps, which is unrolled"
            )
        self.numbers = {id(node): node for node in function.inputs if id(node) in function.given_as_numbers}
        self._choose_steps()

    def _prepared(self) -> list[Node]:
        with_even_stacks(ordered(self.roots))
        return ordered(self.roots)

    def _fused(self) -> Fusion:
        return Fusion(self.nodes, fits)

    def _choose_steps(self) -> None:
        """One kernel for everything if it is small, else kernels and products one after the other."""
        self.counts = {"kernels": 0, "products": 0}
        watched = {id(node) for node, _ in self.function.checks}
        numbers, device = set(self.numbers), self.device
        single = Surroundings(1, 1, numbers, watched, THREADS)
        around = Surroundings(device.processors, device.most_cluster, numbers, watched)
        self.plan = self._as_one(single) or self._one_by_one(around)

    def _as_one(self, around: Surroundings) -> Steps | None:
        """All as one kernel of one block; None if that would take longer."""
        if not self.groups or not is_small([group.nodes for group in self.groups]):
            return None
        parts: list[Kernel] = []
        multiplied = 0
        for group in self.groups:
            if group.space is not None:
                try:
                    parts += kernels(f"part{len(parts)}", group, self.stored, around)
                except UnsupportedGroupError:
                    return None
                continue
            product_step = product(group.nodes[0], self.tf32) if group.nodes[0].op == "matmul" else None
            if product_step is None or len(product_step.calls) != 1 or product_step.calls[0].form.count != 1:
                return None
            name = f"product{len(parts)}"
            kernel = small_product(name, group.nodes[0], product_step.left, product_step.right)
            if kernel is None:
                return None
            parts.append(kernel)
            multiplied += 1
        single = whole("whole", parts) if len(parts) > 1 else None
        if single is None:
            return None
        self.counts = {"kernels": 1, "products": multiplied}
        return Steps([Launch(single)], single.text_of_kernel(), single.spare_bytes)

    def _one_by_one(self, around: Surroundings) -> Steps:
        self._take_apart(around)
        plan, texts = Steps(), []
        for number, group in enumerate(self.groups):
            if group.space is not None:
                for kernel in kernels(f"kernel{number}", group, self.stored, around):
                    texts.append(kernel.text_of_kernel())
                    plan.steps.append(Launch(kernel))
                    plan.spare_bytes = max(plan.spare_bytes, kernel.spare_bytes)
                    plan.over += kernel.over
                    self.counts["kernels"] += 1
                continue
            node = group.nodes[0]
            calls = product(node, self.tf32) if node.op == "matmul" else None
            if calls is None:
                self.stored[id(node)] = node
                self._store_operands(node)
                plan.steps.append(Interpret(node))
                continue
            for operand in (calls.left, calls.right):
                self.stored[id(operand.base)] = operand.base
            self.stored[id(node)] = node
            plan.steps += [Multiply(call, id(calls.left.base), id(calls.right.base), id(node)) for call in calls.calls]
            self.counts["products"] += 1
        plan.text = "".join(texts)
        return plan

    def _store_operands(self, node: Node) -> None:
        for x in node.operands:
            base = self._memory_of(x)
            self.stored[id(base)] = base

    def _take_apart(self, around: Surroundings) -> None:
        """Groups that no kernel computes as a whole become one group for each node."""
        groups: list[Group] = []
        for group in self.groups:
            try:
                if group.space is not None:
                    Geometry(group, self.stored, around.processors, around.most_cluster)
                groups.append(group)
            except UnsupportedGroupError:
                for node in group.nodes:
                    single = Group(group.number, node.operands[0].shape if node.op in REDUCTIONS else node.shape)
                    single.add(node)
                    self.fusion.group_of[id(node)] = single
                    groups.append(single)
        if len(groups) > len(self.groups):
            self.groups = groups
            self._find_stored()
