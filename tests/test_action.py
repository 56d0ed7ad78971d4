"""The GitHub action: it parses, its steps call commands that exist, and its answers are those of `gradmark check`."""

import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from gradmark.commands.check import command as check
from gradmark.commands.main import gradmark, main

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).parents[1]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS = {step.get("name", step.get("uses")): step for step in ACTION["runs"]["steps"]}
GUIDE = (ROOT / "docs" / "guide" / "ci.md").read_text()
# Prints its arguments, one on a line, and ends as it is told.
FAKE = '#!/bin/sh\nprintf "%s\\n" "$@" > called\nexit "${CODE:-0}"\n'


def variables(step, **inputs):
    """The environment of a step, with inputs as GitHub would fill them in."""
    given = {name: entry["default"] for name, entry in ACTION["inputs"].items()} | inputs

    def filled(text):
        text = re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda match: given[match[1]], text)
        return re.sub(r"\$\{\{ runner\.temp \}\}", ".", text)

    return {name: filled(text) for name, text in STEPS[step]["env"].items()}


@pytest.fixture
def step(tmp_path, monkeypatch):
    """Runs a step's script as GitHub does: `bash -e` with pipefail. Gives exit code, outputs and what was called."""
    monkeypatch.chdir(tmp_path)

    def run(name, path, code=0, **inputs):
        environment = {**os.environ, "PATH": f"{path}{os.pathsep}{os.environ['PATH']}", "CODE": str(code)}
        environment |= {"GITHUB_OUTPUT": "outputs", "GITHUB_STEP_SUMMARY": "summary", **variables(name, **inputs)}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", STEPS[name]["run"]],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        outputs = dict(line.split("=", 1) for line in Path("outputs").read_text().splitlines())
        return done, outputs

    return run


@pytest.fixture
def fake(tmp_path):
    folder = tmp_path / "fake"
    folder.mkdir()
    (folder / "gradmark").write_text(FAKE)
    (folder / "gradmark").chmod(0o755)
    return folder


def test_it_is_a_composite_action_whose_inputs_and_outputs_are_used():
    assert ACTION["runs"]["using"] == "composite"
    text = str(ACTION["runs"]["steps"])
    assert [name for name in ACTION["inputs"] if f"inputs.{name}" not in text] == []
    assert all(entry["description"] for entry in [*ACTION["inputs"].values(), *ACTION["outputs"].values()])
    assert {"select", "against", "engines", "python-version", "baseline", "comment", "summary"} <= set(ACTION["inputs"])


def test_no_input_can_become_a_command():
    scripts = [step["run"] for step in STEPS.values() if "run" in step]
    assert [script for script in scripts if "${{" in script] == []


def test_every_option_that_is_called_exists():
    called = re.findall(r"gradmark (\w+)", STEPS["Check"]["run"].replace("gradmark check is", ""))
    assert called == ["check"]
    context = click.Context(gradmark)
    assert gradmark.get_command(context, "check") is check
    known = {option for parameter in check.params for option in parameter.opts}
    assert set(re.findall(r"(?<= |\()--[a-z-]+", STEPS["Check"]["run"])) == {
        "--engine",
        "--against",
        "--baseline",
        "--format",
        "--output",
    }
    assert set(re.findall(r"(?<= |\()--[a-z-]+", STEPS["Check"]["run"])) <= known


def test_inputs_become_arguments(step, fake):
    done, outputs = step("Check", fake, select="scalar a*b.py", engines="x:Y z", against="origin/main", baseline="b c")
    assert (done.returncode, done.stderr) == (0, "")
    assert Path("called").read_text().splitlines() == [
        *("check", "--engine", "x:Y", "--engine", "z", "--against", "origin/main", "--baseline", "b c"),
        *("--format", "markdown", "--output", "./gradmark-check.md", "--", "scalar", "a*b.py"),
    ]
    assert outputs == {"answer": "pass", "report": "./gradmark-check.md"}


def test_without_inputs_pyproject_says_what_is_checked(step, fake):
    step("Check", fake)
    assert Path("called").read_text().split() == [
        *("check", "--format", "markdown", "--output", "./gradmark-check.md", "--")
    ]


@pytest.mark.parametrize(
    ("code", "inconclusive", "answer", "ends"),
    [(1, "pass", "fail", 1), (3, "pass", "inconclusive", 0), (3, "fail", "inconclusive", 3), (2, "pass", "error", 2)],
)
def test_answers(step, fake, code, inconclusive, answer, ends):
    done, outputs = step("Check", fake, code=code, inconclusive=inconclusive)
    assert (done.returncode, outputs["answer"]) == (ends, answer)
    assert ("::warning::" in done.stdout) == (code == 3 and ends == 0)


@pytest.mark.slow
def test_a_real_check(step, tmp_path):
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    (bin_folder / "gradmark").write_text(f'#!/bin/sh\nexec {sys.executable} -P -m gradmark.commands.main "$@"\n')
    (bin_folder / "gradmark").chmod(0o755)
    main(["baseline", "update", "expression"])
    done, outputs = step("Check", bin_folder, select="expression")
    assert (done.returncode, outputs["answer"]) == (0, "pass"), done.stderr
    assert Path(outputs["report"]).read_text() == Path("summary").read_text()
    Path("summary").unlink()
    step("Check", bin_folder, select="expression", summary="false")
    assert not Path("summary").exists()


def test_the_guide_shows_it_with_inputs_that_there_are():
    (example,) = [
        yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", GUIDE, re.S) if "gradmark@" in block
    ]
    steps = [step for job in example["jobs"].values() for step in job["steps"]]
    given = [step["with"] for step in steps if "gradmark@" in step["uses"]]
    assert given
    assert {name for inputs in given for name in inputs} <= set(ACTION["inputs"])
    for name in ACTION["inputs"]:
        assert f"| `{name}` |" in GUIDE
