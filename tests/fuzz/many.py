"""`make fuzz`: so many inputs, by several processes, each with a seed of its own.

    python tests/fuzz/many.py --inputs 100000 --jobs 16 --seed 0

What each process says is in `.gradmark/fuzz/SEED.log`; a failure has the lines that reproduce it. Exit code 1 if one
process failed.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
LOGS = Path(".gradmark/fuzz")
TRIED = re.compile(r"(\d+) passing\b.*?\b(\d+) failing\b")  # what hypothesis says of a test, in its statistics
FAILED = re.compile(r"^(?:FAILED|ERROR) .*", re.MULTILINE)


def start(inputs: int, seed: int) -> "subprocess.Popen[bytes]":
    """A process with its share of the inputs; the same seed gives the same ones."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--durations=10", str(HERE)]
    command += [f"--hypothesis-seed={seed}", "--hypothesis-show-statistics"]
    with open(LOGS / f"{seed}.log", "wb") as log:
        return subprocess.Popen(
            command,
            env={**os.environ, "GRADMARK_FUZZ": str(inputs)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--inputs", type=int, default=100_000, help="Over all processes and tests.")
    options.add_argument("--jobs", type=int, default=1, help="Processes at the same time.")
    options.add_argument("--seed", type=int, default=0, help="Of the first process; the others have the next ones.")
    chosen = options.parse_args()
    LOGS.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    seeds = range(chosen.seed, chosen.seed + chosen.jobs)
    processes = {seed: start(-(-chosen.inputs // chosen.jobs), seed) for seed in seeds}
    tried = failed = 0
    for seed, process in processes.items():
        code = process.wait()
        said = (LOGS / f"{seed}.log").read_text(errors="replace")
        tried += sum(int(number) for match in TRIED.findall(said) for number in match)
        failed += code != 0
        print(f"seed {seed}: exit code {code}, {said.rstrip().rpartition(chr(10))[2]}", flush=True)
        for line in FAILED.findall(said):
            print(f"    {line}")
    print(
        f"{'NOT KEPT' if failed else 'KEPT':9} {tried:,} inputs in {time.monotonic() - begun:.0f} s, "
        f"{failed} of {len(processes)} processes failed; {LOGS} has what they said"
    )
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
