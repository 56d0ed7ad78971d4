"""Records of all kinds, sensible and not: what can be written is read back equal, and what could not be is refused."""

import tempfile
from pathlib import Path

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from fuzz.budget import inputs
from gradmark.errors import StoreError, WorkloadError
from gradmark.records import (
    FORMAT_VERSION,
    Accuracy,
    Cell,
    Code,
    Environment,
    Instructions,
    Measurement,
    Memory,
    Phase,
    Run,
    Sample,
    Settings,
    TapeSize,
    Warning,
)
from gradmark.records.event import Counted, Finished, GrowingRun, Inspected, Sampled, Stopped
from gradmark.store import baselines, journal, runs
from gradmark.workloads.workload import workload

TEXT = st.text(st.characters(), max_size=6)  # halves of surrogate pairs too
FLOATS = st.one_of(st.floats(-1e6, 1e6), st.sampled_from([0.0, -0.0, 1e-320, 1e18]), st.floats())
COUNTS = st.one_of(st.integers(0, 1000), st.sampled_from([2**53, 2**53 + 1, -1, 10**30]))
PARAMS = st.dictionaries(TEXT, st.one_of(st.integers(0, 100), COUNTS, FLOATS, TEXT), max_size=2)
MAYBE = st.one_of(st.none(), FLOATS)
MAYBE_COUNT = st.one_of(st.none(), COUNTS)
CELLS = st.builds(Cell, engine=TEXT, workload=TEXT, suite=st.one_of(TEXT, TEXT, TEXT, st.just(5)), params=PARAMS)
PILOTS = st.floats(0.5, 1e6)


@st.composite
def phases(draw):
    blocks = draw(st.lists(FLOATS, min_size=draw(st.sampled_from([0, 1, 1, 1])), max_size=3))
    pairs = st.lists(st.tuples(PILOTS, PILOTS), min_size=len(blocks), max_size=len(blocks))
    pilots = draw(st.dictionaries(st.sampled_from(["core", "memory", "device"]), pairs, max_size=2))
    reference = {kind: draw(PILOTS) for kind in pilots}
    return Phase(iterations=draw(COUNTS), block_ns=blocks, harness_ns=draw(FLOATS), pilots=pilots, reference=reference)


SAMPLES = st.builds(
    Sample,
    process=st.integers(0, 3),
    phases=st.dictionaries(st.sampled_from(["total", "forward", "primal", "mine"]), phases(), max_size=2),
    once_ns=st.dictionaries(TEXT, FLOATS, max_size=2),
    harness_ns=FLOATS,
    clock_ns=FLOATS,
    warnings=st.lists(st.builds(Warning, code=st.just(Code.OTHER), reason=TEXT), max_size=1),
)
MEASUREMENTS = st.builds(
    Measurement,
    cell=CELLS,
    status=st.sampled_from(["ok", "crash", "wrong-gradient"]),
    message=TEXT,
    tape=st.one_of(st.none(), st.builds(TapeSize, instructions=MAYBE_COUNT)),
    memory=st.one_of(st.none(), st.builds(Memory, allocations=MAYBE, peak_bytes=MAYBE_COUNT)),
    accuracy=st.one_of(st.none(), st.builds(Accuracy, reference=TEXT, relative_error=FLOATS, tolerance=FLOATS)),
    operations=MAYBE_COUNT,
    flops=MAYBE,
    shapes=st.dictionaries(TEXT, st.lists(COUNTS, max_size=2), max_size=1),
)


@st.composite
def events(draw, cell):
    return draw(
        st.one_of(
            st.builds(Sampled, cell=st.just(cell), sample=SAMPLES),
            st.builds(Stopped, cell=st.just(cell), status=st.just("timeout"), message=TEXT),
            st.builds(Counted, cell=st.just(cell), instructions=st.builds(Instructions, total=MAYBE)),
            st.just(Finished()),
        )
    )


def begun(measurement, typed):
    here = Environment(cpu=typed, cores=1, memory_bytes=1, os="o", python="p", packages={typed: typed})
    return Run(
        id="r", started="2026-01-01T00:00:00+00:00", environment=here, settings=Settings(), measurements=[],
        planned=[measurement.cell], arguments=[typed], format_version=FORMAT_VERSION,
    )  # fmt: skip


@inputs(few=40, share=0.06)
@given(data=st.data(), measurement=MEASUREMENTS, typed=st.one_of(st.just("poly"), TEXT))
def test_what_can_be_written_is_read_back_equal(data, measurement, typed):
    run = begun(measurement, typed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            keep = journal.Journal.begin(run, folder)
        except StoreError:
            assert list(folder.iterdir()) == []  # nothing, rather than what nobody can read
            return
        growing = GrowingRun(run)
        with keep:
            happened = [Inspected(measurement=measurement)]
            happened += data.draw(st.lists(events(measurement.cell.id), max_size=4))
            for event in happened:
                try:
                    keep(event)
                except StoreError:
                    if isinstance(event, Inspected):
                        break
                    continue
                growing.add(event)
        assert runs.load(keep.path) == growing.run
        document = folder / "document.json"
        runs.save(growing.run, document)
        assert runs.load(document) == growing.run


@inputs(few=50, share=0.03)
@given(
    metrics=st.dictionaries(TEXT, st.one_of(COUNTS, FLOATS), max_size=3),
    words=st.dictionaries(TEXT, TEXT, max_size=2),
    name=TEXT,
)
def test_a_baseline_that_can_be_written_is_read_back_equal(metrics, words, name):
    kept = baselines.Baseline(environment=words, cells={name: baselines.Kept(metrics=metrics, status=name)})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "b.json"
        try:
            baselines.save(kept, path)
        except StoreError:
            assert not path.exists()
            return
        assert baselines.load(path) == kept


@inputs(few=80, share=0.03)
@given(
    suite=st.one_of(TEXT, st.integers()),
    name=st.one_of(st.none(), TEXT, st.just(5)),
    sizes=st.dictionaries(st.one_of(TEXT, TEXT, st.integers()), st.lists(st.one_of(COUNTS, FLOATS, TEXT), max_size=3)),
)
def test_a_workload_that_can_be_declared_can_be_kept(suite, name, sizes):
    try:
        declared = workload(suite=suite, stresses="x", sizes=sizes, name=name)(lambda ops, x: x)
    except WorkloadError:
        return
    for point in declared.points()[:20]:
        cell = Cell(engine="e", workload=declared.name, suite=declared.suite, params=point)
        run = begun(Measurement(cell=cell, status="ok"), "poly")
        assert journal.read(journal.lines(run), Path("x"))[0] == run
        assert msgspec.json.decode(msgspec.json.encode(cell), type=Cell) == cell
