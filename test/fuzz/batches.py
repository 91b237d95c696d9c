"""Batches of graphs, whose programs are compiled together: half of the time of each by itself.

A graph with a finding in a batch is checked again alone, and so are all graphs of a batch that
crashes, hangs or has a module that does not compile. What a graph shows alone is its outcome.
A finding that none of them shows alone is reported as one that needs the others.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from .graph_outcome import GraphOutcome, GraphStatus

SIZE = 19
"""Maximum number of graphs in a batch."""
ALONE = 20
"""One of so many graphs is checked alone, as its user would compile it: programs of one module are
compiled with other flags, and have functions and constants in common."""

Batch = tuple[int, ...]
"""Indices of graphs. A batch of one is checked alone."""


def in_batches(indices: Iterable[int], jobs: int) -> Iterator[Batch]:
    """Batches of `indices` for so many processes, each next to the graphs that are checked
    alone."""
    chosen = list(indices)
    size = max(1, min(SIZE, -(-len(chosen) // jobs)))
    batch: list[int] = []
    for index in chosen:
        if index % ALONE == ALONE - 1:
            yield (index,)
            continue
        batch.append(index)
        if len(batch) == size:
            yield tuple(batch)
            batch = []
    if batch:
        yield tuple(batch)


@dataclass(frozen=True)
class BatchEnding:
    """How a batch ended."""

    batch: Batch
    outcomes: Sequence[GraphOutcome] = ()
    """Those of its graphs; none if its process was lost."""
    status: GraphStatus = GraphStatus.PASS
    """The status to be explained of the batch as a whole."""
    detail: str = ""

    @property
    def suspects(self) -> Batch:
        """The graphs to be checked alone."""
        if len(self.batch) == 1:
            return ()
        if self.status is not GraphStatus.PASS:
            return self.batch
        return tuple(each.index for each in self.outcomes if each.is_finding)

    def settled(self) -> list[GraphOutcome]:
        """The outcomes of the graphs that need not be checked alone."""
        suspects = set(self.suspects)
        if self.outcomes:
            return [each for each in self.outcomes if each.index not in suspects]
        return [GraphOutcome(i, self.status, self.detail) for i in self.batch if i not in suspects]

    def explained(self, alone: Mapping[int, GraphOutcome]) -> list[GraphOutcome]:
        """The outcomes of the suspects, given how they end alone."""
        ended = [alone[index] for index in self.suspects]
        own = {each.index: each for each in self.outcomes if each.is_finding}
        found = [
            self._with_others(own[each.index])
            if each.index in own and not each.is_finding
            else each
            for each in ended
        ]
        if self.status is GraphStatus.PASS or any(each.is_finding for each in found):
            return found
        first = replace(found[0], status=self.status, detail=self.detail)
        return [self._with_others(first), *found[1:]]

    def _with_others(self, outcome: GraphOutcome) -> GraphOutcome:
        """`outcome` as one that `outcome.index` has in this batch only."""
        together = " ".join(map(str, self.batch))
        return replace(outcome, detail=f"{outcome.detail} (only in the batch {together})")
