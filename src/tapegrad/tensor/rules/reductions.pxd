# With it, `i: Instruction` is the C layout to the compiler.
from tapegrad.tensor.instruction cimport Instruction
from tapegrad.tensor.nesting.traced cimport Traced
