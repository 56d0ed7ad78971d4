"""A fleet as a user has it: a real Dask scheduler and workers on the loopback, each a machine of its own."""

import subprocess
import time

import pytest

from gradmark.store import runs

pytest.importorskip("distributed", reason="a fleet needs Dask: pip install 'gradmark[fleet]'")
from fleets import Cluster, broken, free_port

pytestmark = pytest.mark.slow
QUICK = ["--processes", "2", "--no-memory", "--format", "csv"]
LONG = ["--processes", "12", "--no-memory", "--format", "csv"]
FACTS = {"left": {"cpu": "Zen 3"}, "right": {"cpu": "Zen 3"}, "apple": {"cpu": "Apple M2"}}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Two machines of one class and one of another."""
    with Cluster(tmp_path_factory.mktemp("cluster"), FACTS) as cluster:
        for name in FACTS:
            cluster.start_worker(name)
        cluster.wait(len(FACTS))
        yield cluster


@pytest.fixture
def private(tmp_path):
    """A cluster without workers, for what breaks."""
    (folder := tmp_path / "private").mkdir()
    with Cluster(folder, FACTS) as cluster:
        yield cluster


def stored(folder):
    return [runs.load(path) for path in sorted(folder.glob("*.jsonl"))]


def test_a_run_on_one_class(gradmark, cluster, tmp_path):
    rows = ["expression", "poly/n=10", "reuse"]
    called = gradmark("run", *rows, "-e", "tapegrad", *QUICK, "--fleet", cluster.address, "--on", "zen", "--store", "s")
    assert called.code == 0, called.err
    (path,) = (tmp_path / "s").glob("*.jsonl")
    run = runs.load(path)
    assert broken(path, 2) == []
    assert run.environment.cpu == "Zen 3"
    assert {machine.instance for machine in run.machines} <= {"left", "right"}
    rows = {}
    for measurement in run.measurements:
        rows.setdefault(measurement.cell.task, set()).update(sample.machine for sample in measurement.samples)
    assert [len(machines) for machines in rows.values()] == [1, 1, 1]  # a row is measured on one machine
    assert sorted(run.done) == sorted(cell.id for cell in run.planned)
    assert called.out.splitlines()[0].startswith("row,suite,workload")


def test_each_class_has_a_run_of_its_own(gradmark, cluster, tmp_path):
    called = gradmark("run", "expression", *QUICK, "--fleet", cluster.address, "--each-class", "--store", "s")
    assert called.code == 0, called.err
    assert sorted(run.environment.cpu for run in stored(tmp_path / "s")) == ["Apple M2", "Zen 3"]


def test_the_users_files_go_along_and_keep_their_names(gradmark, cluster, tmp_path):
    (tmp_path / "helper.py").write_text("def times(a, b):\n    return a * b\n")
    (tmp_path / "mine.py").write_text(
        "import gradmark\nfrom helper import times\n\n"
        "@gradmark.workload(suite='mine', stresses='a product')\ndef product(ops, x):\n    return times(x, x)\n"
    )
    called = gradmark("run", "mine.py", "-e", "tapegrad", *QUICK, "--fleet", cluster.address, "--on", "apple")
    assert called.code == 0, called.err
    (run,) = stored(tmp_path / runs.FOLDER)
    assert [m.cell.file for m in run.measurements] == [str(tmp_path / "mine.py")]
    assert [len(m.samples) for m in run.measurements] == [2]


def test_a_failure_is_a_row_as_on_one_machine(gradmark, cluster, tmp_path):
    (tmp_path / "mine.py").write_text(
        "import os\nimport gradmark\n\n"
        "@gradmark.workload(suite='mine', stresses='nothing')\ndef ends(ops, x):\n    os._exit(3)\n"
    )
    called = gradmark("run", "mine.py", "-e", "tapegrad", *QUICK, "--fleet", cluster.address, "--on", "apple")
    assert called.code == 1, called.err
    (run,) = stored(tmp_path / runs.FOLDER)
    assert [m.status for m in run.measurements] == ["crash"]


def test_status_shows_machines_by_class_with_what_doctor_says(gradmark, cluster):
    called = gradmark("fleet", "status", cluster.address)
    assert called.code == 0, called.err
    lines = called.out.splitlines()
    assert [line.partition("  ")[0][:8] for line in lines if not line.startswith(" ")] == ["apple-m2", "zen-3-2c"] or [
        line[:5] for line in lines if not line.startswith(" ")
    ] == ["apple", "zen-3"]
    for name in FACTS:
        assert sum(f"ok    {name} at tcp://127.0.0.1:" in line for line in lines) == 1


def test_several_classes_and_none_chosen(gradmark, cluster, tmp_path):
    called = gradmark("run", "expression", *QUICK, "--fleet", cluster.address)
    assert (called.code, called.out) == (2, "")
    assert "the fleet has machines of 2 classes, whose times cannot be compared: apple-m2-" in called.err
    assert not (tmp_path / runs.FOLDER).exists()


def test_a_class_that_no_machine_has(gradmark, cluster, tmp_path):
    called = gradmark("run", "expression", *QUICK, "--fleet", cluster.address, "--on", "arm")
    assert (called.code, called.out) == (2, "")
    assert "no machine of the fleet is of a class called 'arm'" in called.err
    assert not (tmp_path / runs.FOLDER).exists()


def test_a_scheduler_without_workers(gradmark, private):
    called = gradmark("run", "expression", *QUICK, "--fleet", private.address)
    assert (called.code, called.out) == (2, "")
    assert f"the scheduler at {private.address} has no workers; start them with `gradmark fleet worker" in called.err
    called = gradmark("fleet", "status", private.address)
    assert called.code == 3
    assert "a run would be refused: the scheduler at" in called.out


@pytest.mark.parametrize("arguments", [["run", "expression", "--fleet"], ["fleet", "status"]])
def test_a_scheduler_that_is_not_there(gradmark, monkeypatch, arguments):
    from gradmark.fleet import connection

    monkeypatch.setattr(connection, "CONNECT_S", "1 s")
    address = f"tcp://127.0.0.1:{free_port()}"
    called = gradmark(*arguments, address)
    assert (called.code, called.out) == (2, "")
    assert f"no scheduler answers at {address}" in called.err
    assert "not the address of a scheduler" in gradmark(*arguments, "nonsense://x").err


def test_a_machine_too_busy_for_dask(gradmark, monkeypatch):
    import distributed

    def late(*_, **__):
        raise AssertionError  # what its loop's thread says after 10 s

    monkeypatch.setattr(distributed, "Client", late)
    called = gradmark("fleet", "status", "tcp://127.0.0.1:1")
    assert (called.code, called.out) == (2, "")
    assert "Dask did not start within 10 s; this machine is busy, try again" in called.err


def test_workers_of_other_versions(gradmark, private, tmp_path):
    (tmp_path / "elsewhere" / "msgspec-0.0.1.dist-info").mkdir(parents=True)
    (tmp_path / "elsewhere" / "msgspec-0.0.1.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: msgspec\nVersion: 0.0.1\n"
    )
    private.start_worker("left")
    private.start_worker("right", env={"PYTHONPATH": str(tmp_path / "elsewhere")})
    private.wait(2)
    called = gradmark("run", "expression", *QUICK, "--fleet", private.address)
    assert (called.code, called.out) == (2, "")
    assert "the machines of the fleet differ, so nothing was measured: msgspec: " in called.err
    assert "0.0.1 on right" in called.err


def test_a_machine_that_doctor_finds_unfit_takes_no_work(gradmark, private):
    private.start_worker("left", "--once")
    private.wait(1)
    from gradmark.fleet.connection import Connection

    with Connection(private.address) as connection:
        (machine,) = connection.machines()
        assert not machine.despite
    # whether it is fit at this moment is the machine's own affair
    said = gradmark("fleet", "status", private.address).out
    assert "left at" in said
    assert "whatever doctor says" not in said


@pytest.fixture
def measuring(private, started, tmp_path):
    """A run of two rows on two machines that has begun to sample; and its run file."""
    for name in ("left", "right"):
        private.start_worker(name)
    private.wait(2)
    store = tmp_path / "store"
    arguments = ["run", "expression", "poly/n=10", "-e", "tapegrad", "-e", "null", *LONG, "--store", store]
    process = started(*arguments, "--fleet", private.through("submitting"), cwd=tmp_path)
    path = until(lambda: next((p for p in store.glob("*.jsonl") if samples(p) > 3), None), process)
    yield private, process, path
    process.kill()
    process.communicate()


def samples(path):
    return path.read_bytes().count(b'"type":"Sampled"')


def until(look, process=None, within_s=60.0):
    deadline = time.monotonic() + within_s
    while (seen := look()) is None or seen is False:
        if time.monotonic() > deadline or (process is not None and process.poll() is not None):
            raise AssertionError(process.communicate() if process is not None else "it did not happen")
        time.sleep(0.02)
    return seen


def machines_of(path, row):
    return [[s.machine for s in m.samples] for m in runs.load(path).measurements if m.cell.task == row]


def test_a_worker_that_dies_loses_no_finished_cell(measuring):
    cluster, process, path = measuring
    before = path.read_bytes()
    cluster.kill_worker("left")
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert path.read_bytes().startswith(before)  # the journal only grows
    assert broken(path, 12) == []
    assert "left is gone: the rest of " in err
    lost = next(row for row in ("expression", "poly/n=10") if f"the rest of {row} goes to another machine" in err)
    for machines in machines_of(path, lost):
        assert machines == sorted(machines)  # left first, then right
        assert set(machines) == {"left", "right"}


def test_a_worker_that_is_cut_off_comes_back(measuring):
    cluster, process, path = measuring
    cluster.wires["left"].cut(2.0)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "left is gone" in err
    assert broken(path, 12) == []
    assert cluster.processes["left"].poll() is None


def test_a_scheduler_that_restarts(measuring, gradmark):
    cluster, process, path = measuring
    before = path.read_bytes()
    cluster.kill_scheduler()
    _, err = process.communicate(timeout=120)
    assert process.returncode == 2
    assert "does not answer any more" in err
    assert f"continue with: gradmark run --resume {path.stem}" in err
    assert "Traceback" not in err
    cluster.start_scheduler()
    cluster.wait(2)  # they come back by themselves
    called = gradmark("run", "--resume", path.stem, "--store", path.parent)
    assert called.code == 0, called.err
    assert path.read_bytes().startswith(before)
    assert broken(path, 12) == []


def test_whoever_submits_may_be_killed(measuring, gradmark):
    _, process, path = measuring
    process.kill()
    process.communicate()
    called = gradmark("run", "--resume", path.stem, "--store", path.parent)
    assert called.code == 0, called.err
    assert broken(path, 12) == []


def test_two_builds_are_compared_on_one_machine(gradmark, private, tmp_path):
    git = ["git", "-c", "user.name=n", "-c", "user.email=e"]
    (tmp_path / "mine.py").write_text(
        "import gradmark\n\n"
        "@gradmark.workload(suite='mine', stresses='a product')\ndef product(ops, x):\n    return x * x\n"
    )
    (tmp_path / "pyproject.toml").write_text(
        '[tool.gradmark]\nbuild = ""\nselect = ["mine.py"]\nengines = ["tapegrad"]\n'
    )
    (tmp_path / ".gitignore").write_text(".gradmark/\n__pycache__/\nprivate/\nclone/\n")
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"], ["commit", "-qm", "two", "--allow-empty"]):
        subprocess.run([*git, *words], cwd=tmp_path, check=True)
    subprocess.run(["git", "clone", "-q", ".", "clone"], cwd=tmp_path, check=True)
    private.start_worker("left", cwd=tmp_path / "clone")
    private.wait(1)
    arguments = ["check", "--against", "HEAD~1", "--pairs", "2", "--fleet", private.address]
    called = gradmark(*arguments)
    assert called.code in (0, 3), called.err  # times decide between them
    assert "measured on left: both builds of a row on the same machine" in called.out
    (run,) = stored(tmp_path / runs.FOLDER)
    assert run.finished
    assert {(m.cell.side, len(m.samples) >= 2) for m in run.measurements} == {("before", True), ("now", True)}
    subprocess.run([*git, "commit", "-qm", "three", "--allow-empty"], cwd=tmp_path, check=True)
    called = gradmark(*arguments)
    assert called.code == 2
    assert "left cannot measure both builds: " in called.err
    assert "check the same out on every machine" in called.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "--on", "zen"], "add --fleet ADDRESS"),
        (["run", "--each-class"], "add --fleet ADDRESS"),
        (["run", "--fleet", "tcp://x:1", "--on", "zen", "--each-class"], "use only one of them"),
        (["run", "--fleet", "tcp://x:1", "--each-class", "--json", "x"], "makes several runs"),
        (["check", "--fleet", "tcp://x:1"], "--fleet needs --against"),
        (["run", "--fleet", "tcp://x:1", "--data", "."], "which is not sent to a fleet"),
    ],
)
def test_options_that_contradict_each_other(gradmark, arguments, said):
    called = gradmark(*arguments)
    assert called.code == 2
    assert said in called.err
