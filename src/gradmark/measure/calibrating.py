"""Calibrating: how fast is this machine at the moment? Asked once before the first block of a run is timed.

In: the settings of a run. Out: a calibration, or nothing where none was wanted or had.
"""

import datetime
import os
import sys

import msgspec

from gradmark.errors import GradmarkError
from gradmark.isolation import child, home
from gradmark.measure import machine
from gradmark.measure.worker.calibration import Answered, Asked
from gradmark.records import Settings
from gradmark.records.calibration import Calibration
from gradmark.records.decoding import UndecodableError, decoded

# About a hundred blocks of each kind of work, and little beside a run. The variable says otherwise; 0 is none.
SECONDS, VARIABLE = 2.0, "GRADMARK_CALIBRATION_S"
MOST_SECONDS = 60.0
# Beyond its seconds: to start, to fill the buffer, to make a context on a GPU.
PATIENCE_S = 60.0
COMMAND = [sys.executable, "-P", "-m", "gradmark.measure.worker.calibration"]
_ANSWERED = msgspec.json.Decoder(Answered)


def seconds() -> float:
    """How long a calibration takes; raises if the variable has no such number."""
    text = os.environ.get(VARIABLE, "")
    try:
        asked = float(text or SECONDS)
    except ValueError:
        asked = -1.0
    if not 0.0 <= asked <= MOST_SECONDS:
        raise GradmarkError(f"{VARIABLE} is wrong: expected seconds from 0 to {MOST_SECONDS:g}, got {text!r}")
    return asked


def calibrate(settings: Settings) -> Calibration | None:
    """A calibration of this machine now. One that fails is none: it says nothing of the engines."""
    length_s = seconds()
    if not length_s:
        return None
    started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    asked = Asked(seconds=length_s, pin=settings.pin, huge_pages=settings.huge_pages, gpu=bool(machine.gpus()))
    with home.fresh_folder() as folder:
        environment = child.environment(1, folder)
        ended = child.ask(COMMAND, msgspec.json.encode(asked), timeout_s=length_s + PATIENCE_S, environment=environment)
    if ended.code != 0:
        return None
    try:
        return Calibration(started=started, work=decoded(_ANSWERED, ended.answer).work)
    except UndecodableError:
        return None
