"""Constants, and operators that ask for or compute sizes."""

import numpy as np

from ....dialects import graph
from ....dialects.symbolic import Dim
from ....mlir import ir
from ..importing.registry import Node, UnsupportedError, onnx_op
from .equal_values import earlier_equal

MAX_SIZES = 1024
"""More are refused in a list of sizes that are not known."""


def require_constant(value: ir.Value, what: str) -> np.ndarray:
    """The data of a value that must be known at compile time. UnsupportedError otherwise."""
    owner = graph.graph_op(value.owner)
    if isinstance(owner, graph.ConstantOp):
        return owner.attrs["value"]
    known = graph.symbolic_value(value)
    if known is None or any(isinstance(v, Dim) for v in known.ravel()):
        raise UnsupportedError(f"{what} is not known at compile time")
    return known.astype(graph.type_of(value).dtype)


def required(value: ir.Value | None, name: str) -> ir.Value:
    """An optional input that may not be left out here. TypeRuleError if it is."""
    if value is None:
        raise graph.TypeRuleError(f"{name} is left out")
    return value


def of_length(values: ir.Value, count: int) -> ir.Value:
    """The list `values`, which must have `count` elements; where its length is not a number, that
    is checked when the model runs."""
    shape = graph.type_of(values).shape
    if len(shape) != 1 or isinstance(shape[0], int):
        return values
    return graph.reshape(values, shape=[count])


def require_sizes(value: ir.Value, node: Node, hint: str) -> tuple[int | Dim, ...]:
    """The elements of an integer tensor of rank 0 or 1, as sizes.

    Where they are not known at compile time they get names (`graph.bind_sizes`) that hold what
    is computed at run time.
    """
    known = graph.known_sizes(value)
    if known is not None:
        return known
    for use in earlier_equal(value).uses:  # the same value has the same names
        bound = graph.graph_op(use.owner)
        if (
            isinstance(bound, graph.BindSizesOp)
            and bound.operation.block == ir.InsertionPoint.current.block
        ):
            return tuple(map(Dim.symbol, bound.attrs["names"]))
    type_ = graph.type_of(value)
    count = type_.shape[0] if type_.rank else 1
    if not isinstance(count, int):
        raise UnsupportedError(f"a {hint} of unknown length (the rank would be unknown)")
    if count > MAX_SIZES:
        raise graph.TypeRuleError(f"a {hint} of {count} elements, which are not known")
    names = [node.fresh_name(f"{hint}_{i}") for i in range(count)]
    graph.bind_sizes(value, names=names)
    return tuple(Dim.symbol(name) for name in names)


def normalize_axis(axis: int, rank: int) -> int:
    """`axis` counted from the front. TypeRuleError when it is out of range."""
    if not -rank <= axis < max(rank, 1):
        raise graph.TypeRuleError(f"axis {axis} is outside a tensor of rank {rank}")
    return axis + rank if axis < 0 else axis


def positions(size: int | Dim) -> ir.Value:
    """``0, 1, ... size - 1`` as i64."""
    return graph.range_(graph.size_scalar(0), graph.size_scalar(1), size=size)


def require_answer(condition: ir.Value, answer: bool, message: str) -> None:
    """End the run with an error that says `message` where `condition` is not as `answer` says."""
    graph.require(condition if answer else graph.not_(condition), message=message)


@onnx_op("Constant")
def constant(
    *,
    value=None,
    sparse_value=None,
    value_float=None,
    value_floats=None,
    value_int=None,
    value_ints=None,
    value_string=None,
    value_strings=None,
):
    if value_string is not None or value_strings is not None:
        raise UnsupportedError("string constants")
    for data, dtype in (
        (value, None),
        (sparse_value, None),
        (value_float, np.float32),
        (value_floats, np.float32),
        (value_int, np.int64),
        (value_ints, np.int64),
    ):
        if data is not None:
            array = np.asarray(data, dtype)
            if array.dtype == object:
                raise UnsupportedError("string constants")
            return graph.constant(value=array)
    raise graph.TypeRuleError("a Constant without a value")


@onnx_op("ConstantOfShape", since=9)
def constant_of_shape(shape, *, node, value=None):
    scalar = np.zeros((), np.float32) if value is None else value.reshape(())
    sizes = require_sizes(shape, node, "shape")
    return graph.expand(graph.constant(value=scalar), shape=sizes)


@onnx_op("Shape")
def shape(x, *, start=0, end=None):
    sizes = graph.type_of(x).shape
    picked = sizes[slice(start, end)]
    return graph.sizes(sizes=picked)


@onnx_op("Size")
def size(x):
    count = graph.element_count(graph.type_of(x).shape)
    return graph.size_scalar(count)
