"""Linear attention: a state per head that each token updates and each query reads."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ....dialects import graph
from ....dialects.symbolic import Dim
from ....mlir import ir
from ..importing.registry import UnsupportedError
from .registry import microsoft_op

Size = int | Dim
_RULES = ("linear", "gated", "delta", "gated_delta")


@dataclass(frozen=True)
class _Tokens:
    """Operands with an axis for each token in front, f32.

    Queries are ``[T, B, H, G, D]``, those that read one state together; keys ``[T, B, H, 1, D]``,
    values ``[T, B, H, 1, E]``, factors of decay ``[T, B, H, D or 1, 1]``, rates of update
    ``[T, B, H or 1, 1, 1]``.
    """

    query: ir.Value
    key: ir.Value
    value: ir.Value
    decay: ir.Value | None
    beta: ir.Value | None

    def step(self, state: ir.Value, at: Size) -> tuple[ir.Value, ir.Value]:
        """The state ``[B, H, D, E]`` behind token `at`, and what its queries read."""
        key, value = _token(self.key, at), _token(self.value, at)
        if self.decay is not None:
            state = graph.mul(state, _token(self.decay, at))
        if self.beta is not None:
            value = graph.sub(value, graph.matmul(key, state))
            value = graph.mul(value, _token(self.beta, at))
        column = graph.transpose(key, perm=[0, 1, 3, 2])
        state = graph.add(state, graph.mul(column, value))
        return state, graph.matmul(_token(self.query, at), state)


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
    tokens = _prepared(query, key, value, decay, beta, q_num_heads, kv_num_heads, scale)
    length, batch, heads, group, _ = graph.type_of(tokens.query).shape
    head_size, width = graph.type_of(tokens.key).shape[-1], graph.type_of(tokens.value).shape[-1]
    initial = _initial(past_state, [batch, heads, head_size, width], state_window)

    def iterate(index: Size, *carried: ir.Value) -> graph.Iteration:
        state, y = tokens.step(carried[0], index)
        windows = [_shifted(window, state) for window in carried[1:]]
        return graph.Iteration(None, [state, *windows], [y])

    if length == 1:
        last = iterate(0, *initial)
        states, y = last.carried, _with_axis(last.collected[0])
    else:
        *states, y = graph.loop(initial, iterate, node.fresh_name, length)
    y = graph.transpose(y, perm=[1, 0, 2, 3, 4])
    y = graph.reshape(y, shape=[batch, length, heads * group * width])
    return graph.cast(y, to=dtype), graph.cast(states[-1], to=state_dtype)


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
) -> _Tokens:
    head_size = graph.type_of(query).shape[-1] // readers
    if not scale:
        if not isinstance(head_size, int):
            raise UnsupportedError("a head size that is not known at compile time")
        scale = 1 / math.sqrt(head_size)
    queries = _by_heads(query, [readers, 1, head_size])
    queries = graph.mul(queries, graph.splat_like(scale, queries))
    if readers >= heads and readers % heads == 0:
        length, batch, *_ = graph.type_of(queries).shape
        queries = graph.reshape(queries, shape=[length, batch, heads, readers // heads, head_size])
    elif heads % readers == 0:
        queries = _repeated(queries, heads // readers)
    else:
        raise graph.TypeRuleError(f"{readers} heads of queries for {heads} of keys")
    if decay is not None:
        parts = graph.type_of(decay).shape[-1] // heads
        decay = graph.exp(_by_heads(decay, [heads, parts, 1]))
    if beta is not None:
        beta = _by_heads(beta, [graph.type_of(beta).shape[-1], 1, 1])
    key, value = (
        _by_heads(x, [heads, 1, graph.type_of(x).shape[-1] // heads]) for x in (key, value)
    )
    return _Tokens(queries, key, value, decay, beta)


def _by_heads(x: ir.Value, shape: Sequence[Size]) -> ir.Value:
    """``[B, T, ...] -> [T, B, *shape]`` in f32."""
    batch, length, _ = graph.type_of(x).shape
    x = graph.reshape(graph.cast(x, to=np.float32), shape=[batch, length, *shape])
    return graph.transpose(x, perm=[1, 0, 2, 3, 4])


def _repeated(x: ir.Value, count: int) -> ir.Value:
    """Each head `count` times."""
    length, batch, heads, _, head_size = graph.type_of(x).shape
    wide = graph.reshape(x, shape=[length, batch, heads, 1, head_size])
    wide = graph.expand(wide, shape=[length, batch, heads, count, head_size])
    return graph.reshape(wide, shape=[length, batch, heads * count, 1, head_size])


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
