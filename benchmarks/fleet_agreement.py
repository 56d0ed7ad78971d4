"""Is a time the same through a fleet? The same rows alone and through one worker on this machine, in turns.

    python benchmarks/fleet_agreement.py             once each: some minutes
    python benchmarks/fleet_agreement.py --turns 3   more often

Promised: floors through the fleet are within 2 % of those of a run without one, row by row. With several turns each
side has the median of its turns. Exit code 1 if one is not. A machine with other work may need more turns.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from fleet_kills import GRADMARK, Cluster

from gradmark.records.metric import numbers
from gradmark.store import runs

ROWS = ["expression", "poly/n=1000", "tree/depth=6", "shared/k=8", "chain/f=exp"]
MEASURING = ["-e", "tapegrad", "--processes", "12", "--no-memory", "--format", "csv"]
WITHIN = 0.02


def totals(folder: Path, *options: str) -> dict[str, float]:
    """The total of each row, of one run."""
    before = set(folder.glob("*.jsonl"))
    command = [*GRADMARK, "run", *ROWS, *MEASURING, "--store", str(folder), *options]
    same_machine = {**os.environ, "GRADMARK_MACHINE": '{"instance": "here"}', "GRADMARK_CALIBRATION_S": "0"}
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, env=same_machine)
    (path,) = set(folder.glob("*.jsonl")) - before
    return {m.cell.row: numbers(m)["total"].value for m in runs.load(path).measurements}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--turns", type=int, default=1)
    turns = options.parse_args().turns
    alone: list[dict[str, float]] = []
    through: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory() as temporary, Cluster(Path(temporary)) as cluster:
        cluster.start_worker("here")
        cluster.wait(1)
        (folder := Path(temporary) / "runs").mkdir()
        for _ in range(turns):
            alone.append(totals(folder))
            through.append(totals(folder, "--fleet", cluster.address))
    print("| row | alone | through a worker | ratio |")
    print("|---|---|---|---|")
    worst = 0.0
    for row in alone[0]:
        one, other = (statistics.median(turn[row] for turn in side) for side in (alone, through))
        worst = max(worst, abs(other / one - 1.0))
        print(f"| {row} | {one:.1f} ns | {other:.1f} ns | {other / one:.3f} |")
    print(f"{'KEPT' if worst <= WITHIN else 'NOT KEPT':9} within {WITHIN:.0%}: at most {worst:.1%}")
    sys.exit(worst > WITHIN)


if __name__ == "__main__":
    main()
