"""Any measuring verb that was interrupted says how it goes on, and goes on as that verb."""

import shlex
import signal
import time

import msgspec
import pytest

from gradmark.analyse import contract
from gradmark.commands.measuring import command_to_resume
from gradmark.errors import StoreError
from gradmark.records import Environment, Run, Settings
from gradmark.records.event import Finished
from gradmark.store import runs
from gradmark.store.journal import Journal
from gradmark.store.store import open_store

QUICK = ["--processes", "1", "--no-memory"]
# A verb, what it prints when it has come to its end, and its exit codes.
VERBS = {
    "run": (["run", "expression", "-e", "null", *QUICK, "--format", "csv"], "engine", (0,)),
    "contract": (["contract", "-e", "tapegrad", "--processes", "1"], "kept         a reused tape does not", (3,)),
    "hypothesis": (["hypothesis", "filtering", *QUICK], "supported    not recording constants", (0,)),
    "scale": (["scale", "poly", *QUICK], "cost = a + b·n^p, n counts operations", (0,)),
    "check": (["check", "expression", "-e", "null"], "pass against gradmark-baseline.json", (0,)),
    "baseline update": (["baseline", "update", "expression", "-e", "null"], "1 cell, 0 changed; commit it", (0,)),
    "audit": (["audit", "-k", "leak"], "caught  a leak of 1 KiB in each iteration", (0,)),
}


@pytest.fixture
def interrupted(gradmark, monkeypatch):
    """Calls a command that is interrupted when it has kept so many events."""

    def call(after, *arguments):
        kept = []
        real = Journal.__call__

        def keep(journal, event):
            if len(kept) == after:
                raise KeyboardInterrupt
            kept.append(event)
            real(journal, event)

        with monkeypatch.context() as patched:
            patched.setattr(Journal, "__call__", keep)
            return gradmark(*arguments)

    return call


def advised(called):
    """What the interrupted command says to type."""
    assert (called.code, called.out) == (130, "")
    (text,) = (line for line in called.err.splitlines() if "interrupted" in line)  # it is said once
    assert text.startswith("interrupted; continue with: gradmark ")
    return shlex.split(text.partition("gradmark ")[2])


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS)
def test_an_interrupted_verb_goes_on_as_that_verb(gradmark, interrupted, monkeypatch, tmp_path, verb):
    monkeypatch.setattr(contract, "WORKLOADS", ["expression"])
    arguments, printed, codes = VERBS[verb]
    if verb in ("check", "baseline update"):
        assert gradmark("baseline", "update", "expression", "-e", "null").code == 0
    store = tmp_path / "the store"
    called = interrupted(1, *arguments, "--store", store)
    resume = advised(called)
    (path,) = store.iterdir()
    half = runs.load(path)
    assert (half.verb, half.arguments) == (verb, [*map(str, arguments[len(verb.split()) :]), "--store", str(store)])
    assert not half.finished
    assert resume == [*verb.split(), "--resume", half.id, "--store", str(store)]
    called = gradmark(*resume)
    assert called.code in codes, called.err
    assert printed in called.out
    whole = runs.load(path)
    assert whole.finished
    (kept,) = half.measurements
    assert kept in [msgspec.structs.replace(m, samples=kept.samples, counts={}) for m in whole.measurements]
    for measurement in whole.measurements:
        assert [s.process for s in measurement.samples] == list(range(len(measurement.samples)))
    assert printed in gradmark(*resume).out  # and a finished one is shown again
    assert list(store.glob("*.jsonl")) == [path]


@pytest.mark.slow
def test_the_advice_names_no_store_where_it_is_the_usual_one(interrupted):
    resume = advised(interrupted(1, "run", "expression", "-e", "null", *QUICK))
    assert resume[:2] == ["run", "--resume"]
    assert len(resume) == 3


@pytest.mark.slow
def test_latest_is_of_the_verb(gradmark, interrupted):
    first = advised(interrupted(1, "run", "expression", "-e", "null", *QUICK))[2]
    advised(interrupted(1, "hypothesis", "filtering", *QUICK))
    called = gradmark("run", "--resume", "latest")
    assert called.code == 0
    assert called.out.splitlines()[-1] == f"run file: .gradmark/runs/{first}.jsonl"


MINE = """
from gradmark import workload

@workload(suite="mine", stresses="nothing")
def square(ops, x):
    return {body}
"""


@pytest.mark.slow
def test_a_file_that_was_edited_does_not_go_on(gradmark, interrupted, tmp_path):
    """Seen: a row of which one half was measured of another function, exit code 0."""
    file = tmp_path / "mine.py"
    file.write_text(MINE.format(body="x * x"))
    resume = advised(interrupted(1, "run", "mine.py", "-e", "tapegrad", *QUICK))
    file.write_text(MINE.format(body="x * x * x"))
    called = gradmark(*resume)
    assert (called.code, called.out) == (2, "")
    assert called.err == f"gradmark: mine.py changed since run {resume[-1]} began; start a new run\n"
    file.write_text(MINE.format(body="x * x"))
    assert gradmark(*resume).code == 0
    file.write_text(MINE.format(body="x * x * x"))
    assert gradmark(*resume).code == 0  # it is finished: nothing is measured


@pytest.fixture
def strange(gradmark, interrupted, monkeypatch, tmp_path):
    """A run file of a stranger, with the workload file that it names, which says when it was loaded."""
    (tmp_path / "evil.py").write_text(f"open('loaded', 'w').close()\n{MINE.format(body='x * x')}")
    id_ = advised(interrupted(1, "run", "evil.py", "-e", "null", *QUICK, "--json", "victim", "--store", "theirs"))[2]
    (tmp_path / "loaded").unlink()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another user"))
    (tmp_path / "victim").write_text("mine")
    return tmp_path / "theirs" / f"{id_}.jsonl"


@pytest.mark.slow
@pytest.mark.parametrize("finished", [False, True])
def test_a_run_file_of_a_stranger_runs_and_writes_nothing(gradmark, strange, tmp_path, finished):
    """Seen: the file that it named was executed, and what its options named was overwritten."""
    if finished:
        with Journal.resume(strange) as journal:
            journal(Finished())
    before = strange.read_bytes()
    evil = tmp_path / "evil.py"
    called = gradmark("run", "--resume", strange)
    assert (called.code, called.out) == (2, "")
    assert called.err == (
        f"gradmark: run {strange.stem} does not have your seal: it was started by somebody else, on another machine, "
        "or "
        "by an older gradmark. It names what would be run: `gradmark run evil.py -e null --processes 1 --no-memory "
        f"--json victim --store theirs`, with {evil}, null. Add --trust if you trust it; `gradmark report {strange}` "
        "only shows it\n"
    )
    assert not (tmp_path / "loaded").exists()
    assert (tmp_path / "victim").read_text() == "mine"
    assert strange.read_bytes() == before


@pytest.mark.slow
def test_a_run_file_of_a_stranger_goes_on_if_it_is_trusted(gradmark, strange, tmp_path):
    called = gradmark("run", "--resume", strange, "--trust")
    assert called.code == 0, called.err
    assert (tmp_path / "loaded").exists()
    assert runs.load(tmp_path / "victim") == runs.load(strange)


def test_trust_without_a_run(gradmark):
    called = gradmark("run", "expression", "--trust")
    assert called.code == 2
    assert "--trust only works with --resume" in called.err


def test_what_a_file_names_itself_is_no_command():
    """Seen: the advice is made to be pasted into a shell, and a file may name itself anything."""
    here = Environment(cpu="c", cores=1, memory_bytes=1, os="o", python="p", packages={})
    run = Run(
        id="x; rm -rf ~", started="", environment=here, settings=Settings(), measurements=[], verb="baseline update"
    )
    assert command_to_resume(run, open_store()) == "gradmark baseline update --resume 'x; rm -rf ~'"


def until_something_is_kept(process, folder):
    while process.poll() is None:
        for path in folder.glob("*.jsonl"):
            try:
                if runs.load(path).measurements:
                    return path
            except StoreError:  # a reader never sees half an event
                process.kill()
                raise
        time.sleep(0.01)
    raise AssertionError(process.communicate())


@pytest.mark.slow
def test_sigterm_is_an_interruption_too(gradmark, started, tmp_path):
    """Seen: a job that a batch system ended said nothing of how it goes on."""
    store = tmp_path / "store"
    arguments = ["run", "poly", "-e", "null", "--processes", "50", "--no-memory", "--store", store]
    process = started(*arguments, start_new_session=True)
    path = until_something_is_kept(process, store)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate()
    assert process.returncode == 143
    assert err.splitlines()[-1] == f"interrupted; continue with: gradmark run --resume {path.stem} --store {store}"
    assert err.count("interrupted") == 1
    assert "Traceback" not in err


@pytest.mark.slow
def test_a_contract_that_is_ended_with_ctrl_c_gives_its_verdicts_later(gradmark, started, tmp_path):
    store = tmp_path / "store"
    process = started("contract", "--processes", "2", "--no-memory", "--store", store, start_new_session=True)
    path = until_something_is_kept(process, store)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130
    assert "Traceback" not in err
    assert f"interrupted; continue with: gradmark contract --resume {path.stem} --store {store}" in err
    half = runs.load(path)
    called = gradmark("contract", "--resume", path.stem, "--store", store)
    assert called.code in (0, 1, 3)  # times decide between them
    assert "gradients add up exactly, to rounding" in called.out
    whole = runs.load(path)
    assert [len(m.samples) for m in whole.measurements] == [2] * len(whole.planned)
    assert [m.cell for m in half.measurements if m.cell not in whole.planned] == []
