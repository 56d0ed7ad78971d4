"""JSON for programs: the run as a run file has it, and beside it the numbers as tables show them.

In: a run. Out: text; `gradmark report FILE` and `gradmark compare FILE` read it again.
"""

from collections.abc import Sequence

import msgspec

from gradmark.analyse.summary import summarise_run
from gradmark.records import Run, Summary
from gradmark.report.escaping import json as escaping


def json(run: Run, summaries: Sequence[Summary] | None = None) -> str:
    """One document. `rows` has a summary for each measurement, in the same order."""
    summarised = summaries if summaries is not None else summarise_run(run.measurements)
    rows = [{"row": s.cell.row, "engine": s.cell.engine, **msgspec.to_builtins(s)} for s in summarised]
    document = msgspec.to_builtins(run) | {"rows": rows}
    return escaping.document(document)
