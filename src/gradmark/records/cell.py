"""The cell: what one row measures. Its names are spelled here and nowhere else."""

from typing import Annotated, Literal

from msgspec import Meta

from gradmark.records.derivative import USUAL_DERIVATIVE, DerivativeName
from gradmark.records.record import Record

Param = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] | float | str  # as far as JSON carries whole numbers
Kind = Literal["scalar", "tensor"]
# What a name leaves out, because most rows have it.
USUAL_DTYPES: dict[Kind, str] = {"scalar": "float64", "tensor": "float32"}
USUAL_DEVICE = "cpu"


class Cell(Record, frozen=True, kw_only=True):
    """What one row measures: an engine on a workload of a size."""

    engine: str
    workload: str
    suite: str
    params: dict[str, Param] = {}
    kind: Kind = "scalar"
    dtype: str = "float64"
    device: str = USUAL_DEVICE
    derivative: DerivativeName = USUAL_DERIVATIVE
    file: str | None = None  # where a user's workload comes from
    side: str = ""  # of two builds measured side by side: "before" or "now"

    @property
    def size(self) -> str:
        """The parameters as one word, `n=1000`."""
        return ",".join(f"{key}={value}" for key, value in self.params.items())

    @property
    def task(self) -> str:
        """Workload, size, dtype and derivative: what engines and devices are compared on, `poly/n=1000`."""
        dtype = "" if self.dtype == USUAL_DTYPES[self.kind] else f"/dtype={self.dtype}"
        derivative = "" if self.derivative == USUAL_DERIVATIVE else f"/derivative={self.derivative}"
        return "/".join([self.workload, *(f"{key}={value}" for key, value in self.params.items())]) + dtype + derivative

    @property
    def row(self) -> str:
        """The row's name, as tables print it and as SELECT accepts it; dtype and the like only where they are unusual.

        >>> Cell(engine="torch", workload="matmul", suite="tensor", params={"n": 8}, kind="tensor", device="cuda").row
        'matmul/n=8/dtype=float64/device=cuda'
        >>> Cell(engine="jax", workload="rosenbrock", suite="derivatives", params={"n": 8}, derivative="hvp").row
        'rosenbrock/n=8/derivative=hvp'
        """
        return self.task if self.device == USUAL_DEVICE else f"{self.task}/device={self.device}"

    @property
    def id(self) -> str:
        """A name that no other cell of a run has, `poly/n=1000@tapegrad`."""
        source = f" of {self.file}" if self.file else ""
        return f"{self.row}@{self.engine}{source}" + (f" ({self.side})" if self.side else "")
