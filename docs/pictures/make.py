"""Makes the pictures of the documentation: screenshots of the real page of a real run, in the system's Chromium.

    python docs/pictures/make.py                  the page of a run on this machine
    python docs/pictures/make.py --gpu RUN.jsonl  the page of a run on a GPU, from its file

The run is measured once, in some minutes, and kept under build/pictures; delete that folder to measure again.
"""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
STORE = HERE.parents[1] / "build" / "pictures"
ENGINES = ["tapegrad", "tapegrad:program", "tapegrad:fresh", "manual", "finite-difference"]
WORKLOADS = ["scalar", "matmul", "mlp_step", "logsumexp", "broadcast_add"]
# name: width, colours, section (none: the top of the page)
PICTURES = {
    "top": (1280, "light", ""),
    "ratios": (1280, "light", "ratios"),
    "table": (1280, "light", "table"),
    "phases": (1280, "light", "phases"),
    "scaling": (1280, "light", "scaling"),
    "operators-dark": (1000, "dark", "operators"),
    "icicle": (1000, "light", "icicle-chart"),
    "engines": (1280, "light", "engines"),
    "samples-dark": (1000, "dark", "samples"),
    "narrow": (400, "light", ""),
}
# Of a run on a GPU.
GPU_PICTURES = {"gpu-table": (1360, "light", "table"), "gpu-roofline": (1280, "light", "roofline")}


def _gradmark(*arguments: str | Path) -> None:
    # Not in the repository, whose baseline is of another machine.
    subprocess.run([sys.executable, "-m", "gradmark.commands.main", *map(str, arguments)], check=True, cwd=STORE)


def _measured() -> list[Path]:
    """The files of the runs on this machine; measured now, if there are none."""
    if not list(STORE.glob("*.jsonl")):
        engines = [word for engine in ENGINES for word in ("-e", engine)]
        _gradmark("run", *WORKLOADS, *engines, "--processes", "4", "--store", STORE)
        _gradmark("ops", "scalar", "--processes", "3", "--store", STORE)
    return sorted(STORE.glob("*.jsonl"))


def main() -> None:
    """Makes the page of a run, measured if need be, and takes the pictures."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("pictures need a Chromium: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description="Take the pictures of the documentation.")
    parser.add_argument("--gpu", type=Path, metavar="RUN", help="the file of a run on a GPU")
    given = parser.parse_args()
    STORE.mkdir(parents=True, exist_ok=True)
    pictures = PICTURES if given.gpu is None else GPU_PICTURES
    page_file = STORE / "report.html"
    _gradmark("report", *(_measured() if given.gpu is None else [given.gpu.resolve()]), "-o", page_file)
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name, (width, scheme, section) in pictures.items():
            page = browser.new_page(viewport={"width": width, "height": 760}, color_scheme=scheme)
            page.goto(page_file.as_uri())
            page.wait_for_selector("html[data-plots=ready]", state="attached")
            path = HERE / f"{name}.png"
            if section:
                # Else places shift, and the header stands over what is pictured.
                page.add_style_tag(
                    content="section { content-visibility: visible !important } header { position: static !important }"
                )
                page.evaluate("drawAll()")
                page.locator(f"#{section}").screenshot(path=path)
            else:
                page.screenshot(path=path)
            page.close()
        browser.close()
    print(f"{len(pictures)} pictures in {HERE.relative_to(HERE.parents[1])}")


if __name__ == "__main__":
    main()
