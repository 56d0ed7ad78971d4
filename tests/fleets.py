"""A real cluster for the tests, from the script that also kills it: `benchmarks/fleet_kills.py`."""

import importlib.util
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "fleet_kills.py"


def _loaded():
    spec = importlib.util.spec_from_file_location("fleet_kills", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["fleet_kills"] = module
    spec.loader.exec_module(module)
    return module


_module = _loaded()
Cluster, Wire, broken, free_port = _module.Cluster, _module.Wire, _module.broken, _module.free_port
