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
# Of times only a share means the same for every row.
SHARES_ONLY = {entry.budgeted_as for entry in REGISTRY if entry.budget is not None and not entry.exact}
KEYS = {
    "select": "suites, workloads, globs or files to check; default: the short suites",
    "engines": "engines to check; default: tapegrad",
    "build": "command that installs a revision; {python} and {tree} are filled in",
    "budgets": "how much worse each metric may get",
}
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
    table: dict[str, Any] = {}
    if path.is_file():
        try:
            table = tomllib.loads(path.read_text()).get("tool", {}).get("gradmark", {})
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigurationError(f"{path} is not TOML: {error}") from error
    where = f"[tool.gradmark] of {path}"
    for key in table:
        if key not in KEYS:
            allowed = "; ".join(f"{name}: {meaning}" for name, meaning in KEYS.items())
            raise ConfigurationError(f"{where} has {key!r}, which is no key; allowed are {allowed}")
    for key in ("select", "engines"):
        if not _words(table.get(key, ["x"])):
            raise ConfigurationError(f'{where}: {key} must be a list of names such as ["poly"], got {table[key]!r}')
    if not isinstance(table.get("build", ""), str):
        raise ConfigurationError(f"{where}: build must be a command, got {table['build']!r}")
    general, workloads = _budgets(table.get("budgets", {}), f"[tool.gradmark.budgets] of {path}")
    said = {}
    for option in options:
        metric, _, text = option.partition("=")
        said[metric] = _budget(metric, text, f"--budget {option}")
    return Configuration(
        select=tuple(table.get("select", ())),
        engines=tuple(table.get("engines", ("tapegrad",))),
        build=table.get("build", BUILD),
        budgets={**DEFAULTS, **general, **said},
        workloads={
            pattern: {metric: budget for metric, budget in own.items() if metric not in said}
            for pattern, own in workloads.items()
        },
    )


def _words(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(word, str) for word in value)


def _budgets(table: Any, where: str) -> tuple[dict[str, Budget], dict[str, dict[str, Budget]]]:
    """General budgets, and those of single workloads: tables inside the table."""
    if not isinstance(table, dict):
        raise ConfigurationError(f"{where} must be a table, got {table!r}")
    general: dict[str, Budget] = {}
    workloads: dict[str, dict[str, Budget]] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            inside = f"{where}, {key!r}"
            workloads[key] = {metric: _budget(metric, number, inside) for metric, number in value.items()}
        else:
            general[key] = _budget(key, value, where)
    return general, workloads


def _budget(metric: str, value: Any, where: str) -> Budget:
    """A share ("5%"), a factor ("10x") or a number that may be added (0)."""
    if metric not in DEFAULTS:
        allowed = ", ".join(f"{name} (default {budget})" for name, budget in DEFAULTS.items())
        raise ConfigurationError(f"{where} has {metric!r}, which is no metric; allowed are {allowed}")
    text = str(value).replace(" ", "")
    try:
        if isinstance(value, bool):
            raise ValueError
        number = float(text.rstrip("%x"))
        if not 0.0 <= number < 1e12:  # nan is not
            raise ValueError
    except ValueError:
        raise ConfigurationError(
            f'{where}: {metric} must be a share ("5%"), a factor ("10x") or the number that may be added (0), '
            f"got {value!r}"
        ) from None
    if text.endswith("%"):
        return Budget(share=number / 100.0)
    if text.endswith("x"):
        return Budget(factor=number)
    if metric in SHARES_ONLY:
        raise ConfigurationError(f'{where}: {metric} must be a share such as "5%", got {value!r}')
    return Budget(added=number)
