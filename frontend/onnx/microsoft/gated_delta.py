"""GatedDeltaNet: linear attention whose operands are packed token by token."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....dialects import graph
from ....dialects.symbolic import Dim, floordiv
from ....mlir import ir
from ..importing.registry import UnsupportedError
from .attention import columns
from .linear_attention import linear_attention
from .registry import microsoft_op

Size = int | Dim
Shape = Sequence[Size]


@microsoft_op("GatedDeltaNet")
def gated_delta_net(
    query,
    key=None,
    value=None,
    cu_seqlens=None,
    decay=None,
    beta=None,
    initial_state=None,
    a_log=None,
    dt_bias=None,
    capture_count=None,
    state_update_active=None,
    *,
    node,
    beta_activation="none",
    chunk_size=64,
    gate_activation="none",
    qk_l2_norm=0,
    scale=0.0,
    state_update_capacity=0,
    update_rule="gated_delta",
):
    """Tokens are ``[T, H, D]``, as many of each sequence, or ``[B, S, H, D]``.

    Several heads of values share one of queries and keys.
    """
    del chunk_size, state_update_active
    if cu_seqlens is not None:
        raise UnsupportedError("sequences of several lengths")
    if state_update_capacity or capture_count is not None or node.wants(2):
        raise UnsupportedError("compact updates of the state")
    q, k, v = _operands(query, key, value, initial_state)
    *lead, readers, head_size = graph.type_of(q).shape
    heads, width = graph.type_of(v).shape[-2:]
    if not isinstance(readers, int) or not isinstance(heads, int) or heads % readers:
        raise graph.TypeRuleError(f"{heads} heads of values share {readers} of keys")
    if qk_l2_norm:
        q, k = _unit(q), _unit(k)
    outer = _batch_and_length(lead, initial_state)
    state = _state(initial_state, [outer[0], heads, head_size, width])
    decay, beta = _decay(decay, gate_activation, a_log, dt_bias), _rate(beta, beta_activation)
    y, state = linear_attention(
        _joined(q, outer, readers * head_size),
        _joined(_shared(k, heads // readers), outer, heads * head_size),
        _joined(v, outer, heads * width),
        state,
        None if decay is None else _joined(decay, outer, _each(decay, len(lead))),
        None if beta is None else _joined(beta, outer, heads),
        node=node,
        kv_num_heads=heads,
        q_num_heads=readers,
        scale=scale,
        update_rule=update_rule,
    )
    return graph.reshape(y, shape=[*lead, heads, width]), _turned(state)


def _operands(query: Any, key: Any, value: Any, state: Any) -> tuple[ir.Value, ir.Value, ir.Value]:
    """Queries, keys and values with their heads, ``[..., H, D]``."""
    if key is not None and value is not None:
        if graph.type_of(key).shape[-2:] != graph.type_of(query).shape[-2:]:
            raise graph.TypeRuleError("queries and keys differ in heads")
        return query, key, value
    if key is not None or value is not None or state is None:
        raise graph.TypeRuleError("keys, values, or the state that tells them apart are left out")
    _, heads, width, head_size = graph.type_of(state).shape
    *lead, total = graph.type_of(query).shape
    readers = floordiv(total - heads * width, 2 * head_size)
    parts = columns(query, [readers * head_size, readers * head_size, heads * width])
    shapes = ([readers, head_size], [readers, head_size], [heads, width])
    q, k, v = (
        graph.reshape(part, shape=[*lead, *shape])
        for part, shape in zip(parts, shapes, strict=True)
    )
    return q, k, v


def _unit(x: ir.Value) -> ir.Value:
    """Each head's numbers divided by their length."""
    type_ = graph.type_of(x)
    wide = graph.cast(x, to=np.float32)
    square = graph.reduce_sum(graph.mul(wide, wide), axes=[type_.rank - 1], keepdims=True)
    length = graph.rsqrt(graph.add(square, graph.splat_like(1e-6, square)))
    return graph.cast(graph.mul(wide, length), to=type_.dtype)


def _batch_and_length(lead: Shape, state: ir.Value | None) -> tuple[Size, Size]:
    if len(lead) == 2:
        return lead[0], lead[1]
    if len(lead) != 1 or state is None:
        raise graph.TypeRuleError("how many sequences the tokens make is left out")
    batch = graph.type_of(state).shape[0]
    return batch, floordiv(lead[0], batch)


def _state(initial: ir.Value | None, shape: Shape) -> ir.Value:
    if initial is not None:
        return _turned(initial)
    return graph.expand(graph.constant(value=np.zeros((1, 1, 1, 1), np.float32)), shape=shape)


def _turned(state: ir.Value) -> ir.Value:
    """``[B, H, E, D]`` as ``[B, H, D, E]``, and back."""
    return graph.transpose(state, perm=[0, 1, 3, 2])


def _decay(decay: Any, activation: str, a_log: Any, dt_bias: Any) -> Any:
    """The decay as a logarithm; ``qwen`` computes it from a projection."""
    if activation == "none" or decay is None:
        return decay
    if activation != "qwen" or a_log is None or dt_bias is None:
        raise graph.TypeRuleError(f"gate_activation '{activation}' without its operands")
    rate, bias = a_log, dt_bias
    if graph.type_of(decay).shape[-1] != graph.type_of(a_log).shape[0]:
        rate, bias = (graph.reshape(x, shape=[*graph.type_of(x).shape, 1]) for x in (rate, bias))
    return graph.neg(graph.mul(graph.exp(rate), graph.softplus(graph.add(decay, bias))))


def _rate(beta: Any, activation: str) -> Any:
    if activation not in ("none", "sigmoid"):
        raise graph.TypeRuleError(f"beta_activation '{activation}'")
    return beta if beta is None or activation == "none" else graph.sigmoid(beta)


def _shared(x: ir.Value, count: int) -> ir.Value:
    """Each head `count` times."""
    *lead, heads, head_size = graph.type_of(x).shape
    wide = graph.reshape(x, shape=[*lead, heads, 1, head_size])
    wide = graph.expand(wide, shape=[*lead, heads, count, head_size])
    return graph.reshape(wide, shape=[*lead, heads * count, head_size])


def _joined(x: ir.Value, outer: tuple[Size, Size], width: Size) -> ir.Value:
    return graph.reshape(x, shape=[*outer, width])


def _each(x: ir.Value, lead: int) -> Size:
    """The number of elements of `x` per token."""
    return graph.element_count(graph.type_of(x).shape[lead:])
