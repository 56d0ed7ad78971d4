"""The gate: check.

In: what is to be checked, and against what. Out: a `Check` with its answer and its findings.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Unpack

from gradmark.api.calling import How, What, called, names, select
from gradmark.api.results import Check


def check(
    what: What | Sequence[What] | None = None,
    *,
    engines: str | Sequence[str] = (),
    against: str | None = None,
    baseline: str | Path | None = None,
    budgets: Mapping[str, str] | None = None,
    keyword: str | None = None,
    pairs: int | None = None,
    **how: Unpack[How],
) -> Check:
    """Compares with the baseline, or with another revision, as `gradmark check` does. Nothing is raised if it fails.

    what, engines: what is checked, if not what pyproject.toml says. against: a git revision to build and to measure
    beside the present one. baseline: the file, if not gradmark-baseline.json. budgets: such as {"time": "2%"}. pairs:
    of processes for each row, with against.
    """
    from gradmark.commands import check as verb
    from gradmark.gate.configuration import read

    options = [f"{key}={amount}" for key, amount in (budgets or {}).items()]
    asked = {"engines": names(engines), "keyword": keyword, "against": against, "budgets": options, "pairs": pairs}
    with called("check", select(what), file=baseline, **asked, **how) as call:
        params = call.params
        configuration = read(params["budgets"])
        chosen = verb.Chosen(
            tuple(params["select"] or configuration.select),
            tuple(params["engines"] or configuration.engines),
            params["keyword"],
        )
        gate = verb.decided(
            call.invocation,
            chosen,
            configuration,
            against=params["against"],
            pairs=params["pairs"],
            file=params["file"],
            whole=not (params["select"] or params["engines"] or params["keyword"]),
        )
    return Check(gate=gate)
