"""The entry point: help without waiting, errors without a traceback, exit codes."""

import json
import subprocess
import sys

import click
import pytest

from gradmark.commands import main as entry
from gradmark.commands.main import VERBS
from gradmark.errors import GradmarkError

HEAVY = ["numpy", "scipy", "rich", "mpmath", "memray", "tapegrad"]
IMPORTED = """
import json, sys
from gradmark.commands.main import main
main(["--help"])
print(json.dumps(sorted(sys.modules)))
"""


def test_help_lists_every_verb_and_imports_nothing_heavy():
    done = subprocess.run([sys.executable, "-c", IMPORTED], capture_output=True, text=True, check=True)
    *shown, modules = done.stdout.splitlines()
    commands = shown[shown.index("Commands:") + 1 :]
    assert [line.split()[0] for line in commands if line[2:3] != " "] == list(VERBS)
    assert [name for name in HEAVY if name in json.loads(modules)] == []
    assert [name for name in json.loads(modules) if name.startswith("gradmark.measure")] == []


def test_the_test_for_heavy_modules_can_fail():
    script = IMPORTED.replace("main([", "import numpy; main([")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "numpy" in json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(gradmark, verb):
    called = gradmark(verb, "--help")
    assert (called.code, called.err) == (0, "")
    assert called.out.startswith(f"Usage: gradmark {verb} ")


def test_version(gradmark):
    assert gradmark("--version").out == "gradmark, version 0.1.0\n"


def test_an_unknown_verb_gets_the_nearest_name(gradmark):
    called = gradmark("contrat")
    assert (called.code, called.out) == (2, "")
    assert called.err.splitlines()[-1] == "Error: no command is called 'contrat'; did you mean contract?"


def test_an_unknown_verb_that_is_near_nothing_gets_all_names(gradmark):
    called = gradmark("xyzzy")
    assert called.code == 2
    assert f"there are: {', '.join(VERBS)}" in called.err


def test_an_unknown_option_is_wrong_usage(gradmark):
    called = gradmark("run", "--proceses", "3")
    assert called.code == 2
    assert "--processes" in called.err


def failing(error):
    @click.command()
    def command():
        raise error

    return command


def test_an_error_of_ours_has_no_traceback(monkeypatch, capsys):
    monkeypatch.setattr(entry, "gradmark", failing(GradmarkError("expected this, got that")))
    with pytest.raises(SystemExit) as stopped:
        entry.main([])
    assert stopped.value.code == 2
    assert capsys.readouterr() == ("", "gradmark: expected this, got that\n")


def test_a_fault_of_ours_keeps_its_traceback(monkeypatch):
    monkeypatch.setattr(entry, "gradmark", failing(KeyError("a defect")))
    with pytest.raises(KeyError):
        entry.main([])


def test_an_interruption_is_130(monkeypatch, capsys):
    monkeypatch.setattr(entry, "gradmark", failing(KeyboardInterrupt()))
    with pytest.raises(SystemExit) as stopped:
        entry.main([])
    assert stopped.value.code == 130
    assert capsys.readouterr().err.strip() == "interrupted"


def test_a_reader_that_leaves_is_met_with_silence(monkeypatch, capsys):
    monkeypatch.setattr(entry, "gradmark", failing(BrokenPipeError(32, "Broken pipe")))
    with pytest.raises(SystemExit) as stopped:
        entry.main([])
    assert stopped.value.code == 1
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("limit", ["nan", "inf", "0", "-1"])
def test_a_memory_limit_that_is_no_number(gradmark, limit):
    assert gradmark("run", "expression", "--dry-run", "--memory-limit", limit).code == 2
