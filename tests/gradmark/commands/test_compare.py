"""`gradmark compare`: two kept runs on the terminal, readable in 80 columns."""

import msgspec
import pytest
from oracles.watched import all_watched, never_calm

from gradmark.records import Cell, Environment, Measurement, Memory, Phase, Run, Sample, Settings
from gradmark.store import runs

HERE = Environment(cpu="c", cores=2, memory_bytes=1, os="o", python="p", packages={})
FIVE = [1000.0, 1010.0, 1020.0, 1030.0, 1040.0]


def measured(workload, factor=1.0, processes=5, allocations=0.0, file=None, engine="tapegrad:program", **params):
    samples = [
        Sample(process=k, phases={"total": Phase(iterations=1, block_ns=[factor * ns])}, once_ns={}, harness_ns=0.0,
               clock_ns=1.0)
        for k, ns in enumerate(FIVE[:processes])
    ]  # fmt: skip
    return Measurement(
        cell=Cell(engine=engine, workload=workload, suite="s", params=params, file=file),
        status="ok" if samples else "crash",
        samples=samples,
        memory=Memory(allocations=allocations),
    )


@pytest.fixture
def compared(gradmark, tmp_path):
    """The printed comparison of two lists of measurements."""

    def call(old, new, *options, sources=({}, {})):
        for name, rows, digests in (("old", old, sources[0]), ("new", new, sources[1])):
            run = Run(
                id=name,
                started=f"2026-01-0{1 + (name == 'new')}T00:00:00+00:00",
                environment=HERE,
                settings=Settings(),
                measurements=rows,
                sources=digests,
            )
            runs.save(run, runs.path_of(run, tmp_path))
        called = gradmark("compare", "old", "new", "--store", tmp_path, *options)
        assert called.code == 0, called.err
        return called.out.splitlines()

    return call


LEGEND = [
    "Times: fastest block (no pilots).",
    "Change: new / old. Slower, faster: the change, and the typical change of a",
    "process, are beyond 5 % (7 % with fewer than 10 processes), and an exact",
    "Mann-Whitney test of all processes gives p ≤ 0.05.",
]


def test_all_that_is_said_of_rows(compared):
    name = {"batch": 2, "length": 16, "width": 64}
    old = [
        measured("poly", n=1000),
        measured("same"),
        measured("transformer_block", **name),
        measured("few", processes=3),
        measured("gone"),
        measured("broken"),
    ]
    new = [
        measured("poly", 1.25, n=1000, allocations=12.0),
        measured("same", 1.01),
        measured("transformer_block", 0.5, **name),
        measured("few", 2.0, processes=3),
        measured("broken", processes=0),
    ]
    lines = compared(old, new)
    assert lines == [
        "old old  2026-01-01T00:00:00+00:00",
        "new new  2026-01-02T00:00:00+00:00",
        "machine not known: neither run has pilots",
        "",
        "                                        old        new    change",
        "poly/n=1000@tapegrad:program        1.00 µs    1.25 µs   +25.0 %   slower",
        "    typical change of a process +25.0 % (97 % interval +21.4 % to +28.7 %)",
        "    p = 0.0079, 5 processes each",
        "    allocations: 0 → 12",
        "same@tapegrad:program               1.00 µs    1.01 µs    +1.0 %   no difference",
        "transformer_block/batch=2/length=16/width=64@tapegrad:program",
        "                                    1.00 µs     500 ns   -50.0 %   faster",
        "    typical change of a process -50.0 % (97 % interval -51.4 % to -48.5 %)",
        "    p = 0.0079, 5 processes each",
        "few@tapegrad:program                1.00 µs    2.00 µs  +100.0 %   undecided",
        "    3 calm processes in a run; 4 or more can decide",
        "    typical change of a process +100.0 % (range +96.1 % to +104.0 %)",
        "    p = 0.1, 3 processes each",
        "gone@tapegrad:program                                              not in both",
        "    the newer run does not have it",
        "broken@tapegrad:program                                            undecided",
        "    no time in both: ok, then crash",
        "    status: ok → crash",
        "",
        "1 slower, 1 no difference, 1 faster, 2 undecided, 1 not in both",
        *LEGEND,
        "Interval: the typical change of a process (Hodges-Lehmann).",
    ]
    assert max(map(len, lines)) <= 80


def test_only_what_changed(compared):
    old, new = [measured("same"), measured("slow")], [measured("same"), measured("slow", 2.0)]
    lines = compared(old, new, "--changed")
    assert not any(line.startswith("same") for line in lines)
    assert any(line.startswith("slow") for line in lines)
    assert "1 no difference, 1 slower" in lines


def test_runs_of_another_length_use_all_their_processes(compared):
    lines = compared([measured("w")], [measured("w", 2.0, processes=4)])
    assert "    p = 0.016, 5 and 4 processes" in lines
    lines = compared([measured("w", processes=1)], [measured("w", 2.0, processes=1)])
    assert "    p = 1, 1 process each" in lines


def test_empty_runs(compared):
    assert compared([], [])[-1] == "Both runs are empty."


def test_the_interval_is_explained_only_where_one_is_shown(compared):
    few = [measured("few", processes=3)], [measured("few", 2.0, processes=3)]
    assert compared(*few)[-len(LEGEND) :] == LEGEND
    assert compared([measured("same")], [measured("same")])[-len(LEGEND) :] == LEGEND


def test_rows_of_one_name_from_two_files_name_the_file(compared):
    rows = [measured("f", file="/a.py"), measured("f", file="/b.py"), measured("g", file="/b.py")]
    text = "\n".join(compared(rows, rows))
    assert "\ng@tapegrad:program  " in text
    assert "f@tapegrad:program of /a.py" in text
    assert "f@tapegrad:program of /b.py" in text


def test_an_edited_function_is_another_function(compared):
    rows = [measured("f", file="/there/a.py"), measured("g", file="/there/b.py")]
    lines = compared(
        rows, rows, sources=({"/there/a.py": "1", "/there/b.py": "2"}, {"/there/a.py": "9", "/there/b.py": "2"})
    )
    assert [line for line in lines if line.startswith("differs")] == [
        "differs f: /there/a.py was edited in between",
    ]
    assert not any(line.startswith("differs") for line in compared(rows, rows))


def test_functions_of_one_name_in_two_files_are_told_apart(compared):
    lines = compared([measured("f", file="/there/a.py")], [measured("f", file="/there/b.py")])
    assert "differs f: two files, /there/a.py and /there/b.py; not compared" in lines
    assert [line.split(" ")[0] for line in lines if "@" in line] == ["f@tapegrad:program"] * 2
    assert "2 not in both" in lines


def test_an_edited_engine_is_said(compared):
    rows = [measured("f", engine="mine:Engine")]
    lines = compared(rows, rows, sources=({"/there/mine.py": "1"}, {"/there/mine.py": "2"}))
    assert "differs /there/mine.py was edited in between" in lines


def test_without_arguments_the_latest_is_compared_with_the_one_before_it_that_has_some_of_the_same(
    gradmark, compared, tmp_path
):
    def kept(name, started, *rows):
        run = Run(id=name, started=f"2026-01-0{started}T00:00:00+00:00", environment=HERE, settings=Settings(),
                  measurements=list(rows))  # fmt: skip
        runs.save(run, runs.path_of(run, tmp_path))

    kept("20260101", 1, measured("same"))
    kept("20260102", 2, measured("another"))
    kept("20260103", 3, measured("same", engine="other"))
    kept("20260104", 4, measured("same", 2.0))
    called = gradmark("compare", "--store", tmp_path)
    assert [line.split()[1] for line in called.out.splitlines()[:2]] == ["20260101", "20260104"]
    assert called.code == 0
    called = gradmark("compare", "previous", "20260102", "--store", tmp_path)
    assert (called.code, "no older run in" in called.err) == (2, True)


def test_a_run_is_not_compared_with_itself(gradmark, compared, tmp_path):
    """Seen: `compare latest` found no difference, to nobody's surprise."""
    compared([measured("w")], [measured("w")])
    for names in (["old", "old"], ["latest"], ["old"], [tmp_path / "old.jsonl", "latest"]):
        called = gradmark("compare", *names, "--store", tmp_path)
        assert (called.code, called.out) == (2, "")
        assert called.err.startswith("gradmark: OLD and NEW are the same run (old); name two runs")
    assert gradmark("compare", "new", "--store", tmp_path).code == 0
    assert "NEW defaults to `latest`" in " ".join(gradmark("compare", "--help").out.split())


def test_unlike_runs_are_told_apart_in_words_and_not_judged(gradmark, compared, tmp_path):
    """Seen: `unlike  full: False, True`."""
    compared([measured("w")], [measured("w", 2.0), measured("v")])
    new = runs.load(tmp_path / "new.jsonl")
    other = msgspec.structs.replace(
        new,
        id="other",
        environment=msgspec.structs.replace(HERE, python="another"),
        settings=Settings(full=True),
    )
    runs.save(other, tmp_path / "other.json")
    lines = gradmark("compare", "old", "other", "--store", tmp_path).out.splitlines()
    assert lines[2:6] == [
        "unlike  python: p, another",
        "unlike  old is quick, new is --full",
        "machine not known: neither run has pilots",
        "Times from different machines or settings are shown, but not judged.",
    ]
    assert "1 not judged, 1 not in both" in lines


def test_machines_of_two_classes_show_ratios_and_no_times(gradmark, compared, tmp_path):
    compared([measured("w", 1.0, engine="a"), measured("w", 2.0, engine="b"), measured("v")], [])
    old = runs.load(tmp_path / "old.jsonl")
    new = msgspec.structs.replace(
        old,
        id="new",
        environment=msgspec.structs.replace(HERE, cpu="another"),
        measurements=[measured("w", 4.0, engine="a"), measured("w", 10.0, engine="b")],
    )
    runs.save(new, tmp_path / "newer.json")
    called = gradmark("compare", "old", tmp_path / "newer.json", "--store", tmp_path)
    assert called.code == 0
    assert [" ".join(line.split()) for line in called.out.splitlines() if "@" in line] == [
        "w@a 1 × 1 × +0.0 % × a",
        "w@b 2 × 2.5 × +25.0 % × a",
        "v@tapegrad:program n/a n/a n/a the newer run does not have it",
    ]
    assert " ns" not in called.out
    assert " µs" not in called.out


def test_a_run_that_is_not_there(gradmark, tmp_path):
    called = gradmark("compare", "nothing", "--store", tmp_path)
    assert called.code == 2
    assert "no run in" in called.err


@pytest.mark.parametrize(
    ("old_ns", "new_ns", "said"),
    [
        (10.0, 10.4, "machine 4 % slower in the new run, as its pilots (short fixed work) show"),
        (10.0, 9.2, "machine 8 % faster in the new run, as its pilots (short fixed work) show"),
        (10.0, 10.02, "machine equally fast in both runs: its pilots agree within 0.5 %"),
        (None, 10.0, "machine not known: the old run lacks pilots"),
        (10.0, None, "machine not known: the new run lacks pilots"),
    ],
)
def test_what_the_machine_did(compared, old_ns, new_ns, said):
    def row(factor, core_ns):
        one = measured("w", factor)
        return one if core_ns is None else all_watched(one, core_ns=core_ns)

    lines = compared([row(1.0, old_ns)], [row(1.08, new_ns)])
    assert lines[2] == said
    reason = "    the machine itself was 4 % slower"
    assert (reason in lines) == (new_ns == 10.4)
    taken_off = "They must stay so when the machine's own change is taken out."
    assert (taken_off in lines) == ("fixed work" in said)
    without = " (no pilots: fastest block)" if None in (old_ns, new_ns) else ""
    assert f"Times: measured in calm moments, at one clock speed{without}." in lines
    assert max(map(len, lines)) <= 80


def test_a_machine_that_was_never_calm(compared):
    lines = compared([all_watched(measured("w"))], [never_calm(measured("w", 2.0))])
    assert lines[5:7] == [
        "w@tapegrad:program                  1.02 µs   2.04 µs?  +100.0 %   undecided",
        "    the machine was never calm in the newer run",
    ]
