"""The pytest plugin: the fixture `gradmark` measures a cell inside an ordinary test run, and keeps the record.

pytest finds it by its entry point. It imports the laboratory when a test asks for it, and not before.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from gradmark.records import DerivativeName, Measurement, Param
    from gradmark.workloads.workload import Workload


def pytest_addoption(parser: pytest.Parser) -> None:
    """One option."""
    group = parser.getgroup("gradmark")
    group.addoption("--gradmark-skip", action="store_true", help="Skip tests that measure with the fixture `gradmark`.")


@pytest.fixture
def gradmark(request: pytest.FixtureRequest) -> "Callable[..., Measurement]":
    """Measures a function: `gradmark(f, [0.5, 2.0], engine="tapegrad")`, at the inputs where it is differentiated.

    Or a workload, decorated with `gradmark.workload` or by its name, which has inputs of its own: `gradmark("poly",
    size={"n": 100}, derivative="hvp", processes=2)`. Without a derivative the first usual one is measured. Gives the
    `Measurement`, wrong or right; the run file goes to `.gradmark/runs` under pytest's root folder.
    """
    if request.config.getoption("--gradmark-skip"):
        pytest.skip("--gradmark-skip was given")

    def measure(
        what: "Workload | str | Callable[..., Any]",
        inputs: Any = None,
        *,
        engine: str = "tapegrad",
        size: "Mapping[str, Param] | None" = None,
        dtype: str | None = None,
        derivative: "DerivativeName | None" = None,
        processes: int = 1,
    ) -> "Measurement":
        import msgspec

        from gradmark.errors import SelectionError
        from gradmark.measure import plan, process
        from gradmark.measure.orchestrator import Orchestrator, begin
        from gradmark.records import Settings
        from gradmark.store import runs
        from gradmark.store.store import open_store
        from gradmark.workloads import packing
        from gradmark.workloads.outline import Outline
        from gradmark.workloads.row import Selected
        from gradmark.workloads.selection import select
        from gradmark.workloads.workload import Workload

        wanted: Outline
        if isinstance(what, str | Workload) and inputs is not None:
            raise SelectionError("inputs go with a plain function; a workload has inputs of its own: leave inputs out")
        if isinstance(what, str):
            (wanted,) = select([what])
        else:
            described = what if isinstance(what, Workload) else packing.of_function(what, inputs)
            wanted = packing.for_workers(described, request.config.rootpath / packing.FOLDER)
        point = wanted.points(full=True)[0] | dict(size or {})
        if set(point) != set(wanted.sizes) or dtype not in (None, *wanted.dtypes):
            raise SelectionError(
                f"{wanted.name} has no size {size} in {dtype or wanted.dtypes[0]}; its sizes are "
                f"{', '.join(wanted.sizes) or 'none'}, its dtypes {', '.join(wanted.dtypes)}"
            )
        row = Selected(wanted, {key: [value] for key, value in point.items()}, [dtype or wanted.dtypes[0]])
        asked = [derivative or wanted.usual_derivatives[0]]
        settings = Settings(processes=processes, huge_pages=False)
        planned = plan.make_plan(
            plan.Request([row], [engine], derivatives=asked), settings, process.run, verb="pytest", stop=process.end_all
        )
        cells = [cell for cell in planned.cells if cell.engine == engine]
        known = [measurement for measurement in planned.known if measurement.cell in cells]
        planned = msgspec.structs.replace(planned, cells=cells, known=known, arguments=[request.node.nodeid])
        store = open_store(request.config.rootpath / runs.FOLDER)
        store.ready()
        with (
            store.begin(begin(planned)) as journal,
            Orchestrator(journal.run, journal, known=known) as orchestrator,
        ):
            (measurement,) = orchestrator.carry_out().measurements
        store.put_away(journal.path)
        return measurement

    return measure
