"""Gradmark from Python: the verbs of the command line as functions, whose results show themselves.

In: functions and their inputs, or what a command would be told. Out: results; each run is kept, as a command keeps it.
"""

from gradmark.api.gating import check
from gradmark.api.measuring import explain, ops, run, scale
from gradmark.api.reading import compare, load

__all__ = ["check", "compare", "explain", "load", "ops", "run", "scale"]
