"""Programs evaluated in numpy, op by op: the reference that compiled code is held to.

outputs = evaluate_function(function, [x, mask])
"""

from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from ...errors import (
    ExecutionError,
    FeedError,
    GraphcError,
    OutOfMemoryError,
    VerificationError,
)
from ...mlir import ir
from ..locations import node_name
from ..symbolic import Dim
from .base import GraphOp, graph_op, is_several, map_group
from .collectives import Collective, Shards, evaluate_on_ranks
from .control_flow import IfOp, LoopOp, RegionOp, WhileOp
from .fusion import GroupOp
from .shapes import BindSizesOp, RequireOp
from .types import Shape, TensorType, type_of

Arrays = tuple[np.ndarray, ...]
Observer = Callable[[GraphOp, Arrays, Arrays], None]


def evaluate_function(
    function: Any, inputs: Sequence[Any], observe: Observer | None = None
) -> tuple[np.ndarray, ...]:
    """The results of `function` (a ``func.func`` of graph ops) on arrays.

    Symbolic dimensions take their values from the shapes of the inputs. `observe` is called with
    each op, its operands and its results. FeedError when the inputs do not fit the signature,
    ExecutionError where an op has no result on what it is given.
    """
    block = function.regions[0].blocks[0]
    with function.operation.context, ir.Location.unknown():
        evaluation = Evaluation(observe)
        evaluation.bind_arguments(block.arguments, inputs)
        return evaluation.run(block, _dead_after(block))


class Evaluation:
    """The values of one run: arrays by value, and the sizes that names stand for."""

    def __init__(self, observe: Observer | None):
        self.observe = observe
        self.values: MutableMapping[ir.Value, np.ndarray] = {}
        self.sizes: MutableMapping[str, int] = {}

    def bind_arguments(self, arguments: Sequence[ir.Value], inputs: Sequence[Any]) -> None:
        """Let the arguments of a function be `inputs`. FeedError when they do not fit."""
        if len(inputs) != len(arguments):
            raise FeedError(f"{len(inputs)} inputs for {len(arguments)} arguments")
        arrays = [np.asarray(array) for array in inputs]
        types = [type_of(argument) for argument in arguments]
        for index, (type_, array) in enumerate(zip(types, arrays, strict=True)):
            _check_element_type(index, type_, array)
            for size, extent in zip(type_.shape, array.shape, strict=True):
                if isinstance(size, Dim) and size.is_symbol:
                    self.sizes.setdefault(str(size), extent)
        for index, (type_, array) in enumerate(zip(types, arrays, strict=True)):
            expected = self.resolve(type_.shape)
            if array.shape != expected:
                raise FeedError(f"input {index} has shape {array.shape}, expected {expected}")
        self.values.update(zip(arguments, arrays, strict=True))

    def run(
        self, block: ir.Block, dead_after: Sequence[Sequence[ir.Value]] | None = None
    ) -> tuple[np.ndarray, ...]:
        """Evaluate the ops of `block`; returns the operands of its terminator.

        The values that are `dead_after` each op are released.
        """
        *operations, terminator = list(block.operations)
        for index, operation in enumerate(operations):
            self.step(operation)
            for value in dead_after[index] if dead_after is not None else ():
                del self.values[value]
        return tuple(self.values[value] for value in terminator.operation.operands)

    def step(self, operation: Any) -> None:
        """Evaluate one op, whose operands have been."""
        op = graph_op(operation)
        if op is None:
            raise VerificationError(f"{operation.operation.name} has no meaning in numpy")
        results = self._guarded(op)
        self.values.update(zip(op.operation.results, results, strict=True))
        if self.observe is not None:
            operands = tuple(self.values[value] for value in op.operation.operands)
            self.observe(op, operands, results)

    def resolve(self, attribute: Any) -> Any:
        """`attribute` with its symbolic dimensions replaced by their sizes."""
        if is_several(attribute):
            return tuple(map(self.resolve, attribute))
        return attribute.evaluate(self.sizes) if isinstance(attribute, Dim) else attribute

    def _guarded(self, op: GraphOp) -> tuple[np.ndarray, ...]:
        try:
            return self._evaluate(op)
        except GraphcError:
            raise
        except MemoryError as error:
            raise OutOfMemoryError(
                f"there is no memory at node {node_name(op)}: {error}"
            ) from error
        except Exception as error:  # the errors that numpy raises for the values
            raise ExecutionError(
                f"{op.operation.name} at '{node_name(op)}' has no result: "
                f"{type(error).__name__}: {error}"
            ) from error

    def _evaluate(self, op: GraphOp) -> tuple[np.ndarray, ...]:
        if isinstance(op, GroupOp):
            return self.run(op.operation.regions[0].blocks[0])
        if isinstance(op, RegionOp):
            return self._run_regions(op)
        operands = [
            map_group(self.values.__getitem__, group) for group in op.operand_groups.values()
        ]
        if isinstance(op, RequireOp) and not operands[0]:
            raise ExecutionError(f"at node {node_name(op)}: {op.attrs['message']}")
        if isinstance(op, BindSizesOp):
            self.sizes.update(_bound_sizes(op, operands[0]))
        attrs = {name: self.resolve(value) for name, value in op.attrs.items()}
        with np.errstate(all="ignore"):  # IEEE results, as compiled code gives them
            given = _meaning(op, operands, attrs)
        results = given if is_several(given) else (given,)
        pairs = zip(op.operation.results, results, strict=False)
        return tuple(self._typed(op, value, array) for value, array in pairs)

    def _run_regions(self, op: RegionOp) -> tuple[np.ndarray, ...]:
        if isinstance(op, IfOp):
            then_block, else_block = op.bodies
            taken = then_block if self.values[op.condition] else else_block
            results = list(self._nested().run(taken))
        else:
            assert isinstance(op, LoopOp)
            results = self._loop(op)
        self._bind_axes(op, op.operation.results, results)
        return tuple(
            self._typed(op, value, array)
            for value, array in zip(op.operation.results, results, strict=True)
        )

    def _loop(self, op: LoopOp) -> list[np.ndarray]:
        """The carried values after the last iteration, and the collected ones."""
        carried = [self.values[value] for value in op.initial]
        goes_on = not isinstance(op, WhileOp) or bool(self.values[op.condition])
        collected: list[list[np.ndarray]] = [[] for _ in op.yielded[1]]
        index, limit = 0, self.resolve(op.attrs["count"])
        while goes_on and index < limit:
            iteration = self._nested()
            iteration.sizes[op.attrs["index"]] = index
            iteration.values.update(zip(op.body.arguments, carried, strict=True))
            iteration._bind_axes(op, op.body.arguments, carried)
            values = list(iteration.run(op.body))
            if op.leading:
                goes_on = bool(values.pop(0))
            carried = values[: len(carried)]
            for parts, value in zip(collected, values[len(carried) :], strict=True):
                parts.append(value)
            index += 1
        types = map(type_of, op.operation.results[len(carried) :])
        stacks = zip(collected, types, op.first_sizes(), strict=True)
        return [*carried, *(self._stacked(parts, t.dtype, first) for parts, t, first in stacks)]

    def _stacked(self, parts: list[np.ndarray], dtype: np.dtype, first: Shape) -> np.ndarray:
        if parts:
            return np.stack(parts)
        sizes = map(self.resolve, first)
        known = [size if isinstance(size, int) else 0 for size in sizes]
        return np.zeros((0, *known), dtype)

    def _nested(self) -> "Evaluation":
        """An evaluation that sees the values and sizes of this one, and adds its own."""
        inner = Evaluation(self.observe)
        inner.values, inner.sizes = ChainMap({}, self.values), ChainMap({}, self.sizes)
        return inner

    def _bind_axes(
        self, op: RegionOp, values: Sequence[ir.Value], arrays: Sequence[np.ndarray]
    ) -> None:
        """Give the names that `op` binds the extents of the axes that have them as sizes."""
        for value, array in zip(values, arrays, strict=True):
            for size, extent in zip(type_of(value).shape, array.shape, strict=True):
                if str(size) in op.own_names:
                    self.sizes[str(size)] = extent

    def _typed(self, op: GraphOp, value: ir.Value, array: Any) -> np.ndarray:
        """`array` in the element type of `value`, after a check of its shape."""
        type_ = type_of(value)
        array = np.asanyarray(array).astype(type_.dtype, copy=False)
        expected = self.resolve(type_.shape)
        shape = array.shape[1:] if isinstance(array, Shards) else array.shape
        if shape != expected:
            raise VerificationError(
                f"{op.operation.name} at '{node_name(op)}' evaluates to shape {shape}, "
                f"but its type {type_} says {expected}"
            )
        return array


def _meaning(op: GraphOp, operands: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """The results of `op`: on each rank where its operands differ between ranks."""
    evaluate = partial(type(op).evaluate, **attrs)
    on_ranks = None if isinstance(op, Collective) else evaluate_on_ranks(evaluate, operands)
    return evaluate(*operands) if on_ranks is None else on_ranks


class Recording(Evaluation):
    """An evaluation that keeps the values within regions, too: those of the last iteration.

    Of a branch, also the side that is not taken is evaluated, where it has values.
    """

    def _nested(self) -> Evaluation:
        inner = Recording(self.observe)
        inner.values, inner.sizes = self.values, self.sizes
        return inner

    def _run_regions(self, op: RegionOp) -> tuple[np.ndarray, ...]:
        if isinstance(op, IfOp):
            then_block, else_block = op.bodies
            other = else_block if self.values[op.condition] else then_block
            with suppress(GraphcError):
                self._nested().run(other)
        return super()._run_regions(op)


def _dead_after(block: ir.Block) -> list[list[ir.Value]]:
    """For each op of `block` the values that nothing after it uses."""
    seen: set[ir.Value] = set()
    dead: list[list[ir.Value]] = []
    for operation in reversed(list(block.operations)):
        last = {*operation.operation.results, *used_values(operation.operation)} - seen
        seen |= last
        dead.append([value for value in last if _is_of(value, block)])
    return dead[::-1]


def _is_of(value: ir.Value, block: ir.Block) -> bool:
    owner = value.owner
    return owner == block if isinstance(owner, ir.Block) else owner.operation.block == block


def used_values(operation: Any) -> Iterator[ir.Value]:
    """The operands of `operation` and of what is within it."""
    yield from operation.operands
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield from used_values(inner.operation)


def _bound_sizes(op: BindSizesOp, array: np.ndarray) -> Mapping[str, int]:
    sizes = dict(zip(op.attrs["names"], (int(size) for size in array.ravel()), strict=True))
    for name, size in sizes.items():
        if size < 0:
            raise ExecutionError(f"at node {node_name(op)}: size '{name}' is negative: {size}")
    return sizes


def _check_element_type(index: int, type_: TensorType, array: np.ndarray) -> None:
    if array.dtype != type_.dtype or array.ndim != type_.rank:
        raise FeedError(f"input {index} is {array.dtype}{list(array.shape)}, expected {type_}")
