import io
import re
from collections.abc import Sequence
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from gradmark.records import Memory
from gradmark.report.model.note import Note
from gradmark.report.model.suites import Table
from gradmark.report.tables.terminal import print_tables

TABLE = """\
scalar
                                                                                    grad/primal
workload   engine     primal  forward  backward           total  spread  bwd/fwd  (theory: ≤ 4)   ops/s  allocs      peak  tape     error  first call
─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
poly/n=10  tapegrad  1.00 µs  2.00 µs   ~500 ns         2.50 µs  ±0.0 %    ~0.25           2.50  8.00 M       0  4.00 KiB    20  0.50 ulp     7.00 µs
poly/n=10  null         4 ns      n/a       n/a             n/a     n/a      n/a            n/a     n/a     n/a       n/a   n/a  0.50 ulp     7.00 µs
poly/n=10  bad                                   wrong gradient
times: fastest block (no pilots)
spread: half the width of the time's interval (95 % from six processes on, else the range)
~ computed as total − the other part
n/a forward, backward, total, bwd/fwd, grad/primal, ops/s (null): the engine only evaluates
n/a spread (null): one process has no spread
n/a allocs, peak (null): not measured
n/a tape (null): the engine does not report it

info: A note."""  # noqa: E501  what is shown at 150 columns
FAILED = """\
scalar
workload      total
───────────────────
poly/n=10   crashed
poly/n=100  skipped
"""
HOSTILE = ["[red]x[/red]", "[/]", "[link=http://x]y[/link]", ":smile:", "[bold", "x" * 300, "多" * 60, "a b c " * 40]


def printed(tables: Sequence[Table], notes: Sequence[Note] = (), width: int = 120, *, colour: bool = False) -> str:
    out = io.StringIO()
    system = "standard" if colour else None
    print_tables(tables, notes, Console(width=width, file=out, force_terminal=colour, color_system=system))
    return out.getvalue()


def test_a_table(make: Any) -> None:
    times = {"primal": 1000.0, "forward": 2000.0, "total": 2500.0}
    tables = make.tables(
        make.measurement(samples=[make.sample(k, times) for k in range(2)]),
        make.measurement(
            make.cell(engine="null"), samples=[make.sample(times={"primal": 4.0})], tape=None, memory=None
        ),
        make.failed("wrong-gradient", cell=make.cell(engine="bad")),
    )
    lines = [line.rstrip() for line in printed(tables, [Note(level="info", text="A note.")], 150).splitlines()]
    assert "\n".join(lines) == TABLE


def test_no_line_is_wider_than_the_terminal_and_what_is_left_out_is_named(make: Any) -> None:
    tables = make.tables(*(make.measurement(make.cell(engine=engine)) for engine in ("tapegrad", "finite-difference")))
    left_out = {}
    for width in (40, 80, 120, 200):
        text = printed(tables, [Note(level="warning", text="word " * 100)], width)
        assert max(cell_len(line) for line in text.splitlines()) <= width
        words = " ".join(text.split())
        _, _, rest = words.partition("hidden columns (narrow terminal): ")
        left_out[width] = rest.partition(";")[0]
        assert ("; `--format csv` has all" in words) == bool(rest)
    assert left_out == {
        40: "first call, tape, peak, ops/s, bwd/fwd, primal, grad/primal, error, allocs, forward",
        80: "first call, tape, peak, ops/s, bwd/fwd, primal, grad/primal",
        120: "first call, tape, peak",
        200: "",
    }


@pytest.mark.parametrize("width", [1, 10, 20])
def test_a_terminal_can_be_absurdly_narrow(make: Any, width: int) -> None:
    assert printed(make.tables(make.measurement()), width=width)


def test_the_names_of_engines_fold_between_their_parts(make: Any) -> None:
    """Seen: `tapegrad:recordi` and, on the next line, `ng-constants`."""
    engines = ("tapegrad", "tapegrad:recording-constants")
    text = printed(make.tables(*(make.measurement(make.cell(engine=engine)) for engine in engines)), width=80)
    assert [line.split()[1] for line in text.splitlines() if line.startswith("poly")] == ["tapegrad", "tapegrad:"]
    assert [line.strip() for line in text.splitlines() if "recording" in line or "constants" in line] == [
        "recording-", "constants",
    ]  # fmt: skip


def test_nothing_measured() -> None:
    assert printed([]) == "Nothing was measured. `gradmark list` shows what there is.\n"


def test_only_failed_cells(make: Any) -> None:
    tables = make.tables(make.failed("crash", "SIGSEGV"), make.failed("skipped", cell=make.cell(n=100)))
    assert printed(tables, width=80) == FAILED + "\n"


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("width", [80, 200])
def test_names_are_shown_as_they_are(make: Any, name: str, width: int) -> None:
    tables = make.tables(
        make.measurement(make.cell(name, f"{name}1", suite=name)),
        make.failed("error", name, make.cell(name, f"{name}2", suite=name)),
    )
    text = printed(tables, [Note(level="warning", text=name)], width)
    assert max(cell_len(line) for line in text.splitlines()) <= width
    whole = "".join(text.split())
    assert whole.startswith("".join(name.split()))
    assert f"warning:{''.join(name.split())}" in whole


def test_names_move_no_cursor(make: Any) -> None:
    name = "\x1b[2Jx\x07\x9b31my\r\u202e"
    tables = make.tables(make.measurement(make.cell(name, name, suite=name)))
    text = printed(tables, [Note(level="info", text=name)])
    assert not set(text) & set("\x1b\x07\x9b\r\u202e")
    assert "info: xy" in text


def test_colour_says_nothing_that_the_text_does_not(make: Any) -> None:
    tables = make.tables(make.measurement(memory=Memory(reason="no memray")), make.failed("crash", cell=make.cell(n=9)))
    coloured = printed(tables, colour=True)
    assert "\x1b[31m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == printed(tables)


def test_the_answers_come_last(make: Any) -> None:
    out = io.StringIO()
    console = Console(width=120, file=out)
    print_tables(make.tables(make.measurement()), [Note(level="info", text="A note.")], console, ["poly: [b]a[/b]."])
    assert out.getvalue().splitlines()[-3:] == ["info: A note.", "", "poly: [b]a[/b]."]


def test_medians_on_demand(make: Any) -> None:
    tables = make.tables(make.measurement(samples=make.totals(1000.0, 1400.0, 1300.0)))
    out = io.StringIO()
    print_tables(tables, [], Console(width=200, file=out), medians=True)
    assert "1.30 µs (range 1.00 µs to 1.40 µs)" in out.getvalue()
    assert "median" not in printed(tables, width=200)


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("rosenbrock/n=10/derivative=hvp", ["rosenbrock/n=10/derivative=hvp"]),
        ("broyden/n=10/derivative=sparse-jacobian", ["broyden/n=10/", "  derivative=sparse-jacobian"]),
        (
            "transformer/batch=2/length=16/width=64/derivative=hvp",
            ["transformer/batch=2/length=16/", "  width=64/derivative=hvp"],
        ),
    ],
)
def test_long_names_fold_between_their_parts(make: Any, name: str, lines: list[str]) -> None:
    workload, *sizes = name.split("/")
    derivative = sizes.pop().partition("=")[2]
    params = {key: int(value) for key, value in (size.split("=") for size in sizes)}
    cell = make.cell(workload=workload, params=params, derivative=derivative)
    table = printed(make.tables(make.failed("crash", cell=cell)), width=80).splitlines()
    assert table[3].split() == [lines[0], "crashed"]
    assert [line.rstrip() for line in table[4 : 3 + len(lines)]] == lines[1:]
