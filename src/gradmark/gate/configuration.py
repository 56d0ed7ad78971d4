"""Configuration: what `[tool.gradmark]` in pyproject.toml says.

In: the file, and `--budget` options. Out: what is measured, how a revision is built, and how much worse each metric of
each workload may get; an error that shows the allowed keys for a typo.
"""

import fnmatch
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gradmark.errors import ConfigurationError
from gradmark.records import Budget
from gradmark.records.metric import REGISTRY

FILE = Path("pyproject.toml")


# How much worse each metric may get, by its key in the file. The registry says why these.
DEFAULTS = {entry.budgeted_as: entry.budget for entry in REGISTRY if entry.budget is not None}
# Of phases only a share means the same for every row.
SHARES_ONLY = {entry.budgeted_as for entry in REGISTRY if entry.budget is not None and entry.phase}
# Of what happens once a time means something too.
ONCE = {entry.budgeted_as for entry in REGISTRY if entry.budget is not None and entry.timed and not entry.phase}
UNITS_NS = {"ms": 1e6, "s": 1e9}
KEYS = {
    "select": "suites, workloads, globs or files to check; default: the short suites",
    "engines": "engines to check; default: tapegrad",
    "build": "command that installs a revision; {python} and {tree} are filled in",
    "budgets": "how much worse each metric may get",
}
# Of a value that is not understood.
MOST_SHOWN = 200
# Without its dependencies: both revisions use those of the present environment, so that only the code differs.
BUILD = "{python} -m pip install --quiet --no-deps {tree}"


@dataclass(frozen=True)
class Configuration:
    """What `[tool.gradmark]` says, or the defaults."""

    select: Sequence[str] = ()
    engines: Sequence[str] = ("tapegrad",)
    build: str = BUILD
    budgets: Mapping[str, Budget] = field(default_factory=lambda: dict(DEFAULTS))
    workloads: Mapping[str, Mapping[str, Budget]] = field(default_factory=dict)  # by name or glob, in their order

    def budget(self, metric: str, workload: str) -> Budget:
        """The budget of a metric, by its key, for a workload: the last pattern that matches, else the general one."""
        chosen = self.budgets[metric]
        for pattern, own in self.workloads.items():
            if metric in own and fnmatch.fnmatch(workload, pattern):
                chosen = own[metric]
        return chosen


def read(options: Sequence[str] = (), path: Path = FILE) -> Configuration:
    """The configuration of the current folder; options are `time=2%` from the command line; they override the file."""
    table = _table(path)
    where = f"[tool.gradmark] of {path}"
    for key in table:
        if key not in KEYS:
            allowed = "; ".join(f"{name}: {meaning}" for name, meaning in KEYS.items())
            raise ConfigurationError(f"{where} has {_shown(key)}, which is not a key; choose from: {allowed}")
    for key in ("select", "engines"):
        if not _words(table.get(key, ["x"])):
            got = _shown(table[key])
            raise ConfigurationError(f'{where}: {key} must be a list of names such as ["poly"], got {got}')
    build = table.get("build", BUILD)
    if not isinstance(build, str) or "\0" in build:  # no shell takes a NUL
        raise ConfigurationError(f"{where}: build must be a command, got {_shown(build)}")
    general, workloads = _budgets(table.get("budgets", {}), f"[tool.gradmark.budgets] of {path}")
    from_options = {}
    for option in options:
        metric, _, text = option.partition("=")
        from_options[metric] = _budget(metric, text, f"--budget {option}")
    return Configuration(
        select=tuple(table.get("select", ())),
        engines=tuple(table.get("engines", ("tapegrad",))),
        build=build,
        budgets={**DEFAULTS, **general, **from_options},
        workloads={
            pattern: {metric: budget for metric, budget in own.items() if metric not in from_options}
            for pattern, own in workloads.items()
        },
    )


def _table(path: Path) -> dict[str, Any]:
    """The table `[tool.gradmark]` of a file; empty if there is no file, or no such table in it."""
    if not path.is_file():
        return {}
    try:
        document = tomllib.loads(path.read_bytes().decode())  # TOML is UTF-8, whatever the locale
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}; change its permissions") from error
    except (ValueError, RecursionError) as error:  # what tomllib says of syntax, dates and long numbers; and of depth
        raise ConfigurationError(f"{path} is not TOML: {error}; correct it") from error
    table: Any = document
    for name, where in (("tool", "[tool]"), ("gradmark", "[tool.gradmark]")):
        table = table.get(name, {})
        if not isinstance(table, dict):
            raise ConfigurationError(f"{where} of {path} must be a table, got {_shown(table)}")
    return dict(table)


def _shown(value: Any) -> str:
    """What a file says, as far as it fits into a message. Python does not write numbers of many thousand digits."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        return "a value that is too long to be shown"
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"


def _words(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(word, str) for word in value)


def _budgets(table: Any, where: str) -> tuple[dict[str, Budget], dict[str, dict[str, Budget]]]:
    """General budgets, and those of single workloads: tables inside the table."""
    if not isinstance(table, dict):
        raise ConfigurationError(f"{where} must be a table, got {_shown(table)}")
    general: dict[str, Budget] = {}
    workloads: dict[str, dict[str, Budget]] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            inside = f"{where}, {_shown(key)}"
            workloads[key] = {metric: _budget(metric, number, inside) for metric, number in value.items()}
        else:
            general[key] = _budget(key, value, where)
    return general, workloads


def _budget(metric: str, value: Any, where: str) -> Budget:
    """A share ("5%"), a factor ("10x") or a number that may be added (0); of what happens once also "10% + 50ms"."""
    if metric not in DEFAULTS:
        allowed = ", ".join(f"{name} (default {budget})" for name, budget in DEFAULTS.items())
        raise ConfigurationError(f"{where} has {_shown(metric)}, which is not a metric; choose from: {allowed}")
    try:
        if isinstance(value, bool):
            raise ValueError
        text = str(value).replace(" ", "")
        if metric in ONCE:
            return _share_and_time(text)
        number = _amount(text[:-1] if text.endswith(("%", "x")) else text)
    except ValueError:
        expected = (
            'a share ("10%"), a time ("50ms") or both ("10% + 50ms")'
            if metric in ONCE
            else 'a share ("5%"), a factor ("10x") or the number that may be added (0)'
        )
        raise ConfigurationError(f"{where}: {metric} must be {expected}, got {_shown(value)}") from None
    if text.endswith("%"):
        return Budget(share=number / 100.0)
    if text.endswith("x"):
        return Budget(factor=number)
    if metric in SHARES_ONLY:
        raise ConfigurationError(f'{where}: {metric} must be a share such as "5%", got {_shown(value)}')
    return Budget(added=number)


def _amount(text: str) -> float:
    number = float(text)
    if not 0.0 <= number < 1e12:  # nan is not
        raise ValueError
    return number


def _share_and_time(text: str) -> Budget:
    """The sum of a share and a time, either of which may be left out; raises `ValueError`."""
    shares = [_amount(part[:-1]) / 100.0 for part in text.split("+") if part.endswith("%")]
    times = [part for part in text.split("+") if not part.endswith("%")]
    if len(shares) > 1 or len(times) > 1:
        raise ValueError
    if not times:
        return Budget(share=shares[0])
    unit = next((unit for unit in UNITS_NS if times[0].endswith(unit)), "")
    if not unit:
        raise ValueError
    return Budget(share=sum(shares), added_ns=_amount(times[0].removesuffix(unit)) * UNITS_NS[unit])
