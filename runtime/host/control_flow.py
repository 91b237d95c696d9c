"""Branches and loops over values of any kind, and maps over sequences.

Their bodies are graphs, which see the values of the enclosing graph in `scope`.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx

from .evaluator import Body, ValueScope
from .registry import HostError, host_op


@host_op("If")
def if_(*, then_branch: Body, else_branch: Body) -> Callable[..., tuple[Any, ...]]:
    """Run one of two graphs, whose outputs may be of any kind."""

    def run(scope: ValueScope, cond: np.ndarray) -> tuple[Any, ...]:
        return tuple((then_branch if np.asarray(cond).item() else else_branch).run((), scope))

    return run


@host_op("Loop")
def loop(*, body: Body) -> Callable[..., tuple[Any, ...]]:
    """Run a loop: carried values may be of any kind, scan outputs are stacked tensors."""
    count = len(body.inputs) - 2

    def run(
        scope: ValueScope, trips: Any = None, cond: Any = None, *initial: Any
    ) -> tuple[Any, ...]:
        carried = [*initial, *[None] * (count - len(initial))]
        stacks: list[list[Any]] = [[] for _ in body.outputs[1 + count :]]
        limit = None if trips is None else int(np.asarray(trips).item())
        going = np.asarray(True if cond is None else cond)
        rounds = 0
        while going.item() and (limit is None or rounds < limit):
            going, *results = body.run([np.asarray(rounds, np.int64), going, *carried], scope)
            carried = results[:count]
            for stack, value in zip(stacks, results[count:], strict=True):
                stack.append(value)
            rounds += 1
        types = body.output_types[1 + count :]
        return (*carried, *map(_stacked, stacks, types))

    return run


def _stacked(values: Sequence[Any], type_: onnx.TypeProto | None, axis: int = 0) -> np.ndarray:
    """The stacked values of all iterations; for none, an empty array of the declared type."""
    if values:
        return np.stack(values, axis)
    if type_ is None or not type_.tensor_type.elem_type:
        return np.empty((0,), np.float32)
    dtype = onnx.helper.tensor_dtype_to_np_dtype(type_.tensor_type.elem_type)
    shape = [dim.dim_value for dim in type_.tensor_type.shape.dim]
    shape.insert(axis if axis >= 0 else len(shape) + 1 + axis, 0)
    return np.empty(shape, dtype)


@host_op("Scan")
def scan_8(**_: Any) -> Callable[..., Any]:
    """Reject Scan over batches, from before opset 9."""
    raise HostError("Scan before opset 9 does not run on the host")


@host_op("Scan", since=9)
def scan(
    *,
    body: Body,
    num_scan_inputs: int,
    scan_input_axes: Sequence[int] = (),
    scan_input_directions: Sequence[int] = (),
    scan_output_axes: Sequence[int] = (),
    scan_output_directions: Sequence[int] = (),
) -> Callable[..., tuple[Any, ...]]:
    """Run a body for each slice of the scanned tensors, with carried values and stacked outputs."""
    count = len(body.inputs) - num_scan_inputs
    stacked = len(body.outputs) - count
    in_axes, backward = (
        [*given, *[0] * (num_scan_inputs - len(given))]
        for given in (scan_input_axes, scan_input_directions)
    )
    out_axes, prepended = (
        [*given, *[0] * (stacked - len(given))]
        for given in (scan_output_axes, scan_output_directions)
    )

    def run(scope: ValueScope, *inputs: Any) -> tuple[Any, ...]:
        carried = list(inputs[:count])
        scanned = [np.moveaxis(x, axis, 0) for x, axis in zip(inputs[count:], in_axes, strict=True)]
        lengths = {len(x) for x in scanned}
        if len(lengths) != 1:
            raise HostError(f"the scanned inputs have {sorted(lengths)} slices")
        stacks: list[list[Any]] = [[] for _ in range(stacked)]
        for index in range(lengths.pop()):
            slices = [
                x[-1 - index if back else index] for x, back in zip(scanned, backward, strict=True)
            ]
            results = body.run([*carried, *map(np.asarray, slices)], scope)
            carried = results[:count]
            for stack, value in zip(stacks, results[count:], strict=True):
                stack.append(value)
        ordered = [s[::-1] if back else s for s, back in zip(stacks, prepended, strict=True)]
        return (*carried, *map(_stacked, ordered, body.output_types[count:], out_axes))

    return run


@host_op("SequenceMap")
def sequence_map(*, body: Body) -> Callable[..., tuple[Any, ...]]:
    """Run a graph for each element of a sequence.

    Of the further inputs, sequences are passed element by element, tensors whole.
    """

    def run(scope: ValueScope, first: list[Any], *others: Any) -> tuple[Any, ...]:
        lengths = {len(x) for x in (first, *others) if isinstance(x, list)}
        if len(lengths) > 1:
            raise HostError(f"the sequences have {sorted(lengths)} elements")
        results: list[list[Any]] = [[] for _ in body.outputs]
        for index in range(len(first)):
            given = (x[index] if isinstance(x, list) else x for x in (first, *others))
            for result, value in zip(results, body.run(given, scope), strict=True):
                result.append(value)
        return tuple(results)

    return run
