"""Choosing machines: of one class, of each, or why there is none.

In: the machines of a fleet, and what was asked for. Out: for each class the machines that may measure, or an error
before anything is measured.
"""

from collections.abc import Sequence

from gradmark.errors import FleetError
from gradmark.fleet.machine import Machine, listed, refuse_unlike
from gradmark.records.identity import MachineClass


def by_class(machines: Sequence[Machine]) -> list[tuple[MachineClass, list[Machine]]]:
    """The machines of each class, in the order of its name."""
    classes: dict[str, tuple[MachineClass, list[Machine]]] = {}
    for machine in machines:
        known = machine.machine_class
        classes.setdefault(known.digest, (known, []))[1].append(machine)
    return sorted(classes.values(), key=lambda pair: pair[0].name)


def chosen(
    machines: Sequence[Machine], address: str, *, on: str | None = None, each: bool = False, others: int = 0
) -> list[tuple[MachineClass, list[Machine]]]:
    """The classes that are measured, with their machines that are fit. Raises if something is missing or differs.

    on: the name of a class, its digest, or the start of either. others: workers that are not for measuring.
    """
    if not machines:
        more = f" ({others} that it has are not for measuring: they were not started by this command)" if others else ""
        raise FleetError(
            f"the scheduler at {address} has no workers{more}; start them with `gradmark fleet worker {address}`, one "
            "on each machine"
        )
    classes = by_class(machines)
    names = ", ".join(known.name for known, _ in classes)
    if on is not None:
        classes = [(known, members) for known, members in classes if known.matches(on)]
        if not classes:
            raise FleetError(f"no machine of the fleet is of a class called {on!r}; choose from: {names}")
        if len(classes) > 1:
            among = ", ".join(known.name for known, _ in classes)
            raise FleetError(f"{on!r} is ambiguous: it may be {among}; type more of the name")
    elif len(classes) > 1 and not each:
        raise FleetError(
            f"the fleet has machines of {len(classes)} classes, whose times cannot be compared: {names}; choose one "
            "with --on CLASS, or measure on each with --each-class"
        )
    refuse_unlike([machine for _, members in classes for machine in members])
    fit = [(known, [machine for machine in members if not machine.unfit]) for known, members in classes]
    for (known, members), (_, able) in zip(classes, fit, strict=True):
        if not able:
            why = "; ".join(dict.fromkeys(reason for machine in members for reason in machine.unfit))
            raise FleetError(
                f"no machine of class {known.name} is fit to measure on ({listed([m.id for m in members])}): {why}; "
                "`gradmark fleet status` shows what to do about it"
            )
    return fit
