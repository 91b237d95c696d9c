"""Channels-last layout through the whole graph.

Three steps, all of them rewrites: convolutions and pools take channels-last operands between a
pair of transposes; transposes sink through the ops that work on the untransposed operand as well;
transposes that meet their inverse cancel. Reshapes that split leading axes sink as well.
"""

from dataclasses import dataclass
from typing import Any, Literal

from ...infra.base import FUNCTION, Pass, PassState
from ...infra.greedy import apply_rewrites
from ...infra.registry import register
from .channels_last import CHANNELS_LAST
from .reshapes import SINK_RESHAPES
from .sink import SINK_TRANSPOSES


@register
@dataclass(frozen=True)
class GraphConvertLayout(Pass):
    """Give convolutions and pools channels-last operands, and cancel the transposes around them.

    Exact: only data moves.

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

    def run(self, op: Any, state: PassState) -> None:
        if self.conv == "nhwc":
            apply_rewrites(op, CHANNELS_LAST, state)
        apply_rewrites(op, (*SINK_TRANSPOSES, *SINK_RESHAPES), state)
