"""asdex: sparse Jacobians and Hessians on JAX, their patterns found and coloured when they are prepared, then jitted.

Gradients and dense matrices, which the sparse ones are compared with, are JAX's own.
"""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import asdex
import jax
import jax.numpy as jnp
import numpy as np
from scipy.sparse import coo_array

from gradmark.engines.functional import MODES, function_of
from gradmark.engines.jax import LIBRARY, Jax, configure, device_name, operations, use
from gradmark.engines.protocol import Capabilities, Derivative, Session
from gradmark.errors import UnsupportedError
from gradmark.records import DerivativeName, Param, Sparsity
from gradmark.records.cell import USUAL_DEVICE
from gradmark.records.derivative import FACTS
from gradmark.workloads.workload import Workload

SPARSE: Mapping[DerivativeName, str] = {"sparse-jacobian": "coloured", "sparse-hessian": "coloured"}
DENSE: tuple[DerivativeName, ...] = ("gradient", "jacobian", "hessian")
GRADIENT = Derivative()


class Asdex(Jax):
    """What JAX does of these is done by the same code."""

    name = "asdex"

    def capabilities(self) -> Capabilities:
        """As JAX, where it is jitted."""
        return Capabilities(
            kinds=("scalar", "tensor"),
            dtypes=("float32", "float64"),
            devices=(USUAL_DEVICE,),
            derivatives={**{name: MODES[name] for name in DENSE}, **SPARSE},
            compiled=True,
            caches=True,
        )

    def prepare(  # type: ignore[override]  # on the CPU only
        self,
        workload: Workload,
        inputs: Sequence[Any],
        params: Mapping[str, Param],
        *,
        derivative: Derivative = GRADIENT,
    ) -> Session:
        """Pattern and colours once; one compiled function for all entries."""
        if FACTS[derivative.name].form != "sparse":
            return super().prepare(workload, inputs, params, derivative=derivative)
        use(USUAL_DEVICE)
        scalar = workload.kind == "scalar"
        self.refuse((workload.count(params) or 0) if scalar else 0)
        active = workload.active(inputs)
        if not scalar and len(active) > 1:
            raise UnsupportedError(
                f"asdex gives a sparse matrix of one array, and {workload.name} has {len(active)} that vary"
            )
        configure()
        fixed = [] if scalar else [jnp.array(x, copy=True) for x in inputs]
        f = function_of(LIBRARY, operations(workload.kind), workload, inputs, fixed, params)
        x = jnp.array(inputs if scalar else inputs[active[0]], copy=True)
        with warnings.catch_warnings():
            # as many colours as columns: the row says how many there are
            warnings.simplefilter("ignore", asdex.DenseColoringWarning)
            if derivative.name == "sparse-jacobian":
                colouring = asdex.jacobian_coloring(f, x)
                compute = jax.jit(asdex.jacobian_from_coloring(f, colouring))
            else:
                colouring = asdex.hessian_coloring(f, x)
                compute = jax.jit(asdex.hessian_from_coloring(f, colouring))
        evaluate, wait = jax.jit(f), jax.block_until_ready
        pattern = colouring.sparsity
        places = np.asarray(pattern.rows), np.asarray(pattern.cols)
        shape = (pattern.m, pattern.n)
        matrix: Any = None

        def move(new: Sequence[Any]) -> None:
            nonlocal x
            x = wait(jnp.array(new if scalar else new[active[0]], copy=True))

        def total() -> None:
            nonlocal matrix
            matrix = wait(compute(x))

        return Session(
            primal=lambda: wait(evaluate(x)),
            total=total,
            result=lambda: coo_array((np.asarray(matrix.data), places), shape=shape).tocsr(),
            move=move,
            sparsity=lambda: Sparsity(nonzeros=pattern.nnz, colours=colouring.num_colors),
            device_name=device_name(next(iter(x.devices())).platform),
        )
