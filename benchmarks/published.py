"""The table `published` from its sources: how many times as long as its function a derivative takes others.

    python benchmarks/published.py GRADBENCH ADBENCH > src/gradmark/workloads/published.json

GRADBENCH is a folder with the files `evals/*/summary.json` of GradBench's nightly statistics (the branch
`ci/refs/heads/nightly` of github.com/gradbench/gradbench), ADBENCH the file Documents/ms.tex of
github.com/microsoft/ADBench. Nothing is measured here: a ratio is the quotient of two published times, or stands in a
table.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

SOURCES = {
    "gradbench": {
        "name": "GradBench 2026-03-14",
        "title": "GradBench, nightly statistics of 2026-03-14",
        "where": "https://github.com/gradbench/gradbench, commit c8a22ed254 (statistics of f26651a7), "
        "evals/*/summary.json",
        "machine": "GitHub Actions, ubuntu-24.04; each tool may have had another machine",
        "licence": "MIT",
        "ratio": "mean time of the derivative over mean time of the function, first runs included",
    },
    "adbench": {
        "name": "ADBench 2018",
        "title": "Šrajer, Kukelova, Fitzgibbon: A Benchmark of Selected Algorithmic Differentiation Tools, 2018",
        "where": "https://github.com/microsoft/ADBench, commit 38cb7931, Documents/ms.tex, tables gmm-10k-rel and "
        "ba-rel, which the paper (https://arxiv.org/abs/1807.10129) shows as figures",
        "machine": "Intel Xeon E5-1620 at 3.60 GHz, 32 GB, Windows 10",
        "licence": "MIT",
        "ratio": "time of the derivative over time of the function in the same language, without preparation",
    },
}
# The columns of the paper's tables: numbers of parameters of a mixture, and of observations of a bundle adjustment.
MIXTURES = ["2_5", "10_5", "2_200", "10_50", "64_5", "64_10", "64_25", "64_200"]
ADJUSTMENTS = [
    *("ba1_n49_m7776_p31843", "ba4_n372_m47423_p204472", "ba7_n93_m61203_p287451", "ba10_n1197_m126327_p563734"),
    *("ba13_n245_m198739_p1091386", "ba16_n1544_m942409_p4750193", "ba19_n4585_m1324582_p9125125"),
    "ba20_n13682_m4456117_p28987644",
]
Ratios = dict[str, dict[str, dict[str, float]]]  # of a source: problem, size, tool


def rounded(number: float) -> float:
    """Three digits: no more can be repeated."""
    return float(f"{number:.3g}")


def nanoseconds(time: dict[str, int]) -> int:
    """A time as GradBench writes it."""
    return 10**9 * time["secs"] + time["nanos"]


def of_gradbench(folder: Path) -> Ratios:
    """Every tool and size for which both times are there."""
    ratios: Ratios = {}
    for path in sorted(folder.glob("*.json")) or sorted(folder.glob("evals/*/summary.json")):
        summary = json.loads(path.read_text())
        if "primal" not in summary:  # particle and saddle: there is no function apart
            continue
        name = path.stem if path.stem != "summary" else path.parent.name
        for tool, sizes in summary["tools"].items():
            for size, times in sizes.items():
                primal, derivative = (times.get(kind) for kind in ("primal", "derivative"))
                if primal and derivative and nanoseconds(primal):
                    ratio = rounded(nanoseconds(derivative) / nanoseconds(primal))
                    ratios.setdefault(name, {}).setdefault(size, {})[tool] = ratio
    return ratios


def of_adbench(tex: str) -> Ratios:
    """The tables of relative times."""
    mixtures = [f"{size}_10000" for size in MIXTURES]
    return {
        problem: table(tex, label, sizes)
        for problem, label, sizes in (("adbench_gmm", "gmm-10k-rel", mixtures), ("ba", "ba-rel", ADJUSTMENTS))
    }


def table(tex: str, label: str, sizes: list[str]) -> dict[str, dict[str, float]]:
    """One of them: a row for each tool, a column for each size; a bullet or nothing where a tool has no time."""
    body = tex[: tex.index(f"\\label{{tab:{label}}}")].rpartition("\\begin{tabular}")[2]
    ratios: dict[str, dict[str, float]] = {}
    for line in body.splitlines()[1:]:
        cells = [cell.strip() for cell in line.removeprefix("%").removesuffix("\\hline").split("&")]
        if len(cells) != len(sizes) + 2:
            continue
        tool = cells[0] if cells[0] != "ADOLC" else "ADOL-C"
        for size, cell in zip(sizes, cells[2:], strict=True):
            if number := re.search(r"\\num\{([^}]*)\}", cell):
                ratios.setdefault(size, {})[tool.replace("ADOLC ", "ADOL-C ")] = rounded(float(number[1]))
    return ratios


def main(gradbench: Path, adbench: Path) -> None:
    """Prints the table."""
    ratios: dict[str, Any] = {"gradbench": of_gradbench(gradbench), "adbench": of_adbench(adbench.read_text())}
    print(json.dumps({"sources": SOURCES, "ratios": ratios}, indent=1, ensure_ascii=False, sort_keys=True))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
