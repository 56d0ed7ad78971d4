"""A real tool of GradBench beside tapegrad: ADOL-C in C++ (benchmarks/adolc), through the bridge.

    python benchmarks/bridge.py

It builds the tool, which needs g++, libadolc-dev and nlohmann-json3-dev (Debian: `apt-get install libadolc-dev
nlohmann-json3-dev`), and measures both on functions of the literature. Its derivatives are checked as everybody's; its
times are its own words. Where it cannot be built, it says why.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

TOOL = Path(__file__).parent / "adolc"
ROWS = ["lse/n=2500", "llsq/n=16/m=128", "det/ell=5", "det/ell=7", "lstm/l=2/c=16"]
PROCESSES = "6"  # the fewest of which an interval has a coverage of 95 %


def main() -> None:
    """Builds, measures, prints."""
    built = subprocess.run(["make", "-C", TOOL], capture_output=True, text=True, check=False)
    if built.returncode != 0:
        print(f"ADOL-C's tool was not built, so nothing is measured:\n{built.stderr[-2000:]}")
        return
    with tempfile.TemporaryDirectory() as folder:  # where it is called by a short name
        (Path(folder) / "adol-c").symlink_to(TOOL.resolve() / "tool")
        command = [
            *(sys.executable, "-c", "from gradmark.commands.main import main; main()"),
            *("run", *ROWS, "-e", "tapegrad", "-e", "tapegrad:program", "-e", "gradbench:./adol-c"),
            *("--processes", PROCESSES, "--no-memory", "--store", "runs"),
        ]
        ended = subprocess.run(command, cwd=folder, env={**os.environ, "COLUMNS": "100"}, check=False)
    sys.exit(ended.returncode)


if __name__ == "__main__":
    main()
