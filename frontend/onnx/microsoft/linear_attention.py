"""Linear attention: a state per head that each token updates and each query reads."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ....dialects import graph
from ....dialects.symbolic import Dim, floordiv
from ....mlir import ir
from ..importing.registry import UnsupportedError
from .registry import microsoft_op

Size = int | Dim
_RULES = ("linear", "gated", "delta", "gated_delta")


@microsoft_op("LinearAttention")
def linear_attention(
    query,
    key,
    value,
    past_state=None,
    decay=None,
    beta=None,
    *,
    node,
    kv_num_heads,
    q_num_heads,
    chunk_size=64,
    scale=0.0,
    state_window=0,
    update_rule="gated_delta",
):
    """The recurrence token by token: ``S = decay S + beta k (v - decay S' k)'``, ``o = S' q``."""
    del chunk_size
    decay, beta = _by_rule(update_rule, decay, beta)
    dtype = graph.type_of(query).dtype
    state_dtype = dtype if past_state is None else graph.type_of(past_state).dtype
    operands, sizes = _prepared(query, key, value, decay, beta, q_num_heads, kv_num_heads, scale)
    batch = graph.type_of(query).shape[0]
    shape = [batch, sizes["heads"], *_sizes_of_a_head(operands, sizes["heads"])]
    state, *window = _initial(past_state, shape, state_window)
    if window:
        y, last = _with_window(operands, sizes, [state, *window], node.fresh_name)
    else:
        q, k, v, *gates = operands
        y, last = graph.linear_attention(q, k, v, state, *gates, **sizes)
    return graph.cast(y, to=dtype), graph.cast(last, to=state_dtype)


def _with_window(
    operands: Sequence[Any], sizes: Any, initial: Sequence[ir.Value], fresh: Any
) -> tuple[ir.Value, ir.Value]:
    """Token by token, with the last states in a window."""
    tokens = graph.AttendedTokens.of(*operands, **sizes)

    def iterate(index: Size, *carried: ir.Value) -> graph.Iteration:
        state, y = tokens.step(carried[0], index)
        return graph.Iteration(None, [state, _shifted(carried[1], state)], [y])

    *_, window, y = graph.loop(initial, iterate, fresh, graph.type_of(operands[0]).shape[1])
    return tokens.joined(y), window


def _by_rule(
    rule: str, decay: ir.Value | None, beta: ir.Value | None
) -> tuple[ir.Value | None, ir.Value | None]:
    """The operands that `rule` uses."""
    if rule not in _RULES:
        raise graph.TypeRuleError(f"update_rule '{rule}'")
    decay = decay if "gated" in rule else None
    beta = beta if "delta" in rule else None
    if ("gated" in rule and decay is None) or ("delta" in rule and beta is None):
        raise graph.TypeRuleError(f"update_rule '{rule}' without its operands")
    return decay, beta


def _prepared(
    query: ir.Value,
    key: ir.Value,
    value: ir.Value,
    decay: ir.Value | None,
    beta: ir.Value | None,
    readers: int,
    heads: int,
    scale: float,
) -> tuple[list[Any], dict[str, Any]]:
    """The operands of `graph.linear_attention` beside the state, and its attributes."""
    query, key, value = (graph.cast(x, to=np.float32) for x in (query, key, value))
    head_size = floordiv(graph.type_of(query).shape[2], readers)
    if not scale:
        if not isinstance(head_size, int):
            raise UnsupportedError("a head size that is not known at compile time")
        scale = 1 / math.sqrt(head_size)
    if readers % heads:
        if heads % readers:
            raise graph.TypeRuleError(f"{readers} heads of queries for {heads} of keys")
        query, readers = _repeated(query, readers, heads), heads
    decay = None if decay is None else graph.exp(graph.cast(decay, to=np.float32))
    beta = None if beta is None else graph.cast(beta, to=np.float32)
    attributes = {"readers": readers, "heads": heads, "scale": scale}
    return [query, key, value, decay, beta], attributes


def _sizes_of_a_head(operands: Sequence[Any], heads: int) -> list[Size]:
    """D and E: elements of a key and of a value."""
    return [floordiv(graph.type_of(x).shape[2], heads) for x in operands[1:3]]


def _repeated(x: ir.Value, readers: int, heads: int) -> ir.Value:
    """Each of the `readers` as often as makes `heads`."""
    batch, length, width = graph.type_of(x).shape
    size, count = floordiv(width, readers), heads // readers
    wide = graph.reshape(x, shape=[batch, length, readers, 1, size])
    wide = graph.expand(wide, shape=[batch, length, readers, count, size])
    return graph.reshape(wide, shape=[batch, length, heads * size])


def _initial(past: ir.Value | None, shape: Sequence[Size], window: int) -> list[ir.Value]:
    """The state before the first token; where so asked, also a window of states, empty as yet."""
    zero = graph.constant(value=np.zeros([1] * len(shape), np.float32))
    if past is None:
        state = graph.expand(zero, shape=shape)
    elif window:
        state = graph.cast(_token(past, window - 1), to=np.float32)
    else:
        state = graph.cast(past, to=np.float32)
    if not window:
        return [state]
    return [state, graph.expand(_with_axis(zero), shape=[window, *shape])]


def _shifted(window: ir.Value, state: ir.Value) -> ir.Value:
    """`window` without its first state, and `state` at its end."""
    count, *shape = graph.type_of(window).shape
    rest = graph.slice_(
        window, starts=[1, *[0] * len(shape)], sizes=[count - 1, *shape],
        steps=[1] * (len(shape) + 1),
    )  # fmt: skip
    return graph.concat([rest, _with_axis(state)], axis=0)


def _with_axis(x: ir.Value) -> ir.Value:
    return graph.reshape(x, shape=[1, *graph.type_of(x).shape])


def _token(x: ir.Value, at: Size) -> ir.Value:
    """``x[at]``."""
    _, *rest = graph.type_of(x).shape
    one = graph.slice_(
        x, starts=[at, *[0] * len(rest)], sizes=[1, *rest], steps=[1] * (len(rest) + 1)
    )
    return graph.reshape(one, shape=rest)
