"""Help texts: options in groups, examples that parse, and the words of the glossary."""

import ast
import importlib
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from gradmark.commands.helping import GROUPS, OTHER
from gradmark.commands.main import VERBS, gradmark
from gradmark.records.metric import REGISTRY

ROOT = Path(__file__).parents[3]


def every_command():
    """Each verb, and each verb of a group, by what is typed."""
    for verb in VERBS:
        command = importlib.import_module(f"gradmark.commands.{verb}").command
        yield verb, command
        if isinstance(command, click.Group):
            yield from ((f"{verb} {name}", inner) for name, inner in command.commands.items())


COMMANDS = dict(every_command())


def refused_words():
    """What the glossary says not to write, as patterns of whole words."""
    glossary = (ROOT / "docs" / "glossary.md").read_text()
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| [^|]*\|$", glossary.partition("## Words that we do not use")[2], re.M)
    assert rows[0] == ("not", "but")
    return [re.compile(rf"\b{re.escape(word)}\b", re.IGNORECASE) for word, _ in rows[2:]]


REFUSED = refused_words()


def refused_in(text):
    return [pattern.pattern for pattern in REFUSED if pattern.search(text)]


def help_of(typed):
    command = COMMANDS[typed]
    return command.get_help(click.Context(command, info_name=f"gradmark {typed}"))


@pytest.mark.parametrize("typed", COMMANDS)
def test_each_help_text_uses_the_words_of_the_glossary(typed):
    assert refused_in(" ".join(help_of(typed).split())) == []


def test_so_do_titles_and_meanings_of_metrics():
    assert [entry.name for entry in REGISTRY if refused_in(f"{entry.title}: {entry.meaning}")] == []


def test_the_test_of_words_can_fail():
    assert refused_in("Peak: the Memory  peak".replace("  ", " ")) == [r"\bmemory\ peak\b"]
    assert len(REFUSED) > 20


@pytest.mark.parametrize("typed", COMMANDS)
def test_each_verb_has_two_examples_that_parse(typed):
    examples = COMMANDS[typed].examples
    assert len(examples) >= 2
    for example in examples:
        first, *words = shlex.split(example)
        assert first == "gradmark"
        assert example in help_of(typed)
        assert words[: len(typed.split())] == typed.split()
        parsed(gradmark, words)


def parsed(command, words):
    """What is typed is parsed, as deep as it names commands; nothing is run."""
    context = command.make_context("gradmark", list(words), resilient_parsing=False)
    if isinstance(command, click.Group):
        _, inner, rest = command.resolve_command(context, [*context._protected_args, *context.args])
        parsed(inner, rest)


def test_an_example_with_an_unknown_option_would_be_found():
    with pytest.raises(click.NoSuchOption):
        parsed(gradmark, ["fleet", "worker", "tcp://host:8786", "--onc"])


def test_options_of_a_large_verb_are_in_groups():
    text = help_of("run")
    headings = [line.removesuffix(":") for line in text.splitlines() if line.endswith(":") and line[:1].strip()]
    assert headings == [*GROUPS, OTHER, "Examples"]
    assert text.index("How to measure:") < text.index("--processes") < text.index("Other machines:")


@pytest.mark.parametrize("typed", ["doctor", "history", "compare"])
def test_options_of_a_small_verb_are_in_one_list(typed):
    assert "\nOptions:\n" in help_of(typed)
    assert [heading for heading in GROUPS if f"{heading}:" in help_of(typed)] == []


def literals(tree):
    """Every text of a module that is more than a name; docstrings are for those who read the code."""
    nodes = list(ast.walk(tree))
    with_docstring = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docstrings = {
        id(node.body[0].value) for node in nodes if isinstance(node, with_docstring) and ast.get_docstring(node)
    }
    for node in nodes:
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or id(node) in docstrings:
            continue
        if " " in node.value:
            yield node.value


# `draw` is also what a workload's inputs are drawn with, and what a plot does.
ALLOWED = {r"\bdraw\b"}


@pytest.mark.parametrize("folder", ["analyse", "commands", "engines", "fleet", "gate", "measure", "report", "store"])
def test_so_do_all_texts_of_the_laboratory(folder):
    refused = {}
    for path in (ROOT / "src" / "gradmark" / folder).rglob("*.py"):
        for text in literals(ast.parse(path.read_text())):
            if words := set(refused_in(text)) - ALLOWED:
                refused[f"{path.name}: {text}"] = words
    assert refused == {}


def test_the_test_of_texts_can_fail():
    (text,) = literals(ast.parse('"""the mean time"""\nx = f"the mean time {1}"\ny = "mean"'))
    assert refused_in(text) == [r"\bmean\ time\b"]


def test_no_group_names_an_option_that_no_verb_has():
    there = {parameter.name for command in COMMANDS.values() for parameter in command.params}
    assert {name for names in GROUPS.values() for name in names} - there == set()


def test_help_starts_no_heavy_import():
    script = (
        "import sys; from gradmark.commands.run import command; print('numpy' in sys.modules, 'scipy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"
