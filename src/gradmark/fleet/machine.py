"""The machines of a fleet: what each says of itself, and whether they are alike where they must be.

In: this machine; on the other side, what all of them said. Out: a `Machine`; an error that says which differ.
"""

import functools
import hashlib
import importlib.metadata
import platform
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

import gradmark
from gradmark.errors import FleetError
from gradmark.measure import environment, fitness
from gradmark.measure.machine import UNKNOWN
from gradmark.records import Environment, Record
from gradmark.records.identity import MachineClass, class_of
from gradmark.store import sources

# What is compiled is made of these.
SOURCES = (".py", ".pyx", ".h", ".c", ".html", ".css", ".js")
DIGITS = 12
# Of a list of machines in an error.
SHOWN = 3
CODE, PYTHON = "gradmark's code", "Python"
# What must be equal on the machine that submits, too: it plans, and reads what they send.
SUBMITTING = (CODE, "distributed", "msgspec")
ABSENT = "none"


class Condition(Record, frozen=True, kw_only=True):
    """One thing that `doctor` looked at."""

    good: bool
    what: str
    advice: str = ""
    needed: bool = False


class Machine(Record, frozen=True, kw_only=True):
    """A worker's machine, as it describes itself."""

    environment: Environment
    versions: dict[str, str]
    address: str = ""  # the worker's
    conditions: list[Condition] = []
    despite: bool = False  # it takes work, whatever `doctor` says
    measuring: str = ""  # the row that it measures now

    @property
    def id(self) -> str:
        """What no other machine has. One that does not know who it is has only its address."""
        instance = self.environment.instance
        return instance if instance not in ("", UNKNOWN) else f"{UNKNOWN} at {self.address}"

    @property
    def machine_class(self) -> MachineClass:
        """The class: what makes times comparable."""
        return class_of(self.environment)

    @property
    def unfit(self) -> list[str]:
        """Why it takes no work."""
        return [] if self.despite else failing(self.conditions)


MACHINE = msgspec.json.Decoder(Machine)


def failing(conditions: Iterable[Condition]) -> list[str]:
    """What is needed and is not so."""
    return [condition.what for condition in conditions if condition.needed and not condition.good]


def conditions(*, at_rest: bool = False) -> list[Condition]:
    """What `doctor` sees in a moment. At rest it also sees who else works, which takes half a second."""
    checks = [*fitness.machine(), *([fitness.idle()] if at_rest else []), *fitness.tools()]
    return [Condition(good=c.good, what=c.what, advice=c.advice, needed=c.needed) for c in checks]


@functools.cache
def versions() -> dict[str, str]:
    """The code and the packages that a number may depend on. They do not change while a process lasts."""
    installed = dict(environment.packages())
    for distribution in importlib.metadata.distributions():
        offers = any(point.group.startswith("gradmark") for point in distribution.entry_points)
        if offers or distribution.name in ("distributed", "msgspec"):
            installed.setdefault(distribution.name, distribution.version)  # of two the first is imported
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return {CODE: _code(), PYTHON: python, **installed}


def _code() -> str:
    """A digest of the sources of gradmark and of the engine beside it."""
    digest = hashlib.sha256()
    folder = Path(gradmark.__file__).parents[1]
    for package in ("gradmark", "tapegrad"):
        for path in sorted((folder / package).rglob("*")):
            if path.suffix in SOURCES and path.is_file():
                digest.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:DIGITS]


def modules(names: Iterable[str]) -> dict[str, str]:
    """A digest of the file of each module, as a worker here would find it."""
    return {f"the module {name}": _of_module(name) for name in names}


def _of_module(name: str) -> str:
    file = sources.module_file(name)
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()[:DIGITS] if file is not None else ABSENT


def differences(machines: Sequence[tuple[str, dict[str, str]]]) -> list[str]:
    """What is not the same everywhere: `numpy: 2.1.0 on a, 2.2.0 on b and 3 more`."""
    names = dict.fromkeys(name for _, versions in machines for name in versions)
    lines = []
    for name in names:
        groups: dict[str, list[str]] = {}
        for machine, its in machines:
            groups.setdefault(its.get(name, ABSENT), []).append(machine)
        if len(groups) > 1:
            lines.append(f"{name}: {', '.join(f'{version} on {listed(who)}' for version, who in groups.items())}")
    return lines


def listed(names: Sequence[str]) -> str:
    """Some names, and how many more there are.

    >>> listed(["a", "b"]), listed(["a", "b", "c", "d", "e"])
    ('a and b', 'a, b, c and 2 more')
    """
    if len(names) > SHOWN:
        return f"{', '.join(names[:SHOWN])} and {len(names) - SHOWN} more"
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def refuse_unlike(machines: Sequence[Machine]) -> None:
    """Raises unless code and packages are the same on all machines, and the code is that of this one."""
    installed = [(machine.id, machine.versions) for machine in machines]
    here = {name: versions().get(name, ABSENT) for name in SUBMITTING}
    there = [("this machine", here), *((name, {k: its.get(k, ABSENT) for k in SUBMITTING}) for name, its in installed)]
    lines = dict.fromkeys([*differences(there), *differences(installed)])
    if lines:
        raise FleetError(
            f"the machines of the fleet differ, so nothing was measured: {'; '.join(lines)}. Install the same on all "
            "of them, and start their workers again"
        )
