"""The pass that lowers the `graph` dialect to linalg: it drives the rules of this folder."""

import importlib
import pkgutil
from dataclasses import dataclass
from typing import Any

from ...cpu_model import GENERIC_CPU, CpuModel
from ...dialects import graph, iree
from ...dialects.symbolic import Dim
from ...mlir import func, ir, tensor
from ..infra.base import FUNCTION, Pass, PassState
from ..infra.registry import register
from .aliasing import copy_what_others_read, keep_arguments, mark_consumed
from .branches import branches_from_loops
from .lowering import Lowering, lower_op, plain_type
from .varying_constants import read_constants


@register
@dataclass(frozen=True)
class ConvertGraphToLinalg(Pass):
    """Lower every `graph` op to linalg, tensor, arith and math.

    %1 = "graph.relu"(%0) : (tensor<?xf32, ["n"]>) -> tensor<?xf32, ["n"]>
    -->
    %1 = linalg.generic {...} ins(%0 : tensor<?xf32>) outs(...) { arith.maximumf ... }
    """

    name = "convert-graph-to-linalg"
    anchor = FUNCTION
    gpu: bool = False
    """True for GPUs, which use none of the compiler's own kernels and CPU tiles."""
    row_tile: int = 0
    """Dynamic rows that are multiplied at a time; 0 for all."""
    mma_sync: bool = False
    """True for NVIDIA GPUs, for which tiles are chosen here (`gpu_tiles`)."""
    tf32: int = 0
    """Products of TF32 in which tensor cores multiply f32 (`kernels.split_floats`), 0 if they do
    not."""
    warpgroups: bool = False
    """True for Hopper GPUs, whose warpgroups multiply (`kernels.wgmma_matmul`)."""
    threads: int = 1
    """Threads that will run the program."""
    cpu: CpuModel = GENERIC_CPU
    """The CPU that kernels are planned for."""

    def run(self, op: Any, state: PassState) -> None:
        ctx = Lowering(
            self.gpu,
            self.row_tile,
            self.threads,
            self.cpu,
            self.mma_sync,
            self.tf32,
            self.warpgroups,
            state.statistics,
        )
        _lower_function(op, ctx)


def _lower_function(function: func.FuncOp, ctx: Lowering) -> None:
    """Lower every graph op of `function` in place, and its signature.

    LoweringError names the node, its op and operand types, if an op has no rule or a rule fails.
    """
    load_rules()
    iree.load()
    block = function.entry_block
    ctx.read = read_constants(function)
    operations = list(block.operations)
    with ir.InsertionPoint.at_block_begin(block), function.operation.location:
        _lower_arguments(ctx, block)
    for op in operations:
        if isinstance(op.opview, graph.GraphOp):
            with ir.InsertionPoint(op), op.operation.location:
                lower_op(ctx, op.opview)
        else:
            _remap_operands(ctx, op)
    for op in reversed(operations):
        if isinstance(op.opview, graph.GraphOp):
            op.operation.erase()
    _retype_function(function, block)
    copy_what_others_read(block)
    keep_arguments(block)
    mark_consumed(block)
    branches_from_loops(function)


def _lower_arguments(ctx: Lowering, block: ir.Block) -> None:
    """Give arguments plain types, and bind the sizes that name their axes to the extents."""
    for argument in block.arguments:
        if not isinstance(argument.type, ir.RankedTensorType):
            continue
        type_ = graph.type_of(argument)
        # Graph ops keep reading the old type from a stand-in until they are erased.
        stand_in = ir.Operation.create(
            "builtin.unrealized_conversion_cast", results=[argument.type], operands=[argument]
        )
        argument.replace_all_uses_except(stand_in.result, stand_in)
        argument.set_type(plain_type(type_))
        ctx.values[stand_in.result] = argument
        for axis, size in enumerate(type_.shape):
            if isinstance(size, Dim) and size.is_symbol and not ctx.knows(str(size)):
                ctx.bind_given(str(size), tensor.dim(argument, ctx.index(axis)))


def _remap_operands(ctx: Lowering, op: Any) -> None:
    for index, operand in enumerate(op.operation.operands):
        if operand in ctx.values:
            op.operation.operands[index] = ctx.values[operand]


def _retype_function(function: func.FuncOp, block: ir.Block) -> None:
    for op in list(block.operations):
        if op.operation.name == "builtin.unrealized_conversion_cast":
            op.operation.erase()
    terminator = block.operations[len(block.operations) - 1]
    results = [value.type for value in terminator.operation.operands]
    signature = ir.FunctionType.get([a.type for a in block.arguments], results)
    function.attributes["function_type"] = ir.TypeAttr.get(signature)


_loaded = False


def load_rules() -> None:
    """Import the rule files of this folder, which register their rules."""
    global _loaded
    if not _loaded:
        package = __package__ or ""
        for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
            importlib.import_module(f"{package}.{module.name}")
        _loaded = True
