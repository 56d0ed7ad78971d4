"""The records that pass between the stages, and that run files are made of.

All are frozen and typed; a value that could not be obtained is None, with the reason beside it, never 0.
"""

from gradmark.records.analysis import Comparison, Fit, Machine, Summary, Verdict
from gradmark.records.budget import Budget
from gradmark.records.calibration import Calibration
from gradmark.records.cell import Cell, Kind, Param
from gradmark.records.derivative import DerivativeName
from gradmark.records.measurement import (
    Accuracy,
    DeviceWork,
    Instructions,
    Measurement,
    Memory,
    Sparsity,
    Status,
    TapeSize,
)
from gradmark.records.number import Number
from gradmark.records.record import Record
from gradmark.records.run import FORMAT_VERSION, Environment, Run, Settings
from gradmark.records.sample import How, Phase, Sample
from gradmark.records.warning import Code, Warning

__all__ = [
    "FORMAT_VERSION",
    "Accuracy",
    "Budget",
    "Calibration",
    "Cell",
    "Code",
    "Comparison",
    "DerivativeName",
    "DeviceWork",
    "Environment",
    "Fit",
    "How",
    "Instructions",
    "Kind",
    "Machine",
    "Measurement",
    "Memory",
    "Number",
    "Param",
    "Phase",
    "Record",
    "Run",
    "Sample",
    "Settings",
    "Sparsity",
    "Status",
    "Summary",
    "TapeSize",
    "Verdict",
    "Warning",
]
