"""Linear attention: a state for each head, which every token updates and every query reads.

With keys ``k``, values ``v``, factors of decay ``g`` and rates of update ``b``, the state ``S``
[D, E] of a head becomes ``g S + k v'`` at each token, or, if there are rates, by the delta rule
(Yang et al., 2024), ``g S + k (b (v - (g S)' k))'``. A query ``q`` then reads ``scale S' q``.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...mlir import ir
from ..symbolic import Dim, floordiv
from .attributes import Float, Int
from .base import GraphOp, OptionalTensor, Result, Tensor, TypeRuleError, tuple_builder
from .contraction import matmul
from .elementwise import add, mul, sub
from .movement import element_count, reshape, slice_, transpose
from .region_draft import FreshName
from .regions import Iteration, loop
from .shapes import splat_like
from .traits import MixedPrecision
from .types import TensorType, type_of

Size = int | Dim


class LinearAttentionOp(GraphOp, name="linear_attention"):
    """The reads of queries from the states of heads, [B, T, readers * E], and the last states.

    `query` is [B, T, readers * D], `key` [B, T, heads * D], `value` [B, T, heads * E], `state`
    [B, heads, D, E], `decay` [B, T, heads] or [B, T, heads * D], `beta` [B, T, heads] or [B, T, 1],
    all f32. As many `readers`, a multiple of `heads`, read each state.
    """

    amp = MixedPrecision.KEEP

    query: Tensor
    key: Tensor
    value: Tensor
    state: Tensor
    decay: OptionalTensor
    beta: OptionalTensor
    readers: Int
    heads: Int
    scale: Float
    outputs: Result
    last: Result

    @staticmethod
    def infer(
        query: TensorType,
        key: TensorType,
        value: TensorType,
        state: TensorType,
        decay: TensorType | None,
        beta: TensorType | None,
        *,
        readers: int,
        heads: int,
        scale: float,
    ) -> tuple[TensorType, TensorType]:
        del scale
        if state.rank != 4 or any(each.rank != 3 for each in (query, key, value)):
            raise TypeRuleError("queries, keys and values of rank 3, and a state of rank 4")
        if any(each.dtype != np.float32 for each in (query, key, value, state)):
            raise TypeRuleError("it is computed in f32")
        batch, length, _ = query.shape
        *_, depth, width = state.shape
        if readers % heads:
            raise TypeRuleError(f"{readers} heads of queries read {heads} states")
        wanted = {
            "queries": (query, [readers * depth]),
            "keys": (key, [heads * depth]),
            "values": (value, [heads * width]),
            "factors of decay": (decay, [heads, heads * depth]),
            "rates": (beta, [heads, 1]),
        }
        for name, (type_, columns) in wanted.items():
            if type_ is None:
                continue
            if type_.shape[:2] != (batch, length) or type_.shape[2] not in columns:
                raise TypeRuleError(f"{name} of {type_} for states of {state}")
        return value.with_shape((batch, length, readers * width)), state

    @staticmethod
    def evaluate(
        query: np.ndarray,
        key: np.ndarray,
        value: np.ndarray,
        state: np.ndarray,
        decay: np.ndarray | None,
        beta: np.ndarray | None,
        *,
        readers: int,
        heads: int,
        scale: float,
    ) -> tuple[np.ndarray, np.ndarray]:
        batch, length, _ = query.shape
        depth, width = state.shape[2:]
        q = query.reshape(batch, length, heads, readers // heads, depth) * np.float32(scale)
        k = key.reshape(batch, length, heads, depth)
        v = value.reshape(batch, length, heads, width)
        y = np.empty((batch, length, heads, readers // heads, width), np.float32)
        for t in range(length):
            if decay is not None:
                state = state * decay[:, t].reshape(batch, heads, -1, 1)
            new = v[:, t]
            if beta is not None:
                new = beta[:, t, :, None] * (new - np.einsum("bhde,bhd->bhe", state, k[:, t]))
            state = state + k[:, t, :, :, None] * new[:, :, None]
            y[:, t] = q[:, t] @ state
        return y.reshape(batch, length, readers * width), state


linear_attention = tuple_builder(LinearAttentionOp)


@dataclass(frozen=True)
class AttendedTokens:
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

    @classmethod
    def of(
        cls,
        query: ir.Value,
        key: ir.Value,
        value: ir.Value,
        decay: ir.Value | None,
        beta: ir.Value | None,
        *,
        readers: int,
        heads: int,
        scale: float,
    ) -> "AttendedTokens":
        """The operands of `LinearAttentionOp`."""
        depth = floordiv(type_of(key).shape[2], heads)
        query = _by_heads(mul(query, splat_like(scale, query)), [heads, readers // heads, depth])
        keys, values = (
            _by_heads(x, [heads, 1, floordiv(type_of(x).shape[2], heads)]) for x in (key, value)
        )
        if decay is not None:
            decay = _by_heads(decay, [heads, floordiv(type_of(decay).shape[2], heads), 1])
        if beta is not None:
            beta = _by_heads(beta, [type_of(beta).shape[2], 1, 1])
        return cls(query, keys, values, decay, beta)

    def step(self, state: ir.Value, at: Size) -> tuple[ir.Value, ir.Value]:
        """The state ``[B, H, D, E]`` behind token `at`, and what its queries read."""
        key, value = _token(self.key, at), _token(self.value, at)
        if self.decay is not None:
            state = mul(state, _token(self.decay, at))
        if self.beta is not None:
            value = mul(sub(value, matmul(key, state)), _token(self.beta, at))
        state = add(state, mul(transpose(key, perm=[0, 1, 3, 2]), value))
        return state, matmul(_token(self.query, at), state)

    def joined(self, y: ir.Value) -> ir.Value:
        """The reads of all queries, ``[T, B, H, G, E]``, as ``[B, T, H * G * E]``."""
        length, batch, *rest = type_of(y).shape
        y = transpose(y, perm=[1, 0, 2, 3, 4])
        return reshape(y, shape=[batch, length, element_count(rest)])


def decomposed_linear_attention(
    op: LinearAttentionOp, fresh: FreshName
) -> tuple[ir.Value, ir.Value]:
    """`op` as a loop over tokens, of matmuls and elementwise ops; `fresh` names its sizes."""
    operands = (op.query, op.key, op.value, op.decay, op.beta)
    tokens = AttendedTokens.of(*operands, readers=op.readers, heads=op.heads, scale=op.scale)

    def iterate(index: Size, state: ir.Value) -> Iteration:
        state, y = tokens.step(state, index)
        return Iteration(None, [state], [y])

    last, y = loop([op.state], iterate, fresh, type_of(op.query).shape[1])
    return tokens.joined(y), last


def _by_heads(x: ir.Value, shape: Sequence[Size]) -> ir.Value:
    """``[B, T, ...] -> [T, B, *shape]``."""
    batch, length, _ = type_of(x).shape
    return transpose(reshape(x, shape=[batch, length, *shape]), perm=[1, 0, 2, 3, 4])


def _token(x: ir.Value, at: Size) -> ir.Value:
    """``x[at]``."""
    _, *rest = type_of(x).shape
    starts, steps = [at, *[0] * len(rest)], [1] * (len(rest) + 1)
    return reshape(slice_(x, starts=starts, sizes=[1, *rest], steps=steps), shape=rest)
