"""Kernels become exports of few executables, and dispatches find them there."""

import pytest

from graphc.dialects import iree
from graphc.dialects.iree.joined_executables import EXPORTS, join_executables
from graphc.mlir import func, ir


@pytest.fixture
def context():
    with ir.Context(), ir.Location.unknown():
        yield


def _module(names):
    """A module that runs a kernel for each of `names`, in executables ``e0``, ``e1``, ..."""
    module = ir.Module.create(ir.Location.unknown())
    f32 = ir.F32Type.get()
    type_ = ir.RankedTensorType.get([4], f32)
    with ir.InsertionPoint(module.body):
        for number, name in enumerate(names):
            executable = iree.define_kernel(
                name, [iree.Buffer(f32, 4), iree.Buffer(f32, 4)], lambda *buffers: None
            )
            executable.attributes["sym_name"] = ir.StringAttr.get(f"e{number}")
        function = func.FuncOp("main", ([type_], [type_]))
        block = function.add_entry_block()
    with ir.InsertionPoint(block):
        (x,) = block.arguments
        for number, name in enumerate(names):
            (x,) = iree.run_kernel(name, 1, [x], [type_])
            entry = ir.SymbolRefAttr.get([f"e{number}", name])
            x.owner.attributes["entry_points"] = ir.ArrayAttr.get([entry])
        func.ReturnOp([x])
    return module


def _exports(module):
    """The names of the exports of each executable, which has functions of these names."""
    found = {}
    for op in module.body:
        if op.operation.name == "stream.executable":
            *exports, inner, _ = op.operation.regions[0].blocks[0]
            names = [ir.StringAttr(each.attributes["sym_name"]).value for each in exports]
            functions = list(inner.operation.regions[0].blocks[0])
            assert [each.name.value for each in functions] == names
            found[ir.StringAttr(op.attributes["sym_name"]).value] = names
    return found


def _entries(module):
    """The executables and the kernels that are run, in order."""
    *_, function = module.body
    ops = [op for op in function.body.blocks[0] if op.operation.name == "flow.dispatch"]
    return [ir.SymbolRefAttr(ir.ArrayAttr(op.attributes["entry_points"])[0]).value for op in ops]


@pytest.mark.parametrize("count", [1, 2, EXPORTS, EXPORTS + 1, 2 * EXPORTS + 3])
@pytest.mark.usefixtures("context")
def test_few_executables(count):
    names = [f"k{number}" for number in range(count)]
    module = _module(names)
    join_executables(module)
    firsts = range(0, count, EXPORTS)
    assert _exports(module) == {f"e{n}": names[n : n + EXPORTS] for n in firsts}
    assert _entries(module) == [[f"e{n // EXPORTS * EXPORTS}", f"k{n}"] for n in range(count)]


@pytest.mark.usefixtures("context")
def test_kernels_of_one_name_stay_apart():
    """Those of several programs."""
    module = _module(["a", "b", "a", "c"])
    join_executables(module)
    assert _exports(module) == {"e0": ["a", "b"], "e2": ["a", "c"]}
    assert _entries(module) == [["e0", "a"], ["e0", "b"], ["e2", "a"], ["e2", "c"]]
