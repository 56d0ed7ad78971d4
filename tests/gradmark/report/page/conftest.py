"""Runs for the page, and a browser where there is one."""

import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gradmark.records import Accuracy, Memory, Phase, Run, Sample
from gradmark.report.page.html import render
from gradmark.report.page.material import Material
from gradmark.report.page.page import page
from gradmark.store.runs import load

RECORDED = Path(__file__).parents[3] / "data" / "runs" / "under-load.jsonl"
SHARES = {"primal": 0.4, "forward": 0.7, "backward": 0.3, "total": 1.0}
HOSTILE = "<script>document.title='owned'</script>"
Open = Callable[..., Any]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def timed(process: int, total: float, blocks: int = 3) -> Sample:
    phases = {
        name: Phase(iterations=10, block_ns=[total * share + 10 * block for block in range(blocks)])
        for name, share in SHARES.items()
    }
    return Sample(
        process=process,
        phases=phases,
        once_ns={"prepare": 5 * total, "first_call": 20 * total},
        harness_ns=30.0,
        clock_ns=1.0,
    )


@pytest.fixture(scope="session")
def several(make: Any) -> Run:
    """Two engines, one of whose names is hostile; four sizes, a failure, operators, a missing count."""
    found = []
    for engine, cost in (("tapegrad", 100.0), (HOSTILE, 300.0)):
        for n in (10, 100, 1000, 10000):
            memory = Memory(
                allocations=0.0 if engine == "tapegrad" else 2.0 * n, peak_bytes=100 * n, retained_bytes=60 * n
            )
            cell = make.cell("poly", engine, n)
            samples = [timed(process, cost * n + 40 * process) for process in range(3)]
            calls = {"sin": n, "exp": n}
            found.append(make.measurement(cell, samples=samples, memory=memory, operations=2 * n, calls=calls))
        for operation, extra in (("nothing", 0.0), ("sin", 500.0), ("exp", 5000.0)):
            cell = make.cell("operator", engine, None, suite="operators", params={"operation": operation})
            found.append(make.measurement(cell, samples=[timed(0, 10_000.0 + extra)]))
    found.append(make.failed("wrong-gradient", "off by <b>2</b>", make.cell("tree", "tapegrad", 4)))
    found.append(make.measurement(make.cell("bare", "tapegrad", 1), memory=Memory(reason="memray is not installed")))
    found.append(make.tensor(samples=[timed(0, 9000.0)]))
    return make.run(*found)


@pytest.fixture(scope="session", params=["generated", "recorded"])
def noisy(make: Any, request: pytest.FixtureRequest) -> Run:
    """What a shared machine gives: one run made up to be worse than any, and one recorded under load."""
    return generated(make) if request.param == "generated" else load(RECORDED)


def generated(make: Any) -> Run:
    """Processes in a fast or a slow state, phases that met different ones, gaps."""
    draw = random.Random(12)
    found = []
    for n in (10, 100, 1000):
        for engine, cost in (("tapegrad", 100.0), ("jax", 104.0), ("torch", 900.0), ("manual", 60.0)):
            samples = []
            for process in range(5):
                phases = {}
                for name, share in SHARES.items():
                    state = draw.choice((1.0, 1.7)) * (1 + draw.expovariate(15))
                    blocks = [n * cost * share * state * (1 + draw.expovariate(10)) for _ in range(8)]
                    phases[name] = Phase(iterations=10, block_ns=blocks)
                once = {"prepare": draw.uniform(1e4, 1e5), "first_call": draw.uniform(1e5, 1e6)}
                samples.append(Sample(process=process, phases=phases, once_ns=once, harness_ns=30.0, clock_ns=1.0))
            memory = Memory(allocations=draw.choice((0.0, 2.5)), peak_bytes=draw.randrange(1000, 10**6))
            error = 10.0 ** -draw.uniform(9, 17)
            accuracy = Accuracy(reference="mpmath", relative_error=error, ulps=error / 1e-16, tolerance=1e-6)
            cell = make.cell("poly", engine, n)
            found.append(make.measurement(cell, samples=samples, memory=memory, accuracy=accuracy, operations=2 * n))
    found.append(make.measurement(make.cell("tree", "tapegrad", 4), accuracy=None, memory=None))
    found.append(make.failed("unsupported", "no tensors", make.cell("tree", "jax", 4)))
    return make.run(*found)


@pytest.fixture(scope="session")
def watched(make: Any) -> Run:
    """A row between pilots of both kinds, in which the machine was slow for one block; a row that was never calm."""

    def sample(process: int, core: list[tuple[float, float]]) -> Sample:
        phase = Phase(
            iterations=10,
            block_ns=[1050.0, 1060.0, 1070.0, 9000.0],
            pilots={"core": core, "memory": [(8000.0, 10_000.0)] * 4},
            reference={"core": 10_000.0, "memory": 8000.0},
        )
        return Sample(process=process, phases={"total": phase}, once_ns={}, harness_ns=30.0, clock_ns=1.0)

    calm, slow = (10_500.0, 10_600.0), (10_000.0, 16_300.0)
    return make.run(
        make.measurement(make.cell("poly"), samples=[sample(process, [calm] * 3 + [slow]) for process in range(2)]),
        make.measurement(make.cell("tree"), samples=[sample(0, [slow] * 4)]),
    )


@pytest.fixture(scope="session")
def material(several: Run) -> Material:
    return Material([several])


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """The system's Chromium, driven by playwright."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make test installs it")
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine: apt-get install chromium")
    with sync_api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def written_watched(watched: Run, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of a run with pilots, as an address."""
    path = tmp_path_factory.mktemp("watched") / "report.html"
    path.write_text(render(page([watched])), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="session")
def written(several: Run, make: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of two runs, as an address."""
    older = make.run(*several.measurements[:4], id="older", started="2025-12-31T00:00:00+00:00")
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(render(page([older, several])), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="session")
def written_recorded(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of a run of eight engines, as an address."""
    path = tmp_path_factory.mktemp("recorded") / "report.html"
    path.write_text(render(page([load(RECORDED)])), encoding="utf-8")
    return path.as_uri()


@pytest.fixture
def opened(chromium: Any, written: str) -> Iterator[Open]:
    """Opens the page; at the end no error may have been said, and nothing fetched."""
    pages, said = [], []

    def fetched(url: str) -> None:
        if not url.startswith(("file:", "blob:")):  # a blob was made by the page itself
            said.append(url)

    def open_page(width: int = 1280, scheme: str = "light", plots: bool = True, address: str = written) -> Any:
        page = chromium.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: fetched(request.url))
        page.goto(address)
        if plots:
            page.wait_for_selector("html[data-plots=ready]", state="attached")
        pages.append(page)
        return page

    yield open_page
    for one in pages:
        one.close()
    assert said == []


def only(page: Any, *engines: str) -> None:
    """Ticks these engines in the filter; none of them: all."""
    page.evaluate(
        "engines => { for (const box of boxes)"
        " box.checked = !engines.length || engines.includes(index.engines[box.value]); changed(); }",
        list(engines),
    )
