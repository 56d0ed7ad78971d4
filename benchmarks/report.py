"""How long the report of a full run takes: to make, and in the browser until it answers.

The run has the cells of both suites with all sizes on four engines, ten processes of twenty blocks each. Its numbers
are drawn, not measured: a real one takes hours, and a page does not care.
"""

import random
import tempfile
import time
from pathlib import Path

from gradmark.commands.report import write
from gradmark.measure.environment import collect
from gradmark.measure.orchestrator import cells_of
from gradmark.records import Accuracy, Cell, Measurement, Memory, Phase, Run, Sample, Settings, TapeSize
from gradmark.workloads.selection import select

ENGINES = ["tapegrad", "tapegrad:fresh", "tapegrad:program", "finite-difference"]
SETTINGS = Settings(processes=10, blocks=20, full=True)
SHARES = {"primal": 0.4, "forward": 0.7, "backward": 0.3, "total": 1.0}
CHROMIUM = "/usr/bin/chromium"


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


def interactive(path: Path) -> None:
    """From opening the file until the table has been sorted, and until a plot is there."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        begin = time.perf_counter()
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})

        def busy() -> str:
            """What the page's thread has worked so far, which other programs do not lengthen."""
            found = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
            return f"{time.perf_counter() - begin:.2f} s, of which the page worked {found['TaskDuration']:.2f} s"

        page.goto(path.as_uri(), wait_until="commit")
        page.locator("#grid thead th button", has_text="total").click()
        page.wait_for_selector('#grid th[aria-sort="ascending"]')
        print(f"sorted after {busy()}")
        page.wait_for_selector("html[data-plots=ready]", state="attached")  # plotly is unpacked and parsed
        print(f"plots ready after {busy()}")
        page.locator("#scaling").scroll_into_view_if_needed()
        page.wait_for_selector("#scaling-chart .main-svg")
        print(f"scrolled to a plot, drawn after {busy()}")
        browser.close()


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
