"""The result of a bisection, and the bisection algorithm."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ..errors import ReductionError
from ..passes.infra.pipeline import PipelineStep

T = TypeVar("T")
Log = Callable[[str], None]


@dataclass(frozen=True)
class BisectionResult:
    """The cause of a problem. Fields that are unknown, or do not apply, are empty."""

    stage: str
    """``import``, ``graph passes``, or ``lowering`` (backend included)."""
    problem: str
    """Description of the problem."""
    pass_name: str = ""
    position: int = 0
    """Number of the pass in the pipeline, counted from 1; 0 for the program as imported."""
    pipeline: str = ""
    """The passes up to and including that one."""
    rewrite: str = ""
    firing: int = 0
    """Number of the firing among those of all rewrites in that pass, counted from 1."""
    op: str = ""
    """The op whose code is wrong."""
    nodes: str = ""
    """The nodes of the model, joined by ``+``."""
    alone: bool = False
    """True if the problem occurs with that op alone."""

    def __str__(self) -> str:
        lines = [f"stage:    {self.stage}"]
        if self.pass_name:
            lines.append(f"pass:     {self.pass_name} (number {self.position} of the pipeline)")
        if self.rewrite:
            which = f" (number {self.firing} to fire in its pass)" if self.firing else ""
            lines.append(f"rewrite:  {self.rewrite}{which}")
        if self.op:
            by = "by itself" if self.alone else "with the ops before it"
            lines.append(f"op:       {self.op}, {by}")
        lines += [f"nodes:    {self.nodes}", f"problem:  {self.problem}"]
        return "\n".join(lines)


@dataclass(frozen=True)
class PassSnapshot:
    """The program after a pass that changed it."""

    module: Any
    step: PipelineStep | None
    """The pass; None for the program as imported."""
    position: int
    """Number of the pass in the pipeline, counted from 1."""


def first_wrong(
    items: Sequence[T], problem_of: Callable[[T], str | None], log: Callable[[T, str | None], None]
) -> tuple[int, str]:
    """The index of the first of `items` with a problem, and the problem; the last item has one.

    Found by bisection: between a right and a wrong item there is a first wrong one.
    """
    low, high = -1, len(items) - 1
    worst = problem_of(items[high])
    while high - low > 1:
        middle = (low + high) // 2
        problem = problem_of(items[middle])
        log(items[middle], problem)
        if problem is None:
            low = middle
        else:
            high, worst = middle, problem
    if worst is None:
        raise ReductionError("what is wrong does not show each time")
    return high, worst
