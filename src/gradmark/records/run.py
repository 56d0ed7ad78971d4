"""The run: where, how, and what was measured."""

from gradmark.records.cell import Cell
from gradmark.records.measurement import Measurement
from gradmark.records.record import Record

# History of the format of run files. A reader accepts every version up to its own.
#   1  first
#   2  tensors: shapes, flops and bytes of a measurement; before, all were of numbers
#   3  a line for each thing that happens; cells have a kind; warnings have a code; what is derived is not stored
FORMAT_VERSION = 3


class Environment(Record, frozen=True, kw_only=True):
    """The machine and software of a run. Runs whose `unlike` is not empty do not belong in one comparison of times."""

    cpu: str
    cores: int
    memory_bytes: int | None  # None where the system does not say; 0 in older files
    os: str
    python: str
    packages: dict[str, str]
    machine: str = ""  # the architecture, as the system names it
    governor: str | None = None
    virtualisation: str | None = None
    commit: str | None = None
    dirty: bool | None = None

    def unlike(self, other: "Environment") -> list[str]:
        """What differs and makes times incomparable, as `field: ours, theirs`; code and its commit may differ."""
        return [
            f"{field}: {getattr(self, field)}, {getattr(other, field)}"
            for field in ("cpu", "machine", "cores", "memory_bytes", "os", "python", "governor")
            if getattr(self, field) != getattr(other, field)
        ]


class Settings(Record, frozen=True, kw_only=True, omit_defaults=False):
    """How a run measures. Everything here changes what a number means, so it is kept with the numbers, defaults too."""

    processes: int = 3
    blocks: int = 8
    block_ns: int = 1_000_000
    seed: int = 0
    threads: int = 1
    timeout_s: float = 60.0
    memory_limit_bytes: int = 8 << 30
    memory: bool = True
    instructions: bool = False
    pin: bool = True
    full: bool = False
    forked: bool = False  # workers come from one import of each engine and round, not from one each


class Run(Record, frozen=True, kw_only=True):
    """One run: where, how, and what was measured."""

    id: str
    started: str  # ISO 8601, UTC
    environment: Environment
    settings: Settings
    measurements: list[Measurement]
    verb: str = "run"  # what started it, and goes on with it
    arguments: list[str] = []  # what was typed after the verb
    planned: list[Cell] = []  # all cells, measured or not yet
    finished: bool = False
    sources: dict[str, str] = {}  # digests of the user's files that it measures, by path; none in older files
    format_version: int = 1  # what a file has that does not say: defaults are not written
