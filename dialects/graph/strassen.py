"""Matmuls with fewer multiplications, by constant weights whose blocks were summed beforehand."""

import math
from collections.abc import Iterator

import numpy as np

from .attributes import Int, Ints, Str
from .base import GraphOp, Tensor, TypeRuleError, builder
from .bilinear import ALGORITHMS, BilinearAlgorithm
from .contraction import KernelContraction, MatmulOp, require_equal_sizes
from .f24_matmul import F24_WIDTH, F24_WORDS, pack_f24, unpack_f24
from .packed_matmul import unpack_weights
from .traits import MixedPrecision
from .types import TensorType

GAP = 16
"""Elements between the sums of one product and those of the next: addresses a power of two apart
map to too few cache sets."""


class StrassenTermsOp(GraphOp, name="strassen_terms"):
    """The sums of blocks of `x` [..., K] that an algorithm of `blocks` multiplies.

    Result [replicas, products, R/r * K/k and a gap], for R rows in all, where the algorithm has r x
    k blocks of them. The last blocks are padded with rows of zeros. All replicas are the same, one
    for each thread that multiplies: the sums are several times as large as the rows, and no thread
    reads them from another core's cache.
    """

    amp = MixedPrecision.KEEP

    x: Tensor
    blocks: Str
    replicas: Int

    @staticmethod
    def infer(x: TensorType, *, blocks: str, replicas: int) -> TensorType:
        if x.dtype != np.float32 or x.rank < 1 or not x.is_static:
            raise TypeRuleError(f"is for rows of f32 of known number, not for {x}")
        algorithm = _algorithm(blocks)
        rows, k = math.prod(x.static_shape[:-1]), x.static_shape[-1]
        if k % algorithm.k:
            raise TypeRuleError(f"{k} elements are not {algorithm.k} equal blocks")
        if replicas < 1:
            raise TypeRuleError(f"cannot make {replicas} replicas")
        held = -(-rows // algorithm.rows)
        return x.with_shape((replicas, algorithm.products, terms_size(held, k // algorithm.k)))

    @staticmethod
    def evaluate(x: np.ndarray, *, blocks: str, replicas: int) -> np.ndarray:
        algorithm = ALGORITHMS[blocks]
        rows = x.reshape(-1, x.shape[-1])
        rows = np.pad(rows, [(0, -rows.shape[0] % algorithm.rows), (0, 0)])
        sums = _sums(algorithm.left, _blocks(rows, algorithm.rows, algorithm.k))
        lines = np.pad(sums.reshape(algorithm.products, -1), [(0, 0), (0, GAP)])
        return np.stack([lines] * replicas)


class StrassenMatmulOp(KernelContraction, name="strassen_matmul"):
    """``x w`` by an algorithm of `blocks`: `x` [replicas, products, R/r * K/k and a gap] and `w`
    [panels, products, K/k, n] are the sums of blocks (`graph.strassen_terms`, `pack_sums`), result
    [shape..., columns].

    A panel holds `n` columns of each product side by side; the last one may be padded. `mr` rows
    are multiplied at a time, in registers that hold vectors of `lanes`. The work should split into
    at least that many `workgroups`, which are distributed among threads. Errors are several times
    those of `matmul`, relative to the largest elements of both factors (Higham: Accuracy and
    Stability of Numerical Algorithms, chapter 23); an infinite element gives NaN.
    """

    x: Tensor
    w: Tensor
    blocks: Str
    shape: Ints
    columns: Int
    mr: Int
    lanes: Int
    workgroups: Int

    @staticmethod
    def infer(
        x: TensorType,
        w: TensorType,
        *,
        blocks: str,
        shape: tuple[int, ...],
        columns: int,
        mr: int,
        lanes: int,
        workgroups: int,
    ) -> TensorType:
        del workgroups
        algorithm = _algorithm(blocks)
        if not x.is_static or x.rank != 3:
            raise TypeRuleError(f"cannot multiply sums {x} by panels of sums {w}")
        _require_panels(x, w, algorithm, algorithm.products, columns, mr, lanes)
        rows = -(-math.prod(shape) // algorithm.rows)
        if x.static_shape[1:] != (algorithm.products, terms_size(rows, w.static_shape[2])):
            raise TypeRuleError(f"sums {x} and {w} are not those of {blocks} for rows {[*shape]}")
        return x.with_shape((*shape, columns))

    @staticmethod
    def evaluate(
        x: np.ndarray,
        w: np.ndarray,
        *,
        blocks: str,
        shape: tuple[int, ...],
        columns: int,
        mr: int,
        lanes: int,
        workgroups: int,
    ) -> np.ndarray:
        del mr, lanes, workgroups
        algorithm = ALGORITHMS[blocks]
        held = -(-columns // algorithm.columns)
        sums = x[0, :, :-GAP].reshape(algorithm.products, -1, w.shape[2])
        pairs = zip(sums, w.swapaxes(0, 1), strict=True)
        products = np.stack([left @ unpack_weights(right)[:, :held] for left, right in pairs])
        parts = _sums(algorithm.result, products)  # [r * n, R/r, N/n]
        grid = parts.reshape(algorithm.rows, algorithm.columns, *parts.shape[1:])
        whole = grid.transpose(0, 2, 1, 3).reshape(algorithm.rows * sums.shape[1], -1)
        return whole[: math.prod(shape), :columns].reshape(*shape, columns)


class PlainOrStrassenMatmulOp(KernelContraction, name="plain_or_strassen_matmul"):
    """``x w``: `least` rows or more by an algorithm of `blocks`, fewer as they are. `x` [..., K],
    `w` [panels, places, K/k, n] (`pack_sums_and_blocks`), result [..., columns].

    The sums of blocks of `x` are made by the kernel, up to `replicas` copies of them. A panel holds
    `n` columns of each sum and of each block side by side; the last one may be padded. With
    `few_rows`, blocks are split (`split_words`), and up to so many rows are multiplied by their
    first 24 bits alone. For `mr`, `lanes`, `workgroups` and errors, see `strassen_matmul`.
    """

    x: Tensor
    w: Tensor
    blocks: Str
    few_rows: Int
    least: Int
    columns: Int
    mr: Int
    lanes: Int
    workgroups: Int
    replicas: Int

    @staticmethod
    def infer(
        x: TensorType,
        w: TensorType,
        *,
        blocks: str,
        few_rows: int,
        least: int,
        columns: int,
        mr: int,
        lanes: int,
        workgroups: int,
        replicas: int,
    ) -> TensorType:
        del workgroups
        algorithm = _algorithm(blocks)
        if x.rank < 1:
            raise TypeRuleError(f"cannot multiply {x} by panels of sums and blocks {w}")
        _require_panels(x, w, algorithm, algorithm.slots[-1], columns, mr, lanes)
        require_equal_sizes(x.shape[-1], w.static_shape[2] * algorithm.k, "the contracted sizes")
        if least < 1 or replicas < 1:
            raise TypeRuleError(f"cannot sum the blocks of {least} rows {replicas} times")
        if not 0 <= few_rows < least or (few_rows and w.static_shape[3] != F24_WIDTH):
            raise TypeRuleError(f"cannot multiply {few_rows} rows by split panels {w}")
        return x.with_shape((*x.shape[:-1], columns))

    @staticmethod
    def evaluate(
        x: np.ndarray,
        w: np.ndarray,
        *,
        blocks: str,
        few_rows: int,
        least: int,
        columns: int,
        mr: int,
        lanes: int,
        workgroups: int,
        replicas: int,
    ) -> np.ndarray:
        del replicas
        algorithm, lead = ALGORITHMS[blocks], x.shape[:-1]
        if few_rows:
            w = _join_blocks(w, algorithm, only_first=math.prod(lead) <= few_rows)
        if math.prod(lead) < least:
            matrix = _unpack_blocks(w, algorithm, columns)
            return MatmulOp.evaluate(np.atleast_2d(x), matrix).reshape(*lead, columns)
        return StrassenMatmulOp.evaluate(
            StrassenTermsOp.evaluate(x, blocks=blocks, replicas=1),
            w[:, algorithm.slots[:-1]],
            blocks=blocks, shape=lead, columns=columns,
            mr=mr, lanes=lanes, workgroups=workgroups,
        )  # fmt: skip


def terms_size(rows: int, k: int) -> int:
    """Elements from the sums of blocks of `rows` x `k` to those for the next product."""
    return rows * k + GAP


def pack_sums(w: np.ndarray, blocks: str, width: int) -> np.ndarray:
    """[K, N] as panels [N/n/width, products, K/k, width] of the sums of its blocks, which are
    rounded once; the last blocks of columns and the last panel are padded with zeros."""
    algorithm = ALGORITHMS[blocks]
    return _pack_combinations(w, algorithm, algorithm.right, width)


def pack_sums_and_blocks(
    w: np.ndarray, blocks: str, width: int, *, split: bool = False
) -> np.ndarray:
    """[K, N] as panels [N/n/width, places, K/k, width] of the sums of its blocks, which are rounded
    once, and of its blocks, each of them once (`BilinearAlgorithm.slots`); the last blocks of
    columns and the last panel are padded with zeros. The blocks of a block column may be `split`
    together (`split_words`)."""
    algorithm = ALGORITHMS[blocks]
    count = algorithm.k * algorithm.columns
    by_columns = np.eye(count, dtype=algorithm.right.dtype)
    by_columns = by_columns.reshape(algorithm.k, algorithm.columns, count).swapaxes(0, 1)
    places = [*algorithm.right[: algorithm.sums], *by_columns.reshape(count, count)]
    panels = _pack_combinations(w, algorithm, np.array(places), width)
    for column in _block_columns(panels, algorithm) if split else ():
        column[:] = split_words(column.reshape(-1, F24_WIDTH)).reshape(column.shape)
    return panels


def split_words(w: np.ndarray) -> np.ndarray:
    """Lines [K, 64] of f32 as 48 K words of f24 (`pack_f24`), and 16 K words of the rest: of an
    element its bits less those of the f24, from -128 to 127. The n-th byte of a word of the rest
    belongs to the n-th vector of 16 columns. The result looks like f32, too."""
    bits = np.ascontiguousarray(w).view(np.uint32)
    first = bits + 0x80 >> 8
    rest = (bits - (first << 8)).astype(np.uint8).reshape(-1, 4, F24_WIDTH // 4)
    words = np.ascontiguousarray(rest.swapaxes(1, 2)).view("<u4")
    first = (first << 8).astype(np.uint32).view(np.float32)
    return np.concatenate([pack_f24(first).ravel(), words.ravel()]).view(np.float32)


def joined_words(words: np.ndarray, *, only_first: bool = False) -> np.ndarray:
    """The inverse of `split_words`, or the f24 alone."""
    lines = words.size // F24_WIDTH
    held = words.ravel().view(np.uint32)
    first, rest = held[: lines * F24_WORDS], held[lines * F24_WORDS :]
    whole = unpack_f24(first.reshape(1, lines, F24_WORDS))
    if only_first:
        return whole
    low = rest.astype("<u4").view(np.int8).reshape(lines, F24_WIDTH // 4, 4).swapaxes(1, 2)
    bits = whole.view(np.uint32) + low.reshape(lines, F24_WIDTH).astype(np.uint32)
    return bits.view(np.float32)


def _join_blocks(
    panels: np.ndarray, algorithm: BilinearAlgorithm, *, only_first: bool
) -> np.ndarray:
    result = panels.copy()
    for column in _block_columns(result, algorithm):
        column[:] = joined_words(column, only_first=only_first).reshape(column.shape)
    return result


def _block_columns(panels: np.ndarray, algorithm: BilinearAlgorithm) -> Iterator[np.ndarray]:
    """The blocks [k, K/k, n] of each block column in each panel."""
    for panel in panels:
        for first in range(algorithm.sums, len(panel), algorithm.k):
            yield panel[first : first + algorithm.k]


def _pack_combinations(
    w: np.ndarray, algorithm: BilinearAlgorithm, coefficients: np.ndarray, width: int
) -> np.ndarray:
    """The panels of linear combinations of the blocks of [K, N], one panel of all after the other,
    whose terms stay in the caches."""
    height, columns = w.shape[0] // algorithm.k, -(-w.shape[1] // algorithm.columns)
    panels = np.zeros((-(-columns // width), len(coefficients), height, width), w.dtype)
    terms = np.zeros((algorithm.k, algorithm.columns, height, width), w.dtype)
    for panel in range(len(panels)):
        for across in range(algorithm.columns):
            first = across * columns + panel * width
            held = w[:, first : min(first + width, (across + 1) * columns)]
            terms[:, across, :, : held.shape[1]] = held.reshape(algorithm.k, height, -1)
            terms[:, across, :, held.shape[1] :] = 0
        _sum_blocks(coefficients, terms.reshape(-1, height, width), panels[panel])
    return panels


def _unpack_blocks(w: np.ndarray, algorithm: BilinearAlgorithm, columns: int) -> np.ndarray:
    """The matrix [K, columns] of panels of `pack_sums_and_blocks`."""
    held = -(-columns // algorithm.columns)
    parts = [unpack_weights(w[:, place])[:, :held] for place in range(algorithm.sums, w.shape[1])]
    across = [
        np.concatenate(parts[first : first + algorithm.k])
        for first in range(0, len(parts), algorithm.k)
    ]
    return np.concatenate(across, axis=1)[:, :columns]


def _require_panels(
    x: TensorType,
    w: TensorType,
    algorithm: BilinearAlgorithm,
    places: int,
    columns: int,
    mr: int,
    lanes: int,
) -> None:
    """Check that `w` are panels of `places` matrices for `columns` of a product of `x`.

    TypeRuleError says what they are not.
    """
    if x.dtype != np.float32 or w.dtype != np.float32:
        raise TypeRuleError(f"is for f32, not for {x.dtype} and {w.dtype}")
    if not w.is_static or w.rank != 4:
        raise TypeRuleError(f"cannot multiply {x} by panels {w}")
    panels, held_places, _, width = w.static_shape
    held = -(-columns // algorithm.columns)
    if held_places != places or columns < 1 or panels != -(-held // width):
        raise TypeRuleError(f"panels {w} do not hold {places} matrices of {columns} columns")
    if lanes < 1 or width % lanes or mr < 1:
        raise TypeRuleError(f"panels {w} are not of vectors of {lanes}, {mr} rows at a time")


def _algorithm(blocks: str) -> BilinearAlgorithm:
    if blocks not in ALGORITHMS:
        raise TypeRuleError(f"blocks must be one of {', '.join(ALGORITHMS)}, not '{blocks}'")
    return ALGORITHMS[blocks]


def _blocks(x: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """A matrix as [blocks, height, width], for `rows` by `columns` blocks."""
    height, width = x.shape[0] // rows, x.shape[1] // columns
    grid = x.reshape(rows, height, columns, width).swapaxes(1, 2)
    return grid.reshape(rows * columns, height, width)


def _sums(coefficients: np.ndarray, blocks: np.ndarray) -> np.ndarray:
    """Sums of `blocks`, [sums, height, width], added in f64 and rounded once."""
    result = np.empty((len(coefficients), *blocks.shape[1:]), blocks.dtype)
    _sum_blocks(coefficients, blocks, result)
    return result


def _sum_blocks(coefficients: np.ndarray, blocks: np.ndarray, result: np.ndarray) -> None:
    """Write the sums of `blocks`, with signs, to `result`; added in f64 and rounded once."""
    exact = blocks.astype(np.float64)
    total = np.empty(blocks.shape[1:], np.float64)
    for number, row in enumerate(coefficients):
        first, *others = np.flatnonzero(row)
        np.multiply(exact[first], row[first], out=total)
        for block in others:
            add = np.add if row[block] > 0 else np.subtract
            add(total, exact[block], out=total)
        result[number] = total


strassen_terms = builder(StrassenTermsOp)
strassen_matmul = builder(StrassenMatmulOp)
plain_or_strassen_matmul = builder(PlainOrStrassenMatmulOp)
