"""The verbs that measure: run, scale, ops, explain.

In: functions, workloads or names, and options as the commands have them. Out: results; each run is kept.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, Unpack

from gradmark.api.calling import Call, How, What, called, names, select
from gradmark.api.results import Explained, Operations, Result, Scaling
from gradmark.commands.measuring import measure
from gradmark.commands.options import DEFAULT_ENGINE
from gradmark.errors import SelectionError, UnlikeRunsError
from gradmark.records import DerivativeName, Run

Names = str | Sequence[str]


def run(
    what: What | Sequence[What] | None = None,
    inputs: Any = None,
    *,
    engines: Names = DEFAULT_ENGINE,
    derivatives: Names = (),
    dtypes: Names = (),
    devices: Names = (),
    keyword: str | None = None,
    name: str | None = None,
    **how: Unpack[How],
) -> Result:
    """Measures engines and keeps the run, as `gradmark run` does.

    what: a plain function, with the `inputs` at which it is differentiated: numbers, or arrays. If its first parameter
    is called `ops` it gets the engine's functions there, as in `ops.sin(x)`. Or a `gradmark.workload`; or what the
    command selects by: a suite, a workload, a row such as "poly/n=1000", a file; or a list of these.

    engines: names; "all" is every one that is installed. name: what a function is called in tables. Further options are
    those of the command: full, processes, seed, threads, timeout, memory_limit, memory, instructions, pin, huge_pages,
    data, store.
    """
    from gradmark.analyse.unsettled import unsettled
    from gradmark.commands.run import Asked

    words = select(what, inputs, name)
    asked = {"engines": names(engines), "derivatives": derivatives, "dtypes": dtypes, "devices": devices}
    with called("run", words, keyword=keyword, **asked, **how) as call:
        params = {key: call.params[key] for key in ("select", "engines", "keyword", "dtypes", "devices", "derivatives")}
        return Result(*_measured(call, partial(Asked(**params).plan, call.invocation), unsettled))


def scale(
    what: What,
    *,
    engines: Names = DEFAULT_ENGINE,
    derivatives: Names = (),
    dtypes: Names = (),
    **how: Unpack[How],
) -> Scaling:
    """Sweeps the sizes of a workload and fits cost = a + b·n^p, as `gradmark scale` does.

    what: a `gradmark.workload` with sizes, or the name of one. Options as in `gradmark.run`.
    """
    from gradmark.commands.scale import planned
    from gradmark.workloads.workload import Workload

    if callable(what) and not isinstance(what, Workload):
        raise SelectionError(
            "a plain function has no sizes to sweep; decorate it with gradmark.workload(suite=…, stresses=…, "
            "sizes={'n': [10, 100, 1000, 10000]}, inputs=lambda draw, n: …)"
        )
    (word,) = select(what)
    asked = {"engines": names(engines), "derivatives": derivatives, "dtypes": dtypes}
    with called("scale", [word], **asked, **how) as call:
        return Scaling(*_measured(call, partial(planned, call.invocation, **call.params)))


def ops(
    kinds: Names = (),
    *,
    engines: Names = DEFAULT_ENGINE,
    derivatives: Names = (),
    dtypes: Names = (),
    **how: Unpack[How],
) -> Operations:
    """Measures every operation by itself, as `gradmark ops` does.

    kinds: "scalar" (operations on numbers), "tensor" (on arrays), or nothing for both. Options as in `gradmark.run`.
    """
    from gradmark.commands.ops import operators
    from gradmark.engines import discovery

    asked = {"engines": names(engines), "derivatives": derivatives, "dtypes": dtypes}
    with called("ops", [kinds] if isinstance(kinds, str) else list(kinds), **asked, **how) as call:
        chosen: tuple[DerivativeName, ...] = call.params["derivatives"]
        compared = discovery.chosen(call.params["engines"])
        rows = operators(call.params["kinds"], call.params["dtypes"])
        plan = partial(
            call.invocation.plan, rows, compared, full=True, dtypes=call.params["dtypes"], derivatives=chosen
        )
        return Operations(*_measured(call, plan), engines=compared)


def explain(
    what: What,
    inputs: Any = None,
    *,
    engines: Names = DEFAULT_ENGINE,
    derivative: str | None = None,
    dtypes: Names = (),
    name: str | None = None,
    **how: Unpack[How],
) -> Explained:
    """Shows a function's recording, its derivative as operations, and what engines make of them: `gradmark explain`.

    what, inputs, engines, name and further options as in `gradmark.run`. derivative: gradient, jvp, vjp or hvp.
    """
    from gradmark.commands.explain import explained, planned

    (word,) = select(what, inputs, name)
    asked = {"engines": names(engines), "derivative": derivative, "dtypes": dtypes}
    with called("explain", [word], **asked, **how) as call:
        params = {key: call.params[key] for key in ("workload", "engines", "derivative", "dtypes")}
        params["engines"] = params["engines"] or (DEFAULT_ENGINE,)
        measured, where = _measured(call, partial(planned, call.invocation, **params))
        return Explained(measured, where, explanation=explained(measured))


def _measured(call: Call, *how: Any) -> tuple[Run, str]:
    """A run and where it is kept. A function that another session replaced meanwhile was not measured."""
    from gradmark.store import sources

    measured, where = measure(call.invocation, *how)
    replaced = sources.changed(measured.sources)
    if replaced:
        raise UnlikeRunsError(
            f"{', '.join(replaced)} changed while it was measured, so that the processes did not all run the same "
            "function. Did another session measure one of the same name here? Give one of them another: name='…'"
        )
    return measured, where
