"""Changing kernels written by hand, and their dispatches, after both have been written."""

from collections.abc import Iterator
from typing import Any

from ...mlir import arith, func, ir

_DISPATCH, _NUMBER = "flow.dispatch", "stream.dispatch.workgroup.id"
_WORK, _GIVEN = 0, 1
"""Operand segments of a dispatch."""


class Dispatch:
    """A ``flow.dispatch``."""

    def __init__(self, op: ir.Operation):
        self.op = op
        entry = ir.ArrayAttr(op.attributes["entry_points"])[0]
        self.kernel = ir.SymbolRefAttr(entry).value[0]
        """The name of the kernel."""
        self._segments = list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))

    @property
    def pieces(self) -> int | None:
        """Of its work; None where run time counts them."""
        owner = self.op.operands[_WORK].owner
        if isinstance(owner, ir.Block) or owner.name != "arith.constant":
            return None
        return ir.IntegerAttr(owner.attributes["value"]).value

    @property
    def given(self) -> int:
        """How many scalars and tensors the kernel is given."""
        return self._segments[_GIVEN]

    def hand_over(self, state: ir.Value) -> "Dispatch":
        """The dispatch, in the place of this one, that has the tensor `state` as its last operand,
        and as its last result what the kernel has made of that."""
        op, end = self.op, self._segments[_WORK] + self.given
        operands = [*op.operands]
        operands.insert(end, state)
        segments = [*self._segments]
        segments[_GIVEN] += 1
        tied = ir.IntegerAttr.get(ir.IndexType.get(), self.given)
        new = ir.Operation.create(
            op.name,
            results=[*(result.type for result in op.results), state.type],
            operands=operands,
            attributes={
                "entry_points": op.attributes["entry_points"],
                "operandSegmentSizes": ir.DenseI32ArrayAttr.get(segments),
                "tied_operands": ir.ArrayAttr.get(
                    [*ir.ArrayAttr(op.attributes["tied_operands"]), tied]
                ),
            },
            loc=op.location,
            ip=ir.InsertionPoint(op),
        )
        for old, result in zip(op.results, new.results, strict=False):
            old.replace_all_uses_with(result)
        op.erase()
        return Dispatch(new)


def each_dispatch(module: Any) -> list[Dispatch]:
    """The dispatches of `module`, in order."""
    return [Dispatch(op) for op in _each(module.operation, _DISPATCH)]


class Kernel:
    """The function of an executable of `module` that has one."""

    def __init__(self, module: Any, name: str):
        (executable,) = (
            op.operation
            for op in module.body.operations
            if op.operation.name == "stream.executable"
            and ir.StringAttr(op.attributes["sym_name"]).value == name
        )
        (function,) = _each(executable, func.FuncOp.OPERATION_NAME)
        self.function: func.FuncOp = function.opview
        (self.number,) = _each(function, _NUMBER)
        """The op that says which piece of work is to be done."""

    def add_buffer(self, at: int, type_: ir.MemRefType) -> ir.Value:
        """One more buffer, argument `at`; to be asked for where ops are inserted."""
        block = self.function.entry_block
        binding = ir.Type.parse("!stream.binding")
        block.add_argument(binding, self.function.location)
        arguments = list(block.arguments)
        for index in reversed(range(at, len(arguments) - 1)):
            arguments[index].replace_all_uses_with(arguments[index + 1])
        inputs = [*self.function.type.inputs, binding]  # scalars come before, buffers alone after
        self.function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, []))
        zero = arith.constant(ir.IndexType.get(), 0)
        return ir.Operation.create(
            "stream.binding.subspan", results=[type_], operands=[arguments[at], zero]
        ).result


def count_pieces() -> ir.Value:
    """In a kernel, the number of all pieces of work."""
    index = ir.IndexType.get()
    return ir.Operation.create(
        "stream.dispatch.workgroup.count",
        results=[index],
        attributes={"dimension": ir.IntegerAttr.get(index, 0)},
    ).result


def splat(value: ir.Value, type_: ir.RankedTensorType) -> ir.Value:
    """A tensor of that `value` alone, made when the program gets there."""
    return ir.Operation.create("flow.tensor.splat", results=[type_], operands=[value]).result


def _each(root: Any, name: str) -> Iterator[ir.Operation]:
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == name:
            found.append(op)
        return ir.WalkResult.ADVANCE

    root.walk(visit)
    return iter(found)
