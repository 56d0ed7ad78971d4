from typing import TypeVar, overload

from tapegrad.scalar.conditions import Condition
from tapegrad.scalar.variables import Number, Var

T = TypeVar("T")

@overload
def where(condition: Condition | Var, x: Var | Number, y: Var | Number, /) -> Var: ...
@overload
def where(condition: Number, x: T, y: T, /) -> T: ...
