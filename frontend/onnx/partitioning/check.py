"""Check a model without compiling it: the place at which each node would run."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from ..importing.loading import Source
from .placement import NodePlacement, Where, WhyNot
from .plan import place_nodes

_HEADINGS = ("where", "node", "operator", "reason")


@dataclass(frozen=True)
class Preflight:
    """The placement of each node of a model, in the model's order."""

    nodes: tuple[NodePlacement, ...]

    @property
    def compiles(self) -> bool:
        """True if the model can be compiled, possibly with parts on the host."""
        return not self.at(Where.IMPOSSIBLE)

    @property
    def native(self) -> bool:
        """True if all nodes are compiled and none run on the host."""
        return len(self.at(Where.NATIVE)) == len(self.nodes)

    def at(self, where: Where) -> list[NodePlacement]:
        """The nodes of one place."""
        return [node for node in self.nodes if node.where is where]

    def __str__(self) -> str:
        """A summary, and a table of the nodes that are not compiled."""
        counts = Counter(node.where for node in self.nodes)
        summary = ", ".join(f"{counts[where]} {where}" for where in Where if counts[where])
        rows = [
            (str(n.where), n.name, f"{n.domain or 'ai.onnx'}.{n.op_type} ({n.opset})", n.reason)
            for n in self.nodes
            if n.where is not Where.NATIVE
        ]
        return "\n".join([f"{len(self.nodes)} nodes: {summary or 'none'}", *_table(rows)])


def check_nodes(
    source: Source, *, dims: Mapping[str, int] | None, why_not: WhyNot, one_program: bool
) -> Preflight:
    """Find out where the nodes of a model would run. Raises InvalidModelError, InvalidDimError."""
    nodes = place_nodes(source, dims=dims, why_not=why_not, one_program=one_program)
    return Preflight(tuple(nodes))


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    if not rows:
        return []
    widths = [max(map(len, column)) for column in zip(_HEADINGS, *rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (_HEADINGS, *rows)
    ]
