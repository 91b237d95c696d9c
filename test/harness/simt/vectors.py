"""Rules of vectors, and of exchanges between threads."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphc.mlir import ir

from .assembly import assembly
from .lock_step import element_dtype, rule
from .state import Workgroup


@assembly(r"shfl\.sync\.bfly\.b32 \$0, \$1, (\d+), 0x1f, 0xffffffff;")
def _shuffle(state: Workgroup, op: ir.Operation, found: re.Match[str]) -> Sequence[Any]:
    state.all_active("a shuffle")
    return [state.known[op.operands[0]][np.arange(state.threads) ^ int(found[1])]]


@rule("vector.extract")
def _extract(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    position = list(ir.DenseI64ArrayAttr(op.attributes["static_position"]))
    return [state.known[op.operands[0]][(slice(None), *position)]]


@rule("vector.from_elements")
def _from_elements(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    elements = np.stack([state.known[value] for value in op.operands], axis=1)
    return [elements.reshape(state.threads, *ir.VectorType(op.results[0].type).shape)]


@rule("vector.broadcast")
def _broadcast(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    shape = (state.threads, *ir.VectorType(op.results[0].type).shape)
    value = state.known[op.operands[0]]
    missing = len(shape) - value.ndim
    return [np.broadcast_to(value.reshape(state.threads, *[1] * missing, *value.shape[1:]), shape)]


@rule("vector.extract_strided_slice")
def _slice(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    start, size = (
        ir.IntegerAttr(ir.ArrayAttr(op.attributes[name])[0]).value for name in ("offsets", "sizes")
    )
    return [state.known[op.operands[0]][:, start : start + size]]


@rule("vector.bitcast")
def _bitcast(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    return [state.known[op.operands[0]].view(element_dtype(op.results[0].type))]
