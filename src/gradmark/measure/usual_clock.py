"""The usual clock of a machine: what the core's pilot takes there when it is calm, as its first run found.

In: finished runs. Out: the clock at which later runs state their times, so that these agree although a busy socket's
clock moves. It is a file of the user's own; without it each run states its times at its own clock, and says so.
"""

import contextlib
import os
import tempfile
from pathlib import Path

import msgspec

from gradmark.isolation.state import state_folder
from gradmark.records import Environment, Run
from gradmark.records.identity import class_of
from gradmark.records.pilots import CORE, is_usual

_DECODER = msgspec.json.Decoder(dict[str, float])


def path() -> Path:
    """Where it is kept."""
    return state_folder() / "clocks.json"


def known(machine: Environment) -> float | None:
    """What the core's pilot takes at the usual clock of a machine; None where no run has found it."""
    return _clocks().get(_name(machine))


def learn(run: Run) -> None:
    """Keeps the clock of a run, if its machine has none yet, or one that is far from what the run saw."""
    own_ns, usual_ns = own(run), known(run.environment)
    if own_ns is None or (usual_ns is not None and is_usual(own_ns, usual_ns)):
        return
    clocks = _clocks() | {_name(run.environment): own_ns}
    with contextlib.suppress(OSError, RuntimeError):  # no home, or no room in it: then every run has its own clock
        _write(path(), msgspec.json.format(msgspec.json.encode(clocks)))


def own(run: Run) -> float | None:
    """What the core's pilot took in a run's own calm moments; None if none was seen."""
    levels = (phase.reference for m in run.measurements for sample in m.samples for phase in sample.phases.values())
    return next((reference[CORE] for reference in levels if CORE in reference), None)


def _name(machine: Environment) -> str:
    """Machines of one class have clocks of their own: one may stand in a warmer place."""
    return f"{class_of(machine).name}, {machine.instance}"


def _clocks() -> dict[str, float]:
    try:
        clocks = _DECODER.decode(path().read_bytes())
    except (OSError, RuntimeError, msgspec.DecodeError):  # none yet, no home, or something else: it is made anew
        return {}
    return {name: ns for name, ns in clocks.items() if 0.0 < ns < float("inf")}


def _write(file: Path, content: bytes) -> None:
    """Whole or not at all."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=".clocks-")
    try:
        with os.fdopen(descriptor, "wb") as temporary:
            temporary.write(content)
        os.replace(name, file)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
