"""The user's files on their way: from where a run was submitted to a machine that measures it, and their names back.

In: paths of workload files. Out: their bytes, with those of the modules beside them that they import; on the machine,
files in a folder of its own, and cells that name them. Events that go back have the paths that the run has.
"""

import ast
import hashlib
from collections.abc import Iterable
from pathlib import Path

import msgspec

from gradmark.errors import FleetError
from gradmark.records import Cell, Run
from gradmark.records.event import Calibrated, Counted, Event, Inspected, Sampled, Stopped

# A workload is source code. What is larger is data, which a fleet does not carry.
MOST_BYTES = 16 << 20


def packed(files: Iterable[str]) -> dict[str, bytes]:
    """The files, and those of their folder that they import."""
    contents: dict[str, bytes] = {}
    waiting = [Path(file) for file in files]
    while waiting:
        path = waiting.pop()
        if str(path) in contents:
            continue
        try:
            contents[str(path)] = path.read_bytes()
        except OSError as error:
            raise FleetError(f"{path} cannot be sent to the fleet: {error.strerror}") from error
        waiting += _beside(path, contents[str(path)])
    if sum(map(len, contents.values())) > MOST_BYTES:
        raise FleetError(
            f"the workload files and what they import have more than {MOST_BYTES >> 20} MiB; a fleet carries source "
            "code only: install a package with them on the machines"
        )
    return contents


def _beside(path: Path, source: bytes) -> list[Path]:
    """The modules in the folder of a file that it imports by name."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):  # the machine will say it, with the line
        return []
    names = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    beside = dict.fromkeys(path.with_name(f"{name.partition('.')[0]}.py") for name in names)
    return [module for module in beside if module.is_file()]


class Shipment:
    """Files that were sent, in a folder on this machine; or the same files of a repository that is here, too."""

    def __init__(self, here: dict[str, str], machine: str) -> None:
        self.here = here  # a path there, and the one here
        self._machine = machine
        self._there: dict[str, Cell] = {}  # the cell that was sent, by the id that it has here

    @classmethod
    def unpacked(cls, files: dict[str, bytes], folder: Path, machine: str) -> "Shipment":
        """Writes the files; those that came from one folder lie in one."""
        here = {}
        for path, contents in files.items():
            parent, _, name = path.replace("\\", "/").rpartition("/")
            inside = folder / hashlib.sha256(parent.encode()).hexdigest()[:8]
            inside.mkdir(exist_ok=True)
            (inside / Path(name).name).write_bytes(contents)
            here[path] = str(inside / Path(name).name)
        return cls(here, machine)

    def arrived(self, cell: Cell) -> Cell:
        """A cell, with the file that it has here."""
        mine = cell if cell.file is None else msgspec.structs.replace(cell, file=self.here.get(cell.file, cell.file))
        self._there[mine.id] = cell
        return mine

    def begun(self, run: Run) -> Run:
        """A run, with the cells as they are here. Samples of this machine are its own."""
        measurements = [
            msgspec.structs.replace(
                measurement,
                cell=self.arrived(measurement.cell),
                samples=[
                    msgspec.structs.replace(sample, machine="") if sample.machine == self._machine else sample
                    for sample in measurement.samples
                ],
            )
            for measurement in run.measurements
        ]
        planned = [self.arrived(cell) for cell in run.planned]
        return msgspec.structs.replace(run, planned=planned, measurements=measurements, machines=[])

    def leaving(self, event: Event) -> Event:
        """An event of this machine, with the names that the run has."""
        match event:
            case Inspected(measurement=measurement):
                there = self._there.get(measurement.cell.id, measurement.cell)
                return Inspected(measurement=msgspec.structs.replace(measurement, cell=there))
            case Sampled(cell=cell, sample=sample):
                sample = msgspec.structs.replace(sample, machine=self._machine)
                return Sampled(cell=self._there[cell].id, sample=sample)
            case Calibrated(calibration=calibration):
                return Calibrated(calibration=msgspec.structs.replace(calibration, machine=self._machine))
            case Stopped(cell=cell) | Counted(cell=cell):
                return msgspec.structs.replace(event, cell=self._there[cell].id)
        return event
