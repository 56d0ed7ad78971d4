"""Every adapter gives its value, follows the inputs in all ways in which it is timed, and evaluates only there."""

import pytest

from contract import adapters
from gradmark.errors import AbsentError
from gradmark.measure.job import Job
from gradmark.measure.reference.elsewhere import STEPS, expected, others
from gradmark.measure.worker.check import check_value, follow
from gradmark.measure.worker.outside import evaluated_outside
from gradmark.measure.worker.prepared import Prepared
from gradmark.records import Cell, Settings
from gradmark.workloads.selection import select

# torch.compile imports what PyTorch itself warns of
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script_method` is deprecated:DeprecationWarning")
# What all can do; what few can is beside them.
SCALARS = {"torch:compile": "expression", "tinygrad": "expression"}
TENSORS = {"manual": "softplus"}
CELLS = [
    *(adapters.cell(name, "scalar", SCALARS.get(name, "poly")) for name in adapters.SCALAR if name != "null"),
    *(adapters.cell(name, "tensor", TENSORS.get(name, "matmul")) for name in adapters.TENSOR if name != "null"),
]


@pytest.mark.parametrize(("name", "kind", "workload"), CELLS)
def test_results_follow_the_inputs(name, kind, workload, load):
    can = load(name).capabilities()
    (wanted,) = select([workload])
    params = wanted.points(full=False)[0]
    dtype = can.dtypes[0] if kind == "tensor" else "float64"
    cell = Cell(
        engine=name, workload=workload, suite=kind, params=params, kind=kind, dtype=dtype, device=can.devices[0]
    )
    try:
        prepared = Prepared(Job(kind="inspect", cell=cell, settings=Settings()))
    except AbsentError as reason:
        pytest.skip(str(reason))
    other = others(wanted, prepared.inputs, STEPS[0])
    known = expected(wanted, prepared.inputs, other, params, STEPS[0])
    value = prepared.value(prepared.iterate())
    assert value is not None
    assert known.other_slope is not None
    assert check_value(prepared, known, value) is None
    assert follow(prepared, known) is None
    assert evaluated_outside(prepared, 0.0) is None
    assert check_value(prepared, known, prepared.value(prepared.iterate())) is None  # back where it was
