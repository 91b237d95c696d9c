"""The pass `graph-recognize`."""

from dataclasses import dataclass
from typing import Any

from ...infra.base import FUNCTION, Pass, PassState
from ...infra.greedy import apply_rewrites
from ...infra.registry import register
from . import REWRITES


@register
@dataclass(frozen=True)
class Recognize(Pass):
    """Build composite ops (activations, normalisations, attention) from what exporters write.

        %0 = graph.div(%x, %root_of_two)
        %1 = graph.erf(%0)
        %2 = graph.add(%1, %one)              -->      %4 = graph.gelu(%x) {approximate = "none"}
        %3 = graph.mul(%x, %2)
        %4 = graph.mul(%3, %half)

    Forms are matched after `graph-simplify`, but do not rely on it. `except` names rewrites to
    leave out. They are in `passes/graph/recognize/`, with how exact each is.
    """

    name = "graph-recognize"
    anchor = FUNCTION
    only_rewrites = True
    except_: tuple[str, ...] = ()

    def run(self, op: Any, state: PassState) -> None:
        rewrites = [rewrite for rewrite in REWRITES if rewrite.name not in self.except_]
        apply_rewrites(op, rewrites, state)
