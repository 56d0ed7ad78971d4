"""Machine code: programs and tensor functions compiled for the CPU, by LLVM through llvmlite, which is optional."""
