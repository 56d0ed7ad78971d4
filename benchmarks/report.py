"""How long the report of a full run takes: to make, and in the browser until it answers.

The run has the cells of both suites with all sizes on four engines, ten processes of twenty blocks each. Its numbers
are drawn, not measured: a real one takes hours, and a page does not care.
"""

import random
import tempfile
import time
from pathlib import Path
from typing import Any

from gradmark.commands.report import write
from gradmark.measure.environment import collect
from gradmark.measure.plan import cells_of
from gradmark.records import Accuracy, Cell, Measurement, Memory, Phase, Run, Sample, Settings, TapeSize
from gradmark.workloads.selection import select

ENGINES = ["tapegrad", "tapegrad:fresh", "tapegrad:program", "finite-difference"]
SETTINGS = Settings(processes=10, blocks=20, full=True)
SHARES = {"primal": 0.4, "forward": 0.7, "backward": 0.3, "total": 1.0}
CHROMIUM = "/usr/bin/chromium"
TIMES = 3


def measurement(cell: Cell, operations: int, draw: random.Random) -> Measurement:
    size = operations
    typical = 50.0 * size

    def sample(process: int) -> Sample:
        phases = {
            name: Phase(
                how="measured",
                iterations=10,
                block_ns=[typical * share * (1 + draw.expovariate(20)) for _ in range(SETTINGS.blocks)],
            )
            for name, share in SHARES.items()
        }
        once = {name: typical * draw.uniform(5, 50) for name in ("import", "prepare", "first_call", "warm_up")}
        return Sample(process=process, phases=phases, once_ns=once, harness_ns=30.0, clock_ns=1.0)

    return Measurement(
        cell=cell,
        status="ok",
        samples=[sample(process) for process in range(SETTINGS.processes)],
        tape=TapeSize(instructions=size, saved_bytes=25 * size),
        memory=Memory(
            allocations=float(size if ":" in cell.engine else 0), peak_bytes=100 * size, retained_bytes=60 * size
        ),
        accuracy=Accuracy(reference="drawn", relative_error=10.0 ** -draw.uniform(6, 17), tolerance=1e-4),
        operations=operations,
        shapes={} if cell.suite == "scalar" else {"x": [size]},
        flops=None if cell.suite == "scalar" else 2.0 * size,
    )


def synthetic() -> Run:
    draw = random.Random(0)
    cells = cells_of(select(["scalar", "tensor"]), ENGINES, full=True)

    def operations(cell: Cell) -> int:
        numbers = [value for value in cell.params.values() if isinstance(value, int)]
        return 10 * max([1, *numbers])

    return Run(
        id="synthetic",
        started="2026-01-01T00:00:00+00:00",
        environment=collect(),
        settings=SETTINGS,
        measurements=[measurement(cell, operations(cell), draw) for cell in cells],
        finished=True,
    )


LONG_TASKS = """
window.seen = { paint: 0, tasks: [] };
new PerformanceObserver((list) => {
  for (const one of list.getEntries()) if (one.name === "first-contentful-paint") seen.paint = one.startTime;
}).observe({ type: "paint", buffered: true });
new PerformanceObserver((list) => seen.tasks.push(...list.getEntries().map((one) => one.duration)))
  .observe({ type: "longtask", buffered: true });
"""


def interactive(path: Path) -> None:
    """From the start of navigation until the table has been sorted or filtered, then until a plot is there."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for _ in range(TIMES):
            opened = Opened(browser, path)
            opened.page.locator("#grid thead th button", has_text="total").click()
            opened.page.wait_for_selector('#grid th[aria-sort="ascending"]')
            sorted_after = opened.busy()
            opened.page.wait_for_selector("html[data-plots=ready]", state="attached")
            opened.page.wait_for_timeout(1000)
            print(f"opened, sorted by a click after {sorted_after}")
            print(f"  first paint after {opened.seen('seen.paint'):.2f} s", end="")
            print(f", longest task {opened.seen('Math.max(0, ...seen.tasks)'):.2f} s")
            opened.restart()
            opened.page.locator("#scaling").scroll_into_view_if_needed()
            opened.page.wait_for_selector("#scaling-chart .plot svg")
            print(f"  scrolled to the first plot, drawn after {opened.busy()}")
            opened.page.close()
            opened = Opened(browser, path)
            opened.page.locator("#find").press_sequentially("poly")
            opened.page.wait_for_selector("#count:not(:text-matches('^880'))")
            print(f"opened, filter typed and applied after {opened.busy()}")
            opened.page.close()
        browser.close()


class Opened:
    """The file in a new tab of a browser that has finished its own start, and the time since navigation began."""

    def __init__(self, browser: Any, path: Path) -> None:
        self.page = browser.new_page(viewport={"width": 1280, "height": 900})
        self.page.add_init_script(LONG_TASKS)
        self.page.goto("about:blank")
        self.page.wait_for_timeout(2000)
        self.session = self.page.context.new_cdp_session(self.page)
        self.session.send("Performance.enable", {"timeDomain": "threadTicks"})
        self.worked = 0.0
        self.restart()
        self.page.goto(path.as_uri(), wait_until="commit")

    def restart(self) -> None:
        """Times count from here on."""
        self.begin, self.worked = time.perf_counter(), self._thread()

    def busy(self) -> str:
        """The time, and how much of it the page's thread worked, which other programs do not lengthen."""
        return (
            f"{time.perf_counter() - self.begin:.2f} s, of which the page worked {self._thread() - self.worked:.2f} s"
        )

    def seen(self, script: str) -> float:
        """A number of milliseconds that the page noted, in seconds."""
        return float(self.page.evaluate(script)) / 1000.0

    def _thread(self) -> float:
        found = {one["name"]: one["value"] for one in self.session.send("Performance.getMetrics")["metrics"]}
        return float(found["TaskDuration"])


def main() -> None:
    run = synthetic()
    samples = sum(len(p.block_ns) for m in run.measurements for s in m.samples for p in s.phases.values())
    print(f"synthetic run: {len(run.measurements)} cells, {len(ENGINES)} engines, {samples:,} samples")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        begin, worked = time.perf_counter(), time.process_time()
        write([run], path)
        took, worked = time.perf_counter() - begin, time.process_time() - worked
        print(f"rendered in {took:.2f} s, of which {worked:.2f} s were work; {path.stat().st_size / 1e6:.2f} MB")
        interactive(path)


if __name__ == "__main__":
    main()
