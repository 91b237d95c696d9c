"""Matmul of a dynamic number of rows by weights of few bits: one kernel for few rows, and one for
many, which widens the weights once for all of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ...mlir import arith, ir
from . import amx
from .emitter import VectorEmitter
from .epilogue import Epilogue
from .int8_nbits_matmul import (
    Int8NbitsMatmulEmitter,
    Int8NbitsMatmulShape,
    Int8NbitsPanelsEmitter,
    Int8NbitsPanelsShape,
)
from .nbits_amx import NbitsAmxEmitter, NbitsAmxShape
from .nbits_matmul import NbitsMatmulEmitter, NbitsMatmulShape
from .nbits_panels import NbitsPanelsEmitter, NbitsPanelsShape

MANY_ROWS = amx.ROWS
"""Rows that fill a tile of AMX; on vectors, widening panels costs less from about as many on."""


FewShape = NbitsMatmulShape | Int8NbitsMatmulShape
ManyShape = NbitsAmxShape | NbitsPanelsShape | Int8NbitsPanelsShape
EMITTERS: Mapping[type, Callable[..., Any]] = {
    NbitsMatmulShape: NbitsMatmulEmitter,
    NbitsPanelsShape: NbitsPanelsEmitter,
    NbitsAmxShape: NbitsAmxEmitter,
    Int8NbitsMatmulShape: Int8NbitsMatmulEmitter,
    Int8NbitsPanelsShape: Int8NbitsPanelsEmitter,
}
"""The emitters of kernels, by the class of their shapes."""


@dataclass(frozen=True)
class NbitsEitherShape:
    """A matmul of dynamic rows."""

    few: FewShape
    many: ManyShape

    flops = None

    def count_workgroups(self, rows: ir.Value) -> ir.Value:
        """The number of workgroups for `rows` dynamic rows."""
        return arith.select(
            _is_few(rows), self.few.count_workgroups(rows),
            arith.constant(ir.IndexType.get(), self.many.workgroups),
        )  # fmt: skip


class NbitsEitherEmitter(VectorEmitter):
    """Emits both kernels."""

    def __init__(
        self,
        shape: NbitsEitherShape,
        x: ir.Value,
        weights: ir.Value,
        output: ir.Value,
        scratch: ir.Value,
        epilogue: Epilogue,
    ):
        super().__init__(shape.few.lanes)
        self.few = EMITTERS[type(shape.few)](shape.few, x, weights, output, epilogue)
        operands = (x, weights, output, scratch, epilogue)
        self.many = EMITTERS[type(shape.many)](shape.many, *operands)

    def workgroup(self, workgroup_id: ir.Value, rows: ir.Value) -> None:
        """Emit workgroup `workgroup_id`."""
        self.choose(
            _is_few(rows),
            lambda: self.few.workgroup(workgroup_id, rows),
            lambda: self.many.workgroup(workgroup_id, rows),
        )


def _is_few(rows: ir.Value) -> ir.Value:
    """Return whether `rows` are fewer than many."""
    least = arith.constant(ir.IndexType.get(), MANY_ROWS)
    return arith.cmpi(arith.CmpIPredicate.ult, rows, least)
