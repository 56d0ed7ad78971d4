from collections.abc import Callable, Iterable
from typing import Any, Literal, SupportsIndex, final, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tapegrad.compile import KernelName
from tapegrad.compile.program import CompiledStats
from tapegrad.scalar.native import Native
from tapegrad.scalar.program import Program
from tapegrad.scalar.variables import Number, Var

@final
class CompiledProgram:
    def __init__(self, program: Program, make: Callable[[str], Native | None], stats: Callable[[], Any]) -> None: ...
    def __call__(self, x: Var | Number | Iterable[Var | Number]) -> Any: ...
    def value_and_grad(self, x: Number | Iterable[Number]) -> tuple[Any, Any]: ...
    @overload
    def batch(
        self, x: ArrayLike, threads: SupportsIndex = 1, gradients: Literal[True] = True
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
    @overload
    def batch(self, x: ArrayLike, threads: SupportsIndex = 1, *, gradients: Literal[False]) -> NDArray[np.float64]: ...
    def bind(
        self, x: NDArray[np.float64], value: NDArray[np.float64], gradient: NDArray[np.float64] | None = None
    ) -> BoundCode: ...
    def prepare(self, *kernels: KernelName) -> None: ...
    def stats(self) -> CompiledStats: ...
    @property
    def program(self) -> Program: ...

@final
class BoundCode:
    def __call__(self) -> NDArray[np.float64]: ...
