from typing import Any

from gradmark.records import Accuracy, Instructions, Memory, TapeSize
from gradmark.report.model.columns import cells, columns, legend


def test_the_text_of_a_row(make: Any) -> None:
    assert cells(make.row()) == {
        "workload": "poly/n=10",
        "shape": "",
        "dtype": "float64",
        "device": "cpu",
        "engine": "tapegrad",
        "primal": "1.00 µs",
        "forward": "2.00 µs",
        "backward": "500 ns",
        "total": "2.50 µs",
        "spread": "",
        "ratio": "0.25",
        "gradient_ratio": "2.50",
        "operations_per_s": "8.00 M",
        "rate": "",
        "allocations": "0",
        "peak_bytes": "4.00 KiB",
        "retained_bytes": "",
        "tape": "20",
        "instructions": "n/a",
        "error": "0.50 ulp",
    }


def test_what_comes_from_derived_numbers_is_marked(make: Any) -> None:
    text = cells(make.row(make.measurement(samples=[make.sample(derived=["backward"])])))
    marked = {key for key, value in text.items() if value.startswith("~")}
    assert marked == {"backward", "ratio"}
    assert text["backward"] == "~500 ns"


def test_a_missing_number_is_not_marked(make: Any) -> None:
    measurement = make.measurement(samples=[make.sample(derived=["backward"])])
    assert cells(make.row(measurement, ratio=None))["ratio"] == "n/a"


def test_errors_and_tapes_in_the_unit_that_is_known(make: Any) -> None:
    relative = Accuracy(reference="differences", relative_error=1.25e-7, tolerance=1e-5)
    text = cells(make.row(make.measurement(accuracy=relative, tape=TapeSize(saved_bytes=2048))))
    assert (text["error"], text["tape"]) == ("1.2e-07", "2.00 KiB")


def test_an_unsteady_row_shows_its_spread(make: Any) -> None:
    assert cells(make.row(steady=False, phases={"total": make.estimate(100.0, high=140.0)}))["spread"] == "±40 %"
    assert cells(make.row(steady=False, phases={}))["spread"] == "±"


def test_a_failed_row_has_words_and_no_numbers(make: Any) -> None:
    text = cells(make.row(make.failed("out-of-memory", samples=[make.sample()])))
    assert {key: value for key, value in text.items() if value} == {
        "workload": "poly/n=10",
        "dtype": "float64",
        "device": "cpu",
        "engine": "tapegrad",
        "total": "out of memory",
    }


def test_a_wrong_gradient_shows_its_error(make: Any) -> None:
    wrong = Accuracy(reference="mpmath", relative_error=0.1, tolerance=1e-9)
    text = cells(make.row(make.failed("wrong-gradient", accuracy=wrong)))
    assert (text["total"], text["error"]) == ("wrong gradient", "1.0e-01")


def test_columns_that_say_nothing_are_left_out(make: Any) -> None:
    plain = [column.key for column in columns([make.row()])]
    assert {"engine", "spread", "instructions"} & set(plain) == set()
    rows = [
        make.row(make.measurement(make.cell(engine="other"), instructions=Instructions(total=1e6))),
        make.row(steady=False),
    ]
    assert {column.key for column in columns(rows)} - set(plain) == {"engine", "spread", "instructions"}


def test_failed_rows_alone_need_no_numbers(make: Any) -> None:
    assert [column.key for column in columns([make.row(make.failed("crash"))])] == ["workload", "total"]
    assert columns([]) == []


def test_primal_stays_where_it_is_the_only_time(make: Any) -> None:
    def rank(row: Any) -> int:
        return next(column.rank for column in columns([row]) if column.key == "primal")

    assert rank(make.row()) > 0
    assert rank(make.row(make.measurement(samples=[make.sample(times={"primal": 1000.0})]))) == 0


def explained(*rows: Any) -> list[str]:
    return legend(rows, columns(rows))


def test_the_legend_explains_what_is_shown(make: Any) -> None:
    floors = "times are medians; ratios and rates are of the fastest blocks"
    assert explained(make.row()) == [floors]
    derived = make.measurement(samples=[make.sample(derived=["backward"])])
    assert explained(make.row(derived, steady=False)) == [
        "~ derived, not timed by itself: backward is total less forward",
        "± unsteady: how far the least steady phase strays from its median",
        floors,
    ]
    assert explained(make.row(make.failed("crash"))) == []
    assert explained() == []


def test_the_legend_gathers_numbers_that_are_missing_for_one_reason(make: Any) -> None:
    without = make.measurement(memory=Memory(reason="memray is not installed"), tape=None)
    assert explained(make.row(without), make.row(make.failed("crash")))[1:] == [
        "n/a allocs, peak: memray is not installed",
        "n/a tape: the engine does not say",
    ]


def test_the_legend_says_where_if_not_everywhere(make: Any) -> None:
    def row(engine: str, n: int, missing: bool) -> Any:
        return make.row(make.measurement(make.cell(engine=engine, n=n), **({"tape": None} if missing else {})))

    engines = explained(row("a", 1, False), row("b", 1, True), row("b", 2, True), row("c", 1, True))
    assert engines[1:] == ["n/a tape (b, c): the engine does not say"]
    assert explained(row("a", 1, False), row("a", 2, True))[1:] == ["n/a tape (poly/n=2): the engine does not say"]


def test_the_legend_is_silent_on_columns_that_are_not_shown(make: Any) -> None:
    row = make.row(make.measurement(tape=None))
    shown = [column for column in columns([row]) if column.key != "tape"]
    assert all("tape" not in line for line in legend([row], shown))


def test_the_text_of_a_tensor_row(make: Any) -> None:
    text = cells(make.row(make.tensor()))
    assert [text[key] for key in ("workload", "shape", "dtype", "device")] == [
        "mlp/batch=128",
        "128×784",
        "float32",
        "cpu",
    ]
    assert [text[key] for key in ("operations_per_s", "rate", "peak_bytes", "retained_bytes", "tape", "error")] == [
        "",
        "4.00 GFLOP/s",
        "4.00 KiB",
        "2.00 KiB",
        "20",
        "2.0e-07",
    ]


def test_traffic_is_shown_where_there_are_no_flops(make: Any) -> None:
    assert cells(make.row(make.tensor(flops=None, bytes=5e3)))["rate"] == "2.00 GB/s"
    assert cells(make.row(make.tensor(flops=1e4, bytes=5e3)))["rate"] == "4.00 GFLOP/s"
    assert cells(make.row(make.tensor(flops=None)))["rate"] == "n/a"


def test_dtype_and_device_are_columns_only_if_there_are_several(make: Any) -> None:
    def keys(*kinds: tuple[str, str]) -> set[str]:
        rows = [make.row(make.tensor(make.cell(dtype=dtype, device=device))) for dtype, device in kinds]
        return {column.key for column in columns(rows)} & {"dtype", "device", "shape", "rate", "retained_bytes"}

    assert keys(("float32", "cpu")) == {"shape", "rate", "retained_bytes"}
    assert keys(("float32", "cpu"), ("float64", "cpu")) == {"shape", "rate", "retained_bytes", "dtype"}
    assert keys(("float32", "cpu"), ("float32", "gpu")) == {"shape", "rate", "retained_bytes", "device"}


def test_the_legend_says_why_a_rate_is_missing(make: Any) -> None:
    lines = explained(make.row(make.tensor()), make.row(make.tensor(make.cell(n=3), flops=None)))
    assert lines[1:] == ["n/a rate (poly/n=3): the workload does not declare its flops"]
