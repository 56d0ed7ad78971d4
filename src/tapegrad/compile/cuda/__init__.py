"""Functions of tensors on CUDA devices: groups as kernels in C++, compiled by NVRTC through CuPy; cuBLAS multiplies."""
