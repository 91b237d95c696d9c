"""Matmuls and other contractions."""

from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..draw_registry import draws
from ..drawn_values import Value

_TYPES = ("float32", "float64", "float16")


def scaled(b: GraphBuilder, shape: list[int], dtype: np.dtype, k: int, **options: Any) -> Value:
    """A new factor, scaled so that a matmul over K = `k` keeps the magnitude of the other
    factor."""
    largest = 1.7 / max(k, 1) ** 0.5
    return b.new(shape, dtype, -largest, largest, exact=False, **options)


@draws(weight=8)
def matmul(b: GraphBuilder) -> None:
    """Matmul of a value with a weight, a fed matrix or another value, with or without a batch."""
    x = b.take((1, 4), _TYPES, empty=False)
    k = x.shape[-1]

    def fits(v: Value) -> bool:
        return v.dtype == x.dtype and v.rank == 2 and v.shape[0] == k

    found = b.find(fits) if b.chance(0.3) else None
    if found is None:
        lead = list(x.shape[:-2]) if b.chance(0.3) else []
        columns = [] if b.chance(0.05) and not lead else [max(b.size(), 1)]
        found = scaled(b, [*lead, k, *columns], x.dtype, k, weight=b.chance(0.7))
    (y,) = b.add("MatMul", [x, found])
    if y.rank and b.chance(0.4):
        b.add("Add", [y, b.new([y.shape[-1]], y.dtype, weight=True)])


@draws(weight=3)
def gemm(b: GraphBuilder) -> None:
    """Gemm with and without transposed operands, scaling factors and a third operand."""
    x = b.take((2, 2), _TYPES, empty=False)
    flipped, turned = b.integer(0, 1), b.integer(0, 1)
    rows, k = x.shape[::-1] if flipped else x.shape
    columns = max(b.size(), 1)
    w = scaled(b, [columns, k] if turned else [k, columns], x.dtype, k)
    shape = b.choose(([columns], [1, columns], [rows, columns], [rows, 1], [1], []))
    third = [b.new(shape, x.dtype)] if b.opset < 11 or b.chance(0.7) else []
    attributes = {name: b.choose((0.5, 1.0, 2.0)) for name in ("alpha", "beta") if b.chance(0.3)}
    b.add("Gemm", [x, w, *third], transA=flipped, transB=turned, **attributes)


_EQUATIONS = ("ij,jk->ik", "bij,bjk->bik", "bij,bkj->bik", "bhid,bhjd->bhij", "ij,j->i", "ij->ji",
              "i,j->ij", "bij,jk->bik", "ij,ij->", "bii->bi", "abc,abd->cd")  # fmt: skip


@draws(weight=2, since=12)
def einsum(b: GraphBuilder) -> None:
    """Einsum of one or two operands."""
    equation = b.choose(_EQUATIONS)
    extents = {letter: b.choose((1, 2, 3, 5, 8, 16, 17)) for letter in "abcdhijk"}
    terms = equation.partition("->")[0].split(",")
    shapes = [[extents[letter] for letter in term] for term in terms]
    operands = [b.like(shapes[0], b.float_type)]
    operands += [scaled(b, shape, b.float_type, 8) for shape in shapes[1:]]
    b.add("Einsum", operands, equation=equation)


@draws(weight=1.5, since=10)
def matmul_integer(b: GraphBuilder) -> None:
    """Matmul of 8-bit integers, with or without zero points."""
    x = b.take((2, 3), ("uint8", "int8"), empty=False)
    w = b.new([x.shape[-1], max(b.size(33), 1)], b.choose(("uint8", "int8")), -9, 9)
    points = [b.known(np.array(b.integer(0, 3), v.dtype)) for v in (x, w)]
    b.add("MatMulInteger", [x, w, *points[: b.integer(0, 2)]])


@draws(weight=0.3, since=11)
def determinant(b: GraphBuilder) -> None:
    """Determinants of small matrices near the identity."""
    n = b.integer(1, 3)
    x = b.new([*b.shape(0, 1), n, n], "float32", -0.3, 0.3)
    (y,) = b.add("Add", [x, b.known(np.eye(n, dtype=np.float32))])
    b.add("Det", [y])
