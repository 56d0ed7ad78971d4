"""`gradmark run`, end to end: what is printed, what is kept, and what becomes of interruptions and missing tools."""

import csv
import io
import os
import shutil
import signal
import time
from pathlib import Path

import msgspec
import pytest

from gradmark.commands.showing import exit_code
from gradmark.errors import StoreError
from gradmark.measure import process as workers
from gradmark.records import Run
from gradmark.records.sample import with_reference
from gradmark.store import runs

TESTS = Path(__file__).parents[2]
BROKEN = TESTS / "faults" / "workloads.py"
FAILURES = ["invalid", "wrong-gradient", "wrong-value", "untimed-work", "error", "crash", "timeout", "out-of-memory"]
TWO = ["expression", "-e", "null", "-e", "tapegrad"]


def only_run(folder):
    (path,) = Path(folder).glob("*.jsonl")
    return path, runs.load(path)


def test_a_dry_run_measures_nothing(gradmark, tmp_path):
    called = gradmark("run", "reuse", "shared", "--dry-run")
    assert called == (
        0,
        "reuse@tapegrad\nreuse@tapegrad:fresh\nshared/k=4@tapegrad\nshared/k=16@tapegrad\n"
        "4 cells, 9 to 60 processes each\n",
        "",
    )
    assert list(tmp_path.iterdir()) == []


def test_one_of_each_is_not_several(gradmark):
    called = gradmark("run", "expression", "--processes", "1", "--dry-run")
    assert called.out == "expression@tapegrad\n1 cell, 1 process each\n"


def test_full_has_more_sizes_and_processes(gradmark):
    called = gradmark("run", "shared", "--full", "--dry-run")
    assert called.out.splitlines()[-1] == "4 cells, 15 to 60 processes each"


@pytest.mark.slow
def test_a_file_of_inputs_that_is_truncated_is_said_with_its_line(gradmark, quick, tmp_path):
    (tmp_path / "lstm_l2_c1024.txt").write_text("2 1024 14\n" + "0.5 " * 56 + "\n")
    called = gradmark("run", "lstm_array/l=2/c=1024", "--data", tmp_path, *quick)
    assert called.code == 1
    assert "lstm_l2_c1024.txt, line 3: expected 56 numbers (weights or biases), got the end of the file" in called.out
    _, run = only_run(tmp_path / ".gradmark" / "runs")
    assert run.settings.data == str(tmp_path.resolve())
    assert gradmark("run", "lstm", "--data", tmp_path / "none").code == 2


def test_a_keyword_narrows(gradmark):
    called = gradmark("run", "-k", "chain", "--dry-run")
    assert {line.split("/")[0] for line in called.out.splitlines()[:-1]} == {"add_chain", "mul_chain", "chain"}


@pytest.mark.slow
def test_without_a_selection_both_short_suites(gradmark):
    lines = gradmark("run", "--dry-run").out.splitlines()
    assert "poly/n=10@tapegrad" in lines
    assert lines[lines.index("elementwise/depth=16/n=1@tapegrad") : -1] == [
        "elementwise/depth=16/n=1@tapegrad",
        "elementwise/depth=4/n=100000@tapegrad",
        "matmul/n=8@tapegrad",
        "matmul/n=256@tapegrad",
        "broadcast_add/n=1024@tapegrad",
        "reduce_sum/n=1024@tapegrad",
        "softplus/n=10000@tapegrad",
        "logsumexp/n=256@tapegrad",
        "mlp_step/batch=8/width=32@tapegrad",
        "mlp_step/batch=128/width=256@tapegrad",
    ]


@pytest.mark.slow
def test_dtypes(gradmark):
    def dry(*arguments):
        return gradmark("run", *arguments, "--dry-run").out.splitlines()[:-1]

    single, double = "reduce_sum/n=1024@tapegrad", "reduce_sum/n=1024/dtype=float64@tapegrad"
    assert dry("reduce_sum") == [single]
    assert dry("reduce_sum", "--dtype", "float64") == [double]
    assert dry("reduce_sum", "--dtype", "float64", "--dtype", "float32") == [single, double]
    assert len(dry("reduce_sum", "--full")) == 10
    called = gradmark("run", "poly", "--dtype", "float32")
    assert (called.code, called.err) == (
        2,
        "gradmark: no selected workload has float32; functions of numbers have only float64\n",
    )


@pytest.mark.slow
def test_tensors_beside_engines_that_have_none(gradmark, quick):
    called = gradmark("run", "matmul", "-e", "tapegrad", "-e", "python-floats", *quick, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(called.out)))
    assert [(r["size"], r["dtype"], r["shape"], r["engine"], r["status"]) for r in rows] == [
        ("n=8", "float32", "8×8", "tapegrad", "ok"),
        ("n=8", "float32", "", "python-floats", "unsupported"),
        ("n=256", "float32", "256×256", "tapegrad", "ok"),
        ("n=256", "float32", "", "python-floats", "unsupported"),
    ]
    assert rows[1]["message"] == "python-floats has no tensors, and matmul is a function of tensors"
    assert [float(r["flops"]) for r in rows if r["flops"]] == [6 * 8**3, 6 * 256**3]


@pytest.mark.slow
def test_a_real_run_and_its_copy(gradmark, quick, tmp_path):
    called = gradmark("run", *TWO, *quick, "--seed", "3", "--json", tmp_path / "copy" / "mine.json")
    assert called.code == 0
    path, run = only_run(".gradmark/runs")
    assert called.out.splitlines()[-1] == f"run file: {path}"
    assert run.finished
    assert (run.settings.processes, run.settings.seed, run.settings.memory) == (1, 3, False)
    assert [(m.cell.engine, m.status, len(m.samples)) for m in run.measurements] == [
        ("null", "ok", 1),
        ("tapegrad", "ok", 1),
    ]
    assert runs.load(tmp_path / "copy" / "mine.json") == run


def test_table(gradmark, finished):
    called = gradmark("run", "--resume", finished, "--store", finished.parent)
    assert called.code == 0
    lines = called.out.splitlines()
    assert lines[0] == "scalar"
    rule = next(number for number, line in enumerate(lines) if set(line) == {"─"})
    assert lines[rule - 1].split()[:2] == ["workload", "engine"]
    assert [line.split()[:2] for line in lines[rule + 1 : rule + 3]] == [
        ["expression", "null"],
        ["expression", "tapegrad"],
    ]
    assert "allocs" not in lines[rule - 1].split()  # nobody counted: the whole column is left out
    assert "times: measured in calm moments, at one clock speed" in lines
    assert lines[-1] == f"run file: {finished}"


def other_format(gradmark, finished, form):
    called = gradmark("run", "--resume", finished, "--store", finished.parent, "--format", form)
    assert called.code == 0
    assert called.err.splitlines()[-1] == f"run file: {finished}"
    return called.out


def test_go(gradmark, finished):
    lines = other_format(gradmark, finished, "go").splitlines()
    results = [line for line in lines if line.startswith("Benchmark")]
    assert [line.split()[0] for line in results] == [
        "BenchmarkExpression/engine=null",
        "BenchmarkExpression/engine=tapegrad",
    ]
    assert results[1].split()[3::2] == ["ns/op", "fwd-ns/op", "bwd-ns/op"]


def test_markdown(gradmark, finished):
    lines = other_format(gradmark, finished, "markdown").splitlines()
    assert lines[0] == "### scalar"
    assert lines[2].startswith("| workload | engine | primal | forward | backward | total |")
    assert [line.split(" | ")[1] for line in lines[4:6]] == ["null", "tapegrad"]


def test_json(gradmark, finished):
    printed = other_format(gradmark, finished, "json")
    assert msgspec.json.decode(printed, type=Run) == runs.load(finished)


def test_csv(gradmark, finished):
    rows = list(csv.DictReader(io.StringIO(other_format(gradmark, finished, "csv"))))
    assert [(row["engine"], row["status"], row["operations"]) for row in rows] == [
        ("null", "ok", "3"),
        ("tapegrad", "ok", "3"),
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["pol"], "no workload or suite is called 'pol'; did you mean poly?"),
        (["xyzzy"], "no workload or suite is called 'xyzzy'; `gradmark list` shows all; a workload of your own is"),
        (["poly", "-e", "tapgrad"], "no engine is called 'tapgrad'; did you mean tapegrad"),
        (["poly", "-k", "zz"], "no selected row has 'zz' in its name; the workloads are: poly"),
        (["none.py"], "there is no file none.py; expected a Python file with workloads, or a workload's name"),
        (["--resume", "latest"], "no unfinished run of `gradmark run` in .gradmark/runs; `gradmark list runs` shows"),
        (["--resume", "2026"], "no run in .gradmark/runs matches '2026'; the newest are: none"),
        (["expression", "-e", "json:Nope"], "json has no 'Nope'; it has: "),
        (["expression", "-e", "no_such_module:Engine"], "engine 'no_such_module:Engine' cannot be imported: "),
        (["--resume", "none.json"], "none.json cannot be read: No such file or directory"),
    ],
)
def test_wrong_names(gradmark, tmp_path, arguments, message):
    called = gradmark("run", *arguments)
    assert (called.code, called.out) == (2, "")
    assert called.err.startswith(f"gradmark: {message}")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_does_not_load_is_shown_with_its_line(gradmark, tmp_path):
    (tmp_path / "mine.py").write_text("import math\nmath.nothing\n")
    called = gradmark("run", "mine.py")
    assert called.code == 2
    assert "mine.py cannot be loaded: mine.py, line 2, `math.nothing`: AttributeError" in called.err


@pytest.mark.slow
def test_a_broken_workload_does_no_harm_to_others(gradmark, quick):
    called = gradmark("run", BROKEN, *quick)
    assert called.code == 1  # a row failed
    _, run = only_run(".gradmark/runs")
    assert [(m.cell.row, m.status) for m in run.measurements] == [
        ("fine/n=3", "ok"),
        ("fine/n=5", "ok"),
        ("fine/n=7", "ok"),
        ("broken", "invalid"),
    ]
    assert "NameError: name 'undefined_name' is not defined" in called.out


@pytest.mark.parametrize(
    ("statuses", "code"),
    [
        (["ok", "ok"], 0),
        (["ok", "unsupported", "skipped"], 0),
        (["unsupported"], 1),  # nothing ran
        ([], 1),
        *((["ok", status], 1) for status in FAILURES),
    ],
)
def test_exit_code(finished, statuses, code):
    run = runs.load(finished)
    measurements = [msgspec.structs.replace(run.measurements[0], status=status) for status in statuses]
    assert exit_code(msgspec.structs.replace(run, measurements=measurements)) == code


@pytest.mark.slow
def test_a_wrong_gradient_is_a_failure(gradmark, quick):
    called = gradmark("run", "expression", "-e", "faults.engines:WrongGradient", "-e", "tapegrad", *quick)
    assert called.code == 1
    assert [m.status for m in only_run(".gradmark/runs")[1].measurements] == ["wrong-gradient", "ok"]


@pytest.mark.slow
def test_if_everything_fails_the_exit_code_says_so(gradmark, quick):
    called = gradmark("run", "expression", "-e", "faults.engines:Raises", *quick)
    assert called.code == 1
    assert "this engine has a bad day" in called.out
    path, run = only_run(".gradmark/runs")
    assert [m.status for m in run.measurements] == ["error"]
    assert called.out.splitlines()[-1] == f"run file: {path}"


@pytest.fixture
def nothing_is_measured(monkeypatch):
    real = workers.run

    def refuse(job, **more):
        if job.kind not in ("survey", "try"):
            raise AssertionError("a worker was started")
        return real(job, **more)

    monkeypatch.setattr(workers, "run", refuse)


@pytest.mark.parametrize("option", ["--store", "--json"])
@pytest.mark.usefixtures("nothing_is_measured")
def test_what_cannot_be_written_is_said_before_measuring(gradmark, tmp_path, option):
    (tmp_path / "file").write_text("")
    called = gradmark("run", "expression", option, tmp_path / "file" / "below" / "x.json")
    assert (called.code, called.out) == (2, "")
    assert "run files cannot be written to" in called.err
    assert "Not a directory" in called.err


@pytest.mark.usefixtures("nothing_is_measured")
@pytest.mark.parametrize("damage", [b"", b"{", b'{"id": 3}'])
def test_a_damaged_run_file_is_refused_and_untouched(gradmark, tmp_path, damage):
    path = tmp_path / "x.json"
    path.write_bytes(damage)
    called = gradmark("run", "--resume", path, "--store", tmp_path)
    assert (called.code, called.out) == (2, "")
    assert f"{path} is not a run file, or is damaged" in called.err
    assert path.read_bytes() == damage
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.usefixtures("nothing_is_measured")
def test_resuming_a_finished_run_measures_nothing(gradmark, finished):
    before = finished.read_bytes()
    called = gradmark("run", "--resume", finished.stem, "--store", finished.parent)
    assert (called.code, called.err) == (0, "")
    assert finished.read_bytes() == before


def interrupted(finished, folder, **changes):
    """The finished run as it was before its last sample."""
    run = runs.load(finished)
    first, last = run.measurements
    half = msgspec.structs.replace(
        run, measurements=[first, msgspec.structs.replace(last, samples=[])], finished=False, **changes
    )
    folder.mkdir(exist_ok=True)
    with runs.Journal.begin(half, folder) as journal:
        return journal.path


@pytest.mark.slow
def test_an_interrupted_run_goes_on(gradmark, finished, tmp_path):
    path = interrupted(finished, tmp_path / "store")
    called = gradmark("run", "--resume", path.stem[:12], "--store", path.parent)
    assert called.code == 0
    assert called.out.splitlines()[-1] == f"run file: {path}"
    before, after = runs.load(finished), runs.load(path)
    assert after.finished
    # What its pilots say of a calm machine is known better now; what it measured is the same.
    (ours,), (theirs,) = before.measurements[0].samples, after.measurements[0].samples
    assert with_reference(theirs, ours.phases["total"].reference) == ours
    assert [len(m.samples) for m in after.measurements] == [1, 1]


@pytest.mark.usefixtures("nothing_is_measured")
@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--dry-run"], "--dry-run"),
        (["poly"], "SELECT"),
        (["-e", "null", "--seed", "3"], "--engine, --seed"),
        (["--no-memory"], "--memory"),
    ],
)
def test_another_plan_for_the_rest_is_refused(gradmark, finished, tmp_path, arguments, named):
    path = interrupted(finished, tmp_path / "store")
    called = gradmark("run", *arguments, "--resume", path, "--store", path.parent)
    assert (called.code, called.out) == (2, "")
    assert f"--resume continues a run as it was planned; leave out {named}\n" in called.err


@pytest.mark.slow
def test_the_latest_is_the_latest_that_is_not_finished(gradmark, finished, tmp_path):
    store = tmp_path / "store"
    begun = interrupted(finished, store, id="20200101T000000-aaaaaa")
    interrupted(finished, store, id="20200101T000000-bbbbbb", verb="contract")
    runs.save(
        msgspec.structs.replace(runs.load(finished), id="20300101T000000-cccccc"), store / "20300101T000000-c.json"
    )
    called = gradmark("run", "--resume", "latest", "--store", store)
    assert (called.code, called.out.splitlines()[-1]) == (0, f"run file: {begun}")
    assert runs.load(begun).finished


@pytest.mark.usefixtures("nothing_is_measured")
def test_a_run_of_another_verb_says_how_it_goes_on(gradmark, finished, tmp_path):
    path = interrupted(finished, tmp_path / "a store", verb="contract")
    called = gradmark("run", "--resume", path.stem, "--store", path.parent)
    assert (called.code, called.out) == (2, "")
    assert called.err == (
        f"gradmark: run {path.stem} was made by `gradmark contract`; continue with: gradmark contract --resume "
        f"{path.stem} --store '{path.parent}'\n"
    )


@pytest.mark.usefixtures("nothing_is_measured")
def test_a_run_of_a_test_is_not_resumed(gradmark, finished, tmp_path):
    path = interrupted(finished, tmp_path / "store", verb="pytest")
    called = gradmark("run", "--resume", path)
    assert called.code == 2
    assert called.err.endswith("was made by a test; run the test again with pytest\n")


@pytest.mark.slow
def test_a_resumed_run_is_called_as_it_was(gradmark, finished, tmp_path):
    path = interrupted(finished, tmp_path / "store", arguments=["expression", "--format", "csv", "--json", "copy.json"])
    called = gradmark("run", "--resume", path)
    assert called.out.startswith("suite,") or "engine" in called.out.splitlines()[0]
    assert runs.load(tmp_path / "copy.json") == runs.load(path)
    assert gradmark("run", "--resume", path, "--format", "go").out.count("Benchmark") == 2


def test_a_run_of_another_machine_is_not_resumed(gradmark, finished, tmp_path):
    elsewhere = msgspec.structs.replace(runs.load(finished).environment, cpu="Z80", python="CPython 3.99")
    path = interrupted(finished, tmp_path / "store", environment=elsewhere)
    called = gradmark("run", "--resume", path, "--store", path.parent)
    assert (called.code, called.out) == (2, "")
    assert "was started elsewhere (cpu: Z80, " in called.err
    assert not runs.load(path).finished


@pytest.mark.slow
def test_a_run_is_resumed_in_its_own_file(gradmark, finished, tmp_path):
    path = interrupted(finished, tmp_path / "elsewhere")
    assert gradmark("run", "--resume", path).code == 0
    assert runs.load(path).finished


def until_something_is_kept(process, folder):
    """Waits for the first measurement on disk; the process is then in the middle of its work."""
    while process.poll() is None:
        for path in folder.glob("*.jsonl"):
            try:
                if runs.load(path).measurements:
                    return path
            except StoreError:  # a reader may not see half a file, so this is a failure
                process.kill()
                raise
        time.sleep(0.01)
    raise AssertionError(process.communicate())


LONG = ["run", "expression", "-e", "tapegrad", "-e", "null", "--processes", "5", "--no-memory"]


@pytest.mark.slow
def test_a_killed_run_leaves_a_file_that_can_be_resumed(gradmark, started, tmp_path):
    process = started(*LONG, "--store", tmp_path / "store", start_new_session=True)
    path = until_something_is_kept(process, tmp_path / "store")
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    half = runs.load(path)
    assert not half.finished
    assert gradmark("run", "--resume", half.id, "--store", tmp_path / "store").code == 0
    whole = runs.load(path)
    assert whole.finished
    assert [[s.process for s in m.samples] for m in whole.measurements] == [[0, 1, 2, 3, 4]] * 2


@pytest.fixture
def stopped(started, tmp_path):
    """A run that was ended with Ctrl-C."""
    store = tmp_path / "store"
    process = started(*LONG, "--store", store, start_new_session=True)
    path = until_something_is_kept(process, store)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    return process.returncode, err, path, store


@pytest.mark.slow
def test_an_interruption_says_how_to_go_on(stopped):
    code, err, path, _ = stopped
    assert code == 130
    assert f"interrupted; continue with: gradmark run --resume {path.stem}" in err
    assert "Traceback" not in err
    assert not runs.load(path).finished


@pytest.mark.slow
def test_the_advice_after_an_interruption_names_the_store(stopped):
    _, err, _, store = stopped
    assert f"--store {store}" in " ".join(err.split())


@pytest.mark.slow
def test_without_memray_the_column_says_why(gradmark, tmp_path, monkeypatch):
    folder = tmp_path / "without"
    folder.mkdir()
    (folder / "memray.py").write_text("raise ImportError('no memray here')\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), str(TESTS)]))
    called = gradmark("run", "expression", "--processes", "1")
    assert called.code == 0
    _, run = only_run(".gradmark/runs")
    reason = "memray is not installed (no memray here); pip install memray (Linux and macOS)"
    assert [(m.status, m.memory.reason, m.memory.allocations) for m in run.measurements] == [("ok", reason, None)]
    assert f"info: no allocs and peak on 1 of 1 cell: {reason}. `gradmark doctor` says how" in called.out


@pytest.mark.slow
def test_without_valgrind_the_record_says_why(gradmark, tmp_path, monkeypatch, quick):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert shutil.which("valgrind") is None
    assert gradmark("run", "expression", *quick, "--instructions").code == 0
    _, run = only_run(".gradmark/runs")
    (found,) = run.measurements
    assert (found.instructions.total, found.instructions.reason) == (None, "valgrind is not installed")


# --- derivatives


def test_derivatives_are_planned_as_rows_of_their_own(gradmark):
    called = gradmark("run", "rosenbrock/n=10", "poly/n=10/derivative=jvp", "-d", "hvp", "-d", "gradient", "--dry-run")
    assert called.out.splitlines()[:-1] == [
        "rosenbrock/n=10/derivative=hvp@tapegrad",
        "rosenbrock/n=10@tapegrad",
        "poly/n=10/derivative=jvp@tapegrad",
    ]


def test_a_derivative_that_there_is_not_is_wrong_usage(gradmark):
    called = gradmark("run", "poly", "-d", "hesian")
    assert (called.code, "'hesian' is not one of 'gradient', 'jvp', 'vjp'" in called.err) == (2, True)


@pytest.mark.slow
def test_a_derivative_is_measured_beside_its_gradient(gradmark, quick):
    asked = ["run", "rosenbrock/n=10", "-d", "gradient", "-d", "hvp", "-e", "tapegrad", "-e", "tapegrad:fresh"]
    called = gradmark(*asked, *quick)
    assert called.code == 0, called.err
    _, run = only_run(".gradmark/runs")
    assert {m.cell.id: (m.status, m.message, m.mode) for m in run.measurements} == {
        "rosenbrock/n=10@tapegrad": ("ok", "", "rev"),
        "rosenbrock/n=10@tapegrad:fresh": ("ok", "", ""),
        "rosenbrock/n=10/derivative=hvp@tapegrad": ("ok", "", "fwd-over-rev"),
        "rosenbrock/n=10/derivative=hvp@tapegrad:fresh": (
            "unsupported", "tapegrad:fresh has no hvp: it has gradient only", ""
        ),
    }  # fmt: skip


@pytest.mark.slow
def test_columns_of_a_derivative_are_in_files(gradmark, quick):
    asked = ["run", "poly/n=10", "-d", "gradient", "-d", "jvp", "-e", "finite-difference", "--format", "csv"]
    gradient, tangent = csv.DictReader(io.StringIO(gradmark(*asked, *quick).out))
    assert (gradient["derivative"], gradient["theory"], gradient["evaluations"]) == ("gradient", "", "")
    assert (tangent["derivative"], tangent["mode"], tangent["theory"]) == ("jvp", "differences", "2.5")
    assert (tangent["row"], tangent["evaluations"]) == ("poly/n=10/derivative=jvp", "4.0")
    quotient = float(tangent["total_ns"]) / float(gradient["total_ns"])
    assert float(tangent["derivative_gradient_ratio"]) == pytest.approx(quotient)
