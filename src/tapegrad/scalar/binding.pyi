from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from tapegrad.scalar.freezing import Frozen

@final
class Bound:
    def __init__(self, frozen: Frozen, x: NDArray[np.float64], out: NDArray[np.float64]) -> None: ...
    def __call__(self) -> Any: ...
