"""Hides other engines as if they were not installed, from every Python process that has this folder on its path."""

import sys
from importlib.machinery import PathFinder

PEERS = {"asdex", "autograd", "casadi", "jax", "micrograd", "mygrad", "tinygrad", "torch", "xad"}


class WithoutPeers(PathFinder):
    """Finds what is installed, but for other engines.

    A `sys.modules["torch"] = None` would do for `import torch`, but SciPy looks there for what is loaded.
    """

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in PEERS else PathFinder.find_spec(name, path, target)


sys.meta_path[:] = [WithoutPeers if finder is PathFinder else finder for finder in sys.meta_path]
