from collections.abc import Iterable
from typing import Any, SupportsIndex, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tapegrad.scalar.stats import ProgramStats
from tapegrad.scalar.variables import Number

@final
class Program:
    # One number or an array, as the program was frozen with one Var or a sequence of them.
    def __call__(self, x: Number | Iterable[Number]) -> Any: ...
    def value_and_grad(self, x: Number | Iterable[Number]) -> tuple[Any, Any]: ...
    def batch(self, x: ArrayLike, threads: SupportsIndex = 1) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
    def stats(self) -> ProgramStats: ...
