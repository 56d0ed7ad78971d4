"""Rows and machines brought together. The machines are played: what they do wrong is told, and nothing is lost."""

import pytest

from gradmark.errors import FleetError
from gradmark.fleet import dispatch as dispatching
from gradmark.fleet.campaign import Campaign
from gradmark.fleet.dispatch import Dispatch
from gradmark.fleet.task import Began, Ended, Happened


class Sent:
    def __init__(self):
        self.end = None
        self.cancelled = False

    def ended(self):
        return self.end

    def cancel(self):
        self.cancelled = True


class Played:
    """In place of a connection. acts: what each machine does with the tasks that it gets, one after another."""

    queue_name = "q"

    def __init__(self, machines, inspected, **acts):
        self.there = {machine.address: machine for machine in machines}
        self.inspected = inspected
        self.acts = {f"tcp://{name}:1": list(each) for name, each in acts.items()}
        self.waiting = []
        self.sent = []

    def addresses(self):
        return set(self.there)

    def machines(self):
        return list(self.there.values())

    def messages(self):
        waiting, self.waiting = self.waiting, []
        return waiting

    def send(self, task, address):
        sent = Sent()
        self.sent.append((task.begun.planned[0].task, self.there[address].id, len(task.begun.measurements)))
        act = self.acts[address].pop(0) if self.acts.get(address) else "measure"
        say = {"task": task.id, "attempt": task.attempt, "token": address}
        if act in ("measure", "die", "swallow"):
            self.waiting.append(Began(environment=self.there[address].environment, **say))
            known = [m.cell for m in task.begun.measurements]
            cells = [cell for cell in task.begun.planned if cell not in known]
            events = [self.inspected(cell) for cell in (cells[:1] if act == "die" else cells)]
            messages = [Happened(number=number, event=event, **say) for number, event in enumerate(events)]
            self.waiting += messages[:-1] if act == "swallow" else messages
            sent.end = Ended(token=address, events=len(events)) if act != "die" else None
        elif act == "unfit":
            sent.end = Ended(token="", unfit=["busy: 90 %"])
        elif act == "fail":
            sent.end = Ended(token="", failed="no room")
        if act == "die":
            del self.there[address]
        return sent


@pytest.fixture
def played(run_of, cell_of, machine_of, inspected, monkeypatch):
    """Two machines of a class and a campaign of two rows with two engines; what was told."""
    monkeypatch.setattr(dispatching, "LOOK_S", 0.0)
    monkeypatch.setattr(dispatching, "FETCH_S", 0.0)

    def play(machines=("m1", "m2"), rows=("p", "q"), **acts):
        machines = [machine_of(name) for name in machines]
        connection = Played(machines, inspected, **acts)
        told, kept = [], []
        dispatch = Dispatch(connection, machines, tell=told.append, advice="go on")
        begun = run_of(*(cell_of(row, engine) for row in rows for engine in "ab"))
        campaign = Campaign(begun, kept.append, dispatch)
        return campaign, dispatch, connection, told

    return play


def test_rows_go_to_machines_one_at_a_time(played):
    campaign, dispatch, connection, told = played()
    dispatch.carry_out(campaign.whole())
    assert connection.sent == [("p", "m1", 0), ("q", "m2", 0)]
    assert (len(campaign.run.measurements), len(campaign.run.done), told) == (4, 4, [])
    assert [machine.instance for machine in campaign.run.machines] == ["m1", "m2"]
    dispatch.carry_out([])


def test_the_rest_of_a_lost_row_goes_to_another_machine(played):
    campaign, dispatch, connection, told = played(m1=["die"])
    dispatch.carry_out(campaign.whole())
    assert connection.sent == [("p", "m1", 0), ("q", "m2", 0), ("p", "m2", 1)]  # with the cell that was finished
    assert told == ["m1 is gone: the rest of p goes to another machine"]
    assert [m.status for m in campaign.run.measurements] == ["ok"] * 4


def test_a_machine_that_is_not_fit_is_told_and_rests(played):
    campaign, dispatch, connection, told = played(m1=["unfit"])
    dispatch.carry_out(campaign.whole())
    assert [machine for _, machine, _ in connection.sent] == ["m1", "m2", "m2"]
    assert told == ["m1 is not fit (busy: 90 %): it rests for 30 s"]


def test_a_row_that_fails_everywhere_is_given_up_after_all_others_are_done(played):
    campaign, dispatch, _, told = played(machines=["m1"], m1=["fail"] * 3)
    with pytest.raises(FleetError, match=r"^p failed on 3 machines: no room\. What was measured is kept; go on$"):
        dispatch.carry_out(campaign.whole())
    assert campaign.run.done == ["q@a", "q@b"]
    assert told == ["p failed on m1: no room"] * 3
    assert not campaign.run.finished


def test_a_task_whose_events_did_not_all_come_is_not_done(played):
    campaign, dispatch, connection, told = played(machines=["m1"], rows=["p"], m1=["swallow"])
    dispatch.carry_out(campaign.whole())
    assert connection.sent == [("p", "m1", 0), ("p", "m1", 1)]
    assert told == ["p failed on m1: not all that it sent has come"]


def test_a_machine_that_comes_later_takes_part_if_it_is_like_the_others(played, machine_of):
    campaign, dispatch, connection, told = played(machines=["m1"], rows=["p"], m1=["die"])
    strange = machine_of("m8", versions={"numpy": "4"})
    connection.there[strange.address] = strange
    other = machine_of("m9")
    connection.there[other.address] = other
    dispatch.carry_out(campaign.whole())
    assert [machine for _, machine, _ in connection.sent][-1] == "m9"
    assert "m8 has come and takes no work: numpy: 4 on m8, 3 on the others" in told


def test_what_is_on_its_way_is_cancelled_when_somebody_interrupts(played, monkeypatch):
    campaign, dispatch, connection, _ = played(m1=["hang"], m2=["hang"])
    sent = []
    real = connection.send
    monkeypatch.setattr(connection, "send", lambda *a: sent.append(real(*a)) or sent[-1])

    def interrupt():
        raise KeyboardInterrupt

    monkeypatch.setattr(connection, "messages", interrupt)
    with pytest.raises(KeyboardInterrupt):
        dispatch.carry_out(campaign.whole())
    assert [each.cancelled for each in sent] == [True, True]
