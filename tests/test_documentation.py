"""Every example runs: in docstrings, in the README and in the pages under docs/."""

import doctest
import inspect
import re
import runpy
import tomllib
from pathlib import Path

import pytest

import gradmark
import gradmark.units
import tapegrad
import tapegrad.tensor
import tapegrad.testing

ROOT = Path(__file__).parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def documented():
    """Everything public, and the members of public classes."""
    for package in (tapegrad, tapegrad.tensor, gradmark):
        for name in package.__all__:
            thing = getattr(package, name)
            yield f"{package.__name__}.{name}", thing
            if inspect.isclass(thing) and not issubclass(thing, Exception):
                for member, value in vars(thing).items():
                    # fields are in the class's docstring
                    if not member.startswith("_") and (callable(value) or inspect.isgetsetdescriptor(value)):
                        yield f"{package.__name__}.{name}.{member}", value
    yield "tapegrad.testing.check_grads", tapegrad.testing.check_grads
    for name, thing in vars(gradmark.units).items():
        if inspect.isfunction(thing) and not name.startswith("_"):
            yield f"gradmark.units.{name}", thing


def run(name, text):
    names = {**vars(gradmark.units), **vars(gradmark)}  # a docstring may use what stands beside it
    test = doctest.DocTestParser().get_doctest(text, names, name, name, 0)
    runner = doctest.DocTestRunner(verbose=False)
    report = []
    runner.run(test, out=report.append)
    assert not report, "".join(report)
    return len(test.examples)


@pytest.mark.parametrize(("name", "thing"), list(documented()), ids=lambda part: part if isinstance(part, str) else "")
def test_everything_public_has_a_docstring_whose_examples_run(name, thing):
    text = inspect.getdoc(thing)
    assert text
    run(name, text)


@pytest.mark.parametrize("name", tapegrad.tensor.__all__)
def test_every_function_of_tensors_is_on_its_page(name):
    page = (ROOT / "docs" / "reference" / "tensor.md").read_text()
    assert name in re.findall(r"\w+", " ".join(re.findall(r"`([^`]*)`", page)))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_of_a_page_run(page):
    blocks = re.findall(r"```pycon\n(.*?)```", page.read_text(), flags=re.DOTALL)
    assert run(page.name, "\n".join(blocks)) >= len(blocks)  # one after the other, as a reader would type them


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_of_a_page_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_every_page_is_in_the_sites_navigation():
    docs = ROOT / "docs"
    trees = re.findall(r"```{toctree}\n(.*?)```", (docs / "index.md").read_text(), flags=re.DOTALL)
    named = [line for tree in trees for line in tree.splitlines() if line and not line.startswith(":")]
    pages = [str(page.relative_to(docs).with_suffix("")) for page in docs.rglob("*.md")]
    assert sorted(named) == sorted(page for page in pages if page != "index" and not page.startswith("decisions/0"))


def test_each_decision_has_a_number_of_its_own_and_its_title_says_it():
    pages = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))
    numbers = [int(page.name[:4]) for page in pages]
    assert numbers == sorted(set(numbers))
    for number, page in zip(numbers, pages, strict=True):
        assert page.read_text().startswith(f"# {number}. "), page.name


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_examples_run(example, capsys):
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out


def test_the_version_is_the_same_wherever_it_is_said():
    said = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    cited = (ROOT / "CITATION.cff").read_text()
    released, date = re.search(
        r"^## (\d[\d.]*) \(([\d-]+)\)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE
    ).groups()
    assert (re.search(r"^version: (.*)$", cited, re.MULTILINE)[1], released) == (said, said)
    assert re.search(r"^date-released: (.*)$", cited, re.MULTILINE)[1] == date
