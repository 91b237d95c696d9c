"""Contractions: MatMul, Gemm, Einsum and their integer forms."""

import re
import string

import numpy as np

from ...dialects import graph
from ...mlir import ir
from .registry import onnx_op


@onnx_op("MatMul")
def matmul(a, b):
    """Operands of rank 1 get a unit axis, which the result loses again."""
    left, right = graph.type_of(a), graph.type_of(b)
    if left.rank == 0 or right.rank == 0:
        raise graph.TypeRuleError("a matrix product of a scalar")
    if left.rank == 1:
        a = graph.reshape(a, shape=[1, *left.shape])
    if right.rank == 1:
        b = graph.reshape(b, shape=[*right.shape, 1])
    product = graph.matmul(a, b)
    shape = list(graph.type_of(product).shape)
    if right.rank == 1:
        del shape[-1]
    if left.rank == 1:
        del shape[-1 if right.rank == 1 else -2]
    return product if min(left.rank, right.rank) > 1 else graph.reshape(product, shape=shape)


@onnx_op("Gemm", since=6)
def gemm(a, b, c=None, *, alpha=1.0, beta=1.0, transA=0, transB=0):  # noqa: N803
    if graph.type_of(a).rank != 2 or graph.type_of(b).rank != 2:
        raise graph.TypeRuleError("Gemm takes matrices")
    if transA:
        a = graph.transpose(a, perm=[1, 0])
    if transB:
        b = graph.transpose(b, perm=[1, 0])
    product = _scaled(graph.matmul(a, b), alpha)
    return product if c is None else graph.add(product, _scaled(c, beta))


def _scaled(x: ir.Value, factor: float) -> ir.Value:
    return x if factor == 1 else graph.mul(x, graph.splat_like(factor, x))


@onnx_op("Einsum", since=12)
def einsum(*xs, equation):
    normal = normalize_equation(equation, [graph.type_of(x).rank for x in xs])
    return graph.einsum(list(xs), equation=normal)


def normalize_equation(equation: str, ranks: list[int]) -> str:
    """`equation` made explicit, without spaces, capitals or ellipsis. TypeRuleError if it is wrong.

    Ranks are those of the operands.
    """
    terms, arrow, result = equation.replace(" ", "").partition("->")
    operands = terms.split(",")
    if len(operands) != len(ranks) or not re.fullmatch(r"[A-Za-z,.]*", terms + result):
        raise graph.TypeRuleError(f"equation '{equation}' does not fit {len(ranks)} operands")
    used = sorted(set(re.findall(r"[A-Za-z]", terms + result)))
    free = [x for x in string.ascii_letters if x not in used]
    width = max(
        (r - len(t) + 3 for t, r in zip(operands, ranks, strict=True) if "..." in t), default=0
    )
    hidden = "".join(free[:width])
    spelled = []
    for term, rank in zip(operands, ranks, strict=True):
        missing = rank - len(term.replace("...", ""))
        spelled.append(term.replace("...", hidden[len(hidden) - missing :] if missing else ""))
    if arrow:
        output = result.replace("...", hidden)
    else:
        letters = "".join(spelled)
        once = sorted(x for x in set(letters) - set(hidden) if letters.count(x) == 1)
        output = hidden + "".join(once)
    letters = dict.fromkeys("".join([*spelled, output]))
    if len(letters) > 26:
        raise graph.TypeRuleError(f"equation '{equation}' names more than 26 axes")
    rename = str.maketrans(dict(zip(letters, string.ascii_lowercase, strict=False)))
    return f"{','.join(spelled)}->{output}".translate(rename)


@onnx_op("MatMulInteger", since=10)
def matmul_integer(a, b, a_zero_point=None, b_zero_point=None):
    left, right = _centred(a, a_zero_point, row=True), _centred(b, b_zero_point, row=False)
    return matmul(left, right)


def _centred(x: ir.Value, zero_point: ir.Value | None, row: bool) -> ir.Value:
    """`x` minus its zero point, in i32; one zero point for all, or one per row or column."""
    wide = graph.cast(x, to=np.int32)
    if zero_point is None:
        return wide
    offset = graph.cast(zero_point, to=np.int32)
    type_ = graph.type_of(offset)
    if row and type_.rank == 1 and type_.shape[0] != 1:
        offset = graph.reshape(offset, shape=[*type_.shape, 1])
    return graph.sub(wide, offset)
