"""Faults on every verb: each is planted in a repository as a user has it, and every verb is called that could show it.

In: faults. Out: what each verb said of each. An engine is committed, measured and kept as the baseline; then its file
is replaced by one with the fault.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from gradmark.errors import RevisionError
from gradmark.records import Record
from gradmark.revisions.audit import row_of
from gradmark.revisions.faults import AGAINST, CHECK, COMPARE, PYTEST, RUN, VERBS, Fault, engine_of

SUBJECT = "subject"
ENGINE = f"{SUBJECT}:Subject"
UNMODIFIED = "gradmark.engines.tapegrad:Tapegrad"
# An engine in a file needs no build.
PROJECT = '[tool.gradmark]\nengines = ["{engine}"]\nselect = [{rows}]\nbuild = ""\n'
TEST = """\
def test_the_engine(gradmark):
    measured = gradmark({workload!r}, engine={engine!r}, size={size!r})
    assert measured.status == "ok", measured.message
"""
# What an exit code of each verb says.
WORDS = {0: "passed", 1: "caught", 3: "inconclusive"}


class Shown(Record, frozen=True, kw_only=True):
    """A fault, and what each verb said of it: caught, passed, inconclusive, or what went wrong instead."""

    fault: str
    verbs: dict[str, str]
    expected: list[str]  # the verbs that can show it; none for what is no fault

    @property
    def right(self) -> bool:
        """Whether every verb that can show it does, and none accuses what is no fault."""
        if not self.expected:
            return set(self.verbs.values()) == {"passed"}
        return all(self.verbs[verb] == "caught" for verb in self.expected)

    def word(self, verb: str) -> str:
        """What the table says: a verb that cannot show a fault has nothing to say."""
        result = self.verbs[verb]
        if not self.expected:
            return "accused" if result == "caught" else result
        if verb in self.expected:
            return "missed" if result == "passed" else result
        return "–" if result == "passed" else result


def plant(faults: Sequence[Fault], folder: Path, pairs: int, watch: Callable[[str], None]) -> list[Shown]:
    """Plants each fault in a repository in this folder, and calls every verb."""
    repository = _Repository(folder, pairs)
    watch("measuring the unmodified engine")
    repository.begin(faults)
    shown = []
    for number, fault in enumerate(faults, 1):
        watch(f"{number} of {len(faults)}: {fault.what}")
        shown.append(Shown(fault=fault.what, verbs=repository.judge(fault), expected=list(fault.verbs)))
    return shown


def table(shown: Sequence[Shown]) -> list[str]:
    """The table of faults and verbs, as markdown."""
    heads = [verb if verb == PYTEST else f"`{verb}`" for verb in VERBS]
    rows = [[one.fault, *(one.word(verb) for verb in VERBS)] for one in shown]
    return [f"| {' | '.join(row)} |" for row in (["", *heads], ["---"] * (len(VERBS) + 1), *rows)]


class _Repository:
    """A user's repository with one engine."""

    def __init__(self, folder: Path, pairs: int) -> None:
        self.folder = folder
        self.pairs = pairs

    def begin(self, faults: Sequence[Fault]) -> None:
        """The unmodified engine, committed, measured, and kept as the baseline."""
        rows = list(dict.fromkeys(map(_row, faults)))
        (self.folder / "pyproject.toml").write_text(
            PROJECT.format(engine=ENGINE, rows=", ".join(f'"{row}"' for row in rows))
        )
        (self.folder / ".gitignore").write_text("/.gradmark/\n__pycache__/\n")
        self._write(UNMODIFIED)
        for arguments in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "the engine as it is"]):
            self._done(["git", "-c", "user.name=gradmark", "-c", "user.email=gradmark@localhost", *arguments])
        self._done([*GRADMARK, "baseline", "update"])
        for row in rows:
            self._done([*GRADMARK, "run", row, "-e", ENGINE, "--json", _before(row)])

    def judge(self, fault: Fault) -> dict[str, str]:
        """What every verb says of a fault."""
        self._write(engine_of(fault) if ":" in engine_of(fault) else UNMODIFIED)
        row = _row(fault)
        (self.folder / "test_engine.py").write_text(
            TEST.format(workload=fault.workload, engine=ENGINE, size=dict(fault.size))
        )
        result_of = {
            RUN: self._word([*GRADMARK, "run", row, "-e", ENGINE, "--json", "after.json"]),
            CHECK: self._word([*GRADMARK, "check", row]),
            AGAINST: self._word([*GRADMARK, "check", row, "--against", "HEAD", "--pairs", str(self.pairs)]),
            PYTEST: self._word(
                [sys.executable, "-m", "pytest", "-q", "-p", "gradmark.pytest_plugin", "test_engine.py"]
            ),
            COMPARE: self._compared(row),
        }
        return {verb: result_of[verb] for verb in VERBS}

    def _compared(self, row: str) -> str:
        """`compare` judges nothing by an exit code: it says that the row is slower, or what else of it changed."""
        completed = self._called([*GRADMARK, "compare", _before(row), "after.json", "--changed"])
        if completed.returncode != 0:
            return _failure(completed)
        _, _, changes = completed.stdout.partition(f"\n{row}@")  # before it: what differs between the machines
        return "caught" if any(line.endswith("slower") or " → " in line for line in changes.splitlines()) else "passed"

    def _write(self, engine: str) -> None:
        module, _, name = engine.partition(":")
        (self.folder / f"{SUBJECT}.py").write_text(f"from {module} import {name} as Subject  # noqa: F401\n")

    def _word(self, command: Sequence[str]) -> str:
        completed = self._called(command)
        return WORDS.get(completed.returncode) or _failure(completed)

    def _done(self, command: Sequence[str]) -> None:
        completed = self._called(command)
        if completed.returncode != 0:
            raise RevisionError(f"`{' '.join(command[-4:])}` failed: {_failure(completed)}")

    def _called(self, command: Sequence[str]) -> "subprocess.CompletedProcess[str]":
        # other plugins of this environment, and where GitHub wants its summary, are not the subject
        alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "GITHUB_STEP_SUMMARY": "", "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run(
            command, cwd=self.folder, env={**os.environ, **alone}, capture_output=True, text=True, check=False
        )


GRADMARK = [sys.executable, "-P", "-c", "from gradmark.commands.main import main; main()"]


def _row(fault: Fault) -> str:
    return row_of(fault).row


def _before(row: str) -> str:
    """The file of the run of the unmodified engine."""
    return f"before-{row.replace('/', '-')}.json"


def _failure(completed: "subprocess.CompletedProcess[str]") -> str:
    last = (completed.stderr.strip() or completed.stdout.strip()).splitlines()
    return f"exit code {completed.returncode}" + (f": {last[-1]}" if last else "")
