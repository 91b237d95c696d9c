"""Selection of matmul kernels, with constant weights packed for the registers of the target."""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from ...cpu_model import GENERIC_CPU, CpuModel
from ...dialects import graph
from ...dialects.symbolic import Dim
from ...mlir import ir
from ..analysis.normalized_rows import is_normalized
from ..analysis.windows import is_pointwise, windows_as_rows
from ..infra.base import FUNCTION, Pass, PassState
from ..infra.greedy import apply_rewrites
from ..infra.query import constant_array, producer
from ..infra.registry import register
from ..infra.rewrite import Rewrite
from ..infra.tunable import tunable
from ..kernels.loop_cost import is_in_kernel
from .direct_convolution import is_narrow
from .matmul_forms import F24_BOUND, Bf16Form, Bf16x3Form, MatmulForm
from .recurrent import PackRecurrence
from .strassen import BLOCK_BOUND, BlocksOfMany

IM2COL_ROWS = 1024
"""Maximum result pixels of a convolution: rows of more windows would fill the caches. Images
too narrow for direct convolution are laid out nevertheless: the backend's loops take 10 times as
long."""
MIN_K = 16
"""Minimum K for which packing pays."""
NORMALIZED = "its vectors are divided by their lengths, which may be small"


@register
@dataclass(frozen=True)
class CpuSelectMatmulKernels(Pass):
    """Select the kernel of each matmul by constant weights, and pack its weights into panels.

    %1 = "graph.matmul"(%x, %w) : 128x768, 768x3072
    -->
    %1 = "graph.packed_matmul"(%x, %w') {mr = 6} : 128x768, 48x768x64

    Channels-last convolutions become such matmuls too: with a 1x1 kernel as they are, with a larger
    one and few output pixels by `graph.im2col`. Exact up to the order of accumulation.

    The recurrences of `graph.rnn`, `graph.gru` and `graph.lstm` are laid out likewise.

    Large matmuls may use a Strassen-like algorithm (`graph.strassen_matmul`); if the number of rows
    is dynamic, the run chooses (`graph.plain_or_strassen_matmul`). Those whose vectors are divided
    by their lengths do not: a vector of zeros would become one of rounding errors.

    With a unit that multiplies bf16, operands are rounded to bf16 and accumulated in f32
    (`graph.bf16_matmul`), or each f32 operand is split into a high and a low bf16 term, of whose
    four matmuls three are computed (`graph.bf16x3_matmul`).
    """

    name = "cpu-select-matmul-kernels"
    anchor = FUNCTION
    only_rewrites = True
    cpu: CpuModel = GENERIC_CPU
    """The CPU to compile for; without vectors the pass does nothing."""
    bf16: Literal["none", "amx", "avx512bf16"] = "none"
    """The unit that multiplies factors rounded to bf16, with vectors of 512 bits."""
    bf16x3: Literal["none", "amx"] = tunable("none", values=("none", "amx"), rounds=True)
    """The unit that multiplies factors of f32 as two of bf16."""
    allow_f24: bool = tunable(False, values=(False, True), rounds=True)
    """True if large weights of matmuls with few rows are rounded to 24 bits."""

    allow_strassen: bool = tunable(False, values=(False, True), rounds=True)
    """True if large f32 matmuls are computed by blocks, with fewer multiplications."""
    threads: int = 1
    """Threads that will share the work."""

    @property
    def bound(self) -> float | None:
        """Error bound that results from the rounding of factors; None if nothing is rounded."""
        return self._form().bound if self.cpu.has_vectors else None

    def run(self, op: Any, state: PassState) -> None:
        if self.cpu.has_vectors:
            form = self._form()
            rewrites = [PackMatmul(form), PackConv(form), PackRecurrence(self.cpu)]
            if form.allow_strassen:
                rewrites = [MatmulByRows(form), ConvByRows(form), *rewrites]
            if form.allow_strassen and form.allow_f24:
                rewrites = [MatmulByFewOrManyRows(form), *rewrites]
            apply_rewrites(op, rewrites, state)

    def _form(self) -> MatmulForm:
        if self.cpu.vector_bits == 512 and self.bf16 != "none":
            return Bf16Form(self.cpu, unit=self.bf16)
        if self.cpu.vector_bits == 512 and self.bf16x3 != "none":
            return Bf16x3Form(self.cpu, allow_f24=self.allow_f24)
        bounds = [F24_BOUND] * self.allow_f24 + [BLOCK_BOUND] * self.allow_strassen
        bound = max(bounds, default=None)
        return MatmulForm(self.cpu, bound, self.allow_f24, self.allow_strassen, self.threads)


class _Pack(Rewrite):
    """Base of the rewrites to packed matmuls; holds their form."""

    def __init__(self, form: MatmulForm):
        self.form = form
        self.bound = form.bound

    def _reason_against(self, x: ir.Value, rows: Any, weights: np.ndarray) -> str | None:
        """The reason not to pack `rows` rows, of or derived from `x`, by `weights` [K, N], or
        None."""
        if not isinstance(graph.type_of(x).shape[-1], int):
            return "K is not known at compile time"
        if rows == 0:
            return "there are no rows"
        if weights.dtype != np.float32:
            return "only f32 is packed"
        if weights.shape[0] < MIN_K:
            return "K is too small"
        if self.form.tile(_known(rows), weights.shape[1]) is None:
            return "no panel fits the columns"
        return None

    def _form_of(self, result: ir.Value) -> MatmulForm:
        """The form for a matmul with this `result`: rows of blocks are added, which lets rows of
        zeros gain from others."""
        if self.form.allow_strassen and is_normalized(result):
            return replace(self.form, allow_strassen=False)
        return self.form


class PackMatmul(_Pack):
    """``matmul(x, constant)  -->  packed_matmul(x, panels)``."""

    name = "pack-matmul"
    root = graph.MatmulOp

    def pattern(self, op: graph.MatmulOp) -> dict[str, Any] | None:
        weights = _constant_matrix(op.b)
        return None if weights is None else {"weights": weights}

    def check(self, op: graph.MatmulOp, weights: np.ndarray) -> str | None:
        if is_in_kernel(op.operation):
            return "one kernel runs all iterations of its loop"
        return self._reason_against(op.a, _rows(op.a), weights)

    def rewrite(self, op: graph.MatmulOp, weights: np.ndarray) -> ir.Value:
        return self._form_of(op.result).build(op.a, weights, _known(_rows(op.a)))


class PackConv(_Pack):
    """``conv(x, constant)  -->  packed_matmul(im2col(x), panels)``; of 1x1, x or a slice of it."""

    name = "pack-conv"
    root = graph.ConvOp

    def pattern(self, op: graph.ConvOp) -> dict[str, Any] | None:
        attrs = op.attrs
        if attrs["layout"] != "channels_last" or attrs["groups"] != 1:
            return None
        weights = constant_array(op.w)
        return None if weights is None else {"weights": weights, "attrs": attrs}

    def check(self, op: graph.ConvOp, weights: np.ndarray, attrs: dict[str, Any]) -> str | None:
        rows = _rows(op.result)
        matrix = weights.reshape(-1, weights.shape[-1])
        reason = self._reason_against(op.x, rows, matrix)
        if reason is not None:
            return reason
        few = isinstance(rows, int) and rows <= IM2COL_ROWS
        narrow = is_narrow(graph.type_of(op.result).shape)  # no other kernel takes it
        if not is_pointwise(weights, attrs) and not few and not narrow:
            return "too many windows to lay out as rows"
        return None

    def rewrite(self, op: graph.ConvOp, weights: np.ndarray, attrs: dict[str, Any]) -> ir.Value:
        matrix = weights.reshape(-1, weights.shape[-1])
        rows = windows_as_rows(op, weights, attrs)
        return self._form_of(op.result).build(rows, matrix, _known(_rows(op.result)))


class MatmulByRows(PackMatmul):
    """``matmul(x, constant)  -->  plain_or_strassen_matmul(x, panels)``, for dynamic rows."""

    name = "strassen-by-rows"

    def pattern(self, op: graph.MatmulOp) -> dict[str, Any] | None:
        found = super().pattern(op)
        if found is None or _known(_rows(op.a)) is not None or super().check(op, **found):
            return None
        return found | {"chosen": self.form.blocks_of_many(found["weights"])}

    def check(self, op: graph.MatmulOp, weights: np.ndarray, chosen: Any) -> str | None:
        del weights
        if is_normalized(op.result):
            return NORMALIZED
        return chosen if isinstance(chosen, str) else None

    def rewrite(self, op: graph.MatmulOp, weights: np.ndarray, chosen: BlocksOfMany) -> ir.Value:
        return self.form.build_by_rows(op.a, weights, chosen)


class MatmulByFewOrManyRows(MatmulByRows):
    """The same for a named batch, of which few rows read 24 bits of the weights."""

    name = "f24-or-strassen-by-rows"

    def check(self, op: graph.MatmulOp, weights: np.ndarray, chosen: Any) -> str | None:
        reason = super().check(op, weights, chosen)
        if reason is not None:
            return reason
        if not _is_batch(op.a):
            return "few rows read all 32 bits of the weights: a named length is seldom so small"
        few = self.form.few_rows(weights, chosen)
        return few if isinstance(few, str) else None

    def rewrite(self, op: graph.MatmulOp, weights: np.ndarray, chosen: BlocksOfMany) -> ir.Value:
        few = self.form.few_rows(weights, chosen)
        assert isinstance(few, int)
        return self.form.build_by_rows(op.a, weights, chosen, few)


class ConvByRows(PackConv):
    """``conv(x, constant)  -->  plain_or_strassen_matmul(im2col(x), panels)``, for dynamic rows."""

    name = "strassen-by-rows-conv"

    def pattern(self, op: graph.ConvOp) -> dict[str, Any] | None:
        found = super().pattern(op)
        if found is None or _known(_rows(op.result)) is not None or super().check(op, **found):
            return None
        weights = found["weights"]
        chosen = self.form.blocks_of_many(weights.reshape(-1, weights.shape[-1]))
        return found | {"chosen": chosen}

    def check(
        self, op: graph.ConvOp, weights: np.ndarray, attrs: dict[str, Any], chosen: Any
    ) -> str | None:
        del weights, attrs
        if is_normalized(op.result):
            return NORMALIZED
        return chosen if isinstance(chosen, str) else None

    def rewrite(
        self, op: graph.ConvOp, weights: np.ndarray, attrs: dict[str, Any], chosen: BlocksOfMany
    ) -> ir.Value:
        matrix = weights.reshape(-1, weights.shape[-1])
        return self.form.build_by_rows(windows_as_rows(op, weights, attrs), matrix, chosen)


def _is_batch(x: ir.Value) -> bool:
    """Return whether each row of `x` is an example of its own: there may be few, as in the steps of
    a decoder and behind the pool of a classifier."""
    batch, *others = graph.type_of(x).shape[:-1] or (1,)
    return isinstance(batch, Dim) and batch.is_symbol and all(size == 1 for size in others)


def _constant_matrix(x: ir.Value) -> np.ndarray | None:
    """The data of a constant matrix, or of a transposed one, as with tied embeddings."""
    transposed = producer(x, graph.TransposeOp)
    array = constant_array(x if transposed is None else transposed.x)
    if array is None or array.ndim != 2:
        return None
    return array if transposed is None else array.transpose(transposed.attrs["perm"])


def _rows(x: ir.Value) -> Any:
    return graph.element_count(graph.type_of(x).shape[:-1])


def _known(count: Any) -> int | None:
    return count if isinstance(count, int) else None
