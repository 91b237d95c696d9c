"""The sizes that kernels declare for their buffers are those of tensors."""

import numpy as np
import pytest
from numerics import Cases, Feed, const

from graphc.compiler.driver import begin, make_options
from graphc.mlir import ir

X = np.zeros((4, 6, 48), np.float32)
DIMS = ["a", "b", "c"]
CASES = {
    "transpose": ("Transpose", [], {"perm": [2, 0, 1]}),
    "reduce": ("ReduceSum", [const([1])], {}),
    "scan": ("CumSum", [const(1)], {}),
    "element_gather": ("GatherElements", [Feed(np.zeros((4, 6, 48), np.int64), DIMS)], {}),
    "padded_rows": ("Pad", [const([0, 1, 2, 0, 1, 0])], {"mode": "reflect"}),
    "concat": ("Concat", [Feed(X, DIMS)], {"axis": 1}),
}
"""Operators by what the names of their kernels contain."""


@pytest.mark.parametrize("kernel", CASES)
def test_no_number_of_workgroups(kernel):
    """Which these kernels receive as well, before the sizes."""
    op_type, more, attributes = CASES[kernel]
    cases = Cases()
    cases.add(op_type, Feed(X, DIMS), *more, **attributes)
    compilation = begin(cases.model(), make_options("cpu:haswell", cache=False, threads=2))
    compilation.graph_passes()
    compilation.lower()
    sizes = list(_sizes(compilation.module.operation, kernel))
    assert len(sizes) >= 2
    for size in sizes:
        assert 0 not in _arguments(size)


def _sizes(module, kernel):
    """The dynamic sizes of the buffers of kernels whose names contain `kernel`."""
    found = []

    def visit(op):
        if op.name == "func.func" and kernel in ir.StringAttr(op.attributes["sym_name"]).value:
            for each in op.regions[0].blocks[0]:
                if each.operation.name == "stream.binding.subspan":
                    found.extend(list(each.operation.operands)[2:])
        for region in op.regions:
            for block in region:
                for each in block:
                    visit(each.operation)

    visit(module)
    return found


def _arguments(value):
    """The numbers of the arguments that a size is computed from."""
    if isinstance(value, ir.BlockArgument):
        return {value.arg_number}
    return set().union(*map(_arguments, value.owner.operands))
