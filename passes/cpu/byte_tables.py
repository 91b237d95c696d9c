"""Elementwise functions of one quantized tensor, as tables of 256 bytes."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ...dialects import graph
from ...mlir import ir
from ..infra.base import FUNCTION, Pass, PassState
from ..infra.greedy import apply_rewrites
from ..infra.query import producer, splat_of
from ..infra.registry import register
from ..infra.rewrite import Rewrite

MAX_OPS = 64
"""Ops that a table replaces at most."""

_BYTES = (np.dtype(np.int8), np.dtype(np.uint8))


@register
@dataclass(frozen=True)
class CpuByteTables(Pass):
    """Look up what is quantized to 8 bits and computed from one tensor of 8 bits in a table.

    %1 = "graph.dequantize"(%x, %sx, %zx)
    %2 = "graph.swish"(%1)
    %3 = "graph.quantize"(%2, %sy, %zy) : 1x112x112x32xui8
    -->
    %3 = "graph.table"(%x) {table = [...]} : 1x112x112x32xui8

    For elementwise ops on the tensor and on constants of one element. The table holds what the ops'
    own numpy meanings give for the 256 bytes; quantizations in between are part of it.
    """

    name = "cpu-byte-tables"
    anchor = FUNCTION
    only_rewrites = True
    unit: Literal["none", "avx2", "avx512bw"] = "none"
    """The unit that looks up vectors of bytes; without one, floats are as fast."""

    def run(self, op: Any, state: PassState) -> None:
        if self.unit != "none":
            apply_rewrites(op, [ByteTable(self.unit)], state)


class ByteTable(Rewrite):
    """``quantize(f(dequantize(x)))  -->  table(x)`` for elementwise `f`; `x` if that is equal."""

    name = "byte-table"
    root = graph.QuantizeOp

    def __init__(self, unit: str):
        self.unit = unit

    def pattern(self, op: graph.QuantizeOp) -> dict[str, Any] | None:
        if graph.type_of(op.result).dtype not in _BYTES:
            return None
        origin = _Origins().behind(op)
        if origin.is_unknown or len(origin.tensors) != 1:
            return None
        (x,) = origin.tensors
        return {"x": x, "varies": origin.varies}

    def check(self, op: graph.QuantizeOp, x: ir.Value, varies: bool) -> str | None:
        if varies:
            return "a constant varies along an axis"
        same = graph.type_of(x).shape == graph.type_of(op.result).shape
        return None if same else "a constant broadcasts the tensor"

    def rewrite(self, op: graph.QuantizeOp, x: ir.Value, varies: bool) -> ir.Value:
        indices = np.arange(256, dtype=np.uint8).view(graph.type_of(x).dtype)
        with np.errstate(all="ignore"):  # IEEE results, as compiled code gives them
            table = _evaluate(op.result, {x: indices})
        if x.type == op.result.type and np.array_equal(table, indices):
            return x
        return graph.table(x, table=table, to=table.dtype, unit=self.unit)


@dataclass(frozen=True)
class _Origin:
    """The tensors of 8 bits that elementwise ops compute a value from, beside constants."""

    tensors: frozenset[ir.Value] = frozenset()
    varies: bool = False
    """True if a constant has several elements that differ."""
    is_unknown: bool = False
    """True if the value is computed from anything else."""

    @property
    def is_one_tensor(self) -> bool:
        """True if a table of bytes gives the value, or it is a constant."""
        return len(self.tensors) <= 1 and not self.varies and not self.is_unknown


class _Origins:
    """The origins of values, among the last `MAX_OPS` ops."""

    def __init__(self) -> None:
        self.known: dict[ir.Value, _Origin] = {}

    def behind(self, op: graph.GraphOp) -> _Origin:
        """The origin of the result of `op`, an elementwise op."""
        found = [self._of(value) for value in op.operation.operands]
        return _Origin(
            frozenset().union(*(origin.tensors for origin in found)),
            any(origin.varies for origin in found),
            any(origin.is_unknown for origin in found),
        )

    def _of(self, value: ir.Value) -> _Origin:
        if value not in self.known:
            self.known[value] = self._find(value)
        return self.known[value]

    def _find(self, value: ir.Value) -> _Origin:
        """A tensor of 8 bits is its own origin, unless it is computed from a single one."""
        if producer(value, graph.ConstantOp) is not None:
            return _Origin(varies=splat_of(value) is None)
        op = producer(value, graph.ElementwiseOp)
        origin = _Origin(is_unknown=True)
        if op is not None and op.pure and len(self.known) < MAX_OPS:
            origin = self.behind(op)
        is_bytes = graph.type_of(value).dtype in _BYTES
        return _Origin(frozenset([value])) if is_bytes and not origin.is_one_tensor else origin


def _evaluate(value: ir.Value, known: dict[ir.Value, np.ndarray]) -> np.ndarray:
    """The elements of `value`, where those of its origin are `known`; constants are scalars."""
    if value not in known:
        constant = splat_of(value)
        if constant is not None:
            return np.asarray(constant)
        op = producer(value, graph.ElementwiseOp)
        assert op is not None
        operands = [
            graph.map_group(lambda each: _evaluate(each, known), group)
            for group in op.operand_groups.values()
        ]
        known[value] = np.asarray(op.run(*operands)).astype(graph.type_of(value).dtype)
    return known[value]
