"""Calls of a model on blocks of any number of rows: batches, padding and cutting."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import ExecutionError, FeedError, UsageError
from ..runtime import TensorSpec, ValueSpec

DEFAULT_BATCH_SIZE = 32
Arrays = Mapping[str, np.ndarray]
Run = Callable[[Arrays], Mapping[str, np.ndarray]]


@dataclass(frozen=True)
class Batching:
    """How many rows a call of a model takes, and what its outputs look like."""

    size: int
    """Rows of one call."""
    fixed: bool
    """True if a call takes exactly `size` rows, not up to that many."""
    outputs: tuple[TensorSpec, ...]

    def run(self, run: Run, feeds: Arrays, count: int) -> dict[str, np.ndarray]:
        """The outputs for `count` rows, by calls of `run` on `size` rows each.

        The last batch of a fixed size is filled up with its last row, and the results of that are
        cut off. Raises `ExecutionError` if an output has no row for each row of the inputs.
        """
        if count == 0:
            return {spec.name: _no_rows(spec) for spec in self.outputs}
        batches = [
            self._run_batch(run, feeds, start, count) for start in range(0, count, self.size)
        ]
        return {spec.name: _joined(spec.name, batches) for spec in self.outputs}

    def _run_batch(self, run: Run, feeds: Arrays, start: int, count: int) -> Arrays:
        rows = min(self.size, count - start)
        given = self.size if self.fixed else rows
        batch = {name: _filled(array[start : start + rows], given) for name, array in feeds.items()}
        results = run(batch)
        for name, array in results.items():
            if np.ndim(array) == 0 or len(array) != given:
                raise ExecutionError(
                    f"output '{name}' has shape {list(np.shape(array))} for {given} rows: "
                    "its first axis is not that of the rows"
                )
        return {name: array[:rows] for name, array in results.items()}


def _filled(rows: np.ndarray, size: int) -> np.ndarray:
    missing = size - len(rows)
    return np.concatenate([rows, np.repeat(rows[-1:], missing, axis=0)]) if missing else rows


def _joined(name: str, batches: Sequence[Arrays]) -> np.ndarray:
    arrays = [batch[name] for batch in batches]
    if len({array.shape[1:] for array in arrays}) > 1:
        raise ExecutionError(f"output '{name}' has rows of different shapes in different batches")
    return np.concatenate(arrays) if len(arrays) > 1 else arrays[0]


def _no_rows(spec: TensorSpec) -> np.ndarray:
    sizes = [size if isinstance(size, int) else 0 for size in spec.shape[1:]]
    return np.empty((0, *sizes), spec.dtype)


def batching(
    inputs: Sequence[TensorSpec | ValueSpec],
    outputs: Sequence[TensorSpec | ValueSpec],
    size: int | None,
) -> Batching:
    """The batching of a model, for `size` rows in each call.

    The rows are the first axis of every input and output. Raises `UsageError` for a model that has
    no such axis, and for a `size` that it does not take.
    """
    first = {spec.name: _first(spec, "input") for spec in inputs}
    if not first:
        raise UsageError("the model has no inputs: there is nothing to map")
    sizes = {size for size in first.values() if isinstance(size, int)}
    if len(sizes) > 1 or (sizes and len(sizes) < len(set(first.values()))):
        listing = ", ".join(f"{name}: {size or '?'}" for name, size in first.items())
        raise UsageError(f"the inputs differ in their first axis, which is to be rows ({listing})")
    for spec in outputs:
        if _first(spec, "output") not in {*first.values(), ""}:
            raise UsageError(
                f"output {spec} has another first axis than the inputs "
                f"({', '.join(map(str, inputs))}): its rows are not those of the data set"
            )
    tensors = tuple(spec for spec in outputs if isinstance(spec, TensorSpec))
    if not sizes:
        return Batching(size or DEFAULT_BATCH_SIZE, False, tensors)
    (fixed,) = sizes
    if fixed == 0 or size not in (None, fixed):
        raise UsageError(f"the model takes {fixed} rows in a call, not {size}")
    return Batching(fixed, True, tensors)


def _first(spec: TensorSpec | ValueSpec, kind: str) -> int | str:
    if isinstance(spec, ValueSpec):
        raise UsageError(f"{kind} {spec} is no tensor: it has no rows")
    if not spec.shape:
        raise UsageError(f"{kind} {spec} is one number: it has no axis of rows")
    return spec.shape[0]


def feed_of(column: np.ndarray, spec: TensorSpec) -> np.ndarray:
    """A column as the input `spec`: rows that were stored flat get their shape.

    Raises `FeedError` for another element type or number of elements.
    """
    if column.dtype.name != spec.dtype:
        raise FeedError(f"input {spec} cannot take a column of {column.dtype.name}; cast it first")
    sizes = spec.shape[1:]
    if column.ndim == len(spec.shape) or not all(isinstance(size, int) for size in sizes):
        return column
    shape = (len(column), *(int(size) for size in sizes))
    if column.size != np.prod(shape):
        raise FeedError(f"input {spec} cannot take rows of shape {list(column.shape[1:])}")
    return column.reshape(shape)
