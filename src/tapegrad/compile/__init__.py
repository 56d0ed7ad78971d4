"""Machine code: programs and tensor functions compiled for the CPU, by LLVM through llvmlite, which is optional."""

from typing import Literal, TypeAlias

from tapegrad.compile.llvm import available, forget
from tapegrad.compile.maths import vector_library

# What is compiled of a program: its value, or its value and gradient, at one point or in batches.
KernelName: TypeAlias = Literal["value", "value_and_grad", "batch_value", "batch"]

__all__ = ["KernelName", "available", "forget", "vector_library"]
