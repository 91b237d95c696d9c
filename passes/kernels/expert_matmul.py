"""Matmul of rows that are grouped by experts, by the packed weights of these.

A workgroup multiplies all rows of one expert, which lie together, by some of its panels: their
number does not depend on that of the rows, and an expert without rows costs a comparison. The rest
is the kernel of packed weights (`packed_matmul`), or one of those of weights of few bits, as the
expert has few rows or many (`nbits_matmul`, `nbits_panels`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ...cpu_model import CpuModel
from ...dialects import graph
from ...mlir import arith, ir, memref
from .emitter import Registers, VectorEmitter
from .epilogue import Epilogue, OutputPosition
from .matmul_blocks import KBlock
from .nbits_either import MANY_ROWS
from .nbits_matmul import NbitsMatmulEmitter, NbitsMatmulShape
from .nbits_panels import NbitsPanelsEmitter, NbitsPanelsShape
from .packed_matmul import MatmulEmitter, MatmulShape

EXPERT_WORKGROUPS = 8
"""Workgroups that the panels of an expert should split into: all rows may choose the same one."""


@dataclass(frozen=True)
class _OfExperts(MatmulShape):
    """Matmuls of a dynamic number of rows for each of `experts`."""

    experts: int = field(kw_only=True)

    @property
    def nc_panels(self) -> int:
        """See `MatmulShape`."""
        wanted = max(1, self.panels // EXPERT_WORKGROUPS)
        return next(n for n in range(wanted, 0, -1) if self.panels % n == 0)

    @property
    def workgroups(self) -> int:
        """See `MatmulShape`; those of an expert are consecutive."""
        return self.experts * self.n_blocks


@dataclass(frozen=True)
class ExpertMatmulShape(_OfExperts):
    """By weights of f32."""


@dataclass(frozen=True)
class _FewRowsShape(_OfExperts, NbitsMatmulShape):
    """By weights of few bits, which are widened in registers."""


@dataclass(frozen=True)
class _ManyRowsShape(_OfExperts, NbitsPanelsShape):
    """By weights of few bits, which are widened once for all rows."""


@dataclass(frozen=True)
class NbitsExpertMatmulShape:
    """By weights of few bits, as experts have few rows or many."""

    few: _FewRowsShape
    many: _ManyRowsShape

    flops = None

    @staticmethod
    def of(
        blocks: int,
        columns: int,
        layout: graph.NbitsFormat,
        lanes: int,
        mr: int,
        cpu: CpuModel,
        exact: bool,
        experts: int,
    ) -> "NbitsExpertMatmulShape":
        """The shape of a matmul of `blocks` blocks of K, `mr` rows at a time if they are few."""
        common: dict[str, Any] = {
            "nr": layout.nr, "lanes": lanes, "cpu": cpu, "layout": layout, "exact": exact,
            "experts": experts,
        }  # fmt: skip
        vectors = layout.nr // lanes
        most = (cpu.registers - 1 - vectors) // vectors
        return NbitsExpertMatmulShape(
            _FewRowsShape(None, blocks, columns, mr=mr, **common),
            _ManyRowsShape(None, blocks * layout.block, columns, mr=most, **common),
        )

    @property
    def workgroups(self) -> int:
        """Both ways have as many."""
        return self.few.workgroups


class _ByExpert(MatmulEmitter):
    """Base of the emitters that multiply the rows of one expert by its panels."""

    shape: _OfExperts

    def serve(self, experts: "_Experts") -> None:
        """Multiply rows of `experts`."""
        self._experts, self._expert = experts, self.index(0)

    def multiply_rows(self, expert: ir.Value, group: ir.Value, rows: "_Rows") -> None:
        """Multiply the `rows` of `expert` by a group of its panels."""
        shape = self.shape
        self._expert = expert
        panel = self.times(group, shape.nc_panels)

        def block(number: ir.Value) -> None:
            first = self.times(number, shape.mc)
            count = arith.minui(self.index(shape.mc), arith.subi(rows.count, first))
            row = arith.addi(rows.start, first)
            self.rows(row, row, panel, count)

        self.repeat(self.index(0), arith.ceildivui(rows.count, self.index(shape.mc)), block)

    def weights_of(self, panel: ir.Value, start: ir.Value, length: ir.Value) -> ir.Value:
        """See `MatmulEmitter`."""
        own = self.add(self.times(self._expert, self.shape.panels), panel)
        return super().weights_of(own, start, length)

    def _start(
        self, positions: Sequence[OutputPosition], zeros: Registers, k_block: KBlock
    ) -> Registers:
        """See `MatmulEmitter`; the biases of the columns are the first sums."""
        first = self.times(self._expert, self.shape.columns)
        biases: dict[ir.Value, ir.Value] = {}
        for position in positions:
            if position.feature not in biases:
                at = self.add(first, position.feature)
                biases[position.feature] = self.load(
                    self._experts.bias, at, position.mask, position.lanes
                )
        del zeros
        return super()._start(positions, [biases[each.feature] for each in positions], k_block)


@dataclass(frozen=True)
class _Experts:
    """The first row of each expert, and the number of rows; and a row of biases for each."""

    starts: ir.Value
    bias: ir.Value


@dataclass(frozen=True)
class _Rows:
    """`count` rows from `start` on."""

    start: ir.Value
    count: ir.Value


class ExpertMatmulEmitter(_ByExpert):
    """Emits the kernel for weights of f32."""

    shape: ExpertMatmulShape

    def __init__(
        self,
        shape: ExpertMatmulShape,
        x: ir.Value,
        weights: ir.Value,
        output: ir.Value,
        epilogue: Epilogue,
        starts: ir.Value,
        bias: ir.Value,
    ):
        super().__init__(shape, x, weights, output, epilogue)
        self.serve(_Experts(starts, bias))

    def workgroup(self, workgroup_id: ir.Value, rows: ir.Value | None = None) -> None:
        """Emit workgroup `workgroup_id`."""
        del rows
        self.multiply_rows(*_share(self, self.shape, workgroup_id, self._experts))


class NbitsExpertMatmulEmitter(VectorEmitter):
    """Emits the kernel for weights of few bits."""

    def __init__(
        self,
        shape: NbitsExpertMatmulShape,
        x: ir.Value,
        weights: ir.Value,
        output: ir.Value,
        epilogue: Epilogue,
        starts: ir.Value,
        bias: ir.Value,
    ):
        super().__init__(shape.few.lanes)
        self.shape, self._experts = shape, _Experts(starts, bias)
        widened = memref.alloca(ir.MemRefType.get([shape.many.scratch], ir.F32Type.get()), [], [])
        self._few = _FewRowsEmitter(shape.few, x, weights, output, epilogue)
        self._many = _ManyRowsEmitter(shape.many, x, weights, output, widened, epilogue)
        for each in (self._few, self._many):
            each.serve(self._experts)

    def workgroup(self, workgroup_id: ir.Value) -> None:
        """Emit workgroup `workgroup_id`."""
        share = _share(self, self.shape.few, workgroup_id, self._experts)
        *_, rows = share
        self.choose(
            self.compare(arith.CmpIPredicate.ult, rows.count, MANY_ROWS),
            lambda: self._few.multiply_rows(*share),
            lambda: self._many.multiply_rows(*share),
        )


class _FewRowsEmitter(_ByExpert, NbitsMatmulEmitter):
    shape: _FewRowsShape


class _ManyRowsEmitter(_ByExpert, NbitsPanelsEmitter):
    shape: _ManyRowsShape


def _share(
    emit: VectorEmitter, shape: _OfExperts, workgroup_id: ir.Value, experts: _Experts
) -> tuple[ir.Value, ir.Value, _Rows]:
    """The expert, the group of panels and the rows of a workgroup."""
    expert = arith.divui(workgroup_id, emit.index(shape.n_blocks))
    group = arith.remui(workgroup_id, emit.index(shape.n_blocks))
    start, end = (
        arith.index_cast(ir.IndexType.get(), memref.load(experts.starts, [emit.add(expert, n)]))
        for n in (0, 1)
    )
    return expert, group, _Rows(start, arith.subi(end, start))
