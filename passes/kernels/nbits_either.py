"""Matmul of a dynamic number of rows by weights of few bits: one kernel for few rows, and one for
many, which widens the weights once for all of them."""

from dataclasses import dataclass

from ...mlir import arith, ir
from . import amx
from .emitter import VectorEmitter
from .epilogue import Epilogue
from .nbits_amx import NbitsAmxEmitter, NbitsAmxShape
from .nbits_matmul import NbitsMatmulEmitter, NbitsMatmulShape
from .nbits_panels import NbitsPanelsEmitter, NbitsPanelsShape

MANY_ROWS = amx.ROWS
"""Rows that fill a tile of AMX; on vectors, widening panels costs less from about as many on."""


@dataclass(frozen=True)
class NbitsEitherShape:
    """A matmul of dynamic rows."""

    few: NbitsMatmulShape
    many: NbitsAmxShape | NbitsPanelsShape

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
        self.few = NbitsMatmulEmitter(shape.few, x, weights, output, epilogue)
        operands = (x, weights, output, scratch, epilogue)
        self.many = (
            NbitsAmxEmitter(shape.many, *operands)
            if isinstance(shape.many, NbitsAmxShape)
            else NbitsPanelsEmitter(shape.many, *operands)
        )

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
