"""The scalar engine: tape, variables, frozen programs."""

from importlib.machinery import ExtensionFileLoader
from importlib.util import find_spec

_core = find_spec("tapegrad.scalar.recording")
if _core is None or not isinstance(_core.loader, ExtensionFileLoader):
    raise ImportError(
        "tapegrad's scalar core is not built for this Python; in the repository run `pip install -e .` with it, "
        "elsewhere `pip install --force-reinstall gradmark`"
    )
