"""A model's functions in place of their calls, so that its nodes can run in different places.

A function has opsets of its own. Where its version of an operator is another than the model's, the
node becomes a call of a function that holds it alone, and imports that version.
"""

from collections.abc import Iterable, Mapping, Sequence

import onnx
from onnx import helper

from ....errors import InvalidModelError
from ....onnx_names import read_names, subgraphs
from ..importing.limits import FunctionKey, current_limits
from ..importing.model_nodes import node_name
from ..importing.opsets import domain_of, read_opsets

WRAPPED = "graphc.opsets"
"""The domain of the functions that hold one node."""

Attributes = Mapping[str, onnx.AttributeProto]


def inline_functions(model: onnx.ModelProto) -> None:
    """Replace calls in `model`, also those in subgraphs. Raises InvalidModelError, LimitError."""
    if model.functions:
        _Inliner(model).run()


def operator_of(node: onnx.NodeProto) -> str:
    """The operator of `node`, also where it is the call of a function that holds it alone."""
    return node.op_type.rpartition("_")[0] if node.domain == WRAPPED else node.op_type


class _Inliner:
    def __init__(self, model: onnx.ModelProto):
        self.model = model
        self.opsets = read_opsets(model.opset_import)
        self.functions = {_key(f): f for f in model.functions}
        self.wrapped: list[onnx.FunctionProto] = []
        self.taken = {*_names_of(model.graph), *(i.name for i in model.graph.initializer)}
        self.limits = current_limits()
        self.count = 0

    def run(self) -> None:
        graph = self.model.graph
        nodes = self._nodes(graph.node, _Scope(self.opsets))
        del graph.node[:]
        graph.node.extend(nodes)
        del self.model.functions[:]
        self.model.functions.extend(self.wrapped)
        del self.model.opset_import[:]
        domains = self.opsets | ({WRAPPED: 1} if self.wrapped else {})
        self.model.opset_import.extend(helper.make_opsetid(d, v) for d, v in domains.items())

    def _nodes(self, nodes: Iterable[onnx.NodeProto], scope: "_Scope") -> list[onnx.NodeProto]:
        done: list[onnx.NodeProto] = []
        for index, node in enumerate(nodes):
            name = scope.prefix + node_name(node, index)
            self.count += 1
            self.limits.require(
                "nodes", self.count, f"up to node '{name}' there are too many nodes"
            )
            self.limits.require("name_bytes", len(name), f"up to node '{name[:200]}'")
            copy = self._copy(node, name, scope)
            function = self.functions.get(_key_of(node))
            if function is None:
                done.append(self._of_model(copy, scope.opsets))
            else:
                done += self._call(function, copy, scope)
        return done

    def _copy(self, node: onnx.NodeProto, name: str, scope: "_Scope") -> onnx.NodeProto:
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        copy.name, copy.domain = name, domain_of(node.domain)
        copy.input[:] = [scope.names.get(each, each) for each in node.input]
        copy.output[:] = [scope.names.get(each, each) for each in node.output]
        del copy.attribute[:]
        for attribute in node.attribute:
            if attribute.ref_attr_name and attribute.ref_attr_name not in scope.attributes:
                continue  # the operator's default
            filled = copy.attribute.add()
            filled.CopyFrom(scope.attributes.get(attribute.ref_attr_name, attribute))
            filled.name = attribute.name
        for graph in subgraphs(copy):
            self._subgraph(graph, scope.within(name))
        return copy

    def _subgraph(self, graph: onnx.GraphProto, scope: "_Scope") -> None:
        """Inline within `graph`. In a function its own names give way to fresh ones."""
        self.limits.require("nesting", scope.depth, f"'{scope.prefix}' is nested too deeply")
        if scope.functions:
            own = {n: self._fresh(scope.prefix + n) for n in _own_names(graph)}
            scope = scope.naming({**scope.names, **own})
            for info in (*graph.input, *graph.output, *graph.initializer, *graph.value_info):
                info.name = scope.names.get(info.name, info.name)
        nodes = self._nodes(graph.node, scope)
        del graph.node[:]
        graph.node.extend(nodes)

    def _call(
        self, function: onnx.FunctionProto, call: onnx.NodeProto, scope: "_Scope"
    ) -> list[onnx.NodeProto]:
        key = _key(function)
        if key in scope.functions:
            raise InvalidModelError(f"function {function.name} calls itself")
        if len(call.input) > len(function.input):
            raise InvalidModelError(
                f"node '{call.name}': {function.name} takes at most {len(function.input)} inputs"
            )
        inner = scope.within(call.name)
        self.limits.require("nesting", inner.depth, f"node '{call.name}' is nested too deeply")
        given = [*call.input, *[""] * len(function.input)]
        names = dict(zip(function.input, given, strict=False))
        asked = dict(zip(function.output, call.output, strict=False))
        own = {name for node in function.node for name in node.output if name} - names.keys()
        passed = {name: outer for name, outer in asked.items() if outer and name not in own}
        names |= {n: asked.get(n) or self._fresh(inner.prefix + n) for n in sorted(own)}
        nodes = self._nodes(
            function.node,
            _Scope(
                read_opsets(function.opset_import),
                names,
                {a.name: a for a in (*function.attribute_proto, *call.attribute)},
                inner.prefix,
                (*scope.functions, key),
                inner.depth,
            ),
        )
        for name, outer in passed.items():
            if name not in names:
                raise InvalidModelError(
                    f"node '{call.name}': function '{function.name}' uses '{name}', "
                    "which nothing before it defines"
                )
            nodes.append(helper.make_node("Identity", [names[name]], [outer], inner.prefix + name))
        return nodes

    def _fresh(self, hint: str) -> str:
        name, serial = hint, 0
        while name in self.taken:
            serial += 1
            name = f"{hint}_{serial}"
        self.taken.add(name)
        return name

    def _of_model(self, node: onnx.NodeProto, opsets: Mapping[str, int]) -> onnx.NodeProto:
        """`node`, or the call of a function that holds it, as the opsets of the model have it."""
        if opsets is self.opsets or self._means_the_same(node, opsets):
            return node
        read = list(read_names(node))
        outputs = [name for name in node.output if name]
        name = f"{node.op_type}_{len(self.wrapped)}"
        imports = [helper.make_opsetid(domain, version) for domain, version in opsets.items()]
        if self.wrapped:
            imports.append(helper.make_opsetid(WRAPPED, 1))
        self.wrapped.append(helper.make_function(WRAPPED, name, read, outputs, [node], imports))
        return helper.make_node(name, read, outputs, node.name, domain=WRAPPED)

    def _means_the_same(self, node: onnx.NodeProto, opsets: Mapping[str, int]) -> bool:
        """True if the model's opsets have the same version of `node` and of the nodes inside it."""
        version = opsets.get(node.domain)
        if node.domain == WRAPPED:
            return True
        if version is None:
            raise InvalidModelError(
                f"node '{node.name}': domain '{node.domain}' is not among the opset imports"
            )
        known = self.opsets.setdefault(node.domain, version)
        if known != version and _since(node, known) != _since(node, version):
            return False
        inner = (each for graph in subgraphs(node) for each in graph.node)
        return all(self._means_the_same(each, opsets) for each in inner)


class _Scope:
    """The scope of a list of nodes: a graph or the body of a function."""

    def __init__(
        self,
        opsets: Mapping[str, int],
        names: Mapping[str, str] | None = None,
        attributes: Attributes | None = None,
        prefix: str = "",
        functions: Sequence[FunctionKey] = (),
        depth: int = 0,
    ):
        self.opsets = opsets
        self.names = names or {}
        self.attributes = attributes or {}
        self.prefix = prefix
        self.functions = functions
        self.depth = depth

    def within(self, name: str) -> "_Scope":
        """The scope in node `name`, which lies here."""
        return _Scope(
            self.opsets, self.names, self.attributes, f"{name}/", self.functions, self.depth + 1
        )

    def naming(self, names: Mapping[str, str]) -> "_Scope":
        """This scope with other names."""
        return _Scope(self.opsets, names, self.attributes, self.prefix, self.functions, self.depth)


def _key(function: onnx.FunctionProto) -> FunctionKey:
    return domain_of(function.domain), function.name, function.overload


def _key_of(node: onnx.NodeProto) -> FunctionKey:
    return domain_of(node.domain), node.op_type, node.overload


def _since(node: onnx.NodeProto, version: int) -> int:
    """The opset since which `node` has the semantics of `version`; `version` itself if unknown."""
    try:
        schema = onnx.defs.get_schema(node.op_type, version, node.domain)
    except onnx.defs.SchemaError:
        return version
    return schema.since_version


def _own_names(graph: onnx.GraphProto) -> set[str]:
    """The names that `graph` itself defines."""
    names = {info.name for info in (*graph.input, *graph.initializer)}
    return names | {name for node in graph.node for name in node.output if name}


def _names_of(graph: onnx.GraphProto) -> Iterable[str]:
    """All names in `graph` and the graphs in it."""
    yield from _own_names(graph)
    for node in graph.node:
        yield from node.input
        for inner in subgraphs(node):
            yield from _names_of(inner)
