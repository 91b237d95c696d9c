"""Cost of a kernel of a compiled program: arithmetic operations, and bytes of its buffers."""

import math
import re
from dataclasses import dataclass
from typing import Any

from ..dialects import iree
from ..mlir import ir, linalg

_TENSOR = re.compile(r"(?:^|:)(?:tensor|memref)<((?:(?:\d+|\?)x)*)([^<>,]+(?:<[^<>]*>)?)")
_UNCOUNTED = ("arith.constant", "arith.cmp", "arith.ext", "arith.trunc", "arith.index_cast")
_UNCOUNTED += ("arith.select", "arith.bitcast", "arith.sitofp", "arith.uitofp", "arith.fpto")


@dataclass(frozen=True)
class Cost:
    """Arithmetic operations, and bytes of operands and results; None if known only at run time."""

    flops: int | None = None
    bytes: int | None = None


def kernel_cost(executable: ir.Operation) -> Cost:
    """The cost of the kernel in a ``stream.executable``."""
    flops: int | None = 0
    size: int | None = 0

    def visit(op: ir.Operation) -> ir.WalkResult:
        nonlocal flops, size
        if op.name == "stream.executable.export" and iree.FLOPS in op.attributes:
            said = ir.IntegerAttr(op.attributes[iree.FLOPS]).value
            flops = None if said < 0 else said
        elif op.name == "stream.binding.subspan":
            size = _sum(size, _type_bytes(str(op.result.type)))
        elif op.name.startswith("linalg.") and op.name != "linalg.yield":
            flops = _sum(flops, _linalg_flops(op))
            return ir.WalkResult.SKIP
        return ir.WalkResult.ADVANCE

    executable.walk(visit, ir.WalkOrder.PRE_ORDER)
    return Cost(flops, size)


def _sum(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a + b


def _type_bytes(text: str) -> int | None:
    """Size in bytes of a memref, or of the tensor within a type of the backend."""
    found = _TENSOR.search(text)
    if found is None or "?" in found[1]:
        return None
    count = math.prod(int(size) for size in found[1].split("x") if size)
    return -(-count * _bits(ir.Type.parse(found[2])) // 8)


def _bits(type_: Any) -> int:
    if isinstance(type_, ir.ComplexType):
        return 2 * _bits(type_.element_type)
    return getattr(type_, "width", 64)


def _linalg_flops(op: ir.Operation) -> int | None:
    """Number of iterations times the arithmetic operations of the body."""
    per_point = sum(map(_is_arithmetic, op.regions[0].blocks[0].operations)) if op.regions else 0
    if not per_point:
        return 0
    points = _iterations(op)
    return None if points is None else points * per_point


def _is_arithmetic(op: ir.OpView) -> bool:
    name = op.operation.name
    if name.startswith("math."):
        return True
    return name.startswith("arith.") and not name.startswith(_UNCOUNTED)


def _iterations(op: ir.Operation) -> int | None:
    maps = [ir.AffineMapAttr(each).value for each in linalg.get_indexing_maps(op) or ()]
    extents: dict[int, int] = {}
    for operand, map_ in zip(op.operands, maps, strict=True):
        if not isinstance(operand.type, ir.RankedTensorType):
            continue
        for size, expression in zip(operand.type.shape, map_.results, strict=True):
            if not isinstance(expression, ir.AffineDimExpr):
                continue  # a window; other operands give the extents of its dimensions
            if size == ir.ShapedType.get_dynamic_size():
                return None
            extents[expression.position] = size
    return math.prod(extents.values())
