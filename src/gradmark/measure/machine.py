"""The machine: what tells it from others of its kind, beside what `environment.py` finds of every machine.

In: nothing, or facts in the variable GRADMARK_MACHINE. Out: microcode, GPUs, the share of the cores that is granted,
and an id of the machine that outlives its host name.
"""

import contextlib
import hashlib
import hmac
import os
import platform
import re
import secrets
import subprocess
from pathlib import Path
from typing import Annotated

import msgspec

from gradmark.errors import GradmarkError
from gradmark.isolation.state import state_folder
from gradmark.records.decoding import UndecodableError, decoded
from gradmark.records.quantities import Seconds, Whole

# Facts that replace what is found here, as JSON: a CI runner that is a new machine every night has its pool's name.
VARIABLE = "GRADMARK_MACHINE"
NAME = r"^[A-Za-z0-9._-]{1,64}$"
# Of the id that is made of a machine's own.
DIGITS = 12
# What systemd, D-Bus and, in a container that has neither, this user keep of a machine.
IDS = ("/etc/machine-id", "/var/lib/dbus/machine-id")
# Where NVIDIA's driver shows its devices, in a container too.
GPUS = Path("/proc/driver/nvidia/gpus")
# A command that says who the machine is answers at once, or not at all.
PATIENCE_S = 5.0
UNKNOWN = "unknown"


class Declared(msgspec.Struct, forbid_unknown_fields=True):
    """Facts that somebody declares of a machine, in place of those that are found."""

    cpu: str | msgspec.UnsetType = msgspec.UNSET
    microcode: str | msgspec.UnsetType = msgspec.UNSET
    machine: str | msgspec.UnsetType = msgspec.UNSET
    cores: Whole | msgspec.UnsetType = msgspec.UNSET
    quota: Seconds | msgspec.UnsetType = msgspec.UNSET
    memory_bytes: Whole | msgspec.UnsetType = msgspec.UNSET
    gpus: list[str] | msgspec.UnsetType = msgspec.UNSET
    os: str | msgspec.UnsetType = msgspec.UNSET
    governor: str | msgspec.UnsetType = msgspec.UNSET
    virtualisation: str | msgspec.UnsetType = msgspec.UNSET
    instance: Annotated[str, msgspec.Meta(pattern=NAME)] | msgspec.UnsetType = msgspec.UNSET


_DECLARED = msgspec.json.Decoder(Declared)


def declared() -> dict[str, object]:
    """The facts in the variable, by their names in an environment; raises if they make no sense."""
    text = os.environ.get(VARIABLE, "")
    if not text.strip():
        return {}
    try:
        facts = decoded(_DECLARED, text.encode(errors="surrogateescape"))
    except UndecodableError as error:
        names = ", ".join(Declared.__struct_fields__)
        reason = str(error).replace(f"`str` matching regex {NAME!r}", "up to 64 letters, digits, dots or dashes")
        raise GradmarkError(
            f"{VARIABLE} is wrong: {reason}; it is a JSON object of facts of this machine, such as "
            f'{{"instance": "runner-3"}}; known are {names}'
        ) from error
    return {name: value for name in facts.__struct_fields__ if (value := getattr(facts, name)) is not msgspec.UNSET}


def read(path: str | Path) -> str | None:
    """What a file of the system says; None where there is none."""
    try:
        return Path(path).read_text(errors="replace").strip()
    except OSError:
        return None


def _said(*command: str) -> str:
    """What a command of the system prints; nothing where there is none."""
    try:
        completed = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return completed.stdout.strip() if completed.returncode == 0 else ""


def brand() -> str:
    """The processor's name on macOS, whose Python knows only its kind."""
    return _said("sysctl", "-n", "machdep.cpu.brand_string") if platform.system() == "Darwin" else ""


def microcode() -> str | None:
    """The version of the processor's microcode, where the system shows it."""
    match = re.search(r"^microcode\s*:\s*(\S+)", read("/proc/cpuinfo") or "", re.MULTILINE)
    return match[1] if match else None


def gpus() -> list[str]:
    """GPUs with their driver: from the driver's own files, else from NVML. Both give the same names."""
    version = re.search(r"Module(?: for \S+)?\s+(\d[\d.]*)", read("/proc/driver/nvidia/version") or "")
    with contextlib.suppress(OSError):
        named = [re.search(r"^Model:\s*(.+)$", read(path) or "", re.M) for path in GPUS.glob("*/information")]
        if version and any(named):
            return sorted(f"{match[1].strip()}, driver {version[1]}" for match in named if match)
    return _from_nvml()


def _from_nvml() -> list[str]:
    try:
        import pynvml

        pynvml.nvmlInit()
        driver = pynvml.nvmlSystemGetDriverVersion()
        handles = map(pynvml.nvmlDeviceGetHandleByIndex, range(pynvml.nvmlDeviceGetCount()))
        return sorted(f"{pynvml.nvmlDeviceGetName(handle)}, driver {driver}" for handle in handles)
    except Exception:  # no package, no driver, no device: NVML has an error class for each
        return []


def quota(cores: int) -> float | None:
    """Of how many cores' time the control groups of this process grant it; None where that is no less than its cores.

    A container often sees all cores of its host, and may use two of them.
    """
    granted = min([*_of_groups(), float(cores)])
    return round(granted, 2) if granted < cores else None


def _of_groups() -> list[float]:
    limits = []
    for line in (read("/proc/self/cgroup") or "").splitlines():
        _, kinds, path = [*line.split(":", 2), "", ""][:3]
        if kinds and "cpu" not in kinds.split(","):
            continue
        parts = [part for part in path.split("/") if part]
        for depth in range(len(parts) + 1):  # a group has no more than those it is in
            inside = "/".join(parts[:depth])
            words = (read(Path("/sys/fs/cgroup") / inside / "cpu.max") or "").split()
            if not words:
                old = Path("/sys/fs/cgroup/cpu") / inside
                words = [read(old / "cpu.cfs_quota_us") or "", read(old / "cpu.cfs_period_us") or ""]
            with contextlib.suppress(ValueError, ZeroDivisionError, IndexError):
                if (share := float(words[0]) / float(words[1])) > 0:
                    limits.append(share)
    return limits


def instance() -> str:
    """The machine's own id, hashed, as its owner may not want it known: the same as long as it is not set up anew."""
    own = next((text for path in IDS if (text := read(path)) and text != "uninitialized"), None) or _of_hardware()
    own = own or _kept()
    return hmac.new(own.encode(), b"gradmark", hashlib.sha256).hexdigest()[:DIGITS] if own else UNKNOWN


def _of_hardware() -> str:
    """What systems without a machine-id have in its place."""
    match platform.system():
        case "Darwin":
            matched = re.search(r'"IOPlatformUUID" = "([^"]+)"', _said("ioreg", "-rd1", "-c", "IOPlatformExpertDevice"))
            return matched[1] if matched else ""
        case "Windows":
            key = r"HKLM\SOFTWARE\Microsoft\Cryptography"
            matched = re.search(r"REG_SZ\s+(\S+)", _said("reg", "query", key, "/v", "MachineGuid"))
            return matched[1] if matched else ""
    return ""


def _kept() -> str:
    """An id of our own, made when it is first needed; nothing where none can be kept."""
    with contextlib.suppress(OSError, RuntimeError):
        folder = state_folder()
        path = folder / "machine"
        if not path.exists():
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
                with os.fdopen(descriptor, "w") as file:
                    file.write(secrets.token_hex(16))
        return path.read_text(errors="replace").strip()
    return ""
