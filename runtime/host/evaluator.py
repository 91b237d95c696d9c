"""Node-by-node evaluation of graphs.

Subgraphs see the enclosing scope, functions only their inputs. Each function is evaluated with the
opsets that it imports itself.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import onnx

from ...errors import ExecutionError
from .reference import FunctionBody, find_operator
from .registry import HostError, constant, find_factory

MAX_DEPTH = 64
"""Maximum nesting depth of functions and subgraphs."""

Functions = Mapping[tuple[str, str, str], onnx.FunctionProto]


class ValueScope(dict[str, Any]):
    """Values by name; lookups of other names go to the enclosing scope."""

    def __init__(self, outer: "ValueScope | None" = None):
        super().__init__()
        self.outer = outer

    def __missing__(self, name: str) -> Any:
        if self.outer is None:
            raise HostError(f"nothing before it gives '{name}'")
        return self.outer[name]


@dataclass(frozen=True)
class Context:
    """Shared data of the nodes of one body: opsets, attributes, and the functions of the model."""

    opsets: Mapping[str, int]
    functions: Functions
    attributes: Mapping[str, onnx.AttributeProto]
    depth: int = 0

    def within(self, **changes: Any) -> "Context":
        """The context of a body within a node."""
        if self.depth >= MAX_DEPTH:
            raise HostError("functions or subgraphs are nested too deeply")
        return Context(**{**vars(self), **changes, "depth": self.depth + 1})


@dataclass(frozen=True)
class Body:
    """A graph or a function that is ready to run."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    output_types: tuple[onnx.TypeProto | None, ...]
    constants: Mapping[str, Any]
    steps: tuple["NodeStep", ...]

    def run(self, feeds: Iterable[Any], outer: ValueScope | None) -> list[Any]:
        """The outputs for one value per input."""
        scope = ValueScope(outer)
        scope.update(self.constants)
        scope.update(zip(self.inputs, feeds, strict=True))
        for step in self.steps:
            step.run(scope)
        return [scope[name] for name in self.outputs]


@dataclass(frozen=True)
class NodeStep:
    """One node. `compute` takes its inputs, None for omitted ones, and the enclosing scope."""

    name: str
    op_type: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    compute: Callable[[list[Any], ValueScope], Sequence[Any]]

    def run(self, scope: ValueScope) -> None:
        """Compute the outputs into `scope`. Raises `ExecutionError`, which names the node."""
        try:
            given = [scope[name] if name else None for name in self.inputs]
            results = self.compute(given, scope)
        except ExecutionError:
            raise  # from a node of a subgraph, which it names
        except Exception as error:  # any error of numpy or Python about the values
            raise ExecutionError(
                f"node '{self.name}' ({self.op_type}), which runs on the host, "
                f"failed: {error.__cause__ or error}"
            ) from error
        for name, value in zip(self.outputs, results, strict=False):
            if name:
                scope[name] = value


def make_graph(graph: onnx.GraphProto, context: Context) -> Body:
    """`graph` ready to run. Raises `HostError` for a node that cannot run on the host."""
    return Body(
        tuple(info.name for info in graph.input),
        tuple(info.name for info in graph.output),
        tuple(info.type if info.HasField("type") else None for info in graph.output),
        {tensor.name: constant(tensor) for tensor in graph.initializer},
        tuple(_named_step(node, context) for node in graph.node),
    )


def _named_step(node: onnx.NodeProto, context: Context) -> NodeStep:
    """`make_step`, with errors that name the node."""
    try:
        return make_step(node, context)
    except HostError as error:
        raise HostError(f"node '{node.name}' ({node.op_type}): {error}") from error


def make_step(node: onnx.NodeProto, context: Context) -> NodeStep:
    """`node` ready to run. Raises `HostError` where it cannot run on the host."""
    return NodeStep(
        node.name, node.op_type, tuple(node.input), tuple(node.output), _operator(node, context)
    )


def _operator(
    node: onnx.NodeProto, context: Context
) -> Callable[[list[Any], ValueScope], Sequence[Any]]:
    """The function that computes `node`."""
    node = _resolved(node, context.attributes)
    function = context.functions.get((node.domain, node.op_type, node.overload))
    if function is not None:
        return _call(function, node, context)
    if node.domain not in context.opsets:
        raise HostError(f"domain '{node.domain}' is not among the opset imports")
    opset = context.opsets[node.domain]
    factory = find_factory(node.domain, node.op_type, opset)
    if factory is not None:
        return _own(factory, node, context)
    operator = find_operator(node, context.opsets)
    if isinstance(operator, FunctionBody):
        return lambda inputs, scope: _call(operator.of(inputs), node, context)(inputs, scope)
    return operator


def _own(factory: Callable[..., Any], node: onnx.NodeProto, context: Context) -> Any:
    """`node` implemented by an entry of the table, which gets the scope if it has subgraphs."""
    attributes = {a.name: _value(a, context) for a in node.attribute}
    try:
        compute = factory(**attributes)
    except (HostError, ImportError):
        raise
    except Exception as error:  # any error of Python about the attributes
        raise HostError(f"its attributes do not fit it: {error}") from error
    if any(isinstance(value, Body) for value in attributes.values()):
        return lambda inputs, scope: _as_sequence(compute(scope, *inputs))
    return lambda inputs, _: _as_sequence(compute(*inputs))


def _as_sequence(results: Any) -> Sequence[Any]:
    return results if isinstance(results, tuple) else (results,)


def _value(attribute: onnx.AttributeProto, context: Context) -> Any:
    if attribute.type == onnx.AttributeProto.GRAPH:
        return make_graph(attribute.g, context.within())
    if attribute.type == onnx.AttributeProto.TENSOR:
        return constant(attribute.t)
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode()
    if attribute.type == onnx.AttributeProto.STRINGS:
        return [text.decode() for text in attribute.strings]
    return value


def _resolved(node: onnx.NodeProto, given: Mapping[str, onnx.AttributeProto]) -> onnx.NodeProto:
    """`node` with references to attributes of the enclosing function replaced by their values."""
    if not any(attribute.ref_attr_name for attribute in node.attribute):
        return node
    resolved = onnx.NodeProto()
    resolved.CopyFrom(node)
    del resolved.attribute[:]
    for attribute in node.attribute:
        if not attribute.ref_attr_name:
            resolved.attribute.append(attribute)
        elif attribute.ref_attr_name in given:
            filled = resolved.attribute.add()
            filled.CopyFrom(given[attribute.ref_attr_name])
            filled.name = attribute.name
    return resolved


def _call(function: onnx.FunctionProto, node: onnx.NodeProto, context: Context) -> Any:
    """A call of `function` by `node`."""
    inner = context.within(
        opsets={_domain(entry.domain): entry.version for entry in function.opset_import},
        attributes={a.name: a for a in (*function.attribute_proto, *node.attribute)},
    )
    body = Body(
        tuple(function.input),
        tuple(function.output),
        (None,) * len(function.output),
        {},
        tuple(make_step(each, inner) for each in function.node),
    )
    count = len(function.input)

    def run(inputs: list[Any], _: ValueScope) -> Sequence[Any]:
        return body.run([*inputs, *[None] * (count - len(inputs))], None)

    return run


def _domain(domain: str) -> str:
    return "" if domain == "ai.onnx" else domain
