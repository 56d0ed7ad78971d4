"""The machine: facts that its class is made of, an id that lasts, and what is declared in place of both."""

import re

import pytest

from gradmark.errors import GradmarkError
from gradmark.measure import environment, machine


@pytest.fixture
def system(monkeypatch):
    """The system shows these files and no others."""

    def shows(**texts):
        named = {name.replace("_", ""): text for name, text in texts.items()}
        monkeypatch.setattr(machine, "read", lambda path: named.get(re.sub(r"\W|_", "", str(path))))

    return shows


def test_microcode(system):
    system(proc_cpuinfo="processor\t: 0\nmicrocode\t: 0x1000065\n")
    assert machine.microcode() == "0x1000065"
    system()
    assert machine.microcode() is None


def test_an_id_of_its_own_that_does_not_show_the_machine_id(system):
    system(etc_machine_id="3d1219c7c4c5404aaa1f6d2a48adfda4")
    first = machine.instance()
    assert first == machine.instance()
    assert len(first) == 12
    assert first not in "3d1219c7c4c5404aaa1f6d2a48adfda4"
    system(var_lib_dbus_machine_id="4d1219c7c4c5404aaa1f6d2a48adfda4")
    assert machine.instance() != first


def test_without_a_machine_id_one_is_kept(system, monkeypatch, tmp_path):
    """As in a container. Its host name has no say."""
    system()
    monkeypatch.undo()
    monkeypatch.setattr(machine, "IDS", ())
    monkeypatch.setattr(machine, "_of_hardware", lambda: "")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    first = machine.instance()
    monkeypatch.setattr(machine.platform, "node", lambda: "another-name")
    assert machine.instance() == first != machine.UNKNOWN
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "gradmark" / "machine"))  # a file: nothing can be kept in it
    assert machine.instance() == machine.UNKNOWN


def test_a_share_of_the_cores(system):
    system(proc_self_cgroup="0::/a/b", sys_fs_cgroup_a_cpu_max="150000 100000", sys_fs_cgroup_a_b_cpu_max="max 100000")
    assert machine.quota(2) == 1.5
    assert machine.quota(1) is None
    system(proc_self_cgroup="3:cpu,cpuacct:/a", sys_fs_cgroup_cpu_a_cpu_cfs_quota_us="50000",
           sys_fs_cgroup_cpu_a_cpu_cfs_period_us="100000")  # fmt: skip
    assert machine.quota(2) == 0.5
    system(proc_self_cgroup="3:cpu:/", sys_fs_cgroup_cpu_cpu_cfs_quota_us="-1",
           sys_fs_cgroup_cpu_cpu_cfs_period_us="100000")  # fmt: skip
    assert machine.quota(2) is None
    system()
    assert machine.quota(2) is None


def test_what_is_declared_replaces_what_is_found(monkeypatch):
    monkeypatch.setenv("GRADMARK_MACHINE", '{"cpu": "Zen 9", "instance": "runner-3", "gpus": ["G, driver 1"]}')
    here = environment.collect()
    assert (here.cpu, here.instance, here.gpus) == ("Zen 9", "runner-3", ["G, driver 1"])
    assert here.cores == environment.cores()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("runner-3", "JSON is malformed"),
        ('{"host": "a"}', "unknown field `host`"),
        ('{"cores": -1}', "Expected `int` >= 0"),
        ('{"instance": "a b"}', "up to 64 letters, digits, dots or dashes"),
    ],
)
def test_a_declaration_that_makes_no_sense(monkeypatch, text, reason):
    monkeypatch.setenv("GRADMARK_MACHINE", text)
    with pytest.raises(GradmarkError, match=r"GRADMARK_MACHINE is wrong: .*known are cpu, microcode") as error:
        environment.collect()
    assert reason in str(error.value)


@pytest.mark.parametrize(
    "line",
    [
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (builder@)",
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Thu Feb 22 01:44:30 UTC 2024",
    ],
)
def test_gpus_with_their_driver(system, monkeypatch, tmp_path, line):
    """As the driver shows them; no library is asked."""
    device = tmp_path / "0000:00:06.0"
    device.mkdir()
    (device / "information").write_text("Model: \t\t NVIDIA H200\nIRQ:   \t\t 41\n")
    shown = {"/proc/driver/nvidia/version": line}
    monkeypatch.setattr(machine, "GPUS", tmp_path)
    monkeypatch.setattr(machine, "read", lambda path: shown.get(str(path)) or machine.Path(path).read_text())
    assert machine.gpus() == ["NVIDIA H200, driver 580.159.04"]
