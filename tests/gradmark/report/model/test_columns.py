"""Columns: made from the registry, shared where titles are, with a legend for every mark and every gap."""

from typing import Any

import pytest
from oracles.watched import all_watched, never_calm

from gradmark.records import Accuracy, Instructions, Memory, Number, TapeSize
from gradmark.records.metric import REGISTRY, metric
from gradmark.report.model.columns import all_columns, cells, columns, interval_text, legend, median_text

TIMES = "times: fastest block (no pilots)"
SPREAD = "spread: half the width of the time's interval (95 % from six processes on, else the range)"
COMPUTED = "~ computed as total − the other part"


def test_the_text_of_a_row(make: Any) -> None:
    texts = cells(make.row())
    cell = make.row().cell
    of_others = {c.key for c in all_columns() if c.metrics and not any(metric(m).is_of(cell) for m in c.metrics)}
    assert {texts.pop(key) for key in of_others} == {""}
    assert texts == {
        "workload": "poly/n=10",
        "shape": "",
        "engine": "tapegrad",
        "mode": "",
        "primal": "1.00 µs",
        "forward": "2.00 µs",
        "backward": "500 ns",
        "total": "2.50 µs",
        "spread": "n/a",
        "backward_forward": "0.25",
        "gradient_primal": "2.50",
        "operations_per_s": "8.00 M",
        "flops_per_s": "",
        "allocations": "0",
        "peak_bytes": "4.00 KiB",
        "retained_bytes": "",
        "tape_instructions": "20",
        "instructions": "n/a",
        "error_ulps": "0.50 ulp",
        "first_call": "7.00 µs",
    }


def test_metrics_of_one_title_share_a_column() -> None:
    shared = {column.header: column.metrics for column in all_columns() if len(column.metrics) > 1}
    assert shared == {
        "rate": ["flops_per_s", "bytes_per_s"],
        "tape": ["tape_instructions", "tape_bytes"],
        "error": ["error_ulps", "gradient_error"],
    }


def test_every_metric_with_a_rank_has_a_column() -> None:
    shown = [name for column in all_columns() for name in column.metrics]
    assert sorted(shown) == sorted(entry.name for entry in REGISTRY if entry.rank is not None)


def test_what_is_computed_is_marked(make: Any) -> None:
    times = {"primal": 1000.0, "forward": 2000.0, "total": 2500.0}
    text = cells(make.row(make.measurement(samples=[make.sample(times=times)])))
    assert {key for key, value in text.items() if value.startswith("~")} == {"backward", "backward_forward"}
    assert text["backward"] == "~500 ns"


def test_errors_and_tapes_in_the_unit_that_is_known(make: Any) -> None:
    relative = Accuracy(reference="differences", relative_error=1.25e-7, tolerance=1e-5)
    text = cells(make.row(make.measurement(accuracy=relative, tape=TapeSize(saved_bytes=2048))))
    assert (text["error_ulps"], text["tape_instructions"]) == ("1.2e-07", "2.00 KiB")


def test_the_spread_of_several_processes(make: Any) -> None:
    row = make.row(make.measurement(samples=make.totals(1000.0, 1400.0, 1300.0)))
    assert cells(row)["spread"] == "±15 %"


def test_a_failed_row_has_words_and_no_numbers(make: Any) -> None:
    text = cells(make.row(make.measurement(status="out-of-memory")))
    assert {key: value for key, value in text.items() if value} == {
        "workload": "poly/n=10",
        "engine": "tapegrad",
        "total": "out of memory",
    }


def test_a_wrong_gradient_shows_its_error(make: Any) -> None:
    wrong = Accuracy(reference="mpmath", relative_error=0.1, tolerance=1e-9)
    text = cells(make.row(make.failed("wrong-gradient", accuracy=wrong)))
    assert (text["total"], text["error_ulps"]) == ("wrong gradient", "1.0e-01")


# --- which columns are shown


def keys(*rows: Any, **options: Any) -> list[str]:
    return [column.key for column in columns(rows, **options)]


def test_columns_that_say_nothing_are_left_out(make: Any) -> None:
    plain = keys(make.row())
    assert {"engine", "spread", "instructions", "shape", "flops_per_s", "retained_bytes"} & set(plain) == set()
    more = keys(
        make.row(make.measurement(make.cell(engine="other"), instructions=Instructions(total=1e6))),
        make.row(make.measurement(samples=make.totals(2500.0, 2500.0))),
    )
    assert set(more) - set(plain) == {"engine", "spread", "instructions"}


def test_a_status_is_shown_whatever_else_there_is(make: Any) -> None:
    assert keys(make.row(make.failed("crash"))) == ["workload", "total"]
    only_evaluates = make.row(make.measurement(make.cell(engine="numpy"), samples=[make.sample(times={"primal": 9.0})]))
    assert "total" not in keys(only_evaluates)
    assert "total" in keys(only_evaluates, make.row(make.failed("crash")))
    assert keys() == []


def test_numbers_of_a_failed_row_bring_no_empty_column(make: Any) -> None:
    assert keys(make.row(make.measurement(status="crash"))) == ["workload", "total"]


def test_primal_stays_where_it_is_the_only_time(make: Any) -> None:
    def rank(row: Any) -> int:
        return next(column.rank for column in columns([row]) if column.key == "primal")

    assert rank(make.row()) > 0
    assert rank(make.row(make.measurement(samples=[make.sample(times={"primal": 1000.0})]))) == 0


def test_kinds_of_workloads_have_their_own_columns(make: Any) -> None:
    scalar, tensor = make.row(), make.row(make.tensor())
    of_tensors = {"flops_per_s", "retained_bytes", "shape"}
    assert set(keys(tensor)) - set(keys(scalar)) == of_tensors
    assert set(keys(scalar)) - set(keys(tensor)) == {"operations_per_s"}
    together = cells(scalar, columns([scalar, tensor]))
    assert {together[key] for key in of_tensors} == {""}  # nothing is missing there


def test_phases_that_engines_declare_come_after_total(make: Any) -> None:
    replay = make.row(make.measurement(samples=[make.sample(times={"total": 2500.0, "replay": 70.0})]))
    found = keys(replay, make.row())
    assert found[found.index("total") + 1] == "replay"
    assert cells(replay, columns([replay]))["replay"] == "70 ns"
    assert "n/a replay (poly/n=3): the engine does not have this phase" in explained(
        replay, make.row(make.measurement(make.cell(n=3)))
    )


# --- medians, on demand


def test_medians_are_shown_on_demand(make: Any) -> None:
    row = make.row(make.measurement(samples=make.totals(1000.0, 1400.0, 1300.0)))
    assert "median" not in keys(row)
    found = keys(row, medians=True)
    assert found[found.index("total") + 1] == "median"
    text = cells(row, columns([row], medians=True))
    assert (text["total"], text["median"]) == ("1.00 µs", "1.30 µs (range 1.00 µs to 1.40 µs)")


@pytest.mark.parametrize(
    ("processes", "coverage", "text"),
    [
        (1, None, "2.00 µs"),
        (2, 0.5, "2.00 µs (range 1.00 µs to 3.00 µs)"),
        (5, 0.9375, "2.00 µs (range 1.00 µs to 3.00 µs)"),
        (6, 0.96875, "2.00 µs (1.00 µs to 3.00 µs, 97 %)"),
        (10, 0.978515625, "2.00 µs (1.00 µs to 3.00 µs, 98 %)"),
    ],
)
def test_an_interval_states_its_coverage_and_a_range_is_called_one(
    processes: int, coverage: float | None, text: str
) -> None:
    number = Number(value=900.0, processes=processes, median=2000.0, low=1000.0, high=3000.0, coverage=coverage)
    assert median_text(number) == text


def test_a_computed_number_has_no_median() -> None:
    assert median_text(Number(value=900.0, how="derived", processes=5)) == "n/a"
    assert interval_text(Number(value=900.0, processes=1, median=1.0, low=1.0, high=1.0)) == "one process"


# --- the legend


def explained(*rows: Any, **options: Any) -> list[str]:
    return legend(rows, columns(rows, **options))


def test_the_legend_explains_what_is_shown(make: Any) -> None:
    assert explained(make.row()) == [TIMES]
    watched = make.row(all_watched(make.measurement()))
    assert explained(watched) == ["times: measured in calm moments, at one clock speed"]
    calm = make.row(make.measurement(samples=make.totals(1000.0, 1010.0)))
    assert explained(calm) == [TIMES, SPREAD]
    wild = make.row(make.measurement(samples=make.totals(1000.0, 1500.0)))
    assert explained(calm, wild) == [TIMES, f"{SPREAD}; unsteady beyond ±10 %"]
    assert explained(calm, medians=True) == [
        TIMES,
        SPREAD,
        "median: over processes, with its interval; a range if there are too few processes for 95 %",
    ]
    computed = make.row(make.measurement(samples=[make.sample(times={"forward": 100.0, "total": 300.0})]))
    assert explained(computed)[:2] == [TIMES, COMPUTED]
    assert explained(make.row(make.failed("crash"))) == []
    assert explained() == []


def test_the_legend_gathers_numbers_that_are_missing_for_one_reason(make: Any) -> None:
    full = make.row(make.measurement(make.cell(engine="a")))
    without = make.measurement(make.cell(engine="b"), memory=Memory(reason="memray is not installed"), tape=None)
    assert explained(full, make.row(without), make.row(make.failed("crash")))[1:] == [
        "n/a allocs, peak (b): memray is not installed",
        "n/a tape (b): the engine does not report it",
    ]


def test_the_legend_says_where_if_not_everywhere(make: Any) -> None:
    def row(engine: str, n: int, missing: bool) -> Any:
        return make.row(make.measurement(make.cell(engine=engine, n=n), **({"tape": None} if missing else {})))

    engines = explained(row("a", 1, False), row("b", 1, True), row("b", 2, True), row("c", 1, True))
    assert engines[1:] == ["n/a tape (b, c): the engine does not report it"]
    assert explained(row("a", 1, False), row("a", 2, True))[1:] == [
        "n/a tape (poly/n=2): the engine does not report it"
    ]


def test_the_legend_is_silent_on_columns_that_are_not_shown(make: Any) -> None:
    rows = [make.row(make.measurement(tape=None)), make.row(make.measurement(make.cell(n=3)))]
    shown = [column for column in columns(rows) if column.key != "tape_instructions"]
    assert all("tape" not in line for line in legend(rows, shown))


# --- tensors


def test_the_text_of_a_tensor_row(make: Any) -> None:
    text = cells(make.row(make.tensor()))
    assert {
        "workload": "mlp/batch=128",
        "shape": "128×784",
        "operations_per_s": "",
        "flops_per_s": "4.00 GFLOP/s",
        "peak_bytes": "4.00 KiB",
        "retained_bytes": "2.00 KiB",
        "tape_instructions": "20",
        "error_ulps": "2.0e-07",
    }.items() <= text.items()


def test_traffic_is_shown_where_there_are_no_flops(make: Any) -> None:
    assert cells(make.row(make.tensor(flops=None, bytes=5e3)))["flops_per_s"] == "2.00 GB/s"
    assert cells(make.row(make.tensor(flops=1e4, bytes=5e3)))["flops_per_s"] == "4.00 GFLOP/s"
    assert cells(make.row(make.tensor(flops=None)))["flops_per_s"] == "n/a"


def test_unusual_dtypes_and_devices_are_in_the_name(make: Any) -> None:
    def name(**fields: str) -> str:
        return cells(make.row(make.tensor(make.tensor_cell(**fields))))["workload"]

    assert name(dtype="float64") == "mlp/batch=128/dtype=float64"
    assert name(device="cuda") == "mlp/batch=128/device=cuda"


def test_the_legend_says_why_a_rate_is_missing(make: Any) -> None:
    lines = explained(make.row(make.tensor()), make.row(make.tensor(make.tensor_cell("sum"), flops=None)))
    assert lines[1:] == ["n/a rate (sum/batch=128): the workload does not declare its flops"]


def test_times_of_a_machine_that_was_never_calm_are_marked(make: Any) -> None:
    times = {"forward": 2000.0, "total": 2500.0}
    calm, slow = make.row(), make.row(never_calm(make.measurement(samples=[make.sample(times=times)])))
    shown = [
        column for column in columns([calm, slow]) if column.key in ("forward", "backward", "total", "allocations")
    ]
    assert list(cells(slow, shown).values()) == ["2.00 µs?", "~500 ns?", "2.50 µs?", "0"]
    assert legend([calm, slow], shown) == [
        "times: measured in calm moments, at one clock speed (no pilots: fastest block)",
        COMPUTED,
        "? the machine was never calm while this was timed, so it decides nothing",
    ]


def test_the_mode_is_shown_where_a_derivative_is_no_gradient(make: Any) -> None:
    gradient = make.row(make.measurement(mode="rev"))
    product = make.row(make.measurement(make.cell(derivative="hvp"), mode="fwd-over-rev"))
    assert "mode" not in [column.key for column in columns([gradient])]
    shown = columns([gradient, product])
    assert [cells(row, shown)["mode"] for row in (gradient, product)] == ["rev", "fwd-over-rev"]
    texts = {column.key: [cells(row, [column])[column.key] for row in (gradient, product)] for column in shown}
    assert (texts["gradient_primal"], texts["derivative_primal"]) == (["2.50", ""], ["", "2.50"])
    assert texts["theory"] == ["", "10.0"]
