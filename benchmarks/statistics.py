"""Are the statistics right? Coverage of every interval, false alarms and power, on known noise and on recorded times.

    python benchmarks/statistics.py                    simulate: exit code 1 if a promise is not kept (a minute)
    python benchmarks/statistics.py --aa FOLDER        runs of the same code, each with the next: false verdicts
    python benchmarks/statistics.py --keep RUN.json …  make data/shared_machine.json from runs of many processes

Every draw is a set of processes whose truth is known: two equal arms, or one slower by 5, 10 or 20 %. They are judged
by the rules that `gradmark compare`, tables and `gradmark hypothesis` use; that the simulation decides as they do is
checked too. `noise.py` has the kinds of noise, `error_rates.py` what is promised. The recorded times are those
of 160 processes of each of six cells, in three sessions on a shared virtual machine with two cores on which others
worked; each session was made with

    gradmark run expression reuse mul_chain matmul -e tapegrad --no-memory --processes 160 --json RUN.json
"""

import sys
from pathlib import Path

# The folder of a script is first on its path, but everybody needs Python's own `statistics`: this folder goes last, and
# another script of it that imports `statistics` gets Python's.
HERE = Path(__file__).resolve().parent
sys.path[:] = [*(entry for entry in sys.path if Path(entry).resolve() != HERE), str(HERE)]


def main() -> int:
    import argparse

    from error_rates import aa, keep, rates

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--aa", type=Path, metavar="FOLDER", help="folder of run files of the same code")
    parser.add_argument("--keep", type=Path, nargs="+", metavar="RUN", help="make the recorded data from these runs")
    options = parser.parse_args()
    if options.keep:
        keep(options.keep)
        return 0
    return aa(options.aa) if options.aa else rates()


if __name__ == "__main__":
    sys.exit(main())
else:
    del sys.modules[__name__]
    import statistics

    sys.modules[__name__] = statistics
