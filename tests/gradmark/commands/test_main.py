"""The entry point: help without waiting, errors without a traceback, exit codes."""

import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from gradmark.commands import main as entry
from gradmark.commands.main import VERBS
from gradmark.errors import GradmarkError

RUNS = Path(__file__).parents[2] / "data" / "runs"
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
    assert gradmark("--version").out == f"gradmark, version {importlib.metadata.version('gradmark')}\n"


def test_an_unknown_verb_gets_the_nearest_name(gradmark):
    called = gradmark("contrat")
    assert (called.code, called.out) == (2, "")
    assert called.err.splitlines()[-1] == "Error: no command is called 'contrat'; did you mean contract?"


def test_an_unknown_verb_that_is_near_nothing_gets_all_names(gradmark):
    called = gradmark("xyzzy")
    assert called.code == 2
    assert f"choose from: {', '.join(VERBS)}" in called.err


def test_an_unknown_option_is_wrong_usage(gradmark):
    called = gradmark("run", "--proceses", "3")
    assert called.code == 2
    assert "--processes" in called.err


@pytest.mark.parametrize("verb", ["baseline", "fleet", "store"])
def test_a_verb_of_verbs_alone_shows_its_help_once(gradmark, verb):
    called = gradmark(verb)
    assert called.code == 2
    assert (called.out + called.err).count("Usage: ") == 1


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


def test_a_fault_of_ours_keeps_its_traceback_and_is_no_verdict(monkeypatch, capsys):
    """Seen: exit code 1, which says that something got worse."""
    monkeypatch.setattr(entry, "gradmark", failing(KeyError("a defect")))
    with pytest.raises(SystemExit) as stopped:
        entry.main([])
    assert stopped.value.code == 2
    err = capsys.readouterr().err
    assert err.startswith("Traceback (most recent call last):\n")
    assert err.endswith("KeyError: 'a defect'\n")


def test_an_interruption_is_130(monkeypatch, capsys):
    monkeypatch.setattr(entry, "gradmark", failing(KeyboardInterrupt()))
    with pytest.raises(SystemExit) as stopped:
        entry.main([])
    assert stopped.value.code == 130
    assert capsys.readouterr().err.strip() == "interrupted"


def test_a_reader_that_leaves_is_met_with_silence(monkeypatch, capsys):
    monkeypatch.setattr(entry.Verbs, "get_command", lambda *_: failing(BrokenPipeError(32, "Broken pipe")))
    with pytest.raises(SystemExit) as stopped:
        entry.main(["run"])
    assert stopped.value.code == 141
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("limit", ["nan", "inf", "0", "-1"])
def test_a_memory_limit_that_is_no_number(gradmark, limit):
    assert gradmark("run", "expression", "--dry-run", "--memory-limit", limit).code == 2


# --- output that leads nowhere


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has it")
@pytest.mark.parametrize(
    "arguments", [["list", "workloads"], ["compare", RUNS / "format-3.jsonl", RUNS / "format-4.jsonl"]], ids=str
)
def test_a_disk_that_is_full_is_no_verdict(started, tmp_path, arguments):
    """Seen: a traceback, and exit code 1."""
    with open("/dev/full", "w") as full:
        process = started(*arguments, cwd=tmp_path, stdout=full)
        _, err = process.communicate()
    assert process.returncode == 2
    assert err == (
        "gradmark: standard output cannot be written: No space left on device; what was measured is kept, "
        "`gradmark list runs` shows it\n"
    )


def test_a_reader_that_has_seen_enough(started, tmp_path):
    """Seen: exit code 1."""
    there, here = os.pipe()
    os.close(there)
    process = started("list", "workloads", cwd=tmp_path, stdout=here)
    os.close(here)
    _, err = process.communicate()
    assert (process.returncode, err) == (141, "")


@pytest.mark.skipif(os.name == "nt", reason="a shell closes them")
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"])
def test_streams_that_are_closed_lead_nowhere(tmp_path, closed):
    """Seen: tracebacks; and with all of them closed `check` ended with 1, as a pipe to a worker was standard output."""
    code = (
        "import os, sys; from gradmark.commands import terminal; terminal.ready(); "
        "[os.fstat(k) for k in range(3)]; here, there = os.pipe(); assert min(here, there) > 2; "
        "terminal.say('out'); terminal.say('err', err=True); print(sys.stdout.encoding, file=open('done', 'w'))"
    )
    subprocess.run(["sh", "-c", f'"$0" -c "$1" {closed}', sys.executable, code], cwd=tmp_path, check=True)
    assert (tmp_path / "done").read_text() == "utf-8\n"
