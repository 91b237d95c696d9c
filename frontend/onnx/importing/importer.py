"""ONNX to the `graph` dialect.

This module only imports: it turns a ModelProto into one MLIR function, node by node, with the
converters of `registry`. It optimises nothing and runs no pipeline. Each op it creates is located
at its node's name. What no converter covers is expanded from a function body, the model's own or
the one that ONNX ships; what then remains is refused, all of it at once.
"""

import fnmatch
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import onnx

from ....dialects import graph
from ....dialects.symbolic import ComplexityError, Dim
from ....errors import (
    ConversionError,
    GraphcError,
    InvalidDimError,
    InvalidModelError,
    LimitError,
    UnsupportedModelError,
    UnsupportedNode,
    UsageError,
)
from ....mlir import func, ir
from .attributes import check_kinds, read_attribute, read_attributes
from .choices import Answers, Choices, equation
from .declarations import contradiction
from .dimension_names import DimensionNames
from .initializers import read_initializers
from .limits import FunctionKey, current_limits
from .long_sizes import with_short_sizes
from .model_nodes import choose_outputs, node_name
from .node_order import in_order
from .opsets import domain_of, read_opsets
from .registry import Node, UnsupportedError, find_converter
from .standard_bodies import defaults_of, resolved, standard_body, standard_schema
from .tensors import check_shape, dtype_of, to_array
from .visible_ranks import visible

_MAX_ELEMENT_BYTES = 16


@dataclass
class Scope:
    """Names that are visible in one scope: of a graph, a subgraph, or a function body."""

    opsets: Mapping[str, int]
    values: dict[str, ir.Value] = field(default_factory=dict)
    initializers: dict[str, onnx.TensorProto] = field(default_factory=dict)
    attributes: Mapping[str, Any] = field(default_factory=dict)
    prefix: str = ""
    functions: tuple[FunctionKey, ...] = ()
    """The functions whose bodies are being expanded here."""
    depth: int = 0
    """The subgraphs and bodies of functions that it lies in."""
    outer: "Scope | None" = None
    poisoned: set[str] = field(default_factory=set)
    """Values whose node is not supported."""
    block: ir.Block = field(default_factory=lambda: ir.InsertionPoint.current.block)
    """The block in which the names of the scope are defined."""
    size_names: dict[Dim, Dim] = field(default_factory=dict)
    """Names that stand for sizes with long formulas."""
    function: onnx.FunctionProto | None = None
    """The function whose body it lies in, the innermost one."""


class Importer:
    """Imports one model into the function it makes at the insertion point."""

    def __init__(
        self,
        model: onnx.ModelProto,
        folder: Path | None,
        dims: dict[str, int],
        owned: bool,
        answers: Answers | None = None,
        donate: Sequence[str] = (),
    ):
        self.donate = donate
        self.model = model
        self.owned = owned
        self.folder = folder
        self.names = DimensionNames(model.graph.input, dims)
        self.dims = self.names.resolve(dims)
        self.functions = {(f.domain, f.name, f.overload): f for f in model.functions}
        self.unsupported: list[UnsupportedNode] = []
        self.input_symbols: frozenset[str] = frozenset()
        self.loop_histories: defaultdict[str, graph.LoopHistory] = defaultdict(graph.LoopHistory)
        """The varying sizes of loops, by the names of their nodes; see `graph.loop`."""
        self.choices = Choices(answers or {})
        self.warnings: list[str] = []
        """Harmless oddities of the model."""
        self.results = [info.name for info in model.graph.output]
        self.limits = current_limits()
        self.node_count = 0
        """The nodes that were imported, some of them several times."""
        self.subgraph_count = 0
        self.skipped = 0
        """Nodes that read results of unsupported nodes."""

    def import_model(self, outputs: Sequence[str] | None = None) -> None:
        """Make ``@main``."""
        self._check_sizes()
        graph_proto, chosen = self.model.graph, choose_outputs(self.model, outputs)
        self.results = [info.name for info in chosen]
        opsets = read_opsets(self.model.opset_import)
        initializers = read_initializers(graph_proto)
        inputs = [i for i in graph_proto.input if i.name not in initializers]
        types = [self._input_type(i) for i in inputs]
        self._check_dim_names()
        self.input_symbols = frozenset(self.names.taken)
        function = func.FuncOp("main", ([graph.to_mlir(t) for t in types], []))
        block = function.add_entry_block()
        function.arg_attrs = _argument_attributes((info.name for info in inputs), self.donate)
        scope = Scope(opsets, initializers=initializers, block=block)
        for info, argument in zip(inputs, block.arguments, strict=True):
            self._check_size(argument, f"input '{info.name}'")
            define(scope, info.name, argument, "graph input")
        with ir.InsertionPoint(block):
            self._import_nodes(graph_proto.node, scope)
            if self.unsupported:
                raise UnsupportedModelError(self.unsupported)
            results = [self._lookup(scope, o.name, "graph output") for o in chosen]
            self._check_declared(chosen, results)
            func.ReturnOp(results)
        signature = ir.FunctionType.get(
            [a.type for a in block.arguments], [value.type for value in results]
        )
        function.attributes["function_type"] = ir.TypeAttr.get(signature)
        function.attributes["res_attrs"] = _names(info.name for info in chosen)

    def _check_declared(
        self, infos: Sequence[onnx.ValueInfoProto], values: Sequence[ir.Value]
    ) -> None:
        found = (
            contradiction(info, graph.type_of(v)) for info, v in zip(infos, values, strict=True)
        )
        self.warnings += dict.fromkeys(filter(None, found))

    # Inputs

    def _input_type(self, info: onnx.ValueInfoProto) -> graph.TensorType:
        what = f"input '{info.name}'"
        if not info.type.HasField("tensor_type"):
            kind = info.type.WhichOneof("value") or "no type"
            self._refuse_input(info.name, f"inputs of kind {kind}")
        tensor = info.type.tensor_type
        dtype = dtype_of(tensor.elem_type, what)
        if dtype.hasobject:
            self._refuse_input(info.name, "string tensors")
        if dtype.kind == "c":
            self._refuse_input(info.name, f"inputs of {dtype}")
        if not tensor.HasField("shape"):
            self._refuse_input(info.name, "inputs of unknown rank")
        dims = tensor.shape.dim
        check_shape([max(d.dim_value, 0) for d in dims], dtype, what)
        shape = [self._input_size(info.name, i, d) for i, d in enumerate(dims)]
        try:
            check_shape([size for size in shape if isinstance(size, int)], dtype, what)
        except InvalidModelError as error:
            given = ", ".join(f"{name}={size}" for name, size in self.dims.items())
            raise InvalidDimError(f"with {given}, {error}") from error
        return graph.TensorType(tuple(shape), dtype)

    def _refuse_input(self, name: str, reason: str) -> None:
        raise UnsupportedModelError(
            [UnsupportedNode(name, "", "graph input", 0, f"{reason} are not supported")]
        )

    def _input_size(self, name: str, axis: int, dim: onnx.TensorShapeProto.Dimension) -> int | Dim:
        try:
            size = self.names.read(dim, name, axis)
            return size.evaluate(self.dims) if isinstance(size, Dim) else size
        except ComplexityError as error:
            raise LimitError(f"input '{name}', axis {axis}: {error}") from error
        except ArithmeticError as error:
            raise InvalidModelError(f"input '{name}', axis {axis}: {error}") from error

    def _check_sizes(self) -> None:
        for name, size in self.dims.items():
            if not isinstance(size, int) or isinstance(size, bool) or size < 0:
                raise InvalidDimError(f"dimension '{name}' cannot be {size!r}")

    def _check_dim_names(self) -> None:
        unknown = sorted(set(self.dims) - self.names.taken)
        if unknown:
            known = ", ".join(sorted(self.names.taken)) or "none"
            raise InvalidDimError(
                f"no dimension named {', '.join(unknown)}; the model has: {known}"
            )

    # Nodes

    def _import_nodes(self, nodes: Iterable[onnx.NodeProto], scope: Scope) -> None:
        for index, node in in_order(nodes):
            name = scope.prefix + node_name(node, index)
            self._count(node, name)
            try:
                with ir.Location.name(name):
                    self._import_node(node, name, scope)
            except UnsupportedError as error:
                self._refuse(node, name, scope, str(error))
            except graph.TypeRuleError as error:
                raise InvalidModelError(f"node '{name}' ({node.op_type}): {error}") from error
            except ComplexityError as error:
                raise LimitError(f"node '{name}' ({node.op_type}): {error}") from error
            except InvalidModelError as error:
                if f"'{name}'" in str(error) or f"'{name}/" in str(error):
                    raise
                raise type(error)(f"node '{name}' ({node.op_type}): {error}") from error
            except (GraphcError, MemoryError, RecursionError):
                raise
            except Exception as error:  # any error that Python or numpy raised for the node
                raise ConversionError(
                    f"node '{name}' ({node.op_type}) cannot be imported"
                    f"{self._operands(node, scope)}: {type(error).__name__}: {error}"
                ) from error

    def _operands(self, node: onnx.NodeProto, scope: Scope) -> str:
        """The types of the values that `node` reads, as far as they are known."""
        values = [scope.values[name] for name in node.input if name in scope.values]
        types = ", ".join(str(graph.type_of(value)) for value in values)
        return f" with operands {types}" if types else ""

    def _count(self, node: onnx.NodeProto, name: str) -> None:
        self.node_count += 1
        what = f"up to node '{name[:200]}' ({node.op_type})"
        self.limits.require("nodes", self.node_count, f"{what} there are too many nodes")
        self.limits.require("name_bytes", len(name), f"{what} names are too long")

    def _enclose(self, name: str, scope: Scope) -> int:
        """The nesting depth within node `name`."""
        self.limits.require("nesting", scope.depth + 1, f"node '{name}' is nested too deeply")
        return scope.depth + 1

    def _refuse(self, node: onnx.NodeProto, name: str, scope: Scope, reason: str) -> None:
        opset = scope.opsets.get(domain_of(node.domain), 0)
        self.unsupported.append(UnsupportedNode(name, node.domain, node.op_type, opset, reason))
        scope.poisoned |= set(node.output)

    def _import_node(self, proto: onnx.NodeProto, name: str, scope: Scope) -> None:
        domain = domain_of(proto.domain)
        if domain not in scope.opsets:
            raise InvalidModelError(f"domain '{proto.domain}' is not among the opset imports")
        opset = scope.opsets[domain]
        if any(_is_poisoned(scope, given) for given in proto.input if given):
            self._require_known(proto, domain, opset)
            scope.poisoned |= set(proto.output)
            self.skipped += 1
            return
        inputs = [self._lookup(scope, n, f"node '{name}'") if n else None for n in proto.input]
        check_kinds(proto, opset, domain)
        attributes = read_attributes(proto, scope.attributes, self.folder)
        function = self.functions.get((proto.domain, proto.op_type, proto.overload))
        converter = find_converter(domain, proto.op_type, opset)
        if function is not None:
            results = self._inline(function, proto, name, inputs, attributes, scope)
        elif converter is not None:
            node = Node(
                name, proto.op_type, domain, opset, tuple(proto.output), self.names.fresh,
                lambda subgraph, given=(): self._import_subgraph(subgraph, given, name, scope),
                self.loop_histories[name],
                lambda value: self._lookup_attribute(scope, value),
                lambda question, sizes=None: self._choose(name, question, sizes),
                lambda: self.choices.told,
                lambda names, rank: self._shows_rank(scope, names, rank),
            )  # fmt: skip
            results = converter.convert(node, inputs, attributes)
        else:
            schema = standard_schema(proto, opset)
            body = standard_body(schema, resolved(proto, attributes), inputs, scope.opsets)
            attributes = {**defaults_of(schema), **attributes}
            results = self._inline(body, proto, name, inputs, attributes, scope)
        results = list(results) if isinstance(results, Sequence) else [results]
        _require_enough(results, proto)
        for output, value in zip(proto.output, results, strict=False):
            if output and value is not None:
                self._check_size(value, f"node '{name}' ({proto.op_type}), output '{output}'")
                value = with_short_sizes(value, scope.size_names, self.names.fresh)
                define(scope, output, value, f"node '{name}'")

    def _check_size(self, value: ir.Value, what: str) -> None:
        sizes = ir.RankedTensorType(value.type).shape
        count = math.prod(size for size in sizes if size > 0)
        if count * _MAX_ELEMENT_BYTES > self.limits.tensor_bytes:
            self.limits.require("tensor_bytes", graph.known_bytes(graph.type_of(value)), what)

    def _require_known(self, proto: onnx.NodeProto, domain: str, opset: int) -> None:
        """UnsupportedError for an operator that could not be imported, whatever its inputs."""
        if (proto.domain, proto.op_type, proto.overload) in self.functions:
            return
        if find_converter(domain, proto.op_type, opset) is None:
            schema = standard_schema(proto, opset)
            if not (schema.has_function or schema.has_context_dependent_function):
                raise UnsupportedError("the operator is not supported")

    def _inline(
        self,
        function: onnx.FunctionProto,
        proto: onnx.NodeProto,
        name: str,
        inputs: Sequence[ir.Value | None],
        attributes: dict[str, Any],
        caller: Scope,
    ) -> list[ir.Value | None]:
        """Import the body of `function` in place of a node; None for unused outputs."""
        key = (function.domain, function.name, function.overload)
        if key in caller.functions:
            raise InvalidModelError(f"function {function.name} calls itself")
        if len(inputs) > len(function.input):
            raise InvalidModelError(f"{function.name} takes at most {len(function.input)} inputs")
        defaults = {a.name: read_attribute(a, self.folder) for a in function.attribute_proto}
        scope = Scope(
            read_opsets(function.opset_import),
            attributes={**defaults, **attributes},
            prefix=f"{name}/",
            functions=(*caller.functions, key),
            depth=self._enclose(name, caller),
            function=function,
        )
        for parameter, value in zip(function.input, inputs, strict=False):
            if value is not None:
                scope.values[parameter] = value
        self._import_nodes(function.node, scope)
        if scope.poisoned & set(function.output):
            raise UnsupportedError(f"its function body ({function.name}) holds unsupported nodes")
        asked = [*proto.output, *[""] * len(function.output)]
        return [
            self._lookup(scope, inner, f"function '{function.name}'") if outer else None
            for inner, outer in zip(function.output, asked, strict=False)
        ]

    def _import_subgraph(
        self, subgraph: onnx.GraphProto, given: Sequence[ir.Value], name: str, scope: Scope
    ) -> list[ir.Value]:
        """Import a subgraph in place; it sees the names of `scope`."""
        self.subgraph_count += 1
        self.limits.require("subgraphs", self.subgraph_count, "subgraphs")
        inner = Scope(
            scope.opsets,
            initializers=read_initializers(subgraph),
            attributes=scope.attributes,
            prefix=f"{name}/",
            functions=scope.functions,
            depth=self._enclose(name, scope),
            outer=scope,
            function=scope.function,
        )
        formal = [info.name for info in subgraph.input]
        if len(formal) != len(given):
            raise InvalidModelError(f"its subgraph takes {len(formal)} inputs, not {len(given)}")
        for parameter, value in zip(formal, given, strict=True):
            define(inner, parameter, value, f"subgraph of '{name}'")
        refused = len(self.unsupported)
        try:
            self._import_nodes(subgraph.node, inner)
        except InvalidModelError:
            del self.unsupported[refused:]  # the node may do without the subgraph
            raise
        if any(_is_poisoned(inner, output.name) for output in subgraph.output):
            raise UnsupportedError("its subgraph holds unsupported nodes")
        return [self._lookup(inner, o.name, f"subgraph of '{name}'") for o in subgraph.output]

    def _choose(
        self, name: str, question: str, sizes: tuple[int | Dim, int | Dim] | None
    ) -> bool | None:
        """The answer to `question` of node `name`, which may ask whether two `sizes` are equal."""
        difference = 0 if sizes is None else sizes[0] - sizes[1]
        if isinstance(difference, Dim) and difference.symbols() <= self.input_symbols:
            name, question = "", equation(difference)
        return self.choices.answer(name, question)

    def _shows_rank(self, scope: Scope, names: Sequence[str], rank: int) -> bool:
        function = scope.function
        body = self.model.graph if function is None else function
        outputs = self.results if function is None else function.output
        seen = visible(body, outputs, rank, lambda name: _find(scope, name))
        return not seen.isdisjoint(names)

    def _lookup_attribute(self, scope: Scope, name: str) -> ir.Value:
        try:
            return self._lookup(scope, name, "an attribute")
        except InvalidModelError as error:
            raise UnsupportedError(str(error)) from None

    def _lookup(self, scope: Scope, name: str, what: str) -> ir.Value:
        found: Scope | None = scope
        while found is not None:
            if name in found.values:
                return found.values[name]
            if name in found.initializers:
                return self._materialise(found, name)
            found = found.outer
        raise InvalidModelError(f"{what} uses '{name}', which nothing before it defines")

    def _materialise(self, scope: Scope, name: str) -> ir.Value:
        """Create the constant for an initializer at its first use."""
        if scope.initializers[name].data_type == onnx.TensorProto.STRING:
            raise UnsupportedError(f"initializer '{name}' holds strings")
        tensor = scope.initializers.pop(name)
        array = to_array(tensor, self.folder)
        if self.owned and scope.outer is None:  # bodies of loops are imported again
            tensor.ClearField("raw_data")  # the array holds the data now
        here = ir.InsertionPoint.current
        point = here if scope.block == here.block else ir.InsertionPoint.at_block_begin(scope.block)
        with ir.Location.name(name), point:
            scope.values[name] = graph.constant(value=array)
        return scope.values[name]


def define(scope: Scope, name: str, value: ir.Value, what: str) -> None:
    if name in scope.values or name in scope.initializers:
        raise InvalidModelError(f"{what} defines '{name}', which is already defined")
    scope.values[name] = value


def _find(scope: Scope | None, name: str) -> ir.Value | None:
    """The value of `name` if `scope` has it already."""
    while scope is not None:
        if name in scope.values:
            return scope.values[name]
        scope = scope.outer
    return None


def _is_poisoned(scope: Scope | None, name: str) -> bool:
    while scope is not None:
        if name in scope.poisoned:
            return True
        scope = scope.outer
    return False


def _require_enough(results: Sequence[ir.Value | None], proto: onnx.NodeProto) -> None:
    wanted = [output for output in proto.output[len(results) :] if output]
    if wanted:
        raise UnsupportedError(f"output(s) {', '.join(wanted)} are not supported")


def _argument_attributes(names: Iterable[str], donate: Sequence[str]) -> ir.ArrayAttr:
    """The attributes of inputs: names, and a mark on those that match a pattern of `donate`.

    Raises `UsageError` for a pattern that no name matches.
    """
    names = list(names)
    for pattern in donate:
        if not fnmatch.filter(names, pattern):
            raise UsageError(f"donate: no input matches '{pattern}' (inputs: {', '.join(names)})")

    def attributes(name: str) -> ir.DictAttr:
        known: dict[str, ir.Attribute] = {"graph.name": ir.StringAttr.get(name)}
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in donate):
            known[graph.DONATED] = ir.UnitAttr.get()
        return ir.DictAttr.get(known)

    return ir.ArrayAttr.get([attributes(name) for name in names])


def _names(names: Iterable[str]) -> ir.ArrayAttr:
    return ir.ArrayAttr.get(
        [ir.DictAttr.get({"graph.name": ir.StringAttr.get(name)}) for name in names]
    )
