"""The pass `graph-expand-dft`: how a discrete Fourier transform is computed."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...dialects import graph
from ...dialects.symbolic import Dim, minimum
from ...mlir import ir
from ..infra.base import FUNCTION, Pass, PassState
from ..infra.greedy import apply_rewrites
from ..infra.registry import register
from ..infra.rewrite import Rewrite
from ..kernels import fft_plan
from .dft_factors import MAX_DENSE, complex_dft
from .dft_matrix import dft_matrix, run_time_matrix


@register
@dataclass(frozen=True)
class GraphExpandDft(Pass):
    """Compute discrete Fourier transforms by matmuls.

    %1 = "graph.dft"(%x) : 16x400x1 -> 16x201x2
    -->
    %0 = "graph.reshape"(%x) : 16x400
    %1 = "graph.matmul"(%0, constant) : 16x400, 400x402
    %2 = "graph.reshape"(%1) : 16x201x2

    A matmul by one table takes time and memory proportional to the square of the length, but the
    matrix units of a device, and fuses with its neighbours. It is for short signals, at first; the
    others are kept for a kernel (`kernels`) with O(n log n), or become matmuls of about the square
    root of the length. Lengths that only the run knows have no factors at compile time: without
    a kernel they are multiplied by a table that the program computes.
    """

    name = "graph-expand-dft"
    anchor = FUNCTION
    only_rewrites = True
    kernels: bool = False
    """True to keep transforms for which the lowering has a kernel."""

    def run(self, op: Any, state: PassState) -> None:
        rewrites: list[Rewrite] = [DenseDft(self.kernels)]
        if not self.kernels:
            rewrites += [FactorDft(), RunTimeDft()]
        apply_rewrites(op, rewrites, state)


KERNEL_POINTS = 128
"""Points from which the kernel is faster than a matmul by a table. Measured with AVX-512 and AMX,
for 1000 real signals, in milliseconds by matmul and by kernel: 96 points, 0.22 and 0.30; 128, 0.66
and 0.57; 256, 1.2 and 0.76; 1024, 28 and 3.9. A single signal has it from 64 points on."""
KERNEL_POINTS_BY_CHIRP = 256
"""The same for lengths with a large prime factor: 131 points, 0.43 and 0.94; 251, 1.5 and 1.3; 509,
4.5 and 3.5."""


class DenseDft(Rewrite):
    """``dft(x)  -->  matmul(x, table)``, for few points."""

    name = "dense-dft"
    root = graph.DftOp

    def __init__(self, kernels: bool):
        self.kernels = kernels

    def pattern(self, op: graph.DftOp) -> dict[str, Any] | None:
        del op
        return {}

    def check(self, op: graph.DftOp) -> str | None:
        if isinstance(op.length, Dim):
            return "the length is not known at compile time"
        most = _most_dense(op.length) if self.kernels else MAX_DENSE
        return f"more than {most} points" if op.length > most else None

    def rewrite(self, op: graph.DftOp) -> ir.Value:
        length = graph.static_size(op.length)
        x = graph.type_of(op.x)
        used, count, _ = _extents(op)
        used = used if isinstance(used, int) else _points_read(op)
        rows = _fitted(op.x, used)
        table = dft_matrix(
            used, graph.static_size(count), max(length, 1), graph.static_size(x.shape[-1]),
            inverse=op.inverse, onesided=op.onesided,
        )  # fmt: skip
        return _multiplied(op, rows, graph.constant(value=table.astype(x.dtype)))


def _most_dense(length: int) -> int:
    """The most points of a matmul by a table where there is a kernel."""
    by_chirp = fft_plan.largest_prime(length) > fft_plan.LARGEST_PRIME
    return (KERNEL_POINTS_BY_CHIRP if by_chirp else KERNEL_POINTS) - 1


class RunTimeDft(Rewrite):
    """``dft(x)  -->  matmul(x, table)``, where the program computes the table."""

    name = "run-time-dft"
    root = graph.DftOp

    def pattern(self, op: graph.DftOp) -> dict[str, Any] | None:
        return {} if isinstance(op.length, Dim) else None

    def check(self, op: graph.DftOp) -> str | None:
        del op
        return None

    def rewrite(self, op: graph.DftOp) -> ir.Value:
        x = graph.type_of(op.x)
        used, count, length = _extents(op)
        table = run_time_matrix(
            used, count, length, x.dtype, graph.static_size(x.shape[-1]),
            inverse=op.inverse, onesided=op.onesided,
        )  # fmt: skip
        return _multiplied(op, _fitted(op.x, used), table)


class FactorDft(Rewrite):
    """``dft(x)  -->  matmuls of fewer points``, for many points."""

    name = "factor-dft"
    root = graph.DftOp

    def pattern(self, op: graph.DftOp) -> dict[str, Any] | None:
        return {} if isinstance(op.length, int) and op.length > MAX_DENSE else None

    def check(self, op: graph.DftOp) -> str | None:
        del op
        return None

    def rewrite(self, op: graph.DftOp) -> ir.Value:
        result, length = graph.type_of(op.result), graph.static_size(op.length)
        x = _fitted(op.x, _points_read(op))
        *outer, points, parts = graph.type_of(x).shape
        rows = graph.element_count(outer)
        x = graph.reshape(x, shape=[rows, points, parts])
        if op.onesided and op.inverse:
            x = _mirrored(x, length)
        elif parts == 1:
            zero = graph.splat_like(0, x)
            x = graph.pad(x, zero, low=[0, 0, 0], high=[0, 0, 1])
        y = complex_dft(x, inverse=op.inverse)
        y = graph.slice_(y, starts=[0, 0, 0], sizes=[rows, *result.shape[-2:]], steps=[1, 1, 1])
        if op.inverse:
            y = graph.mul(y, graph.splat_like(1 / length, y))
        return graph.reshape(y, shape=result.shape)


def _mirrored(x: ir.Value, length: int) -> ir.Value:
    """The whole spectrum of a real signal from its first half."""
    rows, given, _ = graph.type_of(x).shape
    count = length - graph.static_size(given)
    x_conjugate = graph.mul(x, graph.constant(value=np.array([1, -1], graph.type_of(x).dtype)))
    rest = graph.slice_(x_conjugate, starts=[0, count, 0], sizes=[rows, count, 2], steps=[1, -1, 1])
    return graph.concat([x, rest], axis=1)


def _points_read(op: graph.DftOp) -> int:
    """The most points that a transform of known length reads."""
    length = graph.static_size(op.length)
    return length // 2 + 1 if op.inverse and op.onesided and length else length


def _extents(op: graph.DftOp) -> tuple[Any, Any, Any]:
    """The points that are read, the points that are written, and the length."""
    extent, length = graph.type_of(op.x).shape[-2], op.length
    used = graph.points_read(extent, length, op.inverse, op.onesided)
    return used, graph.type_of(op.result).shape[-2], length


def _fitted(x: ir.Value, points: int | Dim) -> ir.Value:
    """`x` cut, or continued with zeros, to `points`."""
    shape = list(graph.type_of(x).shape)
    if shape[-2] == points:
        return x
    kept = minimum(shape[-2], points)
    rank, zero = len(shape), graph.splat_like(0, x)
    if shape[-2] != kept:
        shape[-2] = kept
        x = graph.slice_(x, starts=[0] * rank, sizes=shape, steps=[1] * rank)
    if kept == points:
        return x
    return graph.pad(x, zero, low=[0] * rank, high=[*[0] * (rank - 2), points - kept, 0])


def _multiplied(op: graph.DftOp, x: ir.Value, table: ir.Value) -> ir.Value:
    result = graph.type_of(op.result)
    *outer, used, parts = graph.type_of(x).shape
    rows = graph.reshape(x, shape=[*outer, used * parts] if outer else [1, used * parts])
    return graph.reshape(graph.matmul(rows, table), shape=result.shape)
