"""Which machine does what next, whatever becomes of machines and tasks."""

from gradmark.fleet.board import MOST_LOSSES, REST_S, Board, Work


def keys(assigned):
    return [(work.key, machine) for work, machine in assigned]


def board_of(*works, machines=("a", "b"), machine_class="zen"):
    board = Board([Work(key, machine_class, weight) for key, weight in works])
    for machine in machines:
        board.join(machine, machine_class)
    return board


def test_heavy_tasks_go_first_and_each_machine_has_one():
    board = board_of(("small", 1.0), ("large", 3.0), ("middle", 2.0))
    assert keys(board.assign(0.0)) == [("large", "a"), ("middle", "b")]
    assert board.assign(0.0) == []
    board.done("b")
    assert keys(board.assign(0.0)) == [("small", "b")]
    board.done("a")
    board.done("b")
    assert not board.open


def test_a_task_stays_in_its_class():
    board = board_of(("one", 1.0))
    board.join("m1", "apple")
    board.assign(0.0)
    board.leave("a")
    board.leave("b")
    assert board.assign(0.0) == []
    assert board.open


def test_a_task_that_was_lost_goes_to_another_machine_first():
    board = board_of(("large", 2.0), ("small", 1.0), machines=("a",))
    board.assign(0.0)
    assert board.leave("a").key == "large"
    board.join("a", "zen")  # it is back: what it was lost with is for others
    board.join("b", "zen")
    assert keys(board.assign(0.0)) == [("small", "a"), ("large", "b")]


def test_a_machine_gets_what_it_had_before():
    board = board_of(("one", 1.0), ("two", 1.0))
    board.assign(0.0)
    one, two = (place.work for place in board.places.values())
    again = Board([Work("one", "zen", 1.0, last="b"), Work("two", "zen", 1.0, last="a")])
    for machine in "ab":
        again.join(machine, "zen")
    assert keys(again.assign(0.0)) == [("two", "a"), ("one", "b")]
    assert (one.last, two.last) == ("a", "b")


def test_a_task_that_is_lost_with_every_machine_is_given_up():
    board = board_of(("deadly", 2.0), ("harmless", 1.0), machines=())
    for number in range(MOST_LOSSES):
        board.join(f"m{number}", "zen")
        assert keys(board.assign(0.0)) == [("deadly", f"m{number}")]
        board.leave(f"m{number}")
    assert [work.key for work in board.given_up] == ["deadly"]
    assert board.given_up[0].lost_with == ["m0", "m1", "m2"]
    board.join("m9", "zen")
    assert keys(board.assign(0.0)) == [("harmless", "m9")]


def test_a_task_that_fails_is_tried_by_others_and_given_up():
    board = board_of(("one", 1.0))
    for _ in range(MOST_LOSSES):
        ((_, machine),) = board.assign(0.0)
        board.failed(machine, "no room")
    assert board.given_up[0].failures == ["no room"] * MOST_LOSSES
    assert not board.open


def test_a_machine_that_is_not_fit_rests():
    board = board_of(("one", 1.0), machines=("a",))
    board.assign(0.0)
    board.refused("a", 10.0)
    assert board.assign(10.0) == []
    assert keys(board.assign(10.0 + REST_S)) == [("one", "a")]


def test_machines_that_do_nothing_may_come_and_go():
    board = board_of(("one", 1.0), machines=("a",))
    assert board.leave("a") is None
    assert board.leave("never there") is None
    assert board.open
