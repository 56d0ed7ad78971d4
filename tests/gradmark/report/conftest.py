"""A factory of records: every field has a plain default, a test names only what it is about."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from gradmark.analyse.summary import summarise
from gradmark.records import (
    Accuracy,
    Cell,
    Environment,
    Measurement,
    Memory,
    Phase,
    Run,
    Sample,
    Settings,
    Summary,
    TapeSize,
)
from gradmark.report.model.rows import Row, row
from gradmark.report.model.suites import Table, tables

TIMES = {"primal": 1000.0, "forward": 2000.0, "backward": 500.0, "total": 2500.0}
ONCE = {"import": 1e6, "prepare": 3e3, "first_call": 4e3, "warm_up": 5e6}


class Make:
    """Makes records."""

    def cell(self, workload: str = "poly", engine: str = "tapegrad", n: int | None = 10, **fields: Any) -> Cell:
        defaults: dict[str, Any] = {"suite": "scalar", "params": {} if n is None else {"n": n}}
        return Cell(**{**defaults, "workload": workload, "engine": engine, **fields})

    def sample(
        self, process: int = 0, times: dict[str, float] | None = None, derived: Sequence[str] = (), **fields: Any
    ) -> Sample:
        """One process. Each phase has two blocks: its time, and 1 ns more."""
        phases = {
            name: Phase(how="derived" if name in derived else "measured", iterations=10, block_ns=[ns + 1.0, ns])
            for name, ns in (TIMES if times is None else times).items()
        }
        defaults: dict[str, Any] = {"once_ns": ONCE, "harness_ns": 30.0, "clock_ns": 1.0}
        return Sample(**{**defaults, "process": process, "phases": phases, **fields})

    def totals(self, *times: float) -> list[Sample]:
        """A process for each of these totals; all else takes what it usually does, or as much less."""
        return [
            self.sample(process, {name: ns * total / TIMES["total"] for name, ns in TIMES.items()})
            for process, total in enumerate(times)
        ]

    def measurement(self, cell: Cell | None = None, **fields: Any) -> Measurement:
        defaults: dict[str, Any] = {
            "status": "ok",
            "samples": [self.sample()],
            "tape": TapeSize(instructions=20, values=21, adjoints=21, saved_bytes=500),
            "memory": Memory(allocations=0.0, gross_allocations=5.0, plain_allocations=5.0, allocated_bytes=0.0,
                             leaked_bytes=0.0, retained_bytes=2048, peak_bytes=4096),
            "accuracy": Accuracy(reference="mpmath", relative_error=1e-16, ulps=0.5, tolerance=1e-9),
            "operations": 20,
        }  # fmt: skip
        return Measurement(**{**defaults, "cell": cell or self.cell(), **fields})

    def tensor_cell(self, workload: str = "mlp", engine: str = "tapegrad", **fields: Any) -> Cell:
        defaults: dict[str, Any] = {"suite": "tensor", "kind": "tensor", "dtype": "float32", "params": {"batch": 128}}
        return self.cell(workload, engine, **{**defaults, **fields})

    def tensor(self, cell: Cell | None = None, **fields: Any) -> Measurement:
        """A measurement of a tensor workload: 1e4 flops and no bytes, in 2500 ns."""
        defaults: dict[str, Any] = {
            "shapes": {"x": [128, 784], "w": [784, 10]},
            "flops": 1e4,
            "operations": 2,
            "accuracy": Accuracy(reference="central differences", relative_error=2e-7, tolerance=1e-4),
        }
        return self.measurement(cell or self.tensor_cell(), **{**defaults, **fields})

    def failed(self, status: str, message: str = "", cell: Cell | None = None, **fields: Any) -> Measurement:
        nothing: dict[str, Any] = {"samples": [], "tape": None, "memory": None, "accuracy": None, "operations": None}
        return self.measurement(cell, status=status, message=message, **{**nothing, **fields})

    def summaries(self, run: Run) -> list[Summary]:
        return [summarise(m) for m in run.measurements]

    def row(self, measurement: Measurement | None = None, **fields: Any) -> Row:
        """The row of a measurement; `fields` are the summary's."""
        return row(msgspec.structs.replace(summarise(measurement or self.measurement()), **fields))

    def run(self, *measurements: Measurement, **fields: Any) -> Run:
        environment = Environment(
            cpu="AMD EPYC", cores=2, memory_bytes=8 << 30, os="Linux 6.1 x86_64", python="CPython 3.11.7", packages={}
        )
        defaults: dict[str, Any] = {"id": "run-1", "started": "2026-01-01T00:00:00+00:00", "settings": Settings()}
        return Run(**{**defaults, "environment": environment, "measurements": list(measurements), **fields})

    def tables(self, *measurements: Measurement) -> list[Table]:
        return tables(self.run(*measurements))


@pytest.fixture(scope="session")
def make() -> Make:
    return Make()
