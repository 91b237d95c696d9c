"""Counts of n-grams in rows of tokens."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .registry import HostError, host_op

Gram = tuple[Any, ...]


@host_op("TfIdfVectorizer", since=9)
def tf_idf_vectorizer(
    *,
    max_gram_length: int,
    max_skip_count: int,
    min_gram_length: int,
    mode: str,
    ngram_counts: Sequence[int],
    ngram_indexes: Sequence[int],
    pool_int64s: Sequence[int] = (),
    pool_strings: Sequence[str] = (),
    weights: Sequence[float] = (),
) -> Callable[[np.ndarray], np.ndarray]:
    """Count each n-gram of the pool in a row, or its presence (IDF), times its weight.

    The elements of an n-gram may be spaced apart, at equal distances. Weights are in the order of
    the pool, not of the columns.
    """
    if mode not in ("TF", "IDF", "TFIDF"):
        raise HostError(f"mode '{mode}' is unknown")
    pool = _read_pool(list(pool_strings or pool_int64s), ngram_counts)
    lengths = sorted({len(gram) for gram in pool} & {*range(min_gram_length, max_gram_length + 1)})
    columns = {gram: ngram_indexes[number] for gram, number in pool.items()}
    width = max(ngram_indexes, default=-1) + 1
    each = np.ones(width, np.float32)
    if mode != "TF" and weights:
        each[list(ngram_indexes)] = weights

    def count(x: np.ndarray) -> np.ndarray:
        if x.ndim not in (1, 2):
            raise HostError(f"takes a vector or rows, not shape {list(x.shape)}")
        rows = x.tolist() if x.ndim == 2 else [x.tolist()]
        counts = np.zeros((len(rows), width), np.float32)
        for count, row in zip(counts, rows, strict=True):
            found = [
                columns[gram]
                for length in lengths
                for gram in _grams(row, length, max_skip_count)
                if gram in columns
            ]
            count += np.bincount(found, minlength=width) if found else 0
        counts = (np.minimum(counts, 1) if mode == "IDF" else counts) * each
        return counts if x.ndim == 2 else counts[0]

    return count


def _read_pool(pool: Sequence[Any], starts: Sequence[int]) -> dict[Gram, int]:
    """The n-grams of `pool` with their numbers; `starts` holds the offset of each length."""
    found: dict[Gram, int] = {}
    for size, (start, end) in enumerate(zip(starts, [*starts[1:], len(pool)], strict=True), 1):
        for at in range(start, end - size + 1, size):
            found[tuple(pool[at : at + size])] = len(found)
    return found


def _grams(row: Sequence[Any], length: int, skipped: int) -> Iterator[Gram]:
    """The n-grams of `length` elements in `row`, with up to `skipped` elements between adjacent
    ones."""
    for apart in range(1, 2 if length == 1 else skipped + 2):
        yield from zip(*(row[k * apart :] for k in range(length)), strict=False)
