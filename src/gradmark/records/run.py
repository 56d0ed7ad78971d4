"""The run: where, how, and what was measured."""

from gradmark.records.calibration import Calibration
from gradmark.records.cell import USUAL_DEVICE, Cell
from gradmark.records.measurement import Measurement
from gradmark.records.quantities import Moment, PilotNs, Seconds, Version, Whole
from gradmark.records.record import Record

# History of the format of run files. A reader accepts every version up to its own.
#   1  first
#   2  tensors: shapes, flops and bytes of a measurement; before, all were of numbers
#   3  a line for each thing that happens; cells have a kind; warnings have a code; what is derived is not stored
#   4  pilots around each block; a time is what the fastest tenth of the calm blocks reached
#   5  derivatives: cells have one; before, all were gradients. Mode, sparsity and evaluations of a measurement
#   6  machines: microcode, GPUs, quota and an id of the machine; calibrations; phases that engines timed themselves,
#      and transcripts of programs that failed
FORMAT_VERSION = 6


class Environment(Record, frozen=True, kw_only=True):
    """The machine and software of a run. Runs whose `unlike` is not empty do not belong in one comparison of times."""

    cpu: str
    cores: Whole
    memory_bytes: Whole | None  # None where the system does not say; 0 in older files
    os: str
    python: str
    packages: dict[str, str]
    machine: str = ""  # the architecture, as the system names it
    governor: str | None = None
    virtualisation: str | None = None
    commit: str | None = None
    dirty: bool | None = None
    # Older files have none of these.
    microcode: str | None = None
    gpus: list[str] = []  # each with its driver
    quota: Seconds | None = None  # of how many cores' time this process may use, where that is less than its cores
    instance: str = ""  # the machine's own id, which no other machine has; "unknown" where it has none

    def unlike(self, other: "Environment") -> list[str]:
        """What differs and makes times incomparable, as `name: ours, theirs`; code and its commit may differ."""
        fields = ["cpu", "machine", "cores", "memory_bytes", "os", "python", "governor"]
        if self.instance and other.instance:  # else one of them is older, and says nothing of these
            fields += ["microcode", "quota", "gpus", "virtualisation"]
        return [
            f"{field.removesuffix('_bytes')}: {self._words(field)}, {other._words(field)}"
            for field in fields
            if getattr(self, field) != getattr(other, field)
        ]

    def _words(self, field: str) -> str:
        value = getattr(self, field)
        if value is None:
            return "not shown"
        if isinstance(value, list):
            return ", ".join(value) or "none"
        return f"{value:,} bytes" if field == "memory_bytes" else str(value)


class Settings(Record, frozen=True, kw_only=True, omit_defaults=False):
    """How a run measures. Everything here changes what a number means, so it is kept with the numbers, defaults too."""

    processes: Whole = 3
    most_processes: Whole = 0  # of a cell whose processes do not agree yet; 0, and in older files: none
    device_processes: Whole = 3  # of each engine on a device; each measures all its rows, one after the other
    blocks: Whole = 8  # calm ones, of each phase in each process
    block_ns: Whole = 500_000
    cell_s: Seconds | None = None  # for each cell, after which none has further processes; in older files no limit
    seed: int = 0
    threads: Whole = 1
    timeout_s: Seconds = 60.0
    memory_limit_bytes: Whole = 8 << 30
    memory: bool = True
    instructions: bool = False
    pin: bool = True
    huge_pages: bool = True  # workers take what the system gives; in older files they did
    data: str = ""  # the folder of published inputs; none in older files
    full: bool = False
    forked: bool = False  # workers come from one import of each engine and round, not from one each
    shared_cache: bool = False  # workers find what the compilers of earlier ones left on disk

    def processes_of(self, cell: Cell) -> int:
        """How many processes a cell has at least."""
        return self.processes if cell.device == USUAL_DEVICE else self.device_processes

    def words(self, field: str) -> str:
        """What a run does by one of the settings that give a time its meaning, after "the run" or "old".

        >>> Settings(full=True).words("full"), Settings(threads=2).words("threads")
        ('is --full', 'uses 2 threads')
        """
        value = getattr(self, field)
        match field:
            case "full":
                return "is --full" if value else "is quick"
            case "data":
                return f"reads inputs from {value}" if value else "has gradmark's own inputs"
            case "pin":
                return "is pinned" if value else "is not pinned"
            case "huge_pages":
                return "takes huge pages" if value else "takes no huge pages"
            case "forked":
                return "has forked workers" if value else "has fresh workers"
            case "block_ns":
                return f"has blocks of {value / 1e6:g} ms"
            case "threads":
                return f"uses {value} thread{'s' * (value != 1)}"
        return f"has {field} {value}"


class Run(Record, frozen=True, kw_only=True):
    """One run: where, how, and what was measured."""

    id: str
    started: Moment  # ISO 8601, UTC
    environment: Environment
    settings: Settings
    measurements: list[Measurement]
    verb: str = "run"  # what started it, and goes on with it
    arguments: list[str] = []  # what was typed after the verb
    planned: list[Cell] = []  # all cells, measured or not yet
    finished: bool = False
    calibrations: list[Calibration] = []  # how fast its machine was when it began to time; none in older files
    # What the core's pilot takes at the machine's usual clock, at which times are stated; None where it was not known.
    clock_ns: PilotNs | None = None
    sources: dict[str, str] = {}  # digests of the user's files that it measures, by path; none in older files
    machines: list[Environment] = []  # of a fleet's run: those that took part, of one class; else it has only its own
    clocks_ns: dict[str, PilotNs] = {}  # the usual clocks of these machines, by their instances
    done: list[str] = []  # of a fleet's run: the cells of which nothing is left to do, by their ids
    format_version: Version = 1  # what a file has that does not say: defaults are not written
