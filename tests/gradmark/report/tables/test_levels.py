from gradmark.analyse.histories import ChangePoint, Histories, History, Point, Together
from gradmark.records import Number
from gradmark.report.tables.levels import levels


def series(name, floors, engine="e", step=None, hours=24):
    """One point a day, or every so many hours; `step` is the place of a change."""
    times = [divmod(hours * place, 24) for place in range(len(floors))]
    points = [
        Point(run=f"r{place:02}", started=f"2026-01-{day + 1:02}T{hour:02}:00:00+00:00", number=Number(value=ns))
        for place, ((day, hour), ns) in enumerate(zip(times, floors, strict=True))
    ]
    found = [] if step is None else [ChangePoint(run=points[step].run, started=points[step].started, ratio=1.2)]
    return History(cell=f"{name}@{engine}", row=name, engine=engine, machine="m", points=points, changes=found)


def drawn(*members, together=(), columns=80):
    return levels(Histories(metric="total", newest="m", series=list(members), together=list(together)), "m", columns)


def test_one_series_is_drawn_as_times():
    assert drawn(series("poly", [100.0, 100.0, 150.0, 150.0], step=2), columns=40) == [
        "",
        "e: total",
        "150 ns │                  o        o",
        "       │",
        "       │",
        "       │",
        "128 ns │",
        "       │",
        "       │",
        "       │",
        "       │",
        "100 ns │o        o",
        "       └────────────────────────────",
        "                          ^",
        "        2026-01-01        2026-01-04",
        "        o poly",
        "^ a new level begins: 2026-01-03",
    ]


def test_several_are_drawn_against_their_first_points_and_what_stepped_is_on_top():
    found = drawn(series("flat", [9e6, 9e6, 9e6]), series("slow", [10.0, 10.0, 12.0], step=2), columns=40)
    assert found == [
        "",
        "e: total, times that of the first run",
        "1.20 │                           o",
        "     │",
        "     │",
        "     │",
        "1.11 │",
        "     │",
        "     │",
        "     │",
        "     │",
        "1.00 │o             o            x",
        "     └────────────────────────────",
        "                                 ^",
        "      2026-01-01        2026-01-03",
        "      o slow   x flat",
        "^ a new level begins: 2026-01-03",
    ]


def test_noise_does_not_fill_the_plot():
    rows = drawn(series("poly", [100.0, 101.0, 100.0]))[2:12]
    assert [row.split("│")[1] != "" for row in rows] == [False] * 4 + [True, True] + [False] * 4
    assert (rows[0].split("│")[0], rows[-1].split("│")[0]) == (" 106 ns ", "95.5 ns ")


def test_what_all_of_an_engine_did_is_marked_once():
    one, other = series("a", [1.0, 1.0, 2.0], step=2), series("b", [1.0, 1.0, 2.0], step=2)
    together = Together(engine="e", machine="m", changes=[ChangePoint(run="r01", started="", ratio=2.0)])
    assert drawn(one, other, together=[together])[-1] == "^ a new level begins: 2026-01-02, 2026-01-03"


def test_many_series_are_left_to_who_asks_for_them():
    found = drawn(*(series(f"w{k}", [100.0, 100.0 + k]) for k in range(8)))
    assert found[-2:] == [
        "      o w7   x w6   + w5   * w4   # w3   % w2",
        "2 more moved less and are not drawn; `gradmark history WORKLOAD` draws them",
    ]


def test_engines_that_changed_are_drawn_first_and_the_rest_is_named():
    quiet = [series("poly", [1.0, 1.0], engine=f"e{k}") for k in range(4)]
    found = drawn(*quiet, series("poly", [1.0, 2.0], engine="stepped", step=1))
    assert [line for line in found if line.endswith(": total")] == ["stepped: total", "e0: total", "e1: total"]
    assert found[-1] == "not drawn: e2, e3"


def test_runs_of_one_day_are_told_apart_by_the_hour():
    axis = drawn(series("poly", [1.0, 1.0, 1.0], hours=2))[-2]
    assert axis.split() == ["01-01", "00:00", "01-01", "04:00"]


def test_one_point_is_no_line_and_a_narrow_terminal_no_place():
    assert drawn(series("poly", [1.0])) == ["", "no plot: one run is one point, and two make a line"]
    two = series("poly", [1.0, 1.0])
    assert drawn(two, columns=30) == ["", "no plot: 30 columns are too narrow for one"]
    assert max(map(len, drawn(two, columns=36))) <= 36


def test_a_count_that_began_at_zero_is_drawn_as_it_is():
    none, some = series("none", [0.0, 0.0]), series("some", [0.0, 3.0], step=1)
    found = levels(Histories(metric="allocations", newest="m", series=[none, some], together=[]), "m", 80)
    assert found[1] == "e: allocs"
    assert found[-2:] == ["      o some   x none", "^ a new level begins: 2026-01-02"]
