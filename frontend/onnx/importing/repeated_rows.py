"""Rows that are repeated as often as a list says, by a loop that joins a sequence of them.

PyTorch's exporter writes ``repeat_interleave`` so: row i, along an axis, becomes as many rows as
element i of the list says.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ....onnx_names import read_names
from .model_nodes import node_name, overridable
from .node_matching import int_attribute, is_op

_LOOP_INPUTS = 2


def without_repeats(model: onnx.ModelProto) -> onnx.ModelProto:
    """`model` with a Gather in place of each loop that repeats rows.

    Its indices are the rows of a mask that is true as often as each row is repeated.
    """
    if not any(is_op(node, "ConcatFromSequence") for node in model.graph.node):
        return model
    values = _Values(model)
    found = {n.output[0]: each for n in model.graph.node if (each := _repeat(n, values))}
    if not found:
        return model
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    nodes: list[onnx.NodeProto] = []
    for index, node in enumerate(copy.graph.node):
        node.name = node_name(node, index)
        repeat = found.get(node.output[0])
        nodes += [node] if repeat is None else _gathered(repeat, node)
    del copy.graph.node[:]
    copy.graph.node.extend(_used(nodes, copy.graph))
    return copy


@dataclass(frozen=True)
class _Repeat:
    """Rows of `x` along `axis`, each repeated `counts` times; the result is expanded to `shape`."""

    x: str
    counts: str
    axis: int
    shape: Sequence[int]


class _Values:
    """The nodes that make values, by name, and constants, of a graph and of one within it."""

    def __init__(self, model: onnx.ModelProto):
        overridden = overridable(model)
        self._nodes = _makers(model.graph)
        self._tensors: Mapping[str, onnx.TensorProto] = {
            each.name: each for each in model.graph.initializer if each.name not in overridden
        }

    def within(self, body: onnx.GraphProto) -> "_Values":
        inner = object.__new__(_Values)
        inner._nodes = self._nodes | _makers(body)
        inner._tensors = {**self._tensors, **{each.name: each for each in body.initializer}}
        return inner

    def maker(self, name: str, op_type: str) -> onnx.NodeProto | None:
        """The node of type `op_type` that makes the value `name`, if it is one."""
        node = self._nodes.get(name)
        return node if is_op(node, op_type) else None

    def constant(self, name: str) -> list[int] | None:
        """The elements of a constant of integers."""
        tensor = self._tensor(name)
        if tensor is None or tensor.data_type != onnx.TensorProto.INT64:
            return None
        return numpy_helper.to_array(tensor).reshape(-1).tolist()

    def holds(self, condition: str, before: str = "") -> bool:
        """True if `condition` is a constant that is true, or the value `before`."""
        while node := self.maker(condition, "Identity") or self.maker(condition, "Cast"):
            condition = node.input[0]
        tensor = self._tensor(condition)
        return condition == before or (
            tensor is not None and bool(numpy_helper.to_array(tensor).all())
        )

    def _tensor(self, name: str) -> onnx.TensorProto | None:
        node = self.maker(name, "Constant")
        if node is None:
            return self._tensors.get(name)
        return next((each.t for each in node.attribute if each.name == "value"), None)


def _makers(graph: onnx.GraphProto) -> dict[str, onnx.NodeProto]:
    return {name: node for node in graph.node for name in node.output}


def _repeat(join: onnx.NodeProto, values: _Values) -> _Repeat | None:
    """The repeat that a loop before `join` computes, if it is one."""
    if not is_op(join, "ConcatFromSequence") or int_attribute(join, "new_axis", 0):
        return None
    loop = values.maker(join.input[0], "Loop")
    if loop is None or len(loop.input) != _LOOP_INPUTS + 1 or len(loop.output) != 1:
        return None
    if values.maker(loop.input[_LOOP_INPUTS], "SequenceEmpty") is None:
        return None
    body = next(each.g for each in loop.attribute if each.name == "body")
    inner = values.within(body)
    if not (values.holds(loop.input[1]) and inner.holds(body.output[0].name, body.input[1].name)):
        return None
    repeat = _repeat_of_round(body, int_attribute(join, "axis", 0), inner)
    return repeat if repeat and _counts_rows(loop.input[0], repeat, values) else None


def _repeat_of_round(body: onnx.GraphProto, axis: int, values: _Values) -> _Repeat | None:
    """The repeat of which a round of a loop with this `body` appends a row."""
    insert = values.maker(body.output[1].name, "SequenceInsert")
    if (
        insert is None
        or len(insert.input) != 2
        or insert.input[0] != body.input[2].name
        or axis < 0
    ):
        return None
    reshape = values.maker(insert.input[1], "Reshape")
    expand = reshape and values.maker(reshape.input[0], "Expand")
    unsqueeze = expand and values.maker(expand.input[0], "Unsqueeze")
    if not reshape or not expand or not unsqueeze or len(unsqueeze.input) != 2:
        return None
    sizes = _sizes(expand.input[1], values)
    if sizes is None or values.constant(unsqueeze.input[1]) != [axis + 1]:
        return None
    number = body.input[0].name
    x = _row(unsqueeze.input[0], number, axis, values)
    fixed = [1 if size == -1 else size for size in sizes if isinstance(size, int)]
    count = sizes[axis + 1] if axis + 1 < len(sizes) else None
    if x is None or not isinstance(count, str) or len(fixed) != len(sizes) - 1:
        return None
    counts = _row(count, number, 0, values)
    wanted = values.constant(reshape.input[1])
    known = [*fixed[:axis], -1, *fixed[axis + 1 :]]
    if counts is None or wanted != known or fixed[axis] != 1:
        return None
    return _Repeat(x, counts, axis, fixed)


def _sizes(name: str, values: _Values) -> list[int | str] | None:
    """The shape `name` of an Expand: constants, and names of lists of one element. A Where may
    replace -1 by 1."""
    where = values.maker(name, "Where")
    concat = values.maker(where.input[2] if where else name, "Concat")
    if concat is None:
        return None
    equal = where and values.maker(where.input[0], "Equal")
    if where and (equal is None or concat.output[0] not in equal.input):
        return None
    sizes: list[int | str] = []
    for part in concat.input:
        known = values.constant(part)
        sizes += [part] if known is None else known
    return sizes


def _row(name: str, number: str, axis: int, values: _Values) -> str | None:
    """The name of the tensor of which the value `name` is row `number` along `axis`."""
    at = values.maker(name, "SequenceAt")
    split = at and values.maker(at.input[0], "SplitToSequence")
    if not at or not split or at.input[1] != number or len(split.input) != 2:
        return None
    ones = values.maker(split.input[1], "ConstantOfShape")
    is_single = ones is not None and [
        numpy_helper.to_array(each.t).item() for each in ones.attribute if each.name == "value"
    ] == [1]
    return split.input[0] if is_single and int_attribute(split, "axis", 0) == axis else None


def _counts_rows(limit: str, repeat: _Repeat, values: _Values) -> bool:
    """True if `limit` is the number of rows of what is repeated."""
    unsqueeze = values.maker(limit, "Unsqueeze")
    gather = values.maker(unsqueeze.input[0] if unsqueeze else limit, "Gather")
    shape = gather and values.maker(gather.input[0], "Shape")
    if not gather or not shape:
        return False
    return list(shape.input) == [repeat.x] and values.constant(gather.input[1]) == [repeat.axis]


def _gathered(repeat: _Repeat, node: onnx.NodeProto) -> Iterator[onnx.NodeProto]:
    """The nodes that give the result of `node`, which joins what is repeated."""
    (result,) = node.output

    def made(op_type: str, inputs: list[str], part: str, **attributes: Any) -> onnx.NodeProto:
        name = f"{result}/{part}"
        return helper.make_node(op_type, inputs, [name], name, **attributes)

    def at(part: str) -> str:
        return f"{result}/{part}"

    constants = {
        "zero": 0, "one": 1, "first": [0], "second": [1], "axis": [repeat.axis],
        "shape": repeat.shape,
    }  # fmt: skip
    for part, value in constants.items():
        tensor = numpy_helper.from_array(np.array(value, np.int64))
        yield made("Constant", [], part, value=tensor)
    yield made("Shape", [repeat.x], "sizes")
    yield made("Gather", [at("sizes"), at("axis")], "number", axis=0)
    yield made("Slice", [repeat.counts, at("first"), at("number")], "counts")
    yield made("ReduceMax", [at("counts")], "most", keepdims=0)
    yield made("Range", [at("zero"), at("most"), at("one")], "numbers")
    yield made("Unsqueeze", [at("counts"), at("second")], "column")
    yield made("Less", [at("numbers"), at("column")], "mask")
    yield made("NonZero", [at("mask")], "places")
    yield made("Gather", [at("places"), at("zero")], "rows", axis=0)
    yield made("Gather", [repeat.x, at("rows")], "repeated", axis=repeat.axis)
    yield helper.make_node("Expand", [at("repeated"), at("shape")], [result], node.name)


def _used(nodes: Sequence[onnx.NodeProto], graph: onnx.GraphProto) -> list[onnx.NodeProto]:
    """`nodes` but for loops, and sequences, that nothing reads."""
    read = {output.name for output in graph.output}
    kept: list[onnx.NodeProto] = []
    for node in reversed(nodes):
        idle = is_op(node, "Loop", "SequenceEmpty", "SplitToSequence") and not read & {*node.output}
        if not idle:
            kept.append(node)
            read |= read_names(node).keys()
    return kept[::-1]
