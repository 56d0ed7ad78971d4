"""Being a tool: recorded transcripts are answered as they were recorded, and whatever else is said has an answer."""

import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gradmark.errors import GradmarkError
from gradmark.gradbench.served import MODULES, Served, serve
from gradmark.workloads.gradbench import ht
from gradmark.workloads.literature.hand_model import read

TESTS = Path(__file__).parents[2]
TRANSCRIPTS = sorted((TESTS / "data" / "gradbench").glob("*.jsonl"))
EXPECTED = json.loads(
    (TESTS.parent / "src" / "gradmark" / "workloads" / "literature" / "data" / "expected.json").read_text()
)
ONCE = {"min_runs": 1, "min_seconds": 0}
# Descents of a thousand steps, each with derivatives: all four pairs of modes take half a minute.
SLOW = {"particle", "saddle"}


@pytest.fixture(scope="module")
def tapegrad():
    return Served("tapegrad")


def evaluated(served, module, function, given):
    message = {"id": 5, "kind": "evaluate", "module": module, "function": function, "input": given}
    return json.loads(json.dumps(served.answer(message)))


def numbers(thing):
    """All numbers of plain data, in order, and what else there is."""
    if isinstance(thing, dict):
        return [pair for key in sorted(thing) for pair in (key, *numbers(thing[key]))]
    if isinstance(thing, list):
        return [number for part in thing for number in (len(thing), *numbers(part))]
    return [thing]


def assert_alike(one, other, within):
    ours, theirs = numbers(one), numbers(other)
    assert [isinstance(x, float) for x in ours] == [isinstance(x, float) for x in theirs]
    for x, y in zip(ours, theirs, strict=True):
        assert x == pytest.approx(y, rel=within, abs=within) if isinstance(x, float) else x == y


def exchanges(path):
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [(one["message"], other["response"]) for one, other in zip(lines[::2], lines[1::2], strict=True)]


@pytest.mark.parametrize("path", [path for path in TRANSCRIPTS if path.stem not in SLOW], ids=lambda path: path.stem)
def test_a_recorded_transcript(path, tapegrad):
    for message, recorded in exchanges(path):
        answer = json.loads(json.dumps(tapegrad.answer(message)))
        timings = answer.pop("timings", [])
        assert [one["name"] for one in timings] == ["prepare", "evaluate"] * ("output" in recorded)
        assert_alike(answer, recorded, 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("module", "function"), [("particle", "rr"), ("saddle", "rr"), ("saddle", "fr")])
def test_a_recorded_descent(module, function, tapegrad):
    """The results that GradBench expects: it compares them with no more than these numbers."""
    (path,) = (path for path in TRANSCRIPTS if path.stem == module)
    message, recorded = next(pair for pair in exchanges(path) if pair[0].get("function") == function)
    assert_alike(tapegrad.answer(message)["output"], recorded["output"], 1e-12)


def test_every_eval_is_answered(tapegrad):
    assert [*MODULES] == [
        *("hello", "lse", "llsq", "ode", "det", "gmm", "lstm", "kmeans", "ba", "ht", "particle", "saddle"),
    ]
    for module in MODULES:
        assert tapegrad.answer({"id": 1, "kind": "define", "module": module}) == {"id": 1, "success": True}


# --- against ADBench's unit tests, within their tolerance


def of_files(name, *words):
    from gradmark.workloads.literature import files

    return files.find(name, *words).read_text().split()


def test_bundle_adjustment(tapegrad):
    words = [float(word) for word in of_files("test.txt", "ba")]
    n, m, p = (int(word) for word in words[:3])
    rest = words[3:]
    given = {"n": n, "m": m, "p": p, "cam": rest[:11], "x": rest[11:14], "w": rest[14], "feat": rest[15:17], **ONCE}
    objective = evaluated(tapegrad, "ba", "objective", given)["output"]
    assert_alike(objective["reproj_error"], {"elements": EXPECTED["ba"]["reprojection"], "repeated": p}, 1e-8)
    assert_alike(objective["w_err"], {"element": EXPECTED["ba"]["weight"], "repeated": p}, 1e-8)
    jacobian = evaluated(tapegrad, "ba", "jacobian", given)["output"]
    assert_alike(jacobian["vals"], EXPECTED["ba"]["jacobian"], 1e-8)
    of_points, of_weights = 11 * n, 11 * n + 3 * m
    row = [*range(11), *range(of_points, of_points + 3), of_weights]
    assert jacobian["cols"] == [*row, *row, of_weights + p - 1]
    assert (jacobian["rows"][:5], jacobian["rows"][-1]) == ([0, 15, 30, 45, 60], 31 * p)


@pytest.mark.parametrize("kind", ["ht", "ht_complicated"])
def test_hand_tracking(kind, tapegrad):
    complicated = kind == "ht_complicated"
    _, seen = read("small", 2, complicated)
    named = {"angles": seen.angles} | ({"inside": seen.inside} if complicated else {})
    given = ht.EVAL.written(named, {"model": "small", "c": 2}) | ONCE
    assert_alike(evaluated(tapegrad, "ht", "objective", given)["output"], EXPECTED[kind]["objective"], 1e-8)
    jacobian = np.array(evaluated(tapegrad, "ht", "jacobian", given)["output"])
    expected = np.array(EXPECTED[kind]["jacobian"]).reshape(jacobian.shape[::-1]).T
    assert np.abs(jacobian - expected).max() <= 1e-8


@pytest.mark.slow
def test_a_long_short_term_memory(tapegrad):
    from gradmark.workloads.literature.lstm import read as inputs

    state, main, extra, text = (part.tolist() for part in inputs(2, 1024))
    given = {"main_params": main, "extra_params": extra, "state": state, "sequence": text, **ONCE}
    objective = evaluated(tapegrad, "lstm", "objective", given)["output"]
    assert objective == pytest.approx(EXPECTED["lstm"]["objective"], rel=1e-8)
    assert_alike(evaluated(tapegrad, "lstm", "jacobian", given)["output"], EXPECTED["lstm"]["gradient"], 1e-8)


# --- runs, and other engines


def test_as_many_runs_as_are_asked_for(tapegrad):
    timings = evaluated(tapegrad, "lse", "gradient", {"x": [1.0, 2.0], "min_runs": 5, "min_seconds": 0})["timings"]
    assert [one["name"] for one in timings] == ["prepare", *["evaluate"] * 5]
    assert all(isinstance(one["nanoseconds"], int) for one in timings)


def test_another_engine():
    other = Served("tapegrad:program")
    assert other.answer({"id": 0, "kind": "start"}) == {"id": 0, "tool": "tapegrad:program"}
    given = {"A": [1.0, 2.0, 3.0, 4.0], "ell": 2, **ONCE}
    assert evaluated(other, "det", "gradient", given)["output"] == [4, -3, -2, 1]
    lacking = other.answer({"id": 1, "kind": "define", "module": "lse"})
    assert lacking["success"] is False
    assert lacking["error"].startswith("tapegrad:program has no tensors, and lse_array is a function of tensors")


# --- what makes no sense


@pytest.mark.parametrize(
    ("module", "function", "given", "message"),
    [
        ("nothing", "square", 1.0, "there is no module 'nothing'; expected one of hello, lse, llsq"),
        (7, "square", 1.0, "there is no module 7"),
        ("hello", "cube", 1.0, "hello has no function 'cube'; expected square or double"),
        ("hello", None, 1.0, "hello has no function None"),
        ("hello", "square", "x", "expected a number, got 'x'"),
        ("saddle", "xy", {"start": [1.0, 1.0]}, "saddle has no function 'xy'; expected ff or fr or rf or rr"),
        ("saddle", "rr", {"start": [1.0]}, "expected numbers of shape (2), got (1)"),
        ("lse", "primal", [1.0], "expected an object as input, got [1.0]"),
        ("lse", "primal", {"x": [[1.0]], **ONCE}, "expected numbers of shape (any), got (1, 1)"),
        ("lse", "primal", {"x": ["a"], **ONCE}, "expected numbers of shape (any), got ['a']"),
        ("lse", "primal", {}, "KeyError: 'x'"),
        ("lse", "primal", {"x": [1.0], "min_runs": -1}, "expected a number from 0 to 1,000,000 as min_runs, got -1"),
        ("lse", "primal", {"x": [1.0], "min_seconds": 1e9}, "expected a number from 0 to 3,600 as min_seconds"),
        ("llsq", "primal", {"x": [1.0], "n": 2.5}, "expected a whole number as n, got 2.5"),
        ("det", "gradient", {"A": [1.0, 2.0], "ell": 2}, "expected numbers of shape (4), got (2)"),
        ("gmm", "objective", {"d": 2, "k": 1, "n": 1, "m": 1, "gamma": 1}, "expected m 0 and gamma 1, got m 1 and"),
        ("ba", "objective", {"n": 0, "m": 1, "p": 1}, "expected at least one camera, point and observation"),
        ("kmeans", "dir", {"points": [[1.0, 2.0]], "centroids": [[1.0]]}, "expected numbers of shape (any, 2), got"),
        ("lstm", "objective", {"sequence": [[0.0]], "main_params": [[1.0]]}, "expected numbers of shape (any, 4), got"),
        ("ht", "jacobian", {"data": {"model": {"parents": [-1]}}}, "expected the 22 bones of ADBench's hand, not mirr"),
    ],
)
def test_what_cannot_be_evaluated_is_an_answer(module, function, given, message, tapegrad):
    answer = evaluated(tapegrad, module, function, given)
    assert (answer["id"], answer["success"], "output" in answer) == (5, False, False)
    assert message in answer["error"]


def test_messages_of_other_kinds_are_answered(tapegrad):
    for kind in ("analysis", "something new"):
        assert tapegrad.answer({"id": 9, "kind": kind}) == {"id": 9}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"hello\n", "expected a line of JSON, got b'hello"),
        (b'{"kind": "start"}\n', "expected a message with an id, got {'kind': 'start'}"),
        (b"[0]\n", r"expected a message with an id, got \[0\]"),
    ],
)
def test_what_is_no_message(line, message):
    with pytest.raises(GradmarkError, match=message):
        serve("tapegrad", io.BytesIO(line), io.BytesIO())


def program(*arguments, said):
    command = [sys.executable, "-m", "gradmark.gradbench", *arguments]
    return subprocess.run(command, input=said, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_program():
    ended = program(said='{"id": 0, "kind": "start"}\n\n{"id": 1, "kind": "define", "module": "hello"}\n')
    assert (ended.returncode, ended.stdout, ended.stderr) == (
        0,
        '{"id":0,"tool":"tapegrad"}\n{"id":1,"success":true}\n',
        "",
    )
    ended = program(said="hello\n")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith("gradmark.gradbench: expected a line of JSON")
    ended = program("-e", "tapegrat", said="")
    assert (ended.returncode, "did you mean tapegrad" in ended.stderr) == (1, True)
