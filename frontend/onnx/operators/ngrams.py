"""Counts of n-grams among integers (TfIdfVectorizer)."""

from collections.abc import Sequence

import numpy as np

from ....dialects import graph
from ....dialects.symbolic import Dim
from ....dialects.symbolic import maximum as max_size
from ....dialects.symbolic import minimum as min_size
from ....mlir import ir
from ..importing.registry import UnsupportedError, onnx_op
from .lookup import look_up

Grams = dict[tuple[int, ...], int]
"""N-grams of one length, with their numbers in the pool."""

MAX_DISTANCES = 1000
"""Between the elements of an n-gram; each is looked for by itself."""


@onnx_op("TfIdfVectorizer", since=9)
def tf_idf_vectorizer(
    x,
    *,
    max_gram_length,
    max_skip_count,
    min_gram_length,
    mode,
    ngram_counts,
    ngram_indexes,
    pool_int64s=None,
    pool_strings=None,
    weights=None,
):
    """The count of each n-gram of the pool in a row, or 1 if it occurs, times its weight.

    The elements of an n-gram may lie apart, all equally far, with up to `max_skip_count` others
    between two.
    """
    if pool_strings:
        raise UnsupportedError("n-grams of strings")
    if mode not in ("TF", "IDF", "TFIDF"):
        raise graph.TypeRuleError(f"mode '{mode}' is unknown")
    if not 1 <= min_gram_length <= max_gram_length or max_skip_count < 0:
        raise graph.TypeRuleError(
            f"n-grams of {min_gram_length} to {max_gram_length} with {max_skip_count} skipped"
        )
    weights = weights if mode != "TF" and weights else None
    if weights and len(weights) != len(ngram_indexes):
        raise graph.TypeRuleError(f"{len(weights)} weights for {len(ngram_indexes)} n-grams")
    if weights and mode == "IDF" and len(set(ngram_indexes)) < len(ngram_indexes):
        raise UnsupportedError("weights of n-grams that share a column, with mode 'IDF'")
    type_ = graph.type_of(x)
    if type_.dtype not in (np.int32, np.int64) or type_.rank not in (1, 2):
        raise graph.TypeRuleError(f"n-grams of integers in {type_}")
    rows = graph.reshape(graph.cast(x, to=np.int64), shape=[1, *type_.shape][-2:])
    pool = _read_pool(pool_int64s or [], ngram_counts, ngram_indexes)
    pool = {size: grams for size, grams in pool.items() if grams}
    pool = {size: pool[size] for size in pool if min_gram_length <= size <= max_gram_length}
    words = np.unique([word for grams in pool.values() for gram in grams for word in gram])
    numbered = look_up(rows, words, np.arange(words.size), words.size)
    found = [
        _found(numbered, grams, words, distance, len(ngram_indexes))
        for size, grams in pool.items()
        for distance in _distances(size, max_skip_count, graph.type_of(rows).shape[1])
    ]
    y = _counts(rows, found, ngram_indexes, weights if mode == "TFIDF" else None)
    if mode == "IDF":
        y = graph.min_(y, graph.splat_like(1, y))
        if weights:
            each = np.zeros(max(ngram_indexes) + 1, np.float32)
            each[ngram_indexes] = weights
            y = graph.mul(y, graph.constant(value=each))
    return graph.reshape(y, shape=[*type_.shape[:-1], graph.type_of(y).shape[1]])


def _distances(size: int, skipped: int, length: int | Dim) -> range:
    """The distances to try between the elements of an n-gram of `size`, within a row of
    `length`."""
    if size == 1:
        return range(1, 2)
    most = skipped + 1
    if isinstance(length, int):
        most = min(most, (length - 1) // (size - 1))
    if most > MAX_DISTANCES:
        raise UnsupportedError(f"{skipped} skipped elements, {MAX_DISTANCES - 1} being the most")
    return range(1, max(most, 1) + 1)


def _read_pool(
    pool: Sequence[int], starts: Sequence[int], indexes: Sequence[int]
) -> dict[int, Grams]:
    """The n-grams of `pool` by their length; `starts` says where those of each length begin."""
    ends = [*starts[1:], len(pool)]
    if any(not 0 <= a <= b <= len(pool) for a, b in zip(starts, ends, strict=True)):
        raise graph.TypeRuleError(f"ngram_counts {list(starts)} for a pool of {len(pool)}")
    if min(indexes, default=0) < 0:
        raise graph.TypeRuleError(f"an index of {min(indexes)} among ngram_indexes")
    found: dict[int, Grams] = {}
    serial = 0
    for size, (start, end) in enumerate(zip(starts, ends, strict=True), 1):
        count = (end - start) // size
        if serial + count > len(indexes):
            raise graph.TypeRuleError(f"{len(indexes)} ngram_indexes for more n-grams")
        table = np.array(pool[start : start + count * size], np.int64).reshape(count, size)
        keys = map(tuple, table.tolist())
        found[size] = dict(zip(keys, range(serial, serial + count), strict=True))
        serial += count
    return found


def _found(rows: ir.Value, grams: Grams, words: np.ndarray, distance: int, none: int) -> ir.Value:
    """The number of the n-gram at each position of `rows`, `none` where there is none.

    `rows` holds positions among the sorted `words`, or their number. The n-grams form a trie, whose
    nodes are numbered by depth: a node and the next word are the key of the node below.
    """
    batch, length = graph.type_of(rows).shape
    table = np.searchsorted(words, np.array(list(grams), np.int64))
    size, base = table.shape[1], len(words) + 1
    count = max_size(length - distance * (size - 1), 0)
    numbers = np.array(list(grams.values()), np.int64)
    node, nodes = None, np.zeros(len(table), np.int64)
    for k, column in enumerate(table.T):
        start = min_size(length, k * distance)
        key = graph.slice_(rows, starts=[0, start], sizes=[batch, count], steps=[1, 1])
        if node is not None:
            key = graph.add(graph.mul(node, graph.size_scalar(base)), key)
        keys, first, nodes = np.unique(
            nodes * base + column, return_index=True, return_inverse=True
        )
        if k == size - 1:
            node = look_up(key, keys, numbers[first], none)
        else:
            node = look_up(key, keys, np.arange(len(keys)), len(keys))
    assert node is not None
    return node


def _counts(
    rows: ir.Value,
    found: Sequence[ir.Value],
    indexes: Sequence[int],
    weights: Sequence[float] | None,
) -> ir.Value:
    """For each of `rows`, how often n-grams are found that are counted at each of `indexes`.

    With `weights`, each time counts as much as the n-gram's weight.
    """
    batch, columns = graph.type_of(rows).shape[0], max(indexes, default=-1) + 1
    zero = graph.constant(value=np.zeros((), np.float32))
    if not found:
        return graph.expand(graph.reshape(zero, shape=[1, 1]), shape=[batch, columns])
    every = graph.concat(found, axis=1)
    column = graph.gather(graph.constant(value=np.array([*indexes, columns])), every, axis=0)
    if weights:
        share = graph.gather(
            graph.constant(value=np.array([*weights, 0], np.float32)), every, axis=0
        )
    else:
        share = graph.expand(graph.splat_like(1, zero), shape=graph.type_of(every).shape)
    none = graph.expand(zero, shape=[batch, columns + 1])  # the last for what is not in the pool
    y = graph.scatter_elements(none, column, share, axis=1, reduction="add")
    return graph.slice_(y, starts=[0, 0], sizes=[batch, columns], steps=[1, 1])
