"""The pytest plugin: the fixture `gradmark` measures a cell inside an ordinary test run, and keeps the record.

pytest finds it by its entry point. It imports the laboratory when a test asks for it, and not before.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from gradmark.records import Measurement, Param
    from gradmark.workloads.workload import Workload


def pytest_addoption(parser: pytest.Parser) -> None:
    """One option."""
    group = parser.getgroup("gradmark")
    group.addoption("--gradmark-skip", action="store_true", help="Skip tests that measure with the fixture `gradmark`.")


@pytest.fixture
def gradmark(request: pytest.FixtureRequest) -> "Callable[..., Measurement]":
    """Measures a workload: `gradmark(workload, engine="tapegrad", size={"n": 100}, processes=2)`.

    The workload is one decorated with `gradmark.workload`, or a name. Gives the `Measurement`, wrong or right; the run
    file goes to `.gradmark/runs` under pytest's root folder.
    """
    if request.config.getoption("--gradmark-skip"):
        pytest.skip("--gradmark-skip was given")

    def measure(
        workload: "Workload | str",
        engine: str = "tapegrad",
        *,
        size: "Mapping[str, Param] | None" = None,
        dtype: str | None = None,
        processes: int = 1,
    ) -> "Measurement":
        from gradmark.engines import discovery
        from gradmark.errors import SelectionError
        from gradmark.measure.orchestrator import Orchestrator, begin
        from gradmark.measure.plan import Plan, cells_of
        from gradmark.records import Settings
        from gradmark.store import runs
        from gradmark.workloads.selection import select

        discovery.check(engine)
        (wanted,) = select([workload]) if isinstance(workload, str) else [workload]
        cells = cells_of([wanted], [engine], full=True, dtypes=[dtype] if dtype else wanted.dtypes[:1])
        matching = [c for c in cells if c.engine == engine and (size is None or c.params == dict(size))]
        if not matching:
            points = ", ".join(str(point) for point in wanted.points())
            raise SelectionError(f"{wanted.name} has no size {size} in {dtype}; it has {points} in {wanted.dtypes}")
        plan = Plan(
            verb="pytest", arguments=[request.node.nodeid], cells=matching[:1], settings=Settings(processes=processes)
        )
        folder = request.config.rootpath / runs.FOLDER
        runs.ready(folder)
        with (
            runs.Journal.begin(begin(plan), folder) as journal,
            Orchestrator(journal.run, journal) as orchestrator,
        ):
            (measurement,) = orchestrator.carry_out().measurements
        return measurement

    return measure
