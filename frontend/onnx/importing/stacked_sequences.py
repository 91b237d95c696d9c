"""Sequences that a loop fills, a tensor in each round, and that are stacked behind it.

PyTorch's exporter writes lists of scripted loops so. Tensors that are stacked have one shape, as
those have of which a Loop makes an output along which the rounds are counted. Tensors that are
joined along an axis may differ in its size: the importer refuses those that do.
"""

import string
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ....onnx_names import read_names
from .model_nodes import node_name

_DOMAINS = ("", "ai.onnx")
_LOOP_INPUTS = 2
"""Inputs of a Loop, and of its body, before the carried values."""
_READERS = ("ConcatFromSequence", "SequenceAt", "SequenceLength")


def without_stacked(model: onnx.ModelProto, joins: bool = False) -> onnx.ModelProto:
    """`model` with scan outputs of loops in place of the sequences that these fill.

    Such a sequence is made of tensors that are known, or of none, and each round appends one.
    Behind the loop, a ``ConcatFromSequence`` stacks it along a new axis; others may read its
    length, and elements. Sequences of strings are left alone. With `joins`, those that others join
    along an axis are replaced, too: a ``ConcatFromSequence`` takes the scan output then.
    """
    if not any(_stacks(node) or (joins and _joins(node)) for node in model.graph.node):
        return model
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    graph = copy.graph
    for index, node in enumerate(graph.node):
        node.name = node_name(node, index)
    before = _Sequences(graph, joins)
    nodes = [new for node in graph.node for new in before.rewritten(node)]
    if not before.stacks:
        return model
    del graph.node[:]
    graph.node.extend(_used(nodes, graph.output))
    return copy


def has_joins(model: onnx.ModelProto) -> bool:
    """Return whether `model` joins the elements of a sequence along an axis that they have."""
    return any(map(_joins, model.graph.node))


def _is(node: onnx.NodeProto, *op_types: str) -> bool:
    return node.op_type in op_types and node.domain in _DOMAINS


def _attribute(node: onnx.NodeProto, name: str, default: int) -> int:
    return next((each.i for each in node.attribute if each.name == name), default)


def _stacks(node: onnx.NodeProto) -> bool:
    return _is(node, "ConcatFromSequence") and bool(_attribute(node, "new_axis", 0))


def _joins(node: onnx.NodeProto) -> bool:
    return _is(node, "ConcatFromSequence") and not _stacks(node)


def _used(
    nodes: Sequence[onnx.NodeProto], outputs: Sequence[onnx.ValueInfoProto]
) -> list[onnx.NodeProto]:
    """`nodes` but for new sequences that nothing reads."""
    read = {output.name for output in outputs} | {n for node in nodes for n in read_names(node)}
    makers = ("SequenceEmpty", "SequenceConstruct")
    return [node for node in nodes if not _is(node, *makers) or node.output[0] in read]


class _Sequences:
    """The sequences of a graph that loops fill, and their stacks by name."""

    def __init__(self, graph: onnx.GraphProto, joins: bool):
        self._joins = joins
        self.stacks: dict[str, str] = {}
        self._makers = {
            node.output[0]: node
            for node in graph.node
            if _is(node, "SequenceConstruct")
            or (_is(node, "SequenceEmpty") and _holds_numbers(node))
        }
        self._readers: dict[str, list[onnx.NodeProto]] = {}
        for node in graph.node:
            for name in read_names(node):
                self._readers.setdefault(name, []).append(node)
        self._outputs = {output.name for output in graph.output}

    def rewritten(self, node: onnx.NodeProto) -> Iterator[onnx.NodeProto]:
        """The nodes that take the place of `node`."""
        if _is(node, "Loop"):
            yield from self._without_sequences(node)
        elif _is(node, *_READERS) and node.input[0] in self.stacks:
            yield from _read(node, self.stacks[node.input[0]])
        else:
            yield node

    def _without_sequences(self, loop: onnx.NodeProto) -> Iterator[onnx.NodeProto]:
        body = next(each.g for each in loop.attribute if each.name == "body")
        places = [
            place
            for place, name in enumerate(loop.input[_LOOP_INPUTS:])
            if name in self._makers
            and (
                self._is_stacked(loop.output[place])
                or (not self._makers[name].input and self._is_joined(loop.output[place]))
            )
            and _fills(body, place)
        ]
        sequences = [loop.output[place] for place in places]
        initial = [self._makers[loop.input[_LOOP_INPUTS + place]] for place in places]
        for place in reversed(places):
            _scan(loop, body, place)
        yield loop
        for name, maker in zip(sequences, initial, strict=True):
            self.stacks[name] = f"{name}/stack"
            yield from _stacked(name, self.stacks[name], list(maker.input))

    def _is_stacked(self, name: str) -> bool:
        """True if elements of the sequence `name` must have one shape, and others see no more of
        it than its elements and its length."""
        readers = self._readers.get(name, [])
        readable = all(
            _is(node, *_READERS) and node.input[0] == name and not _joins(node) for node in readers
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
    return _attribute(empty, "dtype", onnx.TensorProto.FLOAT) != onnx.TensorProto.STRING


def _appended(body: onnx.GraphProto, place: int) -> onnx.NodeProto | None:
    """The node that appends to the carried value at `place`, which becomes the result there."""
    before, after = body.input[_LOOP_INPUTS + place].name, body.output[1 + place].name
    for node in body.node:
        if _is(node, "SequenceInsert") and list(node.output) == [after]:
            is_last = len(node.input) == 2 or not node.input[2]
            return node if is_last and node.input[0] == before else None
    return None


def _fills(body: onnx.GraphProto, place: int) -> bool:
    """True if the `body` of a loop appends to the sequence at `place`, and does nothing else with
    it."""
    if _appended(body, place) is None:
        return False
    reads = Counter(name for node in body.node for name in read_names(node))
    reads.update(output.name for output in body.output)
    before, after = body.input[_LOOP_INPUTS + place].name, body.output[1 + place].name
    return reads[before] == reads[after] == 1


def _scan(loop: onnx.NodeProto, body: onnx.GraphProto, place: int) -> None:
    """Make a scan output, the last one, of the carried sequence at `place`."""
    node = _appended(body, place)
    assert node is not None, "the body appends to it"
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


def _stacked(sequence: str, stack: str, first: list[str]) -> Iterator[onnx.NodeProto]:
    """The `stack` of a `sequence` that had elements before the loop, `first`."""
    rounds = f"{sequence}/rounds"
    if not first:
        yield _node("Identity", [rounds], stack, stack)
        return
    known, head = f"{sequence}/known", f"{sequence}/first"
    yield _node("SequenceConstruct", first, known, known)
    yield _node("ConcatFromSequence", [known], head, head, axis=0, new_axis=1)
    yield _node("Concat", [head, rounds], stack, stack, axis=0)


def _read(node: onnx.NodeProto, stack: str) -> Iterator[onnx.NodeProto]:
    """The nodes that take of the `stack` of a sequence what `node` takes of it."""
    (result,) = node.output
    if _is(node, "SequenceAt"):
        yield _node("Gather", [stack, node.input[1]], result, node.name, axis=0)
    elif _is(node, "SequenceLength"):
        shape, first = f"{result}/shape", f"{result}/first"
        yield _node("Shape", [stack], shape, shape)
        yield _node("Constant", [], first, first, value=numpy_helper.from_array(np.array(0)))
        yield _node("Gather", [shape, first], result, node.name, axis=0)
    elif _joins(node):
        axis = _attribute(node, "axis", 0)
        yield _node("ConcatFromSequence", [stack], result, node.name, axis=axis)
    elif axis := _attribute(node, "axis", 0):
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
    op_type: str, inputs: Sequence[str], output: str, name: str, **attributes: object
) -> onnx.NodeProto:
    return helper.make_node(op_type, inputs, [output], name, **attributes)
