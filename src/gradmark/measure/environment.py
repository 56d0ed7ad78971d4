"""The environment: what machine and software a run was made on."""

import importlib.metadata
import os
import platform
import subprocess

import msgspec

from gradmark.measure import machine
from gradmark.measure.machine import read as _read
from gradmark.records import Environment

# Packages whose version may change a number.
PACKAGES = [
    "gradmark",
    "numpy",
    "scipy",
    "memray",
    "msgspec",
    "Cython",
    "torch",
    "jax",
    "jaxlib",
    "autograd",
    "mygrad",
    "casadi",
    "xad",
    "micrograd",
    "tinygrad",
]


def cpu() -> str:
    """The processor's name."""
    for line in (_read("/proc/cpuinfo") or "").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return machine.brand() or platform.processor() or platform.machine()


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def memory_bytes() -> int | None:
    """Physical memory, where the system shows it."""
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
    return size if size > 0 else None


def governor() -> str | None:
    """The CPU frequency governor, where the system shows it."""
    return _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")


def virtualisation() -> str | None:
    """The hypervisor's vendor, or what the processor says of one; None on bare metal or where it is unknown."""
    vendor = _read("/sys/class/dmi/id/sys_vendor") or ""
    flags = _read("/proc/cpuinfo") or ""
    return (vendor or "unknown hypervisor") if "hypervisor" in flags else None


def packages() -> dict[str, str]:
    """Versions of what is installed."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions


def _git(*arguments: str) -> str | None:
    try:
        completed = subprocess.run(
            ["git", *arguments], capture_output=True, text=True, errors="replace", timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return completed.stdout.strip() if completed.returncode == 0 else None


def collect() -> Environment:
    """The environment of this process and the current folder, with what is declared of the machine."""
    declared = machine.declared()
    commit = _git("rev-parse", "HEAD")
    changes = _git("status", "--porcelain") if commit else None
    granted = cores()
    here = Environment(
        cpu=cpu(),
        cores=granted,
        memory_bytes=memory_bytes(),
        os=f"{platform.system()} {platform.release()}",
        python=f"{platform.python_implementation()} {platform.python_version()}",
        packages=packages(),
        machine=platform.machine(),
        governor=governor(),
        virtualisation=virtualisation(),
        commit=commit,
        dirty=bool(changes) if changes is not None else None,
        microcode=machine.microcode(),
        gpus=machine.gpus(),
        quota=machine.quota(granted),
        instance=machine.instance(),
    )
    return msgspec.structs.replace(here, **declared)
