"""What a traced function was compiled to, in numbers."""

from dataclasses import dataclass


@dataclass
class Report:
    """What a traced function was compiled to."""

    operations: int
    kernels: int
    products: int
    loops: int  # each of which has a body, whose own operations count once
    convolutions: int
    interpreted: list[str]  # the operations that NumPy executes, on a device CuPy
    temporary_bytes: int
    read_bytes: int  # of arrays, in each call; an array that several kernels read counts for each
    written_bytes: int
    code_bytes: int
    compile_seconds: float
    # Where its exp, log and their kin come from: "libmvec", "own", "one lane at a time", or several; "cuda".
    vector_maths: str
    shared_kernels: int = 0  # those that several threads do together
