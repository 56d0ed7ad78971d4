import numpy as np
from numpy.typing import NDArray

from tapegrad.scalar.program import Program

Indices = NDArray[np.int32]

def pattern_of(program: Program) -> tuple[Indices, Indices]: ...
def coloured_columns(starts: Indices, columns: Indices, order: Indices, rows: Indices, places: Indices) -> Indices: ...
def coloured_stars(starts: Indices, neighbours: Indices, order: Indices) -> Indices: ...
