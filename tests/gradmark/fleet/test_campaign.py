"""A run on a fleet, as it is seen where it was submitted: what comes is kept once, whatever comes twice or late."""

import pytest

from gradmark.errors import FleetError
from gradmark.fleet.board import Work
from gradmark.fleet.campaign import Campaign, refuse_lost
from gradmark.fleet.task import Began, Happened, Order
from gradmark.records import Measurement
from gradmark.records.event import Done, Finished, Inspected, Joined, Sampled, Stopped


class Machines:
    """In place of a dispatcher: keeps what is asked for."""

    def __init__(self):
        self.asked = []

    def carry_out(self, errands):
        self.asked += errands


@pytest.fixture
def campaign_of(run_of):
    def make(*cells, **more):
        kept = []
        known = more.pop("known", ())
        campaign = Campaign(run_of(*cells, **more), kept.append, Machines(), known=known)
        return campaign, kept

    return make


@pytest.fixture
def begun(campaign_of, cell_of, machine_of):
    """A campaign of one row with two engines, its errand, and how a machine speaks of it."""
    cells = [cell_of(engine="a"), cell_of(engine="b")]
    campaign, kept = campaign_of(*cells)
    (errand,) = campaign.whole()

    def began(token="t", attempt=None, machine="m1"):
        attempt = errand.attempt if attempt is None else attempt
        environment = machine_of(machine).environment
        return errand.took(Began(task=errand.id, attempt=attempt, token=token, environment=environment))

    def happened(number, event, token="t", attempt=None):
        attempt = errand.attempt if attempt is None else attempt
        return errand.took(Happened(task=errand.id, attempt=attempt, token=token, number=number, event=event))

    errand.task("q")
    return campaign, kept, errand, began, happened


def test_a_task_is_all_engines_of_a_row(campaign_of, cell_of):
    cells = [cell_of(workload, engine, params={"n": n}) for workload in "pq" for n in (1, 2) for engine in "ab"]
    campaign, _ = campaign_of(*cells, cell_of("p", "a", params={"n": 1}, dtype="float32"))
    assert [(errand.row, len(errand.cells)) for errand in campaign.whole()] == [
        ("p/n=1", 2),
        ("p/n=2", 2),
        ("q/n=1", 2),
        ("q/n=2", 2),
        ("p/n=1/dtype=float32", 1),
    ]


def test_rows_of_two_files_are_two_tasks(campaign_of, cell_of, tmp_path):
    files = [tmp_path / name for name in ("one.py", "two.py")]
    for file in files:
        file.write_text("x = 1")
    campaign, _ = campaign_of(*(cell_of(file=str(file)) for file in files))
    tasks = [errand.task("q") for errand in campaign.whole()]
    assert [list(task.files) for task in tasks] == [[str(file)] for file in files]
    assert len({task.id for task in tasks}) == 2


def test_what_is_known_needs_no_machine(campaign_of, cell_of):
    cells = [cell_of(engine="a"), cell_of(engine="b")]
    known = Measurement(cell=cells[0], status="unsupported", message="no")
    campaign, kept = campaign_of(*cells, known=[known])
    (errand,) = campaign.whole()
    assert errand.cells == cells[1:]
    assert kept == [Inspected(measurement=known)]
    campaign.begin()
    assert len(kept) == 1


def test_events_are_kept_as_they_come(begun, machine_of, inspected, sampled):
    campaign, kept, errand, began, happened = begun
    a, _ = errand.cells
    assert began()
    assert happened(0, inspected(a))
    assert happened(1, sampled(a, 0))
    assert kept == [Joined(environment=machine_of("m1").environment), inspected(a), sampled(a, 0)]
    assert errand.complete("t", 2)
    assert not errand.complete("t", 3)
    assert not errand.complete("", 0)
    assert [sample.machine for sample in campaign.measurement(a).samples] == ["m1"]


def test_a_machine_joins_once(begun):
    _, kept, errand, began, _ = begun
    began()
    errand.task("q")
    began(token="u")
    errand.task("q")
    began(token="v", machine="m2")
    assert [event.environment.instance for event in kept] == ["m1", "m2"]


def test_the_rest_goes_on_with_what_is_finished(begun, inspected, sampled):
    _, kept, errand, began, happened = begun
    a, b = errand.cells
    began()
    for number, event in enumerate([inspected(a), inspected(b), sampled(a, 0)]):
        happened(number, event)
    task = errand.task("q")
    assert task.begun.planned == [a, b]
    assert [(m.cell, len(m.samples)) for m in task.begun.measurements] == [(a, 1), (b, 0)]
    began(token="u", machine="m2")
    assert happened(0, sampled(b, 0, machine="m2"), token="u")
    assert [type(event) for event in kept] == [Joined, Inspected, Inspected, Sampled, Joined, Sampled]


def test_a_late_duplicate_changes_nothing(begun, inspected, sampled):
    campaign, kept, errand, began, happened = begun
    a, _ = errand.cells
    began()
    happened(0, inspected(a))
    errand.task("q")  # the machine is taken to be lost, and speaks on
    before = list(kept)
    assert not happened(1, sampled(a, 0), attempt=1)
    began(token="u", machine="m2")
    assert not happened(1, sampled(a, 0), attempt=1)
    assert happened(0, sampled(a, 0, machine="m2"), token="u")
    assert kept[len(before) + 1 :] == [sampled(a, 0, machine="m2")]
    campaign.take(sampled(a, 0))  # even if it were believed
    assert len(campaign.measurement(a).samples) == 1


def test_what_dask_begins_twice_counts_once(begun, inspected):
    _, _, errand, began, happened = begun
    assert began()
    assert happened(0, inspected(errand.cells[0]))
    assert not began(token="again")
    assert not happened(1, inspected(errand.cells[1]), token="again")
    assert not errand.complete("again", 2)


def test_a_gap_is_no_completed_task(begun, inspected, sampled):
    _, _, errand, began, happened = begun
    began()
    happened(0, inspected(errand.cells[0]))
    assert not happened(2, sampled(errand.cells[0], 1))
    assert not errand.complete("t", 3)


def test_a_machine_speaks_of_its_own_cells_only(begun, cell_of, inspected):
    _, kept, _, began, happened = begun
    began()
    assert not happened(0, inspected(cell_of("another")))
    assert not happened(0, Finished())
    assert [type(event) for event in kept] == [Joined]


def test_a_cell_that_stopped_stopped_once(begun, inspected):
    campaign, kept, errand, began, happened = begun
    a, _ = errand.cells
    began()
    happened(0, inspected(a))
    happened(1, Stopped(cell=a.id, status="crash"))
    campaign.take(Stopped(cell=a.id, status="crash"))
    assert sum(isinstance(event, Stopped) for event in kept) == 1


def test_what_is_done_is_left_out_when_the_run_goes_on(begun, campaign_of, inspected):
    campaign, kept, errand, _, _ = begun
    for cell in errand.cells:
        campaign.take(inspected(cell))
    campaign.complete(errand.cells)
    assert kept[-1] == Done(cells=[cell.id for cell in errand.cells])
    resumed = Campaign(campaign.run, kept.append, Machines())
    assert resumed.whole() == []
    resumed.finish()
    assert resumed.run.finished
    assert Campaign(resumed.run, kept.append, Machines()).whole() == []


def test_smaller_sizes_that_failed_go_along(campaign_of, cell_of):
    small, large = (cell_of(params={"n": n}) for n in (1, 2))
    campaign, _ = campaign_of(small, large)
    campaign.take(Inspected(measurement=Measurement(cell=small, status="timeout")))
    task = next(errand for errand in campaign.whole() if errand.row == "poly/n=2").task("q")
    assert [(m.cell, m.status) for m in task.begun.measurements] == [(small, "timeout")]
    assert task.begun.planned == [large]


def test_counting_again_counts_only_what_was_not(campaign_of, cell_of, inspected, machine_of):
    cells = [cell_of(engine="a"), cell_of(engine="b")]
    campaign, _ = campaign_of(*cells)
    for cell in cells:
        campaign.take(inspected(cell))
    campaign.count_exactly(cells)
    assert campaign.dispatch.asked == []
    campaign.count_exactly(cells, again=True)
    (errand,) = campaign.dispatch.asked
    errand.task("q")
    environment = machine_of().environment
    errand.took(Began(task=errand.id, attempt=1, token="t", environment=environment))
    errand.took(Happened(task=errand.id, attempt=1, token="t", number=0, event=inspected(cells[0])))
    assert errand.task("q").begun.planned == cells[1:]


def test_rounds_are_asked_for_once(campaign_of, cell_of, inspected, sampled):
    cells = [cell_of("p"), cell_of("q"), cell_of("r")]
    campaign, _ = campaign_of(*cells)
    for cell in cells[:2]:
        campaign.take(inspected(cell))
    campaign.take(Inspected(measurement=Measurement(cell=cells[2], status="crash")))
    for process in (0, 1):
        campaign.take(sampled(cells[0], process))
    campaign.sample(cells, range(2))
    (errand,) = campaign.dispatch.asked
    assert (errand.row, errand.order) == ("q", Order(kind="sample", first=0, stop=2))


def test_rows_that_were_given_up_are_an_error_that_says_how_to_go_on():
    lost = Work("r/poly/n=1", "zen", 1.0, lost_with=["a", "b", "c"])
    with pytest.raises(FleetError, match=r"^poly/n=1 was lost with 3 machines \(a, b, c\), and 1 more rows like it\. "):
        refuse_lost([lost, lost], "go on")
    failed = Work("r/poly/n=1", "zen", 1.0, failures=["x", "no room"])
    with pytest.raises(
        FleetError, match=r"^poly/n=1 failed on 2 machines: no room\. What was measured is kept; go on$"
    ):
        refuse_lost([failed], "go on")
    refuse_lost([], "")
