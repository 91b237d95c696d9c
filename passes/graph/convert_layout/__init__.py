"""Channels-last layout through the whole graph.

Three steps, all of them rewrites: convolutions and pools take channels-last operands between a
pair of transposes; transposes sink through the ops that work on the untransposed operand as well;
transposes that meet their inverse cancel. Reshapes that split leading axes sink as well. Group
normalizations become elementwise ops, with moments that are computed of channels-last images.
"""

from dataclasses import dataclass
from typing import Any, Literal

from ...infra.base import FUNCTION, Pass, PassState
from ...infra.greedy import apply_rewrites
from ...infra.registry import register
from ..simplify.movement import identity_reshape, reshape_of_reshape
from .channels_last import CHANNELS_LAST
from .group_norms import group_norm_of_channels_last
from .reshapes import SINK_RESHAPES
from .sink import SINK_TRANSPOSES

_NORMS = (group_norm_of_channels_last, reshape_of_reshape, identity_reshape)


@register
@dataclass(frozen=True)
class GraphConvertLayout(Pass):
    """Give convolutions and pools channels-last operands, and cancel the transposes around them.

    Exact without `norms`: only data moves.

    %1 = "graph.conv"(%x, %w) {layout = "channels_first", ...} : 1x3x8x8, 4x3x3x3 -> 1x4x6x6
    %2 = "graph.relu"(%1)
    -->
    %0 = "graph.transpose"(%x) {perm = [0, 2, 3, 1]}
    %1 = "graph.conv"(%0, %w') {layout = "channels_last", ...} : 1x8x8x3, 3x3x3x4 -> 1x6x6x4
    %2 = "graph.relu"(%1)
    %3 = "graph.transpose"(%2) {perm = [0, 3, 1, 2]}
    """

    name = "graph-convert-layout"
    anchor = FUNCTION
    only_rewrites = True
    conv: Literal["nhwc", "nchw"] = "nhwc"
    """Layout of convolutions; ``nchw`` leaves them unchanged and only cancels transposes."""
    norms: bool = False
    """Normalize groups of channels of channels-last images (`group_moments`), for which CPUs have a
    kernel. Exact but for the order of sums."""

    def run(self, op: Any, state: PassState) -> None:
        if self.conv == "nhwc":
            apply_rewrites(op, CHANNELS_LAST, state)
        norms = _NORMS if self.norms else ()
        apply_rewrites(op, (*SINK_TRANSPOSES, *SINK_RESHAPES, *norms), state)
