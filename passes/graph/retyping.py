"""Changes of element types: each value has one type, and a cast for uses in another."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...dialects import graph
from ...mlir import ir
from ..infra.query import constant_array


class Retyper:
    """Base of visitors, in program order, that change the element types of ops."""

    def __init__(self) -> None:
        self._casts: dict[tuple[ir.Value, np.dtype], ir.Value] = {}

    def walk(self, operation: Any) -> None:
        """Visit the ops in the regions of `operation`, inner ones first."""
        for region in operation.regions:
            for block in region.blocks:
                for inner in list(block.operations):
                    self.walk(inner.operation)
                    self.visit(inner.operation)

    def visit(self, operation: Any) -> None:
        """Change the types of one op, or restore those of its operands."""
        raise NotImplementedError

    def cast(self, value: ir.Value, to: np.dtype) -> ir.Value:
        """`value` as `to`, by a cast or a constant that is built once, immediately after it."""
        key = value, to
        if key not in self._casts:
            array = constant_array(value)
            with _behind(value):
                self._casts[key] = (
                    self.build_cast(value, to)
                    if array is None
                    else graph.constant(value=self._converted(array, to))
                )
        return self._casts[key]

    def build_cast(self, value: ir.Value, to: np.dtype) -> ir.Value:
        """Build the conversion of a value that is no constant."""
        return graph.cast(value, to=to)

    def convert_elements(self, array: np.ndarray, to: np.dtype) -> np.ndarray:
        """The elements of a constant as `to`."""
        return array.astype(to)

    def _converted(self, array: np.ndarray, to: np.dtype) -> np.ndarray:
        splat = array.size > 1 and not any(array.strides)
        elements = array[(slice(1),) * array.ndim] if splat else array
        converted = self.convert_elements(elements, to)
        return np.broadcast_to(converted, array.shape) if splat else converted


def retype_results(op: graph.GraphOp) -> dict[ir.Value, np.dtype]:
    """Give the results of `op` the types that its type rule infers; the former element types of
    those that changed."""
    types = [graph.map_group(graph.type_of, group) for group in op.operand_groups.values()]
    former: dict[ir.Value, np.dtype] = {}
    for result, type_ in zip(op.operation.results, op.infer_types(types, op.attrs), strict=True):
        if graph.type_of(result) != type_:
            former[result] = graph.type_of(result).dtype
            result.set_type(graph.to_mlir(type_))
    return former


@contextmanager
def _behind(value: ir.Value) -> Iterator[None]:
    """Set the insertion point after the op that defines `value`, or at the start of its block."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        with ir.InsertionPoint.at_block_begin(owner), owner.owner.location:
            yield
    else:
        with ir.InsertionPoint.after(owner), owner.location:
            yield
