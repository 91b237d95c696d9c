"""Sequences whose elements are known by name, and loops that build such.

PyTorch's exporter writes ``tensor_split`` as a Loop that inserts slices into a sequence.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ....onnx_names import read_names, subgraphs
from .model_nodes import node_name, overridable
from .node_matching import ONNX_DOMAINS, all_nodes, is_op

MAX_ROUNDS = 64
"""Rounds of a loop that are written one after the other, at most."""

_INTEGERS = (onnx.TensorProto.INT32, onnx.TensorProto.INT64, onnx.TensorProto.BOOL)
_FIRST_WITH_AXES = 13
"""The opset since which the axes of an Unsqueeze are an operand."""
_LOOP_INPUTS = 2
"""Inputs of a Loop, and of its body, before the carried values."""


def without_listed(model: onnx.ModelProto) -> onnx.ModelProto:
    """`model` with the elements of sequences that are known in place of what takes them.

    Those of empty sequences and such that are made of tensors, into which tensors are inserted, or
    from which elements are erased, at known positions. A Loop of a known number of rounds that
    carries such is unrolled; another one carries the elements, if their number stays.
    """
    if not any(map(_is_taken, all_nodes(model.graph))):
        return model
    lists = _Lists(model)
    nodes = lists.rewritten(model.graph.node)
    if not lists.changed:
        return model
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    del copy.graph.node[:]
    copy.graph.node.extend(_without_unused(nodes, lists, model.graph.output))
    return copy


def _is_taken(node: onnx.NodeProto) -> bool:
    return is_op(node, "SequenceAt", "SequenceLength", "ConcatFromSequence")


def _without_unused(
    nodes: Sequence[onnx.NodeProto], lists: "_Lists", outputs: Sequence[onnx.ValueInfoProto]
) -> list[onnx.NodeProto]:
    """`nodes` but for those that make a known sequence that nothing reads."""
    used = {output.name for output in outputs}
    kept: list[onnx.NodeProto] = []
    for node in reversed(nodes):
        makes_list = any(name in lists.known for name in node.output)
        if not makes_list or used & set(node.output):
            kept.append(node)
            used |= read_names(node).keys()
    return kept[::-1]


class _UnknownError(Exception):
    """Raised where it is not known what a loop does."""


class _Lists:
    """The names of the elements of sequences, by name, and constants of one integer."""

    def __init__(self, model: onnx.ModelProto):
        self.known: dict[str, list[str]] = {}
        self.changed = False
        self._constants: dict[str, int] = {}
        self._opset = max(
            (o.version for o in model.opset_import if o.domain in ONNX_DOMAINS), default=1
        )
        overridden = overridable(model)
        for tensor in model.graph.initializer:
            if tensor.name not in overridden:
                self._note(tensor.name, tensor)

    def rewritten(self, nodes: Sequence[onnx.NodeProto]) -> list[onnx.NodeProto]:
        """`nodes`, with names, in place of which others do without sequences."""
        named = []
        for index, node in enumerate(nodes):
            copy = onnx.NodeProto()
            copy.CopyFrom(node)
            copy.name = node_name(node, index)
            named += self._visit(copy)
        return named

    def _visit(self, node: onnx.NodeProto) -> list[onnx.NodeProto]:
        """The nodes that take the place of `node`, which is noted."""
        if is_op(node, "Loop"):
            return self._unrolled(node) or self._spread(node) or [node]
        if is_op(node, "Constant", "Identity"):
            self._note_constant(node)
        elif (elements := self._elements(node)) is not None:
            self.known[node.output[0]] = elements
        elif _is_taken(node) and node.input[0] in self.known:
            taken = list(self._taken(node, self.known[node.input[0]]))
            self.changed |= taken != [node]
            return taken
        return [node]

    def _note_constant(self, node: onnx.NodeProto) -> None:
        (name,) = node.output
        if node.op_type == "Identity":
            if node.input[0] in self._constants:
                self._constants[name] = self._constants[node.input[0]]
            if node.input[0] in self.known:
                self.known[name] = self.known[node.input[0]]
            return
        (attribute,) = node.attribute
        if attribute.name == "value":
            self._note(name, attribute.t)
        elif attribute.name == "value_int":
            self._constants[name] = attribute.i

    def _note(self, name: str, tensor: onnx.TensorProto) -> None:
        if tensor.data_type in _INTEGERS and all(size == 1 for size in tensor.dims):
            self._constants[name] = numpy_helper.to_array(tensor).item()

    def _elements(self, node: onnx.NodeProto) -> list[str] | None:
        """The elements of the sequence that `node` makes; None if they are not known."""
        if is_op(node, "SequenceEmpty"):
            return []
        if is_op(node, "SequenceConstruct"):
            return list(node.input)
        if not is_op(node, "SequenceInsert", "SequenceErase") or node.input[0] not in self.known:
            return None
        before, inserts = self.known[node.input[0]], node.op_type == "SequenceInsert"
        if len(node.input) > 1 + inserts and node.input[1 + inserts]:
            at = self._position(node.input[1 + inserts], len(before) + inserts, len(before))
        else:
            at = len(before) if inserts else len(before) - 1
        if at is None or at < 0:
            return None
        middle, behind = ([node.input[1]], at) if inserts else ([], at + 1)
        return [*before[:at], *middle, *before[behind:]]

    def _position(self, name: str, count: int, length: int) -> int | None:
        """A known position among `count` of a sequence of `length` elements, from 0 on."""
        if name not in self._constants:
            return None
        at = self._constants[name]
        at = at + length if at < 0 else at
        return at if 0 <= at < count else None

    def _taken(self, node: onnx.NodeProto, elements: list[str]) -> Iterator[onnx.NodeProto]:
        """The nodes that give the result of `node`, whose sequence has the `elements`."""
        if is_op(node, "SequenceLength"):
            yield _constant(np.array(len(elements)), node.output[0], node.name)
        elif is_op(node, "ConcatFromSequence"):
            yield from self._joined(node, elements) if elements else [node]
        else:
            at = self._position(node.input[1], len(elements), len(elements))
            inputs, outputs = [] if at is None else [elements[at]], list(node.output)
            taken = helper.make_node("Identity", inputs, outputs, node.name)
            yield taken if inputs else node

    def _joined(self, node: onnx.NodeProto, elements: list[str]) -> Iterator[onnx.NodeProto]:
        """The concatenation of `elements`, along an axis that `node` may add."""
        attributes = {each.name: each.i for each in node.attribute}
        axis, parts = attributes["axis"], elements
        if attributes.get("new_axis", 0):
            parts = [f"{node.output[0]}/{position}" for position in range(len(elements))]
            for element, part in zip(elements, parts, strict=True):
                yield from self._unsqueezed(element, part, axis)
        yield helper.make_node("Concat", parts, list(node.output), node.name, axis=axis)

    def _unsqueezed(self, element: str, result: str, axis: int) -> Iterator[onnx.NodeProto]:
        if self._opset < _FIRST_WITH_AXES:
            yield helper.make_node("Unsqueeze", [element], [result], result, axes=[axis])
            return
        axes = f"{result}/axes"
        yield _constant(np.array([axis]), axes, axes)
        yield helper.make_node("Unsqueeze", [element, axes], [result], result)

    # Loops

    def _unrolled(self, node: onnx.NodeProto) -> list[onnx.NodeProto]:
        """The rounds of a Loop that carries a known sequence, one after the other; none if their
        number is not known."""
        carried = list(node.input[_LOOP_INPUTS:])
        if not any(name in self.known for name in carried):
            return []
        before = dict(self.known), dict(self._constants), self.changed
        try:
            nodes = list(self._rounds(node, carried))
        except _UnknownError:
            self.known, self._constants, self.changed = before
            return []
        self.changed = True
        return nodes

    def _spread(self, loop: onnx.NodeProto) -> list[onnx.NodeProto]:
        """The Loop with the elements of known sequences as carried values, and their sequences
        behind it; none if a round may change the number of elements."""
        body = next(each.g for each in loop.attribute if each.name == "body")
        places = [
            place
            for place, name in enumerate(loop.input[_LOOP_INPUTS:])
            if self.known.get(name) and len(loop.output) == len(body.output) - 1
        ]
        while places:
            before = dict(self.known), dict(self._constants), self.changed
            nodes = self._body_of_elements(loop, body, places)
            results = [body.output[1 + place].name for place in places]
            wrong = [
                place
                for place, result in zip(places, results, strict=True)
                if len(self.known.get(result, ())) != self._count(loop, place)
            ]
            if not wrong:
                self.changed = True
                return list(self._carrying_elements(loop, body, nodes, places))
            self.known, self._constants, self.changed = before
            places = [place for place in places if place not in wrong]
        return []

    def _count(self, loop: onnx.NodeProto, place: int) -> int:
        return len(self.known[loop.input[_LOOP_INPUTS + place]])

    def _body_of_elements(
        self, loop: onnx.NodeProto, body: onnx.GraphProto, places: Sequence[int]
    ) -> list[onnx.NodeProto]:
        """The nodes of the `body` of a Loop, which takes elements of the sequences at `places`."""
        for place in places:
            inner = body.input[_LOOP_INPUTS + place].name
            self.known[inner] = [f"{inner}/{n}" for n in range(self._count(loop, place))]
        nodes = [
            helper.make_node("SequenceConstruct", self.known[name], [name], name)
            for name in (body.input[_LOOP_INPUTS + place].name for place in places)
        ]
        for position, node in enumerate(body.node):
            name = f"{loop.name}/{node_name(node, position)}"
            nodes += self._visit(_renamed(node, name, lambda name: name))
        return nodes

    def _carrying_elements(
        self,
        loop: onnx.NodeProto,
        body: onnx.GraphProto,
        nodes: list[onnx.NodeProto],
        places: Sequence[int],
    ) -> Iterator[onnx.NodeProto]:
        inputs, outputs = list(body.input), list(body.output)
        given, results = list(loop.input), list(loop.output)
        behind: list[onnx.NodeProto] = []
        for place in reversed(places):
            after = outputs[1 + place].name
            names = [f"{after}/{n}" for n in range(self._count(loop, place))]
            pairs = list(zip(self.known[after], names, strict=True))
            nodes += [helper.make_node("Identity", [a], [b], b) for a, b in pairs]
            outputs[1 + place : 2 + place] = [onnx.ValueInfoProto(name=name) for name in names]
            at = slice(_LOOP_INPUTS + place, _LOOP_INPUTS + place + 1)
            inputs[at] = [onnx.ValueInfoProto(name=n) for n in self.known[inputs[at][0].name]]
            given[at] = self.known[given[at][0]]
            sequence = results[place] or f"{loop.name}/{after}"
            results[place : place + 1] = elements = [f"{sequence}/{n}" for n in range(len(names))]
            self.known[sequence] = elements
            behind.append(helper.make_node("SequenceConstruct", elements, [sequence], sequence))
        made = onnx.GraphProto()
        made.CopyFrom(body)
        del made.node[:], made.input[:], made.output[:]
        made.node.extend(_without_unused(nodes, self, outputs))
        made.input.extend(inputs)
        made.output.extend(outputs)
        yield helper.make_node("Loop", given, results, loop.name, body=made)
        yield from behind

    def _rounds(self, node: onnx.NodeProto, carried: list[str]) -> Iterator[onnx.NodeProto]:
        body = next(each.g for each in node.attribute if each.name == "body")
        count = self._known_count(node, body)
        results = [output.name for output in body.output[1:]]
        shared = {tensor.name: f"{node.name}/{tensor.name}" for tensor in body.initializer}
        for tensor in body.initializer:
            name = shared[tensor.name]
            yield from self._visit(_constant(numpy_helper.to_array(tensor), name, name))
        for number in range(count):
            prefix = f"{node.name}/{number}"
            names = shared | _names_of_round(body, prefix)
            if number == count - 1:
                names |= dict(zip(results, node.output, strict=True))
            inner = [each.name for each in body.input[_LOOP_INPUTS:]]
            for info, value in zip(body.input, (np.int64(number), np.bool_(True)), strict=False):
                names[info.name] = name = f"{prefix}/{info.name}"
                array = np.full([1] * declared_rank(info), value)
                yield from self._visit(_constant(array, name, name))
            names |= dict(zip(inner, carried, strict=True))
            for position, each in enumerate(body.node):
                name = f"{prefix}/{node_name(each, position)}"
                yield from self._visit(_renamed(each, name, lambda n, names=names: names.get(n, n)))
            goes_on = names.get(body.output[0].name, body.output[0].name)
            if not self._constants.get(goes_on):
                raise _UnknownError
            carried = [names.get(name, name) for name in results]

    def _known_count(self, node: onnx.NodeProto, body: onnx.GraphProto) -> int:
        """The rounds of a Loop, which its condition does not end. Raises _UnknownError."""
        limit, condition = node.input[:_LOOP_INPUTS]
        count = self._constants.get(limit, 0)
        made = [name for each in body.node for name in each.output]
        results = [output.name for output in body.output[1:]]
        if (
            not 0 < count <= MAX_ROUNDS
            or (condition and not self._constants.get(condition))
            or len(node.output) != len(results)
            or len(node.input) - _LOOP_INPUTS != len(results)  # it has no scan outputs
            or not all(node.output)
            or len({*results} & {*made}) < len(results)  # each is the result of a node
            or any(True for each in body.node for _ in subgraphs(each))
        ):
            raise _UnknownError
        return count


def declared_rank(info: onnx.ValueInfoProto) -> int:
    """The rank of the number of a round, or the condition, in the body of a Loop, as it is declared
    there: exporters make a vector of one element of it."""
    return len(info.type.tensor_type.shape.dim)


def _constant(array: np.ndarray, output: str, name: str) -> onnx.NodeProto:
    return helper.make_node("Constant", [], [output], name, value=numpy_helper.from_array(array))


def _names_of_round(body: onnx.GraphProto, prefix: str) -> dict[str, str]:
    """New names of what the nodes of the `body` of a Loop define."""
    return {name: f"{prefix}/{name}" for node in body.node for name in node.output if name}


def _renamed(node: onnx.NodeProto, name: str, new_name: Callable[[str], str]) -> onnx.NodeProto:
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    copy.name = name
    for names in (copy.input, copy.output):
        renamed = [each and new_name(each) for each in names]
        del names[:]
        names.extend(renamed)
    return copy
