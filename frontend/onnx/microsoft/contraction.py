"""Matmuls with what ONNX Runtime fuses into them."""

from collections.abc import Sequence

from ....dialects import graph
from ....mlir import ir
from ..operators.contraction import gemm, matmul_of_any_rank
from .registry import activated, microsoft_op


@microsoft_op("FusedMatMul")
def fused_matmul(a, b, *, alpha=1.0, transA=0, transB=0, transBatchA=0, transBatchB=0):  # noqa: N803
    """``alpha * A' B'``. With `transBatch` the rows are axis 0, and the batch axes follow it."""
    a, b = _prepared(a, transA, transBatchA), _prepared(b, transB, transBatchB)
    y = matmul_of_any_rank(a, b)
    return y if alpha == 1 else graph.mul(y, graph.splat_like(alpha, y))


def _prepared(x: ir.Value, transposed: int, rows_first: int) -> ir.Value:
    rank = graph.type_of(x).rank
    if rank < 2:
        return x
    perm: Sequence[int] = range(rank)
    if rows_first:
        perm = [*range(1, rank - 1), 0, rank - 1]
    if transposed:
        perm = [*perm[:-2], perm[-1], perm[-2]]
    return x if list(perm) == list(range(rank)) else graph.transpose(x, perm=list(perm))


@microsoft_op("TransposeMatMul")
def transpose_matmul(a, b, *, alpha=1.0, transA=0, transB=0):  # noqa: N803
    return fused_matmul(a, b, alpha=alpha, transA=transA, transB=transB)


@microsoft_op("FusedMatMulActivation")
def fused_matmul_activation(
    a,
    b,
    *,
    activation,
    activation_alpha=None,
    activation_axis=0,
    activation_beta=None,
    activation_gamma=None,
    alpha=1.0,
    transA=0,  # noqa: N803
    transB=0,  # noqa: N803
    transBatchA=0,  # noqa: N803
    transBatchB=0,  # noqa: N803
):
    del activation_axis, activation_gamma  # of activations that are not elementwise
    y = fused_matmul(
        a, b, alpha=alpha, transA=transA, transB=transB,
        transBatchA=transBatchA, transBatchB=transBatchB,
    )  # fmt: skip
    return activated(y, activation, activation_alpha, activation_beta)


@microsoft_op("FusedGemm")
def fused_gemm(
    a,
    b,
    c=None,
    *,
    activation=None,
    activation_alpha=None,
    activation_beta=None,
    activation_gamma=None,
    alpha=1.0,
    beta=1.0,
    transA=0,  # noqa: N803
    transB=0,  # noqa: N803
):
    del activation_gamma
    y = gemm(a, b, c, alpha=alpha, beta=beta, transA=transA, transB=transB)
    return activated(y, activation, activation_alpha, activation_beta)


@microsoft_op("GemmFastGelu")
def gemm_fast_gelu(x, w, bias=None):
    y = matmul_of_any_rank(x, w)
    return graph.gelu(y if bias is None else graph.add(y, bias), approximate="tanh")


@microsoft_op("CDist")
def cdist(a, b, *, metric="sqeuclidean"):
    """Distances between the rows of `a` and of `b`, by differences: products would cancel."""
    if metric not in ("sqeuclidean", "euclidean"):
        raise graph.TypeRuleError(f"no metric '{metric}'")
    (rows, width), (columns, _) = graph.type_of(a).shape, graph.type_of(b).shape
    distance = graph.sub(
        graph.reshape(a, shape=[rows, 1, width]), graph.reshape(b, shape=[1, columns, width])
    )
    total = graph.reduce_sum(graph.mul(distance, distance), axes=[2], keepdims=False)
    return graph.sqrt(total) if metric == "euclidean" else total
