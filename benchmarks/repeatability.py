"""Does gradmark say the same three times? Floors of the quick suite's cells over three runs.

    python benchmarks/repeatability.py [--runs 3]

Prints, for each cell, by how much the floors of the runs differ, and how many are within 5 %.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WITHIN = 0.05
WANTED = 0.9


def floors(folder, number):
    path = Path(folder) / f"{number}.json"
    start = time.monotonic()
    command = [sys.executable, "-m", "gradmark.commands.main", "run", "--store", folder, "--json", str(path)]
    subprocess.run([*command, "--format", "csv"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    print(f"run {number + 1}: {time.monotonic() - start:.0f} s")
    found = {}
    for measurement in json.loads(path.read_text())["measurements"]:
        cell = measurement["cell"]
        name = "/".join([cell["workload"], *(f"{k}={v}" for k, v in cell.get("params", {}).items())])
        totals = [min(s["phases"]["total"]["block_ns"]) for s in measurement.get("samples", [])]
        if totals:
            found[f"{name} {cell['engine']}"] = min(totals)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        runs = [floors(folder, number) for number in range(options.runs)]
    apart = {cell: max(r[cell] for r in runs) / min(r[cell] for r in runs) - 1 for cell in runs[0]}
    for cell, difference in sorted(apart.items(), key=lambda pair: -pair[1]):
        print(f"{difference:7.1%}  {cell}")
    close = sum(difference <= WITHIN for difference in apart.values())
    verdict = "kept" if close >= WANTED * len(apart) else "NOT KEPT"
    print(f"{verdict}: {close} of {len(apart)} cells have floors within {WITHIN:.0%} over {options.runs} runs")


if __name__ == "__main__":
    main()
