from gradmark import units
from gradmark.analyse.scaling import fit
from gradmark.report.tables.plot import Frame, Series, history, plot, scaling


def frame(**fields):
    defaults = {"title": "t", "x_title": "x", "x_text": "{:g}".format, "y_text": "{:g}".format, "width": 9, "height": 3}
    return Frame(**{**defaults, **fields})


def test_points_stand_where_their_numbers_are():
    found = plot([Series(name="a", x=[0, 4, 8], y=[0, 1, 2]), Series(name="b", x=[8], y=[0])], frame())
    assert found == [
        "t",
        "2 │        o",
        "1 │    o",
        "0 │o       x",
        "  └─────────",
        "   0   x   8",
        "   o a   x b",
    ]


def test_logarithmic_axes_and_a_curve():
    one = Series(name="a", x=[1, 100], y=[1, 100], curve=lambda n: n)
    assert plot([one], frame(x_log=True, y_log=True, width=5, height=5)) == [
        "t",
        "100 │    o",
        "    │   ·",
        " 10 │  ·",
        "    │ ·",
        "  1 │o",
        "    └─────",
        "     1 100",
        "     o a   · fit",
    ]


def test_zeros_have_no_place_on_a_logarithmic_axis():
    assert plot([Series(name="a", x=[1, 2], y=[0, 0])], frame(y_log=True)) == [
        "t: no plot, every number is zero, which has no place on a logarithmic axis"
    ]
    assert plot([], frame()) == ["t: no plot, there is nothing to draw"]


def test_one_point_stands_in_the_middle():
    assert plot([Series(name="a", x=[5], y=[7])], frame())[2] == "   7 │    o"


def test_names_cannot_move_the_cursor():
    found = plot([Series(name="a\x1b[2J\n", x=[1], y=[1])], frame(title="\x1b[31mt"))
    assert (found[0], found[-1].strip()) == ("t", "o a")


def test_scaling_has_units_and_the_fit():
    found = scaling([("tapegrad", fit("total", [10, 100, 1000], [1e3, 1e4, 1e5]))], "poly, total", "operations")
    assert (found[0], found[1][:10], found[-1].strip()) == ("poly, total", " 100 µs │ ", "o tapegrad   · fit")
    assert found[-2].split() == ["10", "operations", "1.00", "k"]


def test_history_marks_where_a_level_begins():
    found = history(["mon", "tue", "wed"], [Series(name="total", x=[0, 1, 2], y=[10, 10, 20])], "h", units.time, [2])
    width = len(found[-5].split("└")[1])
    assert width == 64
    assert found[-4].endswith("^")
    assert found[-4].index("^") == found[1].index("o")
    assert found[-3].split() == ["mon", "wed"]
    assert found[-1] == "^ a new level begins: wed"


def test_a_history_without_changes_is_only_the_plot():
    found = history(["mon", "tue"], [Series(name="total", x=[0, 1], y=[10, 20])], "h", units.time)
    assert found[-1].strip() == "o total"
