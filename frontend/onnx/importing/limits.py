"""Limits on the resources that a model may demand.

A model is untrusted data: a few bytes of it can demand any number of nodes (functions that call one
another), any nesting, and tensors of any size. A model beyond a limit is refused before the work is
done or the memory allocated. ``GRAPHC_LIMITS`` changes the limits::

    GRAPHC_LIMITS=nodes=1000000,constant-bytes=200G
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields

import onnx

from ....errors import InvalidModelError, LimitError, UsageError
from ....onnx_names import subgraphs
from .tensors import byte_count

VARIABLE = "GRAPHC_LIMITS"
_UNITS = {"K": 10, "M": 20, "G": 30, "T": 40}

FunctionKey = tuple[str, str, str]


@dataclass(frozen=True)
class Limits:
    """The limits by name; ``-`` stands for ``_`` where they are spelled."""

    nodes: int = 200_000
    """Nodes, including those of subgraphs, of function bodies (once per call) and of loops (once
    for each time that their types are inferred)."""
    nesting: int = 32
    """Nesting depth of subgraphs and function calls."""
    subgraphs: int = 2000
    """Branches and loop bodies. A body counts each time that its types are inferred: once or twice,
    multiplied by the count of the loops around it."""
    name_bytes: int = 8192
    """Characters of a name, with the names of the nodes around a subgraph or a body."""
    constant_bytes: int = 256 << 30
    """All data that lies in files."""
    computed_bytes: int = 1 << 30
    """One constant that is computed on import."""
    tensor_bytes: int = 1 << 40
    """One tensor, as far as its sizes are known."""

    def require(self, name: str, wanted: int, what: str) -> None:
        """Raise LimitError, which begins with `what`, where `wanted` is beyond the limit."""
        allowed = getattr(self, name)
        if wanted > allowed:
            spelled = name.replace("_", "-")
            raise LimitError(f"{what}: {wanted:,} where the limit {spelled} is {allowed:,}")


def current_limits() -> Limits:
    """The limits, with what ``GRAPHC_LIMITS`` says. Raises UsageError."""
    given: dict[str, int] = {}
    known = [field.name for field in fields(Limits)]
    for entry in filter(None, os.environ.get(VARIABLE, "").split(",")):
        name, _, text = entry.strip().partition("=")
        name = name.replace("-", "_")
        if name not in known:
            names = ", ".join(each.replace("_", "-") for each in known)
            raise UsageError(f"{VARIABLE}: no limit is called '{name}'; there are: {names}")
        given[name] = _number(text)
    return Limits(**given)


def _number(text: str) -> int:
    digits, unit = text.strip(), 0
    if digits[-1:].upper() in _UNITS:
        digits, unit = digits[:-1], _UNITS[digits[-1].upper()]
    if not (digits.isascii() and digits.isdecimal() and len(digits) < 20):
        raise UsageError(f"{VARIABLE}: '{text}' is no number: write 1000000 or 64G")
    return int(digits) << unit


def check_model(model: onnx.ModelProto, limits: Limits) -> None:
    """Refuse a model that holds too much, before any of it is imported.

    Raises LimitError, and InvalidModelError where a name is no text or functions call one another
    in a circle.
    """
    _Census(model, limits).take()


@dataclass(frozen=True)
class _Extent:
    """Nodes of a piece of a model, and how deep they are nested in it."""

    nodes: int
    depth: int


class _Census:
    """Counts what a model holds with its functions expanded, each body once."""

    def __init__(self, model: onnx.ModelProto, limits: Limits):
        self.model = model
        self.limits = limits
        self.functions: Mapping[FunctionKey, onnx.FunctionProto] = {
            (f.domain, f.name, f.overload): f for f in model.functions
        }
        self.extents: dict[FunctionKey, _Extent] = {}
        self.open: list[FunctionKey] = []
        self.bytes = 0

    def take(self) -> None:
        self._names(entry.domain for entry in self.model.opset_import)
        for key in self.functions:
            self._function(key)
        self._graph(self.model.graph, 0)

    def _graph(self, graph: onnx.GraphProto, depth: int) -> _Extent:
        self._names((graph.name,))
        for info in (*graph.input, *graph.output, *graph.value_info):
            self._names((info.name, *(dim.dim_param for dim in info.type.tensor_type.shape.dim)))
        for tensor in graph.initializer:
            self._data(tensor)
        return self._nodes(graph.node, depth)

    def _function(self, key: FunctionKey) -> _Extent:
        if key not in self.extents:
            if key in self.open:
                raise InvalidModelError(f"function {key[1]} calls itself")
            self.limits.require("nesting", len(self.open) + 1, f"calls within function '{key[1]}'")
            self.open.append(key)
            function = self.functions[key]
            self._names((*function.input, *function.output, *function.attribute, *key))
            self._names(entry.domain for entry in function.opset_import)
            self._names(attribute.name for attribute in function.attribute_proto)
            self.extents[key] = self._nodes(function.node, 0)
            self.open.pop()
        return self.extents[key]

    def _nodes(self, nodes: Iterable[onnx.NodeProto], depth: int) -> _Extent:
        count, deepest = 0, 0
        for node in nodes:
            inner = list(self._inside(node, depth))
            count += 1 + sum(extent.nodes for extent in inner)
            deepest = max([deepest, *(1 + extent.depth for extent in inner)])
            what = f"node '{node.name}' ({node.op_type})" if inner else "the model"
            self.limits.require("nodes", count, f"{what} holds too many nodes")
            self.limits.require("nesting", depth + deepest, f"{what} is nested too deeply")
        return _Extent(count, deepest)

    def _inside(self, node: onnx.NodeProto, depth: int) -> Iterator[_Extent]:
        self._names((node.name, node.op_type, node.domain, *node.input, *node.output))
        key = (node.domain, node.op_type, node.overload)
        if key in self.functions:
            yield self._function(key)
        for attribute in node.attribute:
            self._names((attribute.name, attribute.ref_attr_name))
            if attribute.HasField("t"):
                self._data(attribute.t)
            for tensor in attribute.tensors:
                self._data(tensor)
        for graph in subgraphs(node):
            self.limits.require("nesting", depth + 1, f"node '{node.name}' is nested too deeply")
            yield self._graph(graph, depth + 1)

    def _names(self, names: Iterable[str]) -> None:
        for name in names:
            if type(name) is not str:  # what protobuf gives for text that is none
                raise InvalidModelError(f"a name in the model is not UTF-8 text: {name[:40]!r}")
            if len(name) > self.limits.name_bytes:
                self.limits.require("name_bytes", len(name), f"the name '{name[:40]}...' is long")

    def _data(self, tensor: onnx.TensorProto) -> None:
        self._names((tensor.name,))
        if tensor.data_location != onnx.TensorProto.EXTERNAL:
            return
        self._names(text for entry in tensor.external_data for text in (entry.key, entry.value))
        self.bytes += max(byte_count(tensor) or 0, 0)
        what = f"the model has too much data, up to tensor '{tensor.name}'"
        self.limits.require("constant_bytes", self.bytes, what)
