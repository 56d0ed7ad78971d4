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

FILE = Path("pyproject.toml")


@dataclass(frozen=True)
class Budget:
    """How much more than before is allowed: a share, a number, or a factor."""

    share: float = 0.0
    added: float = 0.0
    factor: float = 0.0

    def limit(self, before: float) -> float:
        """The largest number that is within the budget."""
        return max(before * (1.0 + self.share) + self.added, before * self.factor)

    def __str__(self) -> str:
        if self.factor:
            return f"{self.factor:g}x"
        return f"{100 * self.share:g}%" if self.share else f"{self.added:g}"


# Why these: floors of interleaved processes agree within 2 %, so 5 % can be told from noise; callgrind repeats itself
# to 0.1 %; the peak of memory moves a little with the length of names; counts repeat exactly. Rounding errors differ
# by small factors between C libraries and BLAS kernels, and a mistake of rule or order by many powers of ten.
DEFAULTS = {
    "time": Budget(share=0.05),
    "instructions": Budget(share=0.01),
    "allocations": Budget(),
    "leaked_bytes": Budget(),
    "peak_bytes": Budget(share=0.05),
    "tape_instructions": Budget(),
    "gradient_error": Budget(factor=10.0),
}
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
        """The budget of a metric for a workload: the last pattern that matches it, else the general one."""
        found = self.budgets[metric]
        for pattern, own in self.workloads.items():
            if metric in own and fnmatch.fnmatch(workload, pattern):
                found = own[metric]
        return found


def read(options: Sequence[str] = (), path: Path = FILE) -> Configuration:
    """The configuration of the current folder; options are `time=2%` from the command line, which win."""
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
    if metric == "time":
        raise ConfigurationError(f'{where}: time must be a share such as "5%", got {value!r}')
    return Budget(added=number)
