"""Identity: a class lasts as long as what makes times comparable, and says it in words."""

import msgspec
import pytest

from gradmark.records import Environment
from gradmark.records.identity import class_of

HERE = Environment(
    cpu="AMD EPYC 7763 64-Core Processor",
    cores=2,
    memory_bytes=(16 << 30) - 300_000_000,
    os="Linux 6.1.0",
    python="CPython 3.13.1",
    packages={"numpy": "2.1"},
    machine="x86_64",
    governor="performance",
    virtualisation="QEMU",
    microcode="0xa0011d1",
    gpus=["NVIDIA H200, driver 550.54"],
    instance="aaaa",
)


def test_a_class_in_words():
    here = class_of(HERE)
    assert here.words == (
        "AMD EPYC 7763 64-Core Processor (microcode 0xa0011d1), x86_64, 2 cores, 16 GiB, NVIDIA H200, driver 550.54, "
        "Linux 6.1.0, governor performance, virtual (QEMU)"
    )
    assert here.name == f"amd-epyc-7763-2c-16g-{here.digest[:6]}"


def test_the_digest_is_the_same_in_every_version():
    """A digest that a new version computes otherwise would split every history."""
    assert class_of(HERE).digest == "ac2599f0d2fe"


@pytest.mark.parametrize(
    "change",
    [
        {"instance": "bbbb"},
        {"python": "CPython 3.14.0"},
        {"packages": {}},
        {"commit": "a" * 40, "dirty": True},
        {"memory_bytes": (16 << 30) - 310_000_000},
        {"cpu": "AMD EPYC 7763  64-Core Processor "},
    ],
)
def test_what_makes_no_other_class(change):
    assert class_of(msgspec.structs.replace(HERE, **change)) == class_of(HERE)


@pytest.mark.parametrize(
    "change",
    [
        {"cpu": "AMD EPYC 7763"},
        {"cores": 4},
        {"quota": 1.5},
        {"memory_bytes": 32 << 30},
        {"microcode": "0xa0011d3"},
        {"gpus": []},
        {"gpus": ["NVIDIA H200, driver 560.1"]},
        {"os": "Linux 6.2.0"},
        {"governor": "powersave"},
        {"virtualisation": None},
        {"machine": "aarch64"},
    ],
)
def test_what_makes_another_class(change):
    assert class_of(msgspec.structs.replace(HERE, **change)).digest != class_of(HERE).digest


def test_a_fact_that_is_not_known_has_no_say():
    """Environments of older files lack some; they keep their class when further kinds of facts are recorded."""
    older = Environment(cpu="c", cores=1, memory_bytes=0, os="o", python="p", packages={})
    assert class_of(older).digest == class_of(msgspec.structs.replace(older, memory_bytes=None)).digest
    assert class_of(older).name == f"c-1c-{class_of(older).digest[:6]}"
    assert class_of(older).words == "c, 1 core, o"


def test_what_people_type_for_a_class():
    here = class_of(HERE)
    assert here.matches(here.name)
    assert here.matches("AMD-EPYC")
    assert here.matches(here.digest[:4])
    assert not here.matches("intel")
    assert not here.matches("")
