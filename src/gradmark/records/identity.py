"""Identity: which class of machines a run was made on, by the facts that make times comparable.

In: an environment. Out: a digest that lasts, a short name to type and words to read. A host's name has no say in it:
those of CI runners and containers last an hour. A fact that is not known is left out, so that a kind of fact that is
recorded one day does not rename the machines that have nothing of it.
"""

import hashlib
import json
import math
import re

from gradmark.records.record import Record
from gradmark.records.run import Environment

# Of the digest: enough for a million classes (2^48 against 2^40 pairs).
DIGITS = 12
# Of the digest in a name: names of one processor, core count and memory hardly ever meet.
DIGITS_OF_NAME = 6
# What stands in the names of processors and tells none from another.
NOISE = re.compile(r"\((r|tm|c)\)|@.*|\b(\d+-core|processor|cpu|with .*)\b", re.IGNORECASE)
GIB = 1 << 30
# Classes are remembered by their facts: ten thousand runs are of a few. So many, then from the start.
MOST_CLASSES = 1000
_CLASSES: dict[tuple[tuple[str, object], ...], "MachineClass"] = {}


class MachineClass(Record, frozen=True, kw_only=True):
    """Machines whose times may be compared."""

    digest: str
    name: str  # `amd-epyc-7763-2c-16g-1f3a9c`
    words: str

    def matches(self, text: str) -> bool:
        """Whether somebody who typed this means the class: its name, the start of its name or of its digest.

        >>> here = MachineClass(digest="1f3a9c0b7d2e", name="amd-epyc-7763-2c-16g-1f3a9c", words="")
        >>> here.matches("amd-epyc"), here.matches("1f3a"), here.matches("arm")
        (True, True, False)
        """
        return bool(text) and (self.name.startswith(text.lower()) or self.digest.startswith(text.lower()))


def facts_of(here: Environment) -> dict[str, object]:
    """What makes times comparable, as far as it is known.

    Memory counts in whole GiB, rounded up: what the kernel and the firmware keep of it differs from boot to boot.
    """
    facts = {
        "cpu": " ".join(here.cpu.split()),
        "microcode": here.microcode,
        "machine": here.machine,
        "cores": here.cores,
        "quota": here.quota,
        "memory_gib": gibibytes(here),
        "gpus": sorted(here.gpus),
        "os": here.os,
        "governor": here.governor,
        "virtualisation": here.virtualisation,
    }
    return {name: fact for name, fact in facts.items() if fact not in (None, "", [])}


def gibibytes(here: Environment) -> int | None:
    """Memory in GiB, rounded up."""
    return math.ceil(here.memory_bytes / GIB) if here.memory_bytes else None


def class_of(here: Environment) -> MachineClass:
    """The class of the machine that an environment describes.

    >>> here = Environment(cpu="AMD EPYC 7763 64-Core Processor", cores=2, memory_bytes=15 << 30, os="Linux 6.1",
    ...     python="CPython 3.13", packages={})
    >>> class_of(here).words
    'AMD EPYC 7763 64-Core Processor, 2 cores, 15 GiB, Linux 6.1'
    """
    facts = facts_of(here)
    known = tuple((name, tuple(fact) if isinstance(fact, list) else fact) for name, fact in facts.items())
    if known not in _CLASSES:
        if len(_CLASSES) >= MOST_CLASSES:
            _CLASSES.clear()
        _CLASSES[known] = _class_of(here, facts)
    return _CLASSES[known]


def _class_of(here: Environment, facts: dict[str, object]) -> MachineClass:
    packed = json.dumps(facts, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(packed.encode()).hexdigest()[:DIGITS]
    size = gibibytes(here)
    slug = "-".join(re.findall(r"[a-z0-9]+", NOISE.sub(" ", here.cpu).lower()))[:32].strip("-") or "unknown"
    parts = [slug, f"{here.cores}c", f"{size}g" if size else "", digest[:DIGITS_OF_NAME]]
    return MachineClass(digest=digest, name="-".join(filter(None, parts)), words=_words(here))


def _words(here: Environment) -> str:
    cores = f"{here.cores} core{'s' * (here.cores != 1)}"
    size = gibibytes(here)
    words = [
        " ".join(here.cpu.split()) + (f" (microcode {here.microcode})" if here.microcode else ""),
        here.machine,
        cores if here.quota is None else f"{here.quota:g} of {cores}",
        f"{size} GiB" if size else "",
        *sorted(here.gpus),
        here.os,
        f"governor {here.governor}" if here.governor else "",
        f"virtual ({here.virtualisation})" if here.virtualisation else "",
    ]
    return ", ".join(filter(None, words))
