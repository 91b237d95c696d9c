"""Base classes of passes.

@register
@dataclass(frozen=True)
class FuseBias(Pass):
    \"""One line that says what it does.

    Before and after, as IR.
    \"""

    name = "graph-fuse-bias"
    anchor = FUNCTION
    max_users: int = 1           # the option: graph-fuse-bias{max-users=2}

    def run(self, op, state):
        apply_rewrites(op, [BiasIntoConv(self.max_users)], state)
"""

import inspect
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ...mlir import ir
from .report import Report, RewriteStatistics

MODULE = "builtin.module"
FUNCTION = "func.func"


@dataclass
class Fuel:
    """The number of rewrites that may still fire, and the last one that did: for bisection."""

    left: int
    spent: int = 0
    last: tuple[str, str] = ("", "")
    """The name of the rewrite, and the node."""

    def burn(self, rewrite: str, node: str) -> None:
        """Note that a rewrite fires."""
        self.left -= 1
        self.spent += 1
        self.last = rewrite, node


@dataclass
class PassState:
    """The state of a running pass: the report, which it writes under its own name."""

    report: Report = field(default_factory=Report)
    pass_name: str = ""
    check_rewrites: bool = False
    """True if each rewrite that fires is evaluated, before and after; see
    `passes.infra.checking`."""

    fuel: Fuel | None = None
    """The limit on rewrites of the greedy driver; once it is spent, none fires."""

    fired: int = 0
    """The number of rewrites that the greedy driver has made."""

    def statistics(self, rewrite: str) -> RewriteStatistics:
        """The statistics of the rewrite named `rewrite`; made on first use."""
        return self.report.statistics(rewrite)


@dataclass(frozen=True)
class Pass:
    """Base of passes: a frozen dataclass whose fields are the pass's options.

    Options are spelled in kebab-case (``max_users`` is ``max-users``), have defaults, and are
    ``int``, ``float``, ``bool``, ``str``, an ``Enum``, a ``Literal``, one of these ``| None``, or
    ``tuple[..., ...]`` of one of these. A field that is a dataclass adds its fields to the options.
    The IR verifies before and after a pass, not during it.
    """

    name: ClassVar[str] = ""
    anchor: ClassVar[str] = MODULE
    """The op that the pass runs on: the module, or each function."""
    optional: ClassVar[bool] = False
    """True if a pipeline without the pass computes the same, so that tuning may leave it out."""
    only_rewrites: ClassVar[bool] = False
    """True if the pass changes the program by `apply_rewrites` alone: if none fires, by nothing."""
    skippable: ClassVar[tuple[str, ...]] = ()
    """Names of the rewrites of which the option `skip` of the pass leaves ops alone, by shapes."""

    @property
    def bound(self) -> float | None:
        """The error bound, relative to the largest value, when the pass is checked as a whole; None
        allows for another order of sums."""
        return None

    def run(self, op: Any, state: PassState) -> None:
        """Transform `op` (a `ModuleOp` or `FuncOp`) in place."""
        raise NotImplementedError

    @classmethod
    def summary(cls) -> str:
        """The first paragraph of the docstring, on one line."""
        return " ".join((inspect.getdoc(cls) or "").split("\n\n")[0].split())


def functions(module: ir.Module | Any) -> list[Any]:
    """The function definitions at the top of `module`."""
    body = module.operation.regions[0].blocks[0]
    return [op for op in body.operations if op.operation.name == FUNCTION]
