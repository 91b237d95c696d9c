"""The greedy driver: rewrites applied until none fires, on MLIR's own greedy driver.

What MLIR's binding leaves to the caller is done here: its inverted convention (a callback that
returns something false has *succeeded*), exceptions (they must not unwind through C++), locations,
and the prompt removal of producers that died, on which later one-use checks rely.
"""

import functools
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ...dialects.locations import fuse_locations, node_name
from ...errors import GraphcError, PassError
from ...mlir import ir
from ...mlir import rewrite as mlir_rewrite
from .base import PassState
from .checking import RewriteChecker
from .query import is_dead
from .rewrite import Decline, Rewrite
from .skipping import SKIPPED, op_shapes

MATCHED, NOT_MATCHED = False, True  # what MLIR's callback returns

MANY = 1000
FIRINGS_OF_AN_OP = 20
"""Rewrites that fire more often than this on each op, and `MANY` times, do not come to an end."""

REMEMBERED = 6
"""The number of last firings that a report of non-convergence names."""


def apply_rewrites(
    op: Any,
    rewrites: Iterable[Rewrite | type[Rewrite]],
    state: PassState,
    max_iterations: int = 32,
    *,
    bottom_up: bool = False,
    skip: Sequence[str] | None = None,
) -> int:
    """Apply `rewrites` within `op` until none fires; returns the number of firings.

    Ops of the shapes in `skip` are left alone; unless it is None, the report gets the shapes of ops
    that are rewritten.

    Ops are visited in their order, or `bottom_up`: users before operands. At one op the rewrites
    are tried in the given order. PassError names the rewrite and the node where one fails, and the
    rewrites that fired last when they do not come to an end.
    """
    operation = op.operation
    driver = _Driver(operation, [r() if isinstance(r, type) else r for r in rewrites], state, skip)
    with operation.context, ir.Location.unknown():
        driver.run(max_iterations, not bottom_up)
    state.fired += driver.fired
    return driver.fired


class _Driver:
    def __init__(
        self,
        operation: Any,
        rewrites: Sequence[Rewrite],
        state: PassState,
        skip: Sequence[str] | None,
    ):
        self.operation = operation
        self.skip = skip
        self.state = state
        self.fired = 0
        self.idle = 0
        """Ops that were visited since a rewrite has fired."""
        self.failure: BaseException | None = None
        self.last: deque[str] = deque(maxlen=REMEMBERED)
        self.mark = ir.StringAttr.get("rewrite", operation.context)
        self.checker = RewriteChecker(operation) if state.check_rewrites else None
        self.by_root: dict[str, list[Rewrite]] = {}
        for rewrite in rewrites:
            for name in rewrite.root_names():
                self.by_root.setdefault(name, []).append(rewrite)

    def run(self, max_iterations: int, top_down: bool) -> None:
        # One MLIR pattern per root op: crossing into Python is what costs time.
        patterns = mlir_rewrite.RewritePatternSet()
        for root, rewrites in self.by_root.items():
            patterns.add(root, self._callback(rewrites))
        config = mlir_rewrite.GreedyRewriteConfig()
        config.max_iterations = max_iterations
        config.use_top_down_traversal = top_down
        config.enable_folding = False
        config.region_simplification_level = mlir_rewrite.GreedySimplifyRegionLevel.DISABLED
        try:
            mlir_rewrite.apply_patterns_and_fold_greedily(self.operation, patterns.freeze(), config)
        except RuntimeError as error:
            if self.failure is None and not self._has_come_to_an_end():
                raise self._not_converging() from error
        if self.failure is not None:
            raise self.failure

    def _callback(self, rewrites: Sequence[Rewrite]) -> Callable[[Any, Any], bool]:
        def callback(op: Any, rewriter: Any) -> bool:
            if self.failure is not None:
                return NOT_MATCHED
            self.idle += 1
            # What rewrites build carries this location until it is known what it replaces.
            pending = ir.Location.fused([op.operation.location], metadata=self.mark)
            with ir.InsertionPoint(op), pending:
                for rewrite in rewrites:
                    try:
                        if self._try(rewrite, op, rewriter, pending):
                            return MATCHED
                    except GraphcError as error:
                        self.failure = error
                    except Exception as error:
                        self.failure = self._wrapped(rewrite, op, error)
                    except BaseException as error:  # Ctrl-C: raised again once MLIR has returned
                        self.failure = error
                    if self.failure is not None:
                        break
            return NOT_MATCHED

        return callback

    def _try(self, rewrite: Rewrite, op: Any, rewriter: Any, pending: ir.Location) -> bool:
        if self.state.fuel is not None and self.state.fuel.left <= 0:
            return False
        shapes = "" if self.skip is None else op_shapes(op)
        if self.skip and shapes in self.skip:
            self.state.statistics(rewrite.name).record_declined(node_name(op), SKIPPED)
            return False
        outcome = rewrite.apply(op)
        if outcome is None:
            return False
        if isinstance(outcome, Decline):
            self.state.statistics(rewrite.name).record_declined(node_name(op), outcome.reason)
            return False
        values = [outcome] if isinstance(outcome, ir.Value) else list(outcome)
        self._check_replacement(rewrite, op, values)
        if self.checker is not None:
            statistics = self.state.statistics(rewrite.name)
            self.checker.check(rewrite, op, values, pending, statistics)
        self._record(rewrite, node_name(op), shapes)
        location = op.operation.location
        died = [location, *_replace(op, values, rewriter)]
        _locate(values, pending, fuse_locations(reversed(died)))  # in the order of the graph
        return True

    def _record(self, rewrite: Rewrite, node: str, shapes: str) -> None:
        self.fired += 1
        self.idle = 0
        self.last.append(f"{rewrite.name} at '{node}'")
        self.state.statistics(rewrite.name).record_fired(node, shapes)
        if self.state.fuel is not None:
            self.state.fuel.burn(rewrite.name, node)
        if self.fired > MANY and self.fired > self.budget:
            raise self._not_converging()

    @functools.cached_property
    def budget(self) -> int:
        """The number of firings that a program of as many ops may need."""
        return MANY + FIRINGS_OF_AN_OP * op_count(self.operation)

    def _check_replacement(self, rewrite: Rewrite, op: Any, values: Sequence[ir.Value]) -> None:
        results = list(op.operation.results)
        where = f"rewrite '{rewrite.name}' at '{node_name(op)}'"
        if len(values) != len(results):
            raise PassError(
                f"{where}: {len(values)} values for {len(results)} results", self.state.pass_name
            )
        for value, result in zip(values, results, strict=True):
            if value.type != result.type:
                raise PassError(
                    f"{where}: a value of type {value.type} cannot replace one of {result.type}",
                    self.state.pass_name,
                )
            if value == result:
                raise PassError(f"{where}: replaces the op by itself", self.state.pass_name)

    def _has_come_to_an_end(self) -> bool:
        """Return whether all ops were visited and no rewrite has fired. MLIR does not see an end
        as long as a rewrite builds ops and then declines: it erases them, which is a change."""
        visited = 0

        def visit(op: ir.Operation) -> ir.WalkResult:
            nonlocal visited
            visited += op.name in self.by_root
            return ir.WalkResult.ADVANCE

        self.operation.walk(visit)
        return self.idle > visited

    def _wrapped(self, rewrite: Rewrite, op: Any, error: Exception) -> PassError:
        message = f"rewrite '{rewrite.name}' at '{node_name(op)}': {type(error).__name__}: {error}"
        wrapped = PassError(message, self.state.pass_name)
        wrapped.rewrite, wrapped.node = rewrite.name, node_name(op)
        wrapped.__cause__ = error
        return wrapped

    def _not_converging(self) -> PassError:
        return PassError(
            f"the rewrites do not come to an end; last fired: {', '.join(self.last)}",
            self.state.pass_name,
        )


def _replace(op: Any, values: Sequence[ir.Value], rewriter: Any) -> list[ir.Location]:
    """Replace `op` by `values`, erase producers that died; returns the locations of the dead."""
    candidates = _producers(op)
    rewriter.replace_op(op, values)
    locations: list[ir.Location] = []
    while candidates:
        candidate = next(iter(candidates))
        del candidates[candidate]
        if is_dead(candidate):
            candidates.update(_producers(candidate))
            locations.append(candidate.location)
            rewriter.erase_op(candidate)
    return locations


def _producers(op: Any) -> dict[Any, None]:
    """The pure ops whose results `op` uses, each once (an ordered set)."""
    owners = (value.owner for value in op.operation.operands)
    return {
        owner.operation: None
        for owner in owners
        if not isinstance(owner, ir.Block) and getattr(owner.opview, "pure", False)
    }


def _locate(values: Sequence[ir.Value], pending: ir.Location, location: ir.Location) -> None:
    """Give the ops that were built for `values`, located at `pending`, their final `location`."""
    stack = [value.owner for value in values]
    while stack:
        owner = stack.pop()
        if isinstance(owner, ir.Block) or owner.operation.location != pending:
            continue
        operation = owner.operation
        operation.location = location
        stack += [value.owner for value in operation.operands]
        stack += [
            inner for region in operation.regions for block in region for inner in block.operations
        ]


def op_count(operation: Any) -> int:
    """The number of ops within `operation`."""
    count = 0

    def visit(op: ir.Operation) -> ir.WalkResult:
        nonlocal count
        count += 1
        return ir.WalkResult.ADVANCE

    operation.walk(visit)
    return count
