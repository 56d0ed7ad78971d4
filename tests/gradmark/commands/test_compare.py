"""`gradmark compare`: two kept runs on the terminal."""

import msgspec

from gradmark.store import runs


def test_a_run_with_itself_and_with_a_changed_one(gradmark, finished, tmp_path):
    run = runs.load(finished)
    other = msgspec.structs.replace(
        run,
        id="other",
        environment=msgspec.structs.replace(run.environment, cpu="another"),
        measurements=run.measurements[:1],
    )
    for each in (run, other):
        runs.save(each, runs.path_of(each, tmp_path))
    called = gradmark("compare", run.id, run.id, "--store", tmp_path)
    assert called.code == 0
    lines = called.out.splitlines()
    assert lines[:2] == [f"old {run.id}  {run.started}", f"new {run.id}  {run.started}"]
    assert [line.split()[:2] for line in lines[2:4]] == [["expression", "null"], ["expression", "tapegrad"]]
    assert "× 1.000 (1.000 to 1.000)  undecided (1 processes; 3 decide)" in lines[3]
    assert lines[4] == "2 undecided"
    called = gradmark("compare", run.id, "other", "--store", tmp_path, "--changed")
    assert f"unlike  cpu: {run.environment.cpu} → another" in called.out
    assert called.out.splitlines()[-1] == "1 unlike runs, 1 not in both"


def test_a_run_that_is_not_there(gradmark, tmp_path):
    called = gradmark("compare", "nothing", "--store", tmp_path)
    assert called.code == 2
    assert "no run in" in called.err
