"""The verbs that only read what is kept: load, compare.

In: results, or names of runs. Out: results.
"""

from pathlib import Path

from gradmark.api.results import Comparison, Result, run_of
from gradmark.commands.compare import refuse_same
from gradmark.records import Run


def load(name: str | Path = "latest", *, store: str | Path | None = None) -> Result:
    """A run that was kept, by a command or from Python: by id, by the start of one, by file, or the latest.

    store: the folder or postgresql:// URL where runs are, if not `.gradmark/runs`.
    """
    from gradmark.store import runs
    from gradmark.store.store import open_store

    kept = open_store(store)
    place = kept.find(str(name), runs.SHOWN_VERBS)
    return Result(kept.load(place), place)


def compare(
    old: Result | Run | str | Path,
    new: Result | Run | str | Path = "latest",
    *,
    changed: bool = False,
    store: str | Path | None = None,
) -> Comparison:
    """Compares two runs row by row, as `gradmark compare` does: results, or names as `gradmark.load` takes them.

    changed: only rows that differ are shown. Nothing is gated: `gradmark.check(against=…)` measures both in turns.
    """
    before, after = run_of(old, store), run_of(new, store)
    refuse_same(before, after)
    return Comparison(before, after, changed)
