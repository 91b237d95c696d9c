"""Sequences that a loop fills, a tensor in each round, and that are stacked behind it.

PyTorch's exporter writes lists of scripted loops so. Tensors that are stacked have one shape, as
those have of which a Loop makes an output along which the rounds are counted. Tensors that are
joined along an axis may differ in its size: the importer refuses those that do.
"""

import string
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ....onnx_names import read_names, subgraphs
from .model_nodes import node_name
from .node_matching import all_nodes, int_attribute, is_op

_LOOP_INPUTS = 2
"""Inputs of a Loop, and of its body, before the carried values."""
_WITH_POSITION = 3
"""Operands of a SequenceInsert that says where."""
_READERS = ("ConcatFromSequence", "SequenceAt", "SequenceLength")


def without_stacked(model: onnx.ModelProto, joins: bool = False) -> onnx.ModelProto:
    """`model` with scan outputs of loops in place of the sequences that these fill.

    Such a sequence is made of tensors that are known, or of none, and each round inserts one, all
    of them at the end or all at the front. The loop may be in a graph of a node. Behind it, a
    ``ConcatFromSequence`` stacks the sequence along a new axis; others may read its length, and
    elements. Sequences of strings are left alone. With `joins`, those that others join along an
    axis are replaced, too: a ``ConcatFromSequence`` takes the scan output then.
    """
    if not any(_stacks(node) or (joins and _joins(node)) for node in all_nodes(model.graph)):
        return model
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for index, node in enumerate(copy.graph.node):
        node.name = node_name(node, index)
    return copy if _rewrite(copy.graph, joins) else model


def _rewrite(graph: onnx.GraphProto, joins: bool) -> bool:
    """Replace the sequences of `graph`, and of graphs within it; return whether there are any."""
    inner = [_rewrite(each, joins) for node in graph.node for each in subgraphs(node)]
    sequences = _Sequences(graph, joins)
    nodes = [new for node in graph.node for new in sequences.rewritten(node)]
    if not sequences.stacks:
        return any(inner)
    kept = [_copied(node) for node in _used(nodes, graph.output)]
    del graph.node[:]
    graph.node.extend(kept)
    return True


def _copied(node: onnx.NodeProto) -> onnx.NodeProto:
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    return copy


def has_joins(model: onnx.ModelProto) -> bool:
    """Return whether `model` joins the elements of a sequence along an axis that they have."""
    return any(map(_joins, model.graph.node))


def _stacks(node: onnx.NodeProto) -> bool:
    return is_op(node, "ConcatFromSequence") and bool(int_attribute(node, "new_axis", 0))


def _joins(node: onnx.NodeProto) -> bool:
    return is_op(node, "ConcatFromSequence") and not _stacks(node)


def _used(
    nodes: Sequence[onnx.NodeProto], outputs: Sequence[onnx.ValueInfoProto]
) -> list[onnx.NodeProto]:
    """`nodes` but for new sequences that nothing reads."""
    read = {output.name for output in outputs} | {n for node in nodes for n in read_names(node)}
    makers = ("SequenceEmpty", "SequenceConstruct")
    return [node for node in nodes if not is_op(node, *makers) or node.output[0] in read]


class _Sequences:
    """The sequences of a graph that loops fill, and their stacks by name."""

    def __init__(self, graph: onnx.GraphProto, joins: bool):
        self._joins = joins
        self.stacks: dict[str, str] = {}
        self._makers = {
            node.output[0]: node
            for node in graph.node
            if is_op(node, "SequenceConstruct")
            or (is_op(node, "SequenceEmpty") and _holds_numbers(node))
        }
        self._readers: dict[str, list[onnx.NodeProto]] = {}
        for node in graph.node:
            for name in read_names(node):
                self._readers.setdefault(name, []).append(node)
        self._outputs = {output.name for output in graph.output}
        self._zeros = {*_zeros(graph)}

    def rewritten(self, node: onnx.NodeProto) -> Iterator[onnx.NodeProto]:
        """The nodes that take the place of `node`."""
        if is_op(node, "Loop"):
            yield from self._without_sequences(node)
        elif is_op(node, *_READERS) and node.input[0] in self.stacks:
            yield from _read(node, self.stacks[node.input[0]])
        else:
            yield node

    def _without_sequences(self, loop: onnx.NodeProto) -> Iterator[onnx.NodeProto]:
        body = next(each.g for each in loop.attribute if each.name == "body")
        places = [
            place
            for place, name in enumerate(loop.input[_LOOP_INPUTS:])
            if name in self._makers
            and len(loop.output) == len(body.output) - 1
            and self._is_replaced(loop.output[place], self._makers[name], _inserted(body, place))
            and self._fills(body, place)
        ]
        behind: list[onnx.NodeProto] = []
        for place in places:
            name, maker = loop.output[place], self._makers[loop.input[_LOOP_INPUTS + place]]
            self.stacks[name] = f"{name}/stack"
            is_reversed = len(_inserted(body, place).input) == _WITH_POSITION
            behind += _stacked(name, self.stacks[name], list(maker.input), is_reversed)
        for place in reversed(places):
            _scan(loop, body, place)
        yield loop
        yield from behind

    def _is_replaced(self, name: str, maker: onnx.NodeProto, inserted: onnx.NodeProto) -> bool:
        """True if the readers of the sequence `name` are content with a stack. What is joined is
        the very result of a loop, whose type tells the importer if the elements differ in size."""
        is_plain = not maker.input and len(inserted.input) < _WITH_POSITION
        return self._is_stacked(name) or (is_plain and self._is_joined(name))

    def _fills(self, body: onnx.GraphProto, place: int) -> bool:
        """True if the `body` of a loop inserts into the sequence at `place`, at one end, and does
        nothing else with it."""
        before, after = body.input[_LOOP_INPUTS + place].name, body.output[1 + place].name
        node = _inserted(body, place)
        if not is_op(node, "SequenceInsert") or node.input[0] != before:
            return False
        zeros = self._zeros | {*_zeros(body)}
        if len(node.input) == _WITH_POSITION and node.input[2] not in zeros:
            return False
        reads = Counter(name for node in body.node for name in read_names(node))
        reads.update(output.name for output in body.output)
        return reads[before] == reads[after] == 1

    def _is_stacked(self, name: str) -> bool:
        """True if elements of the sequence `name` must have one shape, and others see no more of
        it than its elements and its length."""
        readers = self._readers.get(name, [])
        readable = all(
            is_op(node, *_READERS) and node.input[0] == name and not _joins(node)
            for node in readers
        )
        return readable and any(map(_stacks, readers)) and name not in self._outputs

    def _is_joined(self, name: str) -> bool:
        """True if nothing but joins see the sequence `name`, and these may be replaced."""
        readers = self._readers.get(name, [])
        return (
            bool(readers)
            and self._joins
            and all(map(_joins, readers))
            and name not in self._outputs
        )


def _holds_numbers(empty: onnx.NodeProto) -> bool:
    return int_attribute(empty, "dtype", onnx.TensorProto.FLOAT) != onnx.TensorProto.STRING


def _zeros(graph: onnx.GraphProto) -> Iterator[str]:
    """Names of the integers 0 of `graph` that no call gives."""
    inputs = {info.name for info in graph.input}
    tensors = [(each.name, each) for each in graph.initializer if each.name not in inputs]
    for node in graph.node:
        if is_op(node, "Constant"):
            tensors += [(node.output[0], each.t) for each in node.attribute if each.name == "value"]
    for name, tensor in tensors:
        is_integer = tensor.data_type in (onnx.TensorProto.INT32, onnx.TensorProto.INT64)
        if is_integer and not tensor.dims and numpy_helper.to_array(tensor) == 0:
            yield name


def _inserted(body: onnx.GraphProto, place: int) -> onnx.NodeProto:
    """The node that makes the result at `place` of the `body` of a loop, or one that is none."""
    after = body.output[1 + place].name
    return next((each for each in body.node if after in each.output), onnx.NodeProto())


def _scan(loop: onnx.NodeProto, body: onnx.GraphProto, place: int) -> None:
    """Make a scan output, the last one, of the carried sequence at `place`."""
    node = _inserted(body, place)
    element = node.input[1]
    node.op_type = "Identity"
    del node.input[:]
    node.input.append(element)
    name = body.output[1 + place].name
    sequence = loop.output[place]
    del loop.input[_LOOP_INPUTS + place], loop.output[place]
    del body.input[_LOOP_INPUTS + place], body.output[1 + place]
    body.output.append(onnx.ValueInfoProto(name=name))
    loop.output.append(f"{sequence}/rounds")


def _stacked(
    sequence: str, stack: str, first: list[str], is_reversed: bool
) -> Iterator[onnx.NodeProto]:
    """The `stack` of a `sequence` that had elements before the loop, `first`."""
    rounds = f"{sequence}/rounds"
    if is_reversed:
        bounds = {"last": -1, "front": np.iinfo(np.int64).min, "along": 0, "back": -1}
        names = [f"{sequence}/{name}" for name in bounds]
        for name, bound in zip(names, bounds.values(), strict=True):
            yield _node(
                "Constant", [], name, name, value=numpy_helper.from_array(np.array([bound]))
            )
        scanned, rounds = rounds, f"{sequence}/reversed"
        yield _node("Slice", [scanned, *names], rounds, rounds)
    if not first:
        yield _node("Identity", [rounds], stack, stack)
        return
    known, head = f"{sequence}/known", f"{sequence}/first"
    yield _node("SequenceConstruct", first, known, known)
    yield _node("ConcatFromSequence", [known], head, head, axis=0, new_axis=1)
    parts = [rounds, head] if is_reversed else [head, rounds]
    yield _node("Concat", parts, stack, stack, axis=0)


def _read(node: onnx.NodeProto, stack: str) -> Iterator[onnx.NodeProto]:
    """The nodes that take of the `stack` of a sequence what `node` takes of it."""
    (result,) = node.output
    if is_op(node, "SequenceAt"):
        yield _node("Gather", [stack, node.input[1]], result, node.name, axis=0)
    elif is_op(node, "SequenceLength"):
        shape, first = f"{result}/shape", f"{result}/first"
        yield _node("Shape", [stack], shape, shape)
        yield _node("Constant", [], first, first, value=numpy_helper.from_array(np.array(0)))
        yield _node("Gather", [shape, first], result, node.name, axis=0)
    elif _joins(node):
        axis = int_attribute(node, "axis", 0)
        yield _node("ConcatFromSequence", [stack], result, node.name, axis=axis)
    elif axis := int_attribute(node, "axis", 0):
        yield _node("Einsum", [stack], result, node.name, equation=_moved(axis))
    else:
        yield _node("Identity", [stack], result, node.name)


def _moved(axis: int) -> str:
    """The equation that moves the first axis to `axis`, whatever the rank is."""
    if axis > 0:
        letters = string.ascii_lowercase[:axis]
        return f"Z{letters}...->{letters}Z..."
    letters = string.ascii_lowercase[: -1 - axis]
    return f"Z...{letters}->...Z{letters}"


def _node(
    op_type: str, inputs: Sequence[str], output: str, name: str, **attributes: Any
) -> onnx.NodeProto:
    return helper.make_node(op_type, inputs, [output], name, **attributes)
