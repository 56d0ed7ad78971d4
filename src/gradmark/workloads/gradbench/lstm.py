"""lstm: parameters and data, each an array of its own."""

from collections.abc import Sequence
from typing import Any

from gradmark.records import Param
from gradmark.workloads.gradbench.eval import Eval, Named, Sizes, array, listed


def _named(numbers: Sequence[float], sizes: Sizes) -> Named:
    import numpy as np

    from gradmark.workloads.literature import lstm

    state, main, extra, text = lstm.read(**sizes)
    flat = np.asarray(numbers)
    return {
        "state": state, "main": flat[: main.size].reshape(main.shape), "extra": flat[main.size :].reshape(extra.shape),
        "text": text,
    }  # fmt: skip


def _read(given: Any) -> tuple[dict[str, Param], dict[str, Any]]:
    text = array(given["sequence"], None, None)
    bits = text.shape[1]
    main = array(given["main_params"], None, 4 * bits)
    layers = len(main) // 2
    inputs = {"main": main, "extra": array(given["extra_params"], 3, bits), "text": text}
    return {"l": layers, "c": len(text)}, {**inputs, "state": array(given["state"], 2 * layers, bits)}


EVAL = Eval(
    module="lstm",
    primal="objective",
    derivative="jacobian",
    size=lambda sizes: f"l={sizes['l']},c={sizes['c']}",
    written=lambda inputs, _sizes: {
        "main_params": listed(inputs["main"]),
        "extra_params": listed(inputs["extra"]),
        "state": listed(inputs["state"]),
        "sequence": listed(inputs["text"]),
    },
    workload="lstm_array",
    read=_read,
    named=_named,
)
