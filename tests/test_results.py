"""The page of results and the README: made by one command, so that a figure is the same wherever it stands."""

import importlib.util
import re
from pathlib import Path

import msgspec
import pytest

from gradmark.measure.orchestrator import Orchestrator, begin
from gradmark.measure.plan import Plan
from gradmark.records import Cell, Settings
from gradmark.store.folder import FolderStore

ROOT = Path(__file__).parents[1]
README, RESULTS = ROOT / "README.md", ROOT / "docs" / "results.md"
# A number with a unit that something was measured in, or how many times, or of how many.
FIGURE = re.compile(r"\d[\d.,]*(?: k)? (?:ns|µs|ms|KiB|MiB|ulp)(?!\w)|\d[\d.,]* times|\d+ of \d+|\d{4}-\d\d-\d\d")


@pytest.fixture(scope="module")
def results():
    spec = importlib.util.spec_from_file_location("results", ROOT / "docs" / "results.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def figures(text):
    return set(FIGURE.findall(text))


def test_every_figure_of_the_readme_is_on_the_page_of_results():
    said = figures(README.read_text())
    assert len(said) > 10
    assert said - figures(RESULTS.read_text()) == set()


def test_a_figure_that_differs_would_be_found():
    assert figures("It takes 9.87 µs, 3.5 times as long; 2 of 7 rows") == {"9.87 µs", "3.5 times", "2 of 7"}
    assert figures("9.87 µs") - figures(RESULTS.read_text()) == {"9.87 µs"}


@pytest.mark.parametrize("page", [README, RESULTS], ids=lambda page: page.name)
def test_every_marker_is_known_and_filled(results, page):
    blocks = {match[2]: match[0] for match in results.MARKED.finditer(page.read_text())}
    assert blocks.keys() <= {
        *("headline", "answer", "circumstances", "overview", "summary", "answers", "absent"),
        *("operations", "scaling", "few"),
    }
    assert [name for name, block in blocks.items() if len(block.splitlines()) < 3] == []
    assert page.read_text().count("<!-- results:") == len(blocks) == page.read_text().count("<!-- end of results -->")


def test_the_readme_is_short():
    assert len(README.read_text().splitlines()) <= 130


def test_each_command_of_the_page_is_said():
    assert len(re.findall(r"^\| `gradmark (run|ops|scale) [^`]*` \|", RESULTS.read_text(), re.MULTILINE)) == 3


def test_what_is_between_markers_is_made_anew(results):
    page = "a\n<!-- results: few -->\nold\n<!-- end of results -->\nb\n"
    made = results.filled(page, {"few": "| new |\n"})
    assert made == "a\n<!-- results: few -->\n| new |\n<!-- end of results -->\nb\n"
    assert results.filled(made, {"few": "old\n"}) == page


def test_an_unknown_marker_is_an_error(results):
    with pytest.raises(SystemExit, match="no results are called 'fwe'; choose from: few"):
        results.filled("<!-- results: fwe -->\n<!-- end of results -->\n", {"few": ""})


@pytest.mark.slow
def test_rows_of_a_device_are_a_table(results):
    cell = Cell(engine="gradmark.engines.virtual:Virtual", workload="poly", suite="scalar", params={"n": 10},
                device="virtual")  # fmt: skip
    settings = Settings(device_processes=1, blocks=4, pin=False)
    begun = begin(Plan(verb="run", cells=[cell], settings=settings, arguments=["poly", "--store", "x"]))
    here = msgspec.structs.replace(begun.environment, gpus=["one of known costs"], packages={"torch": "2"})
    with Orchestrator(msgspec.structs.replace(begun, environment=here), lambda _event: None) as orchestrator:
        page = results.on_gpu(orchestrator.carry_out())
    assert "one of known costs" in page
    assert ": `gradmark run poly` (torch 2).\n\n| row | total | cold | hot | launches | busy |\n" in page
    assert page.endswith("| poly/n=10 on gradmark.engines.virtual:Virtual | 240 µs | 240 µs | 195 µs | 9 | 100 % |\n")
    whole = "a\n<!-- gpu results -->\nold\n<!-- end of gpu results -->\nb\n"
    assert results.OF_GPU.sub(lambda match: f"{match[1]}new\n{match[2]}", whole) == whole.replace("old", "new")


def test_a_row_that_is_not_settled_is_nobodys(results, standing):
    placed = {
        "a": [standing("tapegrad", "fastest"), standing("jax", "slower")],
        "b": [standing("tapegrad", "fastest"), standing("jax", "slower")],
        "c": [standing("tapegrad", "slower"), standing("jax", "fastest")],
        "d": [standing("tapegrad", "tied"), standing("jax", "tied")],
        "e": [standing("tapegrad", "tied"), standing("jax", "tied", settled=False)],
        "f": [standing("tapegrad", "fastest")],  # alone: nothing was won
    }
    assert results.headline(placed) == (
        "Of 5 rows and 2 engines, tapegrad is fastest on 2 and jax on 1; 1 ends in a tie and 1 is not settled."
    )


def test_where_nothing_is_settled_nobody_wins(results, standing):
    placed = {"e": [standing("tapegrad", "tied"), standing("jax", "tied", settled=False)]}
    assert results.headline(placed) == "Of 1 row and 2 engines, no engine is fastest on 0; 1 is not settled."


@pytest.fixture
def standing():
    from gradmark.analyse.standings import Standing

    def make(engine, outcome, *, settled=True):
        return Standing(engine=engine, total_ns=1.0, ratio=1.0, outcome=outcome, settled=settled, rounds=9)

    return make


def test_a_kept_run_is_found_by_what_was_typed(results, monkeypatch):
    class Kept:
        def __init__(self, path, verb, arguments, *, finished=True):
            self.path, self.verb, self.arguments, self.finished = path, verb, arguments, finished

    runs = [
        Kept("old", "ops", ["scalar", "--store", "build/results"]),
        Kept("new", "ops", ["scalar", "--store", "/elsewhere"]),
        Kept("other", "ops", ["tensor"]),
        Kept("unfinished", "ops", ["scalar"], finished=False),
    ]
    monkeypatch.setattr(FolderStore, "listed", lambda self: runs)
    assert results.kept(FolderStore(), "ops scalar") == "new"
    assert results.kept(FolderStore(), "ops scalar --processes 4") is None


def test_the_function_of_the_readme_is_the_one_of_the_guide():
    (shown,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert shown.startswith("# option.py\n")
    assert shown in (ROOT / "docs" / "guide" / "your-function.md").read_text()  # which is measured in test_guide.py
