"""What a loop forwards keeps of each step for the loop backwards.

In: the primitives of a step and of its pullback, in order. Out: results, and arrays without derivative, that become
rows. Dear ones are kept; cheap ones are computed again from what is there, which costs less than writing and reading
them. A loop that keeps nothing but what is carried computes everything again.
"""

from tapegrad.compile.bodies import Equation, Recorder, changing, loose, mark, node_of_tensor
from tapegrad.compile.elementary import DEAR
from tapegrad.compile.operations import ELEMENTWISE, VIEWS
from tapegrad.compile.symbol import Node, Symbol
from tapegrad.tensor.tensor import Tensor, wrapped

# Computed again in the backward step from what is there anyway, which costs less than to keep a result of each step.
CHEAP = {"add", "sub", "mul", "neg", "square", "reshape", "transpose", "broadcast_to", "getitem", "where", "maximum"}


class Keeping:
    """The choice of what a loop forwards keeps of each step: what the step backwards reads, unless that is there
    anyway, or is computed again more cheaply."""

    def __init__(
        self,
        keep: bool,
        recorder: Recorder,
        variables: list[Tensor],
        carried: tuple[int, int],
        seeds: list[Tensor],
        targets: list[Tensor],
        forward_count: int,
    ):
        self.keeps, self.recorder, self.targets = keep, recorder, targets
        first, second = carried  # where among the variables what is carried starts and ends
        self.carried = variables[first:second]
        self.there = {mark(x) for x in (*variables[:first], *variables[second:], *seeds)}
        self.there_nodes = {id(node_of_tensor(x)) for x in (*variables[:first], *variables[second:], *seeds)}
        self.ahead = recorder.equations[:forward_count]
        self.maker = {mark(result): equation for equation in self.ahead for result in equation.results}
        self.tensor = {mark(result): result for equation in self.ahead for result in equation.results}
        self.tensor |= {mark(x): x for x in self.carried}
        self.kept: dict[int, tuple[Tensor, list[Tensor]]] = {}  # by node: what is kept, and what it stands for
        self.aliases: dict[int, list[Tensor]] = {}  # results that are an operand, by its node
        self.constant: list[Tensor] = []  # results that are known numbers
        self.inputs = [node_of_tensor(x) for x in variables]

    def chosen(self) -> list[tuple[Tensor, list[Tensor]]]:
        """What is kept, and for each the tensors of the step that it stands for."""
        wanted, arrays = self.read()
        if self.keeps:
            again = self.computed_again(wanted)
        else:
            again = [equation for equation in self.ahead if equation]  # all but what is carried
            for x in self.carried:
                self.keep(x)
        for equation in again:
            self.there |= {mark(result) for result in equation.results}
            arrays += loose(equation)
        if self.keeps:
            for key, tensor in wanted.items():
                if key not in self.there:
                    self.keep(tensor)
        self.keep_arrays(arrays)
        return list(self.kept.values())

    def keep(self, tensor: Tensor) -> None:
        """Keeps a result."""
        node = node_of_tensor(tensor)
        if id(node) in self.there_nodes and id(node) not in self.kept:
            self.aliases.setdefault(id(node), []).append(tensor)
            return
        if id(node) not in changing([node], self.inputs)[1]:
            self.constant.append(tensor)
            return
        entry = self.kept.setdefault(id(node), (tensor, []))
        if mark(tensor) and all(x is not tensor for x in entry[1]):
            entry[1].append(tensor)
        if mark(tensor) and not mark(entry[0]):
            self.kept[id(node)] = tensor, entry[1]
        self.there_nodes.add(id(node))

    def read(self) -> tuple[dict[int, Tensor], list[Node]]:
        """Which results of the step forwards the step backwards reads, and which arrays without derivative."""
        wanted = {mark(target) for target in self.targets} - {0}
        arrays = [node_of_tensor(target) for target in self.targets if not mark(target)]
        for equation in reversed(self.recorder.equations[len(self.ahead) :]):
            if any(mark(result) in wanted for result in equation.results):
                wanted |= {mark(x) for x in equation.operands} - {0}
                arrays += loose(equation)
        return {key: tensor for key, tensor in self.tensor.items() if key in wanted}, arrays

    def computed_again(self, wanted: dict[int, Tensor]) -> list[Equation]:
        """The cheap equations among those wanted, whose operands are there."""
        there = set(self.there)
        for key in wanted:
            maker = self.maker.get(key)
            if maker is None or not is_cheap(maker):
                there.add(key)
        cheap = []
        for equation in self.ahead:
            (key, *others) = [mark(result) for result in equation.results]
            if key in wanted and not others and is_cheap(equation):
                operands = [mark(x) for x in equation.operands if mark(x)]
                if all(x in there for x in operands) and not loose(equation):
                    there.add(key)
                    cheap.append(equation)
        return cheap

    def keep_arrays(self, roots: list[Node]) -> None:
        """Conditions and indices: kept, unless they follow from what is there."""
        _, depends = changing(roots, self.inputs)
        for root in roots:
            if id(root) in depends and not self.follows(root):
                self.keep(wrapped(Symbol(root)))

    def follows(self, root: Node) -> bool:
        """Whether a node can be computed again, cheaply, from what is there."""
        waiting, seen = [root], set[int]()
        while waiting:
            node = waiting.pop()
            if id(node) in self.there_nodes or id(node) in seen:
                continue
            seen.add(id(node))
            if not node.operands:
                if node.op == "input":
                    return False
                continue
            if self.keeps and (node.op in DEAR or node.op not in (ELEMENTWISE | VIEWS)):
                return False
            waiting += node.operands
        return True


def is_cheap(equation: Equation) -> bool:
    """Whether an equation costs less than to keep its result."""
    return getattr(equation.primitive, "name", "") in CHEAP
