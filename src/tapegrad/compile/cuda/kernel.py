"""A kernel in CUDA C++: its text, how it is called, and what it is given.

In: lines that are written one after the other, and the nodes whose numbers they need. Out: `Kernel`.
"""

from collections.abc import Container
from dataclasses import dataclass

from tapegrad.compile.cuda.geometry import Access
from tapegrad.compile.symbol import Node


@dataclass(frozen=True)
class Argument:
    """What a kernel is given: where a node's numbers are, the number itself, the flag of a check, or spare memory."""

    kind: str  # "array", "number", "flag" or "spare"
    node: Node | None = None


@dataclass
class Kernel:
    """A function of CUDA C++, and how it is called."""

    name: str
    text: str  # of the function for one block, which is its first parameter
    blocks: int
    threads: int
    cluster: int
    arguments: list[Argument]
    parameters: list[str]
    spare_bytes: int = 0
    over: tuple[tuple[Node, Node], ...] = ()  # what may be written (second) over what it reads (first)
    blocks_at_once: int = 1  # that a processor is to hold: it limits the registers of a thread

    def text_of_kernel(self) -> str:
        """The function as a kernel of its own."""
        cluster = f"IN_CLUSTERS({self.cluster}) " if self.cluster > 1 else ""
        given = ", ".join(["BLOCK", *[f"p{k}" for k in range(len(self.parameters))]])
        taken = ", ".join(f"{kind} p{k}" for k, kind in enumerate(self.parameters))
        sizes = f"{self.threads}, {self.blocks_at_once}"
        return f"{self.text}KERNEL({sizes}) {cluster}{self.name}({taken}) {{ {self.name}_block({given}); }}\n"


def text_of_block(name: str, parameters: list[str], lines: list[str]) -> str:
    """A function for one block."""
    taken = ", ".join(["int block", *[f"{kind} p{k}" for k, kind in enumerate(parameters)]])
    return "\n".join([f"INLINE void {name}_block({taken}) {{", *lines, "}", ""])


@dataclass(frozen=True)
class Surroundings:
    """What kernels of a function are made for: the processors of the device, how many blocks may share a row, the nodes
    that are given as numbers, the checks whose failing sets a flag; and threads, if one block does everything."""

    processors: int
    most_cluster: int
    numbers: Container[int]
    watched: Container[int]
    threads: int | None = None


class Lines:
    """A function for one block while it is being written."""

    def __init__(self, surroundings: Surroundings):
        self.around = surroundings
        self.lines: list[str] = []
        self.arguments: list[Argument] = []
        self.count = 0

    def say(self, line: str) -> None:
        """A line."""
        self.lines.append(f"  {line}")

    def new(self, stem: str) -> str:
        """A name."""
        self.count += 1
        return f"{stem}{self.count}"

    def argument(self, kind: str, node: Node | None = None) -> str:
        """The parameter for something that is given."""
        for k, other in enumerate(self.arguments):
            if other.kind == kind and other.node is node:
                return f"p{k}"
        self.arguments.append(Argument(kind, node))
        return f"p{len(self.arguments) - 1}"

    def base(self, access: Access) -> str:
        """The parameter that says where an array starts."""
        return self.argument("array", access.node)
