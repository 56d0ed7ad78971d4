"""A factory of records: every field has a plain default, a test names only what it is about."""

from collections.abc import Sequence
from typing import Any

import pytest

from gradmark.records import (
    Accuracy,
    Cell,
    Environment,
    Estimate,
    How,
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
from gradmark.report.model.tables import Table, tables

TIMES = {"primal": 1000.0, "forward": 2000.0, "backward": 500.0, "total": 2500.0}


class Make:
    """Makes records. `summary` is what the estimates of `measurement` would be, without a bootstrap."""

    def cell(self, workload: str = "poly", engine: str = "tapegrad", n: int | None = 10, **fields: Any) -> Cell:
        defaults: dict[str, Any] = {"suite": "scalar", "params": {} if n is None else {"n": n}}
        return Cell(**{**defaults, "workload": workload, "engine": engine, **fields})

    def estimate(self, median: float, how: How = "measured", **fields: Any) -> Estimate:
        return Estimate(
            **{"median": median, "low": median, "high": median, "floor": median, "processes": 3, **fields}, how=how
        )

    def sample(self, process: int = 0, times: dict[str, float] | None = None, derived: Sequence[str] = ()) -> Sample:
        phases = {
            name: Phase(how="derived" if name in derived else "measured", iterations=10, block_ns=[ns + 1.0, ns])
            for name, ns in (TIMES if times is None else times).items()
        }
        return Sample(process=process, phases=phases, once_ns={"import": 1e6}, harness_ns=30.0, clock_ns=1.0)

    def measurement(self, cell: Cell | None = None, **fields: Any) -> Measurement:
        defaults: dict[str, Any] = {
            "status": "ok",
            "samples": [self.sample()],
            "tape": TapeSize(instructions=20, values=21, adjoints=21, saved_bytes=500),
            "memory": Memory(allocations=0.0, gross_allocations=5.0, plain_allocations=5.0, leaked_bytes=0.0,
                             retained_bytes=2048, peak_bytes=4096),
            "accuracy": Accuracy(reference="mpmath", relative_error=1e-16, ulps=0.5, tolerance=1e-9),
            "operations": 20,
        }  # fmt: skip
        return Measurement(**{**defaults, "cell": cell or self.cell(), **fields})

    def tensor(self, cell: Cell | None = None, **fields: Any) -> Measurement:
        """A measurement of a tensor workload: 1e4 flops and no bytes, in 2500 ns."""
        defaults: dict[str, Any] = {
            "shapes": {"x": [128, 784], "w": [784, 10]},
            "flops": 1e4,
            "operations": 2,
            "accuracy": Accuracy(reference="central differences", relative_error=2e-7, tolerance=1e-4),
        }
        return self.measurement(
            cell or self.cell("mlp", suite="tensor", dtype="float32", params={"batch": 128}), **{**defaults, **fields}
        )

    def failed(self, status: str, message: str = "", cell: Cell | None = None, **fields: Any) -> Measurement:
        nothing: dict[str, Any] = {"samples": [], "tape": None, "memory": None, "accuracy": None, "operations": None}
        return self.measurement(cell, status=status, message=message, **{**nothing, **fields})

    def summary(self, measurement: Measurement, **fields: Any) -> Summary:
        first = measurement.samples[0].phases if measurement.samples else {}
        phases = {name: self.estimate(phase.floor_ns, phase.how) for name, phase in first.items()}
        floors = {name: found.floor for name, found in phases.items()}
        defaults: dict[str, Any] = {"once": {}, "phases": phases}
        if {"forward", "backward"} <= floors.keys():
            defaults["ratio"] = floors["backward"] / floors["forward"]
        if {"primal", "total"} <= floors.keys():
            defaults["gradient_ratio"] = floors["total"] / floors["primal"]
        if measurement.operations is not None and "total" in floors:
            defaults["operations_per_s"] = measurement.operations / floors["total"] * 1e9
        for name in ("flops", "bytes"):
            if getattr(measurement, name) is not None and "total" in floors:
                defaults[f"{name}_per_s"] = getattr(measurement, name) / floors["total"] * 1e9
        known = {"cell": measurement.cell, "status": measurement.status, "message": measurement.message}
        return Summary(**{**known, **defaults, **fields})

    def summaries(self, run: Run) -> list[Summary]:
        return [self.summary(m) for m in run.measurements]

    def row(self, measurement: Measurement | None = None, settings: Settings | None = None, **fields: Any) -> Row:
        """The row of a measurement; `fields` are the summary's."""
        measurement = measurement or self.measurement()
        return row(measurement, self.summary(measurement, **fields), settings or Settings())

    def run(self, *measurements: Measurement, **fields: Any) -> Run:
        environment = Environment(
            cpu="AMD EPYC", cores=2, memory_bytes=8 << 30, os="Linux 6.1 x86_64", python="CPython 3.11.7", packages={}
        )
        defaults: dict[str, Any] = {"id": "run-1", "started": "2026-01-01T00:00:00+00:00", "settings": Settings()}
        return Run(**{**defaults, "environment": environment, "measurements": list(measurements), **fields})

    def tables(self, *measurements: Measurement) -> list[Table]:
        run = self.run(*measurements)
        return tables(run, self.summaries(run))


@pytest.fixture(scope="session")
def make() -> Make:
    return Make()
