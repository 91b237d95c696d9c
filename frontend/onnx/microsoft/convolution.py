"""Convolutions: with state, as state space models have them, fused, and channels last."""

import numpy as np

from ....dialects import graph
from ....dialects.symbolic import Dim
from ....mlir import ir
from ..importing.registry import UnsupportedError
from ..operators.convolution import conv, conv_transpose
from ..operators.shapes import require_constant
from .registry import activated, microsoft_op


@microsoft_op("CausalConvWithState")
def causal_conv_with_state(
    x,
    weight,
    bias=None,
    past_state=None,
    *,
    activation="none",
    channels_last=0,
    dilation=1,
    ndim=1,
    state_window=0,
):
    """A depthwise convolution of the present and the past, and the past of the next call.

    `x` is ``[B, C, L]``, the state ``[B, C, (K - 1) * dilation]``.
    """
    if ndim != 1 or state_window:
        raise UnsupportedError(f"ndim={ndim} with state_window={state_window}")
    if activation not in ("none", "silu", "swish"):
        raise graph.TypeRuleError(f"activation '{activation}'")
    given = graph.type_of(x).shape
    x, past_state = (_channels_first(v, channels_last) for v in (x, past_state))
    channels, _, taps = graph.type_of(weight).shape
    if x is None or not isinstance(taps, int) or not isinstance(channels, int):
        raise UnsupportedError("a kernel of unknown size")
    batch, _, length = graph.type_of(x).shape
    span = (taps - 1) * dilation
    if past_state is None:
        zero = graph.constant(value=np.zeros((1, 1, 1), graph.type_of(x).dtype))
        past_state = graph.expand(zero, shape=[batch, channels, span])
    every = graph.concat([past_state, x], axis=2)
    y = conv(every, weight, bias, dilations=[dilation], group=channels)
    y = y if activation == "none" else graph.swish(y, alpha=1.0)
    state = graph.slice_(
        every, starts=[0, 0, length], sizes=[batch, channels, span], steps=[1, 1, 1]
    )
    return _as_given(y, given, channels_last), _as_given(state, given, channels_last)


def _channels_first(x: ir.Value | None, channels_last: int) -> ir.Value | None:
    """``[B, L, channels...] -> [B, C, L]``, where channels are last."""
    if x is None or not channels_last:
        return x
    batch, length, *channels = graph.type_of(x).shape
    flat = graph.reshape(x, shape=[batch, length, graph.element_count(tuple(channels))])
    return graph.transpose(flat, perm=[0, 2, 1])


def _as_given(x: ir.Value, given: tuple[int | Dim, ...], channels_last: int) -> ir.Value:
    if not channels_last:
        return x
    batch, _, length = graph.type_of(x).shape
    return graph.reshape(graph.transpose(x, perm=[0, 2, 1]), shape=[batch, length, *given[2:]])


@microsoft_op("FusedConv")
def fused_conv(x, w, bias=None, z=None, *, activation="", activation_params=None, **attributes):
    """``activation(conv(x, w) + bias + z)``."""
    y = conv(x, w, bias, **attributes)
    y = y if z is None else graph.add(y, z)
    parameters = list(activation_params or [])
    if len(parameters) > 2:
        raise graph.TypeRuleError(f"activation_params {parameters} are more than two")
    alpha, beta = [*parameters, None, None][:2]
    return activated(y, activation, alpha, beta)


@microsoft_op("NhwcFusedConv")
def nhwc_fused_conv(x, w, bias=None, z=None, **attributes):
    """`FusedConv` of images whose channels come last; weights have theirs first."""
    z = None if z is None else _first(z)
    return _last(fused_conv(_first(x), w, bias, z, **attributes))


@microsoft_op("NhwcConv")
def nhwc_conv(x, w, bias=None, **attributes):
    return _last(conv(_first(x), w, bias, **attributes))


def _first(x: ir.Value) -> ir.Value:
    rank = graph.type_of(x).rank
    return graph.transpose(x, perm=[0, rank - 1, *range(1, rank - 1)])


def _last(x: ir.Value) -> ir.Value:
    return graph.transpose(x, perm=[0, *range(2, graph.type_of(x).rank), 1])


@microsoft_op("ConvTransposeWithDynamicPads")
def conv_transpose_with_dynamic_pads(x, w, pads=None, bias=None, **attributes):
    """`ConvTranspose` with an input for its padding, which must be known at compile time."""
    if pads is not None:
        attributes["pads"] = require_constant(pads, "padding").ravel().tolist()
    return conv_transpose(x, w, bias, **attributes)
