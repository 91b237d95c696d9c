"""Rotary embeddings whose angles stand in a cache, by position."""

from ....dialects import graph
from ....dialects.symbolic import Dim
from ....mlir import ir
from ..importing.registry import UnsupportedError
from ..operators.attention import merge_heads, positions_in, split_heads
from .registry import microsoft_op


def turned(
    x: ir.Value, row_ids: ir.Value, cos: ir.Value, sin: ir.Value, interleaved: bool
) -> ir.Value:
    """``[B, H, S, D]`` turned by the angles at `row_ids`, ``[B or 1, S]``."""
    cos, sin = (_with_heads(graph.gather(cache, row_ids, axis=0)) for cache in (cos, sin))
    return graph.rotary_embedding(x, cos, sin, interleaved=interleaved)


def _with_heads(angles: ir.Value) -> ir.Value:
    batch, length, half = graph.type_of(angles).shape
    return graph.reshape(angles, shape=[batch, 1, length, half])


def _as_heads(
    x: ir.Value, cos: ir.Value, num_heads: int, rotary_embedding_dim: int
) -> tuple[ir.Value, bool]:
    """`x` as ``[B, H, S, D]``, and whether its heads were in the last axis."""
    shape = graph.type_of(x).shape
    if len(shape) == 4:
        return x, False
    if rotary_embedding_dim:
        if not num_heads:
            raise graph.TypeRuleError("rotary_embedding_dim needs num_heads")
        return split_heads(x, num_heads), True
    width, half = shape[2], graph.type_of(cos).shape[1]
    if not isinstance(width, int) or not isinstance(half, int) or half < 1 or width % (2 * half):
        raise graph.TypeRuleError(f"a last axis of {width} in heads of twice {half}")
    return split_heads(x, width // (2 * half)), True


def _require_plain(is_packed_batching: int, scale: float) -> None:
    if is_packed_batching:
        raise UnsupportedError("packed batches")
    if scale != 1:
        raise UnsupportedError(f"scale={scale}")


@microsoft_op("RotaryEmbedding")
def rotary_embedding(
    x,
    position_ids,
    cos,
    sin,
    *,
    interleaved=0,
    is_packed_batching=0,
    num_heads=0,
    rotary_embedding_dim=0,
    scale=1.0,
):
    """One position is that of the first token, and the others follow it."""
    _require_plain(is_packed_batching, scale)
    x, merged = _as_heads(x, cos, num_heads, rotary_embedding_dim)
    length = graph.type_of(x).shape[2]
    row_ids = position_ids
    if graph.type_of(row_ids).rank == 1:
        first = graph.reshape(row_ids, shape=[1, 1])
        row_ids = graph.add(first, positions_in(length, [1, length]))
    y = turned(x, row_ids, cos, sin, bool(interleaved))
    return merge_heads(y) if merged else y


@microsoft_op("MRotaryEmbedding")
def multimodal_rotary_embedding(
    x,
    position_ids,
    cos,
    sin,
    *,
    mrope_section,
    interleaved=0,
    is_packed_batching=0,
    mrope_layout=0,
    num_heads=0,
    rotary_embedding_dim=0,
    scale=1.0,
):
    """Three positions per token: each column of the cache is read at one of them."""
    _require_plain(is_packed_batching, scale)
    half = graph.type_of(cos).shape[1]
    if len(mrope_section) != 3 or sum(mrope_section) != half:
        raise graph.TypeRuleError(f"sections {mrope_section} of {half} columns")
    x, merged = _as_heads(x, cos, num_heads, rotary_embedding_dim)
    owners = _interleaved(mrope_section) if mrope_layout else _in_order(mrope_section)
    cos, sin = (_with_heads(_by_owner(cache, position_ids, owners)) for cache in (cos, sin))
    y = graph.rotary_embedding(x, cos, sin, interleaved=bool(interleaved))
    return merge_heads(y) if merged else y


def _in_order(sections: list[int]) -> list[int]:
    """The index of the position for each column, when the three sections are concatenated."""
    return [which for which, count in enumerate(sections) for _ in range(count)]


def _interleaved(sections: list[int]) -> list[int]:
    """The second and third position have every third column, as far as their sections last."""
    owners = [0] * sum(sections)
    for which in (1, 2):
        for column in range(which, min(3 * sections[which], len(owners)), 3):
            owners[column] = which
    return owners


def _by_owner(cache: ir.Value, row_ids: ir.Value, owners: list[int]) -> ir.Value:
    """``[B, S, columns]``: column ``c`` of `cache` at the positions ``owners[c]``."""
    rows = graph.gather(cache, row_ids, axis=0)
    _, batch, length, _ = graph.type_of(rows).shape
    runs = _runs(owners)
    parts = []
    for which, start, stop in runs:
        begin: list[int | Dim] = [which, 0, 0, start]
        part = graph.slice_(
            rows, starts=begin, sizes=[1, batch, length, stop - start], steps=[1] * 4
        )
        parts.append(graph.reshape(part, shape=[batch, length, stop - start]))
    return graph.concat(parts, axis=2)


def _runs(owners: list[int]) -> list[tuple[int, int, int]]:
    """Owner, start and end of each run of equal owners."""
    runs: list[tuple[int, int, int]] = []
    for column, owner in enumerate(owners):
        if runs and runs[-1][0] == owner:
            runs[-1] = (owner, runs[-1][1], column + 1)
        else:
            runs.append((owner, column, column + 1))
    return runs
