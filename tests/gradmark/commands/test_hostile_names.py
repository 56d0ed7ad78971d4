"""Every verb with names and messages that try to do more than be read: on a terminal, in a log, on GitHub."""

import csv
import io
import json
import re
import unicodedata
from xml.etree import ElementTree

import click
import msgspec
import pytest
from markdown_it import MarkdownIt

from gradmark.measure import environment
from gradmark.records import (
    FORMAT_VERSION,
    Accuracy,
    Cell,
    Code,
    Environment,
    Measurement,
    Memory,
    Phase,
    Run,
    Sample,
    Settings,
    Warning,
)
from gradmark.store import baselines, runs

# A colour that gradmark does not use, a link, the start of the line, a bell, another reading direction, a line of its
# own, markup of rich, the end of a cell, code, an image, a mention, a reference, a URL and a formula.
HOSTILE = (
    "\x1b[38;5;123mevil\x1b]8;;http://x.y\x07link\x1b]8;;\x07\r\x07\u202e\x9b2J"
    "\nFORGED [bold]b[/bold] a|b `c` <img src=x> ![i](http://x.y) @someone #12 =1+1"
)
COMMAND = "::error::owned"
SGR = re.compile(r"\x1b\[[0-9;]*m")
GITHUB = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def cell(engine="tapegrad", workload=HOSTILE, **params):
    return Cell(engine=engine, workload=workload, suite=HOSTILE, params=params or {"n": 3}, file=HOSTILE)


def measured(cell, **more):
    phases = {name: Phase(iterations=1, block_ns=[2e3, 3e3]) for name in ("total", "forward", "primal")}
    samples = [
        Sample(process=k, phases=phases, once_ns={"prepare": 1.0, "first_call": 2.0}, harness_ns=1.0, clock_ns=1.0)
        for k in range(2)
    ]
    known = {
        "samples": samples,
        "memory": Memory(reason=HOSTILE),
        "warnings": [Warning(code=Code.OTHER, reason=HOSTILE)],
    }
    return Measurement(cell=cell, status="ok", **({"operations": 3} | known | more))


def failed(cell):
    return Measurement(cell=cell, status="error", message=HOSTILE)


def kept(verb="run", arguments=(), name="20260101T000000-aaaaaa", measurements=None, environment=None):
    here = Environment(
        cpu=HOSTILE, cores=1, memory_bytes=1, os=HOSTILE, python=HOSTILE, packages={HOSTILE: HOSTILE}, commit=HOSTILE
    )
    rows = measurements or [
        measured(cell()),
        measured(cell(f"mine:{HOSTILE}"), accuracy=Accuracy(reference=HOSTILE, relative_error=1e-3, tolerance=1.0)),
        measured(cell(workload=COMMAND)),
        failed(cell(workload=f"{HOSTILE}broken")),
    ]
    return Run(
        id=name, started="2026-01-01T00:00:00+00:00", environment=environment or here, settings=Settings(processes=2),
        measurements=rows, planned=[m.cell for m in rows], verb=verb, arguments=list(arguments), finished=True,
        format_version=FORMAT_VERSION,
    )  # fmt: skip


@pytest.fixture
def seen(gradmark, monkeypatch):
    """Calls a verb as in a terminal with colours; what it printed there, checked."""
    monkeypatch.setattr(click.utils, "should_strip_ansi", lambda *_, **__: False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "4000")  # a line that is wrapped may begin with any word

    def call(*arguments, code=0):
        called = gradmark(*arguments)
        assert called.code == code, called.err
        for said in (called.out, called.err):
            assert "\x1b[38;5;123" not in said
            plain = SGR.sub("", said).replace("\n", "")
            assert [c for c in plain if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")] == []
            lines = SGR.sub("", said).splitlines()
            assert [line for line in lines if line.startswith("FORGED") or line.lstrip().startswith("::")] == []
        return called

    return call


@pytest.fixture
def saved(tmp_path):
    def save(run):
        folder = tmp_path / "store"
        folder.mkdir(exist_ok=True)
        path = folder / f"{run.id}.json"
        runs.save(run, path)
        return path

    return save


def test_list(seen, saved, tmp_path):
    saved(kept(verb=f"run {HOSTILE}"))
    saved(msgspec.structs.replace(kept(name="20260102T000000-bbbbbb"), finished=False))
    (tmp_path / "store" / "zz\x1b[31m\n.jsonl").write_text("{")
    out = seen("list", "runs", "--store", tmp_path / "store").out
    assert out.count("evil") >= 2
    assert "unreadable" in out


def test_a_command_to_type_is_quoted(seen, saved, tmp_path):
    run = msgspec.structs.replace(kept(verb="run; rm -rf ~", name="x; y"), finished=False)
    saved(run)
    assert "gradmark 'run;' rm -rf '~' --resume 'x; y'" in seen("list", "runs", "--store", tmp_path / "store").out


def test_compare(seen, saved):
    old = saved(kept())
    new = saved(kept(name=HOSTILE.replace("/", "")[-60:].replace("\n", "") + "new"))
    assert "evil" in seen("compare", old, new).out


def test_history(seen, saved, tmp_path):
    saved(kept())
    saved(kept(name="20260102T000000-bbbbbb"))
    assert "evil" in seen("history", "--store", tmp_path / "store").out
    document = json.loads(seen("history", "--json", "--store", tmp_path / "store").out)
    assert any(HOSTILE in series["cell"] for series in document["series"])


@pytest.mark.parametrize("form", ["table", "go", "markdown", "json", "csv", "bencher", "github-benchmark"])
def test_run(seen, saved, form):
    path = saved(kept(arguments=["poly"]))
    out = seen("run", "--resume", path, "--trust", "--format", form, code=1).out
    assert "evil" in out
    if form in ("json", "bencher", "github-benchmark"):
        assert "evil" in str(json.loads(out))
    if form == "csv":
        rows = list(csv.reader(io.StringIO(out)))
        assert {len(row) for row in rows} == {len(rows[0])}
    if form == "markdown":
        only_text(out)


def only_text(out):
    """Nothing but text, code and our own emphasis; nobody is mentioned, nothing is linked."""
    for inline in [token for token in GITHUB.parse(out) if token.type == "inline"]:
        kinds = {child.type for child in inline.children}
        assert kinds <= {"text", "text_special", "code_inline", "strong_open", "strong_close"}
        text = "".join(child.content for child in inline.children if child.type != "code_inline")
        assert re.findall(r"(?<![A-Za-z0-9])@\w|#\d|://", text) == []


def test_scale(seen, saved):
    sizes = [measured(cell(n=n), operations=n) for n in (10, 100, 1000, 10000)]
    assert "evil" in seen("scale", "--resume", saved(kept("scale", ["poly"], measurements=sizes)), "--trust").out


def test_ops(seen, saved):
    rows = [measured(cell(workload="operator", operation=name)) for name in ("nothing", HOSTILE)]
    rows.append(failed(cell(workload="operator", operation=f"{HOSTILE}2")))
    assert "evil" in seen("ops", "--resume", saved(kept("ops", measurements=rows)), "--trust", code=1).out


def test_contract(seen, saved):
    engine = f"mine:{HOSTILE}"
    rows = [measured(cell(engine, workload="poly", n=n), operations=n) for n in (10, 100, 1000, 10000)]
    path = saved(kept("contract", ["-e", engine, "-e", "tapegrad"], measurements=rows))
    assert "evil" in seen("contract", "--resume", path, "--trust", code=3).out


def test_hypothesis(seen, saved, tmp_path):
    (tmp_path / "claims.py").write_text(
        "from gradmark.analyse.hypotheses import Arm, Hypothesis\n"
        f"h = Hypothesis('h', {HOSTILE!r},"
        " Arm('tapegrad', 'expression', 'total'), Arm('null', 'expression', 'total'))\n"
    )
    path = saved(kept("hypothesis", ["claims.py"]))
    assert "evil" in seen("hypothesis", "--resume", path, "--trust", code=3).out


def baseline_of(run):
    baselines.save(baselines.baseline(run.measurements, run.environment), baselines.FILE)


def test_baseline(seen, saved, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    baseline_of(kept())
    assert "evil" in seen("baseline", "show").out
    assert "evil" in seen("baseline", "update", "--resume", saved(kept("baseline update", [])), "--trust").out


@pytest.mark.parametrize("form", ["table", "markdown", "junit", "bencher", "github-benchmark", "json"])
def test_check(seen, saved, tmp_path, monkeypatch, form):
    monkeypatch.chdir(tmp_path)
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    lost = cell(workload=f"{HOSTILE}lost")
    before = [measured(m.cell, memory=Memory(allocations=0.0)) for m in (*kept().measurements[:2], failed(lost))]
    now = [
        measured(before[0].cell, memory=Memory(allocations=9.0)),
        failed(before[1].cell),
        measured(cell(workload="@new")),
    ]
    baseline_of(kept(measurements=before))
    path = saved(kept("check", [], measurements=now))
    output = tmp_path / "out"
    out = seen("check", "--resume", path, "--trust", "--format", form, code=1).out
    seen("check", "--resume", path, "--trust", "--format", form, "--output", output, code=1)
    for text in (out, output.read_text()):
        assert "evil" in text
        if form == "markdown":
            only_text(text)
        if form == "junit":
            assert "evil" in ElementTree.fromstring(text.encode())[0][0].get("classname")
        if form in ("json", "bencher", "github-benchmark"):
            json.loads(text)
    only_text(summary.read_text())


def test_report(seen, saved, tmp_path):
    page = tmp_path / "page.html"
    seen("report", saved(kept()), "-o", page)
    text = page.read_text()
    assert "<img src=x>" not in text
    assert "&lt;img src=x&gt;" in text
    assert [c for c in "\x1b\x07\u202e\x9b\r" if c in text] == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", HOSTILE],
        ["run", f"poly/{HOSTILE}=1"],
        ["run", f"{HOSTILE}.py"],
        ["run", "poly", "-e", HOSTILE],
        ["run", "--resume", HOSTILE],
        ["run", "poly", "--dtype", HOSTILE],
        ["scale", HOSTILE],
        ["contract", "-e", HOSTILE],
        ["hypothesis", HOSTILE],
        ["ops", HOSTILE],
        ["compare", HOSTILE, HOSTILE],
        ["history", "--metric", HOSTILE],
        ["report", HOSTILE],
        ["baseline", "show", "--baseline", HOSTILE],
        ["check", "--baseline", HOSTILE],
        ["check", "--budget", HOSTILE],
        ["check", "--against", HOSTILE],
        ["audit", "-k", HOSTILE],
        ["doctor", "--seconds", HOSTILE],
        ["list", HOSTILE],
        [HOSTILE],
    ],
    ids=lambda arguments: " ".join(arguments).replace(HOSTILE, "HOSTILE"),
)
def test_errors(seen, arguments):
    assert seen(*arguments, code=2).err


def test_a_file_of_workloads(seen, tmp_path):
    (tmp_path / "mine.py").write_text(
        "import gradmark\n"
        f"@gradmark.workload(name={HOSTILE!r}, suite={HOSTILE!r}, stresses={HOSTILE!r})\n"
        "def f(ops, x):\n    return x * x\n"
    )
    assert "evil" in seen("run", "mine.py", "--dry-run", "-e", "python-floats").out
    (tmp_path / "broken.py").write_text(f"raise ValueError({HOSTILE!r})")
    assert "evil" in seen("run", "broken.py", code=2).err


def test_doctor(seen, monkeypatch):
    monkeypatch.setattr(environment, "cpu", lambda: HOSTILE)
    assert "evil" in seen("doctor", "--seconds", "0").out
