"""Whether there is a CUDA device, without starting CUDA: every worker asks, also those whose rows are on the CPU."""

import glob
import os
import shutil
from functools import cache


@cache
def has_cuda() -> bool:
    """By the driver's files on Linux, WSL's included; elsewhere by its tool."""
    if os.name == "posix":
        return bool(glob.glob("/dev/nvidia[0-9]*")) or os.path.exists("/dev/dxg")
    return shutil.which("nvidia-smi") is not None
