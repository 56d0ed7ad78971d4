"""Scripts under benchmarks/: one is named like a module of Python's; others judge how far numbers can be trusted."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from gradmark.records import FORMAT_VERSION, Cell, Environment, Measurement, Phase, Run, Sample, Settings
from gradmark.store import runs

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def test_other_scripts_get_pythons_own_statistics():
    code = (
        f"import sys; sys.path.insert(0, {str(BENCHMARKS)!r}); "
        "import gradmark.analyse.unpaired, statistics; assert statistics.median([1, 3, 2]) == 2"
    )
    called = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (called.returncode, called.stderr) == (0, "")


def test_the_recorded_times_are_of_many_processes_of_equal_cells():
    import json

    sessions = json.loads((BENCHMARKS / "data" / "shared_machine.json").read_text())["sessions"]
    assert len(sessions) >= 2
    assert {len(times) for session in sessions for times in session["cells"].values()} == {160}
    assert len({tuple(session["cells"]) for session in sessions}) == 1
    assert len(sessions[0]["cells"]) == 6


# --- how far numbers can be trusted: what the scripts say of runs that are known

CALM, SLOW = (100.0, 100.0), (100.0, 190.0)


@pytest.fixture
def script(monkeypatch):
    """Imports a script of the folder by its name."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module


def sample(number, blocks, pilots=CALM):
    core = [pilots] * len(blocks)
    phase = Phase(iterations=1, block_ns=blocks, pilots={"core": core}, reference={"core": 100.0})
    watched = {"calm": 3.0, "slow": 1.0}
    return Sample(process=number, phases={"total": phase}, once_ns={}, harness_ns=0.0, clock_ns=1.0, watched_ns=watched)


def run_of(times, started="2026-01-01T00:00:00+00:00", pilots=CALM):
    """A run whose cells have six processes of these times each."""
    measurements = [
        Measurement(
            cell=Cell(engine="tapegrad", workload=name, suite="scalar"),
            status="ok",
            samples=[sample(k, [ns * (1 + 0.001 * (k + block)) for block in range(4)], pilots) for k in range(6)],
        )
        for name, ns in times.items()
    ]
    machine = Environment(cpu="c", cores=2, memory_bytes=1, os="o", python="p", packages={})
    return Run(
        id=started,
        started=started,
        environment=machine,
        settings=Settings(),
        measurements=measurements,
        planned=[m.cell for m in measurements],
        finished=True,
        format_version=FORMAT_VERSION,
    )


def test_repeatability_is_the_largest_number_over_the_smallest(script, tmp_path, capsys):
    repeatability, measured_runs = script("repeatability"), script("measured_runs")
    for k, factor in enumerate((1.0, 1.02)):
        run = run_of({"poly": 1000.0, "tree": 500.0 * factor}, started=f"2026-01-0{k + 1}T00:00:00+00:00")
        runs.save(run, tmp_path / f"run-{k}.json")
    (tmp_path / measured_runs.WALL_TIMES).write_text("run-0.json,80.0\nrun-1.json,91.0\n")
    seen = repeatability.seen_in(list(measured_runs.load_all(tmp_path).values()))
    assert {cell: round(one.apart, 6) for cell, one in seen.items()} == {"poly@tapegrad": 0.0, "tree@tapegrad": 0.02}
    assert not repeatability.judge_folder(tmp_path)
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "run-0.json        80.0 s, calm  75% of the time, core pilot 100 ns"
    assert said[-3:] == [
        "KEPT      at least 95% of the cells within 3%: 2 of 2 over 2 runs",
        "KEPT      no cell beyond 8%: 0 are",
        "NOT KEPT  every run at most 90 s: the longest of 2 took 91.0 s",
    ]


def test_a_cell_that_lacks_a_number_in_one_run_is_not_repeatable(script):
    seen = script("repeatability").seen_in([run_of({"poly": 1000.0, "tree": 1.0}), run_of({"poly": 1000.0})])
    assert {cell: one.apart for cell, one in seen.items()} == {"poly@tapegrad": 0.0, "tree@tapegrad": float("inf")}
    assert seen["tree@tapegrad"].said == "lacking          1 ns"


def test_the_truth_is_the_calm_time_of_all_processes(script):
    truth = script("truth")
    long = run_of({"poly": 1000.0, "tree": 100.0})
    poly, tree = long.measurements
    poly.samples.append(sample(6, [900.0] * 4, pilots=SLOW))
    # Six processes of 1000 to 1005; the slow one does not count.
    found = truth.typical_of(poly)
    assert (round(found.value, 6), found.processes) == (1002.5, 6)
    assert truth.calm_floor_ns(poly) == 1000.0
    tree.samples[:] = [sample(0, [90.0] * 4, pilots=SLOW)]
    assert (truth.typical_of(tree), truth.calm_floor_ns(tree)) == (None, None)


def test_numbers_are_judged_by_the_calm_time_and_their_distance_to_the_floor_is_told(script, capsys):
    truth = script("truth")
    long = run_of({"poly": 1000.0, "tree": 100.0})
    long.measurements[1].samples[:] = [sample(0, [90.0] * 4, pilots=SLOW)]
    found = truth.distances(long, [run_of({"poly": 1010.0, "tree": 100.0}), run_of({"poly": 1032.0, "tree": 100.0})])
    assert list(found) == ["poly@tapegrad"]
    assert [round(share, 6) for share in found["poly@tapegrad"].to_typical] == [0.01, 0.032]
    assert [round(share, 6) for share in found["poly@tapegrad"].to_floor] == [0.012525, 0.03458]
    assert round(found["poly@tapegrad"].bias, 6) == 0.021
    assert not truth.judge(long, found)
    assert truth.judge(run_of({"poly": 1000.0}), truth.distances(run_of({"poly": 1000.0}), [run_of({"poly": 1010.0})]))
    assert capsys.readouterr().out.splitlines() == [
        "NOT KEPT  bias below 2% for 90% of the cells: 0 of 2",
        "          above the calm floor: +2.4% for the median cell, +2.4% at most",
        "KEPT      bias below 2% for 90% of the cells: 1 of 1",
        "          above the calm floor: +1.3% for the median cell, +1.3% at most",
    ]
    truth.show(long, found)
    assert capsys.readouterr().out.splitlines() == [
        f"{'         truth  within processes    bias  of the runs       to floor':68} cell",
        f"{'      1,002 ns   ±0.2%         6   +2.1%  +1.0% to +3.2%       +2.4%':68} poly@tapegrad",
        f"{'    never calm':68} tree@tapegrad",
    ]


def test_tools_are_judged_by_the_range_of_their_repetitions(script, capsys):
    beside = script("beside_others")
    said = [
        beside.Said("gradmark", cell, k, {"gradmark": ns}, 4.0)
        for cell, numbers in {"poly": (100.0, 101.0), "tree": (100.0, 102.0), "reuse": (100.0, 110.0)}.items()
        for k, ns in enumerate(numbers)
    ]
    found = beside.ranges([*said, beside.Said("timeit", "poly", 0, {"timeit": 3.0}, 1.0)])
    assert list(found) == ["timeit", "gradmark"]
    assert {cell: round(share, 6) for cell, share in found["gradmark"].items()} == {
        "poly": 0.01,
        "tree": 0.02,
        "reuse": 0.1,
    }
    assert not beside.judge(said)
    assert capsys.readouterr().out.splitlines() == [
        "KEPT      gradmark within 3% for the typical cell: 2.0%",
        "NOT KEPT  gradmark within 8% for each cell: at most 10.0%",
    ]


@pytest.mark.parametrize(
    ("times", "pilots", "said", "kept"),
    [
        ({"poly": 1010.0}, CALM, "+1.0%", [True, True]),
        ({"poly": 1040.0}, CALM, "+4.0%", [False, True]),
        ({"poly": 1500.0}, CALM, "+50.0%", [False, False]),
        ({"poly": 1010.0}, SLOW, "never calm", [True, True]),
        ({}, CALM, "no number", [False, True]),
    ],
)
def test_a_hog_may_not_move_a_number_that_says_it_was_calm(script, tmp_path, capsys, times, pilots, said, kept):
    hogs = script("hogs")
    runs.save(run_of({"poly": 1000.0}), tmp_path / "busy-01-without.json")
    runs.save(run_of(times, pilots=pilots), tmp_path / "busy-01-with.json")
    found = hogs.judge_pairs(tmp_path)
    assert found["busy"]["poly@tapegrad"].said == said
    capsys.readouterr()
    assert hogs.judge(found) == all(kept)
    assert [line.startswith("KEPT") for line in capsys.readouterr().out.splitlines()] == kept


def test_one_iteration_is_what_a_worker_times(script):
    one_iteration = script("one_iteration")
    assert one_iteration.cell_of("reuse@tapegrad:fresh").engine == "tapegrad:fresh"
    assert one_iteration.iteration("poly/n=10@tapegrad")() is None


@pytest.mark.slow
def test_starts_tell_what_the_gate_says_of_equal_and_of_slower_pairs(script):
    starts = script("starts")
    pairs = [(30e6 * (1 + 0.5 * (k % 2)), 30e6 * (1 + 0.5 * (k % 2)) + 1e5 * (k % 3)) for k in range(30)]
    assert starts.row("e", "import", pairs).endswith("| 0 | 0 | 40 |")


# --- kills: what the script finds if a promise is broken


@pytest.fixture
def lab(script, tmp_path):
    """A repository as the script makes it, whose runs and baseline were not measured."""
    kills = script("kills")
    lab = kills.Lab.__new__(kills.Lab)
    lab.folder, lab.temporary, lab.mark = tmp_path, tmp_path / "temporary", f"KILLED_BY_TEST={tmp_path};"
    lab.temporary.mkdir()
    lab.store.mkdir(parents=True)
    data = Path(__file__).parent / "data" / "runs" / "format-4.jsonl"
    (lab.store / "finished.jsonl").write_bytes(data.read_bytes())
    lab.baseline.write_bytes((BENCHMARKS.parent / "gradmark-baseline.json").read_bytes())
    return kills, lab


def test_what_is_kept_is_not_lost(lab):
    kills, lab = lab
    before = kills.Kept.of(lab)
    assert kills.lost(before, lab) == []
    (growing,) = lab.store.iterdir()
    lines = growing.read_bytes().splitlines(keepends=True)
    growing.write_bytes(b"".join(lines[:-1]) + lines[-1][:20])
    assert kills.lost(kills.Kept.of(lab), lab) == []  # half a line was not kept yet


@pytest.mark.parametrize(
    ("name", "harm", "said"),
    [
        (
            "finished.jsonl",
            lambda data: data[: data.rstrip(b"\n").rfind(b"\n") + 1],
            "lost: finished.jsonl has not all",
        ),
        ("finished.jsonl", lambda data: data.replace(b"2026", b"2027", 1), "lost: finished.jsonl has not all"),
        ("finished.jsonl", None, "lost: finished.jsonl has not all"),
        ("gradmark-baseline.json", lambda data: data[:-10], "baseline: "),
        ("gradmark-baseline.json", lambda data: b"", "baseline: "),
    ],
)
def test_what_is_lost_is_found(lab, name, harm, said):
    kills, lab = lab
    before = kills.Kept.of(lab)
    path = lab.baseline if name == lab.baseline.name else lab.store / name
    if harm is None:
        path.unlink()
    else:
        path.write_bytes(harm(path.read_bytes()))
    (problem,) = kills.lost(before, lab)
    assert problem.startswith(said)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows the processes")
def test_what_is_left_is_found(lab):
    kills, lab = lab
    assert kills.left(lab) == []
    (lab.temporary / "gradmark-x").mkdir()
    stays = subprocess.Popen(["sleep", "60"], env={"KILLED": lab.mark}, start_new_session=True)
    try:
        kills.wait_until(lambda: len(kills.left(lab)) == 2, 10.0)
        assert kills.left(lab) == [f"processes: {stays.pid} sleep 60 ", "folders: gradmark-x"]
    finally:
        stays.kill()
        stays.wait()


def test_the_table_counts_kills_and_names_what_is_broken(script, capsys):
    kills = script("kills")
    tally = kills.Tally(kills.Counter({"SIGKILL": 2, "SIGINT": 1, "": 3}), 0.25, [])
    assert kills.show({"run": tally})
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "| run | 1 SIGINT, 2 SIGKILL | 3 | 0.25 s | 0 |",
        "KEPT      nothing lost and nothing left after 3 kills: 0 broken",
    ]
    tally.broken.append("SIGKILL after 0.10 s: folders: x")
    assert not kills.show({"run": tally})
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "BROKEN    run: SIGKILL after 0.10 s: folders: x",
        "NOT KEPT  nothing lost and nothing left after 3 kills: 1 broken",
    ]


# --- fleets: the night that is simulated, and what the kills find


def test_a_simulated_night_does_all_its_work(script):
    fleet = script("fleet")
    simulation = fleet.Simulation(machines=20, engines=2, problems=2, seed=0)
    night = simulation.night()
    assert all(row.done == len(row.rounds_s) for row in simulation.rows.values())
    assert (len(simulation.rows), night.given_up) == (2 * fleet.SIZES * fleet.CLASSES, 0)
    again = fleet.Simulation(machines=20, engines=2, problems=2, seed=0).night()
    assert again == night


def test_a_machine_that_goes_away_takes_only_its_last_process_with_it(script, monkeypatch):
    fleet = script("fleet")
    monkeypatch.setattr(fleet, "DEATH_S", 600.0)
    simulation = fleet.Simulation(machines=20, engines=2, problems=2, seed=0)
    night = simulation.night()
    assert night.losses > 0
    assert night.lost_s <= night.losses * max(fleet.PROCESS_S, fleet.INSPECTION_S) / 2
    assert all(row.done == len(row.rounds_s) or night.given_up for row in simulation.rows.values())


def test_what_a_fleet_loses_or_has_twice_is_found(script, tmp_path):
    kills = script("fleet_kills")
    path = tmp_path / "x.jsonl"
    whole = (Path(__file__).parent / "data" / "runs" / "format-5.jsonl").read_bytes()
    path.write_bytes(whole)
    lines = whole.splitlines(keepends=True)
    sampled = next(line for line in lines if b'"type":"Sampled"' in line)
    before = set(kills.broken(path, 1))
    path.write_bytes(b"".join([*lines[:-1], sampled, lines[-1]]))
    assert any("2 times" in problem for problem in set(kills.broken(path, 1)) - before)
    path.write_bytes(b"".join(lines[:-1]))
    assert "finished: it did not come to its end" in kills.broken(path, 1)


# --- the functions of the literature


def test_a_derivative_that_is_off_is_said_to_be_wrong(script):
    literature = script("literature")
    right = literature.Line("gmm/d=2", "ADBench: gradient", 1e-9, literature.PUBLISHED)
    assert (right.failed, right.show().split()[-1]) == (False, "ok")
    for error in (1e-7, float("nan"), float("inf")):
        wrong = right._replace(error=error)
        assert (wrong.failed, wrong.show().split()[-1]) == (True, "WRONG")
    missing = right._replace(error=None, note="no torch")
    assert (missing.failed, missing.show().split()[-1]) == (False, "-")


@pytest.mark.slow
def test_a_fault_in_a_published_problem_is_found(script, monkeypatch):
    literature = script("literature")
    assert not any(line.failed for line in literature.by_reference("det", {"ell": 3}, "gradient"))
    entries = literature.entries
    monkeypatch.setattr(literature, "entries", lambda one: entries(one) * (1 + 1e-6))
    lines = list(literature.jacobians())
    assert [line.failed for line in lines] == [True] * 4


def test_shapes_that_differ_are_wrong(script):
    literature = script("literature")
    assert literature.apart([1.0, 2.0], [1.0]) == float("inf")
    assert literature.apart([1.0, 2.0], [1.0, 4.0]) == 0.5


# --- floors: what the speed benchmarks share


def test_the_fastest_of_all_processes_is_shown_and_a_message_stays_one(script):
    fastest = script("floors").fastest
    processes = [
        {"poly": 3.0, "sin": "no sin", "poly, checks": 1.0},
        {"poly": 2.0, "sin": 4.0, "poly, checks": 5.0},
        {"poly": 2.5, "sin": 3.0, "poly, checks": 1.0},
    ]
    assert fastest(processes) == {"poly": 2.0, "sin": "no sin", "poly, checks": 1.0}
    assert fastest([*processes, "failed: no memory"]) == "failed: no memory"


def test_a_promise_is_kept_broken_or_not_measured(script, capsys):
    tell = script("floors").tell
    assert tell([("fast", "1.0 ×", True), ("faster than x", "x is not installed", None)])
    assert not tell([("fast", "3.0 ×", False)])
    assert capsys.readouterr().out.splitlines() == [
        *("", "promises", "kept          fast: 1.0 ×", "not measured  faster than x: x is not installed"),
        *("", "promises", "NOT KEPT      fast: 3.0 ×"),
    ]


def test_two_builds_are_compared_row_by_row(script, capsys, monkeypatch):
    floors = script("floors")
    times = {"old": iter([{"a": 100.0, "b": 100.0}, {"a": 101.0, "b": 90.0}]), "new": iter([{"a": 102.0}] * 2)}
    asked = []

    def spawn(_script, worker, python):
        asked.append(python)
        side = "old" if python == Path("old") else "new"
        return next(times[side]) | ({"b": 110.0, "c": 1.0, "a, checks": 7.0} if side == "new" else {})

    monkeypatch.setattr(floors, "spawn", spawn)
    monkeypatch.setattr(floors, "_origin", str)
    assert not floors.builds("x.py", ["w"], Path("old"), 2)
    assert [python == Path("old") for python in asked] == [True, False, False, True]
    assert capsys.readouterr().out.splitlines()[3:] == [
        "       before µs      now µs  now/before   by rounds",
        "w, a       0.100       0.102       1.020       1.015",
        "w, b       0.090       0.110       1.222       1.161  slower",
        "w, c  before: no such row",
        "",
        "promises",
        "NOT KEPT      no row more than 3 % slower than before: 1.222 × at most",
    ]


def test_a_build_is_not_compared_with_itself(script):
    floors = script("floors")
    with pytest.raises(SystemExit, match="both have the tapegrad in"):
        floors.builds("x.py", ["w"], Path(sys.executable), 1)


def test_the_worst_row_decides_whether_programs_are_no_slower(script):
    every_row = script("derivatives").every_row
    ours = {"poly": 1.0, "sin": 3.0, "x": "no such thing"}
    assert every_row(ours, {"poly": 2.0, "sin": 4.0, "x": 1.0})[1:] == ("2 of 2, at most 0.75 × (sin)", True)
    assert every_row(ours, {"poly": 2.0, "sin": 2.0, "x": 1.0})[1:] == ("1 of 2, at most 1.50 × (sin)", False)
    assert every_row(ours, "casadi is missing")[1:] == ("casadi is missing", None)


# --- on a GPU: the rows are right on a CPU too, and without a device it is said


def test_without_a_device_the_gpu_script_says_so():
    called = subprocess.run(
        [sys.executable, str(BENCHMARKS / "gpu.py")], capture_output=True, text=True, check=False, timeout=120
    )
    if "There is no CUDA device here" not in called.stdout:
        pytest.skip("there is a CUDA device")
    assert called.returncode == 3
    assert "Nothing was measured." in called.stdout


def test_a_stopwatch_is_judged_by_nvbench_where_tools_contradict_each_other(script):
    compared = script("gpu").compared
    tools = {"cold": 10.0, "hot": 9.0, "host": 5.0, "nvbench cold": 10.4, "nvbench hot": 9.0, "do_bench": 10.5}
    assert compared(tools)[1:] == ([True, True, True], [])
    assert compared(tools | {"nvbench cold": 9.4})[1] == [False, True]
    apart = compared(tools | {"do_bench": 12.0})
    assert apart[1:] == ([True, True], ["do_bench is 1.15 × nvbench"])
    assert apart[0]["cold / do_bench"] == 10.0 / 12.0
    assert compared(tools | {"host": 9.0})[1:] == ([True, True], ["hot is the host's time"])
    alone = {name: ns for name, ns in tools.items() if not name.startswith("nvbench")}
    assert compared(alone | {"do_bench": 12.0})[1:] == ([False], [])


def test_the_file_of_nvbench_is_read(script):
    import json

    def summary(tag, value):
        return {"tag": tag, "data": [{"name": "hint", "value": "duration"}, {"name": "value", "value": value}]}

    told = [("nv/cold/time/gpu/mean", "3e-6"), ("nv/cold/time/gpu/median", "2e-6"), ("nv/batch/time/gpu/mean", "1e-6"),
            ("nv/cold/time/cpu/median", "9e-6")]  # fmt: skip
    state = {"axis_values": [{"name": "round", "value": "4"}], "summaries": [summary(*one) for one in told]}
    skipped = {"axis_values": [{"name": "round", "value": "5"}], "summaries": None}
    text = json.dumps({"benchmarks": [{"name": "tanh_4M", "states": [state, skipped]}]})
    assert list(script("gpu_agreement").of_nvbench(text, ["tanh 4M"])) == [
        {"kernel": "tanh 4M", "round": 4, "nvbench cold": 2.0, "nvbench hot": 1.0},
        {"kernel": "tanh 4M", "round": 5},
    ]


@pytest.mark.peers("torch")
def test_the_rows_of_the_gpu_script_have_the_gradients_of_pytorch(script):
    import dataclasses

    rows = script("gpu_rows")
    (chain,) = (row for row in rows.ROWS if row.function is rows.chain)
    for row in (dataclasses.replace(chain, shapes=[(1000,)]), *(row for row in rows.ROWS if "tiny" in row.name)):
        prints = []
        for engine, dtype in (("torch", "float64"), ("tapegrad", "float32")):
            session = rows.session_of(engine, row, dtype, "cpu")
            session.total()
            prints.append(rows.prints_of(list(session.gradients())))
        exact, found = prints
        assert rows.error(found, exact) < 1e-5
        changed = [[total, norm, along * 1.1 + norm] for total, norm, along in found]
        assert rows.error(changed, exact) > 1e-2
