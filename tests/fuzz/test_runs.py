"""Run files of every format, mutated: each gives a run that all commands can use, or one error that names the file."""

from pathlib import Path

import pytest
from hypothesis import given

from fuzz import everything
from fuzz.budget import inputs
from fuzz.mutations import mutated
from gradmark.commands.main import main
from gradmark.errors import StoreError
from gradmark.records import Run
from gradmark.store import journal, listing, runs

DATA = Path(__file__).parents[1] / "data" / "runs"
VALID = [path for path in sorted(DATA.iterdir()) if path.stem.startswith("format-")]
BESIDE = runs.load(DATA / "format-4.jsonl")
MUTATED = mutated(*(path.read_bytes() for path in VALID))


def test_there_is_a_file_of_every_format():
    assert [runs.load(path).format_version for path in VALID] == [1, 2, 3, 4, 5]


def read(data: bytes, folder: Path) -> Run | None:
    """The run in these bytes; None where they are refused, as they should be."""
    path = folder / "x.jsonl"
    path.write_bytes(data)
    listed = listing.listed(path)
    everything.listed(listed)
    try:
        run = runs.load(path)
    except StoreError as error:
        assert str(path) in str(error)
        assert "\n" not in str(error)
        return None
    finally:
        assert path.read_bytes() == data
    assert listed.problem == ""
    return run


@inputs(few=40, share=0.25)
@given(data=MUTATED)
def test_a_run_file_is_read_or_refused(data, tmp_path_factory):
    run = read(data, tmp_path_factory.mktemp("fuzz"))
    if run is not None:
        everything.done_with(run, BESIDE)


@inputs(few=150, share=0.3)
@given(data=MUTATED)
def test_what_is_read_can_be_written_and_is_the_same_again(data, tmp_path_factory):
    """As when a run is resumed, or written with `--json`: nothing is lost."""
    run = read(data, tmp_path_factory.mktemp("fuzz"))
    if run is None:
        return
    path = tmp_path_factory.mktemp("fuzz") / "again.json"
    runs.save(run, path)
    again = runs.load(path)
    assert [m for m in again.measurements if m not in run.measurements] == []
    assert len(again.measurements) == len(run.measurements)
    resumed, _ = journal.read(journal.lines(run), path)
    assert {m.cell.id: len(m.samples) for m in resumed.measurements} == {
        m.cell.id: len(m.samples) for m in run.measurements
    }


@inputs(few=8, share=0.01)
@given(data=MUTATED)
def test_a_damaged_file_hides_no_other(data, tmp_path_factory, capsys_of_all):
    folder = tmp_path_factory.mktemp("store")
    (folder / "good.jsonl").write_bytes((DATA / "format-4.jsonl").read_bytes())
    (folder / "zz.jsonl").write_bytes(data)
    for arguments in (["list", "runs"], ["history"], ["history", "--json"], ["compare", "good", "zz"]):
        capsys_of_all.readouterr()
        try:
            code = main([*arguments, "--store", str(folder)])
        except SystemExit as error:
            code = error.code
        said = capsys_of_all.readouterr()
        assert "Traceback" not in said.err
        if arguments[0] == "compare":
            assert code in (None, 0, 2)
        else:
            assert code in (None, 0)
            assert BESIDE.id in said.out or BESIDE.planned[0].id in said.out


@pytest.fixture
def capsys_of_all(capsys):
    """One for all inputs of a test: what is printed is read after each command."""
    return capsys
