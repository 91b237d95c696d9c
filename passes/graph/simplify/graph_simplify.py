"""The pass `graph-simplify`."""

from dataclasses import dataclass
from typing import Any

from ...infra.base import FUNCTION, Pass, PassState
from ...infra.greedy import apply_rewrites
from ...infra.registry import register
from . import REWRITES


@register
@dataclass(frozen=True)
class Simplify(Pass):
    """Apply algebraic identities until none fires.

        %0 = graph.transpose(%x) {perm = [1, 0]}
        %1 = graph.transpose(%0) {perm = [1, 0]}
        %2 = graph.mul(%1, %one)                      -->      %2 = graph.relu(%x)
        %3 = graph.relu(%2)

    `except` names simplifications to leave out. The rewrites, and when each is exact, are in
    `passes/graph/simplify/`.
    """

    name = "graph-simplify"
    anchor = FUNCTION
    only_rewrites = True
    except_: tuple[str, ...] = ()
    max_iterations: int = 32

    def run(self, op: Any, state: PassState) -> None:
        rewrites = [rewrite for rewrite in REWRITES if rewrite.name not in self.except_]
        apply_rewrites(op, rewrites, state, self.max_iterations)
