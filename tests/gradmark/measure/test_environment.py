"""The environment: what is known of this machine, and None for what is not."""

import os
import platform
import subprocess

from gradmark.measure import environment


def files(monkeypatch, **texts):
    """The system shows these files and no others."""
    named = {key.replace("_", ""): value for key, value in texts.items()}
    monkeypatch.setattr(environment, "_read", lambda path: named.get(path.rsplit("/", 1)[1].replace("_", "")))


def test_cpu(monkeypatch):
    files(monkeypatch, cpuinfo="processor\t: 0\nmodel name\t: Fast One: the second\n")
    assert environment.cpu() == "Fast One: the second"
    files(monkeypatch)
    assert environment.cpu() == (platform.processor() or platform.machine())


def test_cores_are_those_that_may_be_used(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 3, 5}, raising=False)
    assert environment.cores() == 3


def test_governor(monkeypatch):
    files(monkeypatch, scaling_governor="performance")
    assert environment.governor() == "performance"
    files(monkeypatch)
    assert environment.governor() is None


def test_virtualisation(monkeypatch):
    files(monkeypatch, cpuinfo="flags : fpu hypervisor", sys_vendor="QEMU")
    assert environment.virtualisation() == "QEMU"
    files(monkeypatch, cpuinfo="flags : fpu hypervisor")
    assert environment.virtualisation() == "unknown hypervisor"
    files(monkeypatch, cpuinfo="flags : fpu", sys_vendor="Dell")
    assert environment.virtualisation() is None


def test_memory_that_is_not_shown(monkeypatch):
    def refused(name):
        raise ValueError(name)

    monkeypatch.setattr(os, "sysconf", refused)
    assert environment.memory_bytes() is None
    monkeypatch.setattr(os, "sysconf", lambda name: -1 if name == "SC_PHYS_PAGES" else 4096)
    assert environment.memory_bytes() is None


def test_packages_that_are_missing_are_left_out(monkeypatch):
    monkeypatch.setattr(environment, "PACKAGES", ["gradmark", "no-such-package"])
    assert list(environment.packages()) == ["gradmark"]


def git(folder, *arguments):
    subprocess.run(
        ["git", "-c", "user.name=n", "-c", "user.email=e", *arguments], cwd=folder, check=True, capture_output=True
    )


def test_the_commit_of_the_current_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.chdir(tmp_path)
    found = environment.collect()
    assert (found.commit, found.dirty) == (None, None)
    git(tmp_path, "init")
    git(tmp_path, "commit", "--allow-empty", "-m", "first")
    found = environment.collect()
    assert (len(found.commit), found.dirty) == (40, False)
    (tmp_path / "new").write_text("")
    assert environment.collect().dirty is True


def test_without_git(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    found = environment.collect()
    assert (found.commit, found.dirty) == (None, None)


def test_everything_is_there():
    found = environment.collect()
    assert found.python == f"{platform.python_implementation()} {platform.python_version()}"
    assert found.os == f"{platform.system()} {platform.release()}"
    assert found.cores >= 1
    assert {"gradmark", "numpy", "msgspec"} <= found.packages.keys()
    assert found.unlike(environment.collect()) == []


def test_a_file_whose_name_is_no_text(tmp_path, monkeypatch):
    """Seen: UnicodeDecodeError, where git shows names as they are."""
    monkeypatch.chdir(tmp_path)
    for arguments in (["init", "-q"], ["config", "core.quotepath", "false"]):
        subprocess.run(["git", *arguments], check=True)
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", *identity, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    with open(b"caf\xe9", "w"):
        pass
    assert environment.collect().dirty is True
