"""The pass `graph-fold-batch-norm`."""

from dataclasses import dataclass
from typing import Any

from ...infra.base import FUNCTION, Pass, PassState
from ...infra.greedy import apply_rewrites
from ...infra.registry import register
from . import REWRITES


@register
@dataclass(frozen=True)
class FoldBatchNorm(Pass):
    """Fold batch normalisation and other constants for each channel into weights and biases.

        %0 = graph.conv(%x, %w)
        %1 = graph.batch_norm(%0, %scale, %bias, ...)  -->  %0 = graph.conv(%x, %w_scaled)
        %2 = graph.mul(%1, %c)                              %2 = graph.add(%0, %shift)

    A batch normalisation with no weights to go to becomes ``x * factor + shift``. `except` names
    rewrites to leave out. They are in `passes/graph/fold_batch_norm/`, with how exact each is.
    """

    name = "graph-fold-batch-norm"
    anchor = FUNCTION
    only_rewrites = True
    except_: tuple[str, ...] = ()

    def run(self, op: Any, state: PassState) -> None:
        rewrites = [rewrite for rewrite in REWRITES if rewrite.name not in self.except_]
        apply_rewrites(op, rewrites, state)
