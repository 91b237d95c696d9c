"""Building ops with regions: the types of their results follow from what the regions yield.

ys = if_(condition, then_body, else_body, fresh)
ys = loop(initial, body, fresh, count=n)
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np

from ...mlir import ir
from ..assumptions import assuming
from ..symbolic import Dim
from .base import TypeRuleError, create
from .control_flow import (
    ForOp,
    IfOp,
    WhileOp,
    YieldAllOp,
    terminator,
    yielded_types,
)
from .loop_history import (
    IterationFacts,
    LoopHistory,
    binds_sizes,
    dtype_of_positions,
    guessed_facts,
)
from .loop_state import Appended, State, Unchanged, reduce_state, use_unchanged
from .movement import expand, reshape
from .region_draft import FreshName, RegionDraft, ResultNaming
from .shapes import constant
from .symbolic_values import known_sizes
from .trip_count import (
    InductionVariable,
    TripCount,
    as_value,
    facts_of_conditions,
    trip_count,
    use_iteration,
)
from .types import TensorType, type_of

AnyRank = Callable[[int, int], bool]
"""``any_rank(i, rank)``: whether nothing sees how many leading axes of size 1 result `i` has, up to
`rank` axes. Then values that differ in these alone are taken for values of the least rank."""

UNLIMITED = np.iinfo(np.int64).max
"""The limit of a loop that its condition alone ends."""


def if_(
    condition: ir.Value,
    then_body: Callable[[], Sequence[ir.Value]],
    else_body: Callable[[], Sequence[ir.Value]],
    fresh: FreshName,
    any_rank: AnyRank | None = None,
) -> list[ir.Value]:
    """Build a `graph.if`; the bodies build the ops of the branches and return their results.

    Sizes in which the branches differ get names by `fresh`. TypeRuleError when the results differ
    in number, element type or, if `any_rank` does not permit it, rank.
    """
    with RegionDraft() as draft:
        blocks = [draft.add_block(body) for body in (then_body, else_body)]
        if len({len(yielded_types(block)) for block in blocks}) > 1:
            counts = " and ".join(str(len(yielded_types(block))) for block in blocks)
            raise TypeRuleError(f"the branches yield {counts} values")
        ranks = _common_ranks(yielded_types(blocks[0]), yielded_types(blocks[1]), any_rank)
        for block in blocks:
            _lower_yielded(block, ranks)
        branches = list(map(yielded_types, blocks))
        naming = ResultNaming(fresh, draft.inner_names())
        results = [
            naming.join(a, b, f"branch_{i}") for i, (a, b) in enumerate(zip(*branches, strict=True))
        ]
        return draft.finish(IfOp, [condition], {"names": naming.names}, results)


def _common_ranks(
    some: Sequence[TensorType], others: Sequence[TensorType], any_rank: AnyRank | None
) -> list[int | None]:
    """The lesser rank of each pair of types of which `any_rank` permits that ranks differ; None for
    the other pairs."""

    def common(index: int, a: TensorType, b: TensorType) -> int | None:
        few, many = sorted((a, b), key=lambda type_: type_.rank)
        extra = many.shape[: many.rank - few.rank]
        if any_rank is None or set(extra) != {1} or not any_rank(index, many.rank):
            return None
        return few.rank

    pairs = zip(some, others, strict=False)
    return [common(index, a, b) for index, (a, b) in enumerate(pairs)]


def _without_leading(type_: TensorType, rank: int | None) -> TensorType:
    """`type_` without the leading axes beyond a rank of `rank`; None leaves it as it is."""
    return type_ if rank is None else type_.with_shape(type_.shape[type_.rank - rank :])


def _lower(value: ir.Value, rank: int | None) -> ir.Value:
    """`value` without the leading axes beyond a rank of `rank`, which are of size 1."""
    type_ = type_of(value)
    lower = _without_leading(type_, rank)
    return value if lower == type_ else reshape(value, shape=lower.shape)


def _lower_yielded(block: ir.Block, ranks: Sequence[int | None], leading: int = 0) -> None:
    """Lower the ranks of what `block` yields, after `leading` values, to `ranks`."""
    end = terminator(block)
    with ir.InsertionPoint(end), end.location:
        for index, rank in enumerate(ranks, leading):
            end.operands[index] = _lower(end.operands[index], rank)


@dataclass(frozen=True)
class Iteration:
    """The results of one iteration: a condition for the next one (None: always), and values."""

    condition: ir.Value | None
    carried: Sequence[ir.Value]
    collected: Sequence[ir.Value]


def loop(
    initial: Sequence[ir.Value],
    body: Callable[..., Iteration],
    fresh: FreshName,
    count: int | Dim = UNLIMITED,
    condition: ir.Value | None = None,
    history: LoopHistory | None = None,
    any_rank: AnyRank | None = None,
) -> list[ir.Value]:
    """Build a loop; ``body(index, *carried)`` builds an iteration, `index` being a size.

    A `graph.for` where no condition ends the loop early, else a `graph.while`. `body` is called
    again for as long as it changes sizes of carried values, with values of more general types.
    TypeRuleError when it changes their element type or, if `any_rank` does not permit it, rank.

    It is also called again once if it names sizes that are computed from data, which may follow
    from induction variables: these are sizes then, whose bounds are assumed.

    `history` is what other builds of the loop found, and `loop` adds to it. Nested loops are built
    several times and should share it: otherwise each level of nesting doubles the calls of `body`.
    """
    history = LoopHistory() if history is None else history
    types = list(map(type_of, initial))
    arguments = [_without_sizes(t, i, history.varying, fresh) for i, t in enumerate(types)]
    assumed, again = guessed_facts(history, initial, condition), True
    while True:
        attempt = _LoopDraft(initial, arguments, fresh, count, condition, any_rank)
        attempt.expect(history, assumed, again)
        arguments, results = attempt.build(body)
        if results is not None:
            return results
        if attempt.is_ignorant:
            assumed, again = attempt.learned if again else None, False
            continue
        initial = attempt.initial
        history.varying |= _changed_sizes(list(map(type_of, initial)), arguments)


def _without_sizes(
    type_: TensorType, index: int, varying: Collection[tuple[int, int]], fresh: FreshName
) -> TensorType:
    """The type of carried value `index`, at first of `type_`, with names for `varying` sizes."""
    return type_.with_shape(
        Dim.symbol(fresh(f"carried_{index}_{axis}"))
        if (index, axis - type_.rank) in varying
        else size
        for axis, size in enumerate(type_.shape)
    )


def _changed_sizes(
    before: Sequence[TensorType], after: Sequence[TensorType]
) -> set[tuple[int, int]]:
    return {
        (index, axis - old.rank)
        for index, (old, new) in enumerate(zip(before, after, strict=True))
        for axis, (size, other) in enumerate(zip(old.shape, new.shape, strict=True))
        if size != other
    }


class _LoopDraft:
    """A loop whose carried values are taken to have the types `arguments`."""

    def __init__(
        self,
        initial: Sequence[ir.Value],
        arguments: list[TensorType],
        fresh: FreshName,
        count: int | Dim,
        condition: ir.Value | None,
        any_rank: AnyRank | None,
    ):
        self.initial, self.arguments, self.fresh = list(initial), arguments, fresh
        self.count, self.condition, self.any_rank = count, condition, any_rank
        self.index = fresh("iteration")
        self.trips: TripCount | None = None
        self.is_ignorant = False
        """True if `build` asks for another attempt, in which `learned` is assumed."""
        self.learned: IterationFacts | None = None

    def expect(self, history: LoopHistory, assumed: IterationFacts | None, again: bool) -> None:
        """Set what `build` expects: induction variables of `history`, and facts that are `assumed`
        of an iteration. It asks for another attempt where these are wrong and, if `again` allows,
        where it found more."""
        self.history, self.assumed, self.again = history, assumed, again
        self.variables = history.variables(self.initial)

    def build(
        self, body: Callable[..., Iteration]
    ) -> tuple[list[TensorType], list[ir.Value] | None]:
        """The types that carried values have after an iteration too, and the results of the loop
        if these are the types that were assumed."""
        with RegionDraft() as draft:
            conditions: list[ir.Value] = []

            def iterate(*carried: ir.Value) -> list[ir.Value]:
                index = Dim.symbol(self.index)
                given = [
                    as_value(self.variables[i].at(index), value) if i in self.variables else value
                    for i, value in enumerate(carried)
                ]
                with assuming(self._facts()):
                    last = body(index, *given)
                if len(last.carried) != len(carried):
                    raise TypeRuleError(f"{len(last.carried)} values follow {len(carried)}")
                conditions.extend(self._next_condition(last.condition))
                return [*conditions, *last.carried, *last.collected]

            block = draft.add_block(iterate, self.arguments)
            leading = len(conditions)
            if self._learns(draft, block, leading):
                return self.arguments, None
            ranks = _common_ranks(self.arguments, yielded_types(block)[leading:], self.any_rank)
            _lower_yielded(block, ranks, leading)
            own = self._own_names()
            self.initial = list(map(_lower, self.initial, ranks))
            before = list(map(_without_leading, self.arguments, ranks))
            yielded = yielded_types(block)[leading:]
            for i in self._placeholders(block, before, yielded):
                self.initial[i] = self._zeros(yielded[i], own | draft.inner_names())
                before[i] = type_of(self.initial[i])
            pairs = zip(before, yielded, strict=False)
            general = [self._general(i, *types, own) for i, types in enumerate(pairs)]
            if general != self.arguments:
                return general, None
            return general, self._finish(draft, block, leading)

    def _within(self) -> list[int | Dim]:
        """Sizes that are 0 at least in an iteration, as the loop is limited."""
        return [] if self.count == UNLIMITED else [self.count - 1 - Dim.symbol(self.index)]

    def _facts(self) -> list[int | Dim]:
        """Sizes that are taken to be 0 at least in an iteration."""
        assumed = [] if self.assumed is None else self.assumed(Dim.symbol(self.index))
        return [*self._within(), *assumed]

    def _learns(self, draft: "RegionDraft", block: ir.Block, leading: int) -> bool:
        """Find the induction variables of `block`, and the trip count; return whether another
        attempt is due that knows them."""
        index = Dim.symbol(self.index)
        use_unchanged(block, self.initial, leading)
        yielded = list(terminator(block).operands)[leading:]
        most = None if self.count == UNLIMITED else self.count
        with assuming(self._within()):
            wrong = self.history.note_steps(
                block, self.initial, yielded, self.variables, index, most
            )
        found = self.history.variables(self.initial)
        use_iteration(block, found, index)
        inner = {self.index} | self._own_names() | draft.inner_names()
        may_learn = self.again and binds_sizes(block)
        if may_learn:
            self.history.dtype = dtype_of_positions(block)
        if leading:
            with assuming(self._within()):
                self._learn_from(terminator(block).operands[0], inner)
        assumed, holds = (
            set[int | Dim]() if facts is None else set(facts(index))
            for facts in (self.assumed, self.learned)
        )
        more = assumed != holds or found != self.variables
        self.is_ignorant = wrong or not assumed <= holds
        if may_learn and more:
            self.is_ignorant = True
        self.variables = found
        return self.is_ignorant

    def _learn_from(self, condition: ir.Value, inner: set[str]) -> None:
        """Find the trip count of a loop that the `condition` of the next iteration ends, and what
        is true of iterations. `inner` sizes mean nothing outside."""
        index, dtype = Dim.symbol(self.index), self.history.dtype
        self.trips = trip_count(
            self.condition, condition, index, inner, self.count, UNLIMITED, dtype
        )
        if self.trips is not None:
            self.learned = self.trips.facts
        else:
            self.learned = facts_of_conditions(self.condition, condition, index, inner, dtype)

    def _placeholders(
        self, block: ir.Block, before: Sequence[TensorType], yielded: Sequence[TensorType]
    ) -> list[int]:
        """The carried values of another rank than after an iteration that nothing reads: neither
        the first iteration nor, as there is one, what follows the loop."""
        runs = _is_true(self.condition) and isinstance(self.count, int) and self.count > 0
        pairs = enumerate(zip(before, yielded, strict=False))
        other = (i for i, (a, b) in pairs if runs and a.rank != b.rank)
        return [i for i in other if not list(block.arguments[i].uses)]

    def _zeros(self, type_: TensorType, inner: set[str]) -> ir.Value:
        """A value that may be carried like one of `type_`; sizes of `inner` names are 1."""
        naming = ResultNaming(self.fresh, {self.index} | inner)
        shape = [size if naming.leaves(size) else 1 for size in type_.shape]
        return expand(constant(value=np.zeros([1] * len(shape), type_.dtype)), shape=shape)

    def _general(
        self, index: int, argument: TensorType, yielded: TensorType, own: set[str]
    ) -> TensorType:
        """The type of carried value `index`, given those before and after an iteration. `own` are
        names of sizes that it did not have before the first one."""
        naming = ResultNaming(self.fresh, ())
        joined = naming.join(argument, yielded, f"carried_{index}")
        pairs = zip(argument.shape, joined.shape, strict=True)
        return argument.with_shape(old if str(old) in own else new for old, new in pairs)

    def _own_names(self) -> set[str]:
        """The names of sizes that carried values do not have before the first iteration."""
        return {
            str(size)
            for argument, value in zip(self.arguments, self.initial, strict=True)
            for size, start in zip(argument.shape, type_of(value).shape, strict=True)
            if size != start
        }

    def _next_condition(self, condition: ir.Value | None) -> list[ir.Value]:
        """The condition that the region yields first; empty if no condition ends the loop."""
        if condition is not None and not _is_true(condition):
            return [condition]
        if _is_true(self.condition):
            return []
        return [constant(value=np.array(True))]

    def _finish(self, draft: "RegionDraft", block: ir.Block, leading: int) -> list[ir.Value]:
        inner = {self.index} | self._own_names() | draft.inner_names()
        if self.trips is not None:
            self._count(block, self.trips)
            leading = 0
        known = {} if leading else self.variables
        states = reduce_state(block, self.initial, leading, inner, known)
        firsts = self.initial
        stays = [isinstance(state, ir.Value) for state in states]
        self.initial = list(compress(self.initial, stays))
        self.arguments = list(compress(self.arguments, stays))
        results = self._finish_reduced(draft, leading, yielded_types(block)[leading:])
        appended = [state for state in states if isinstance(state, Appended)]
        split = len(results) - len(appended)
        carried, stacks = iter(results[: len(self.initial)]), iter(results[split:])
        after = [
            self._after(state, first, carried, stacks)
            for state, first in zip(states, firsts, strict=True)
        ]
        return [*after, *results[len(self.initial) : split]]

    def _after(
        self,
        state: State,
        first: ir.Value,
        carried: Iterator[ir.Value],
        stacks: Iterator[ir.Value],
    ) -> ir.Value:
        """A carried value after the loop, of which results are the next of `carried` and `stacks`;
        `first` is what it was before."""
        if isinstance(state, Unchanged):
            return state.value
        if isinstance(state, InductionVariable):
            return as_value(state.at(self.count), first)
        return state.joined(next(stacks)) if isinstance(state, Appended) else next(carried)

    def _count(self, block: ir.Block, trips: TripCount) -> None:
        """Take the condition of a loop that its induction variables end out of `block`, and limit
        the loop by its trip count."""
        trips.require_exact()
        end = terminator(block)
        with ir.InsertionPoint(end), end.location:
            create(YieldAllOp, [list(end.operands)[1:]], {}, [])
        end.erase()
        self.count, self.condition = trips.count, None

    def _finish_reduced(
        self, draft: "RegionDraft", leading: int, yielded: Sequence[TensorType]
    ) -> list[ir.Value]:
        collected = yielded[len(self.arguments) :]
        own = self._own_names()
        naming = ResultNaming(self.fresh, {self.index} | own | draft.inner_names())
        results = [naming.leave(t, f"final_{i}") for i, t in enumerate(self.arguments)]
        count = self.count
        if leading:
            count = naming.fresh_size("iterations") if collected else self.count
        elif count == UNLIMITED:
            raise TypeRuleError("the loop never ends")
        for i, type_ in enumerate(collected):
            element = naming.leave(type_, f"collected_{i}")
            results.append(element.with_shape((count, *element.shape)))
        names = [*sorted(own), *naming.names]
        attributes = {"count": self.count, "index": self.index, "names": names}
        condition = []
        if leading:
            condition = [
                constant(value=np.array(True)) if self.condition is None else self.condition
            ]
        op_class = WhileOp if leading else ForOp
        return draft.finish(op_class, [*condition, self.initial], attributes, results)


def _is_true(condition: ir.Value | None) -> bool:
    """Return whether `condition` is known to hold (None always does)."""
    return condition is None or known_sizes(condition) == (1,)
