"""A recorded program as nodes and edges."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from ..dialects import graph
from ..dialects.locations import location_names
from ..mlir import create_context, ir
from ..passes.analysis.liveness import operands_of

LONGEST_ATTRIBUTE = 120
TIMES = " \N{MULTIPLICATION SIGN} "
SEGMENTS = ("operandSegmentSizes", "resultSegmentSizes")


@dataclass
class NodeView:
    """An op, an input or an output.

    `origin` holds nodes of the ONNX model, `inner` the ops of a fused group, `inputs` pairs of the
    node number (None for weights) and the type, `bodies` graphs by number, `position` the index of
    the op in its block.
    """

    op: str
    family: str
    origin: tuple[str, ...] = ()
    inputs: list[tuple[int | None, str]] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    attributes: dict[str, str] = field(default_factory=dict)
    inner: list[tuple[str, str]] = field(default_factory=list)
    bodies: list[int] = field(default_factory=list)
    position: int = -1

    @property
    def key(self) -> tuple[Any, ...]:
        """Identity of the node, for comparison between stages."""
        return (
            self.op,
            self.origin,
            tuple(self.outputs),
            tuple(self.inner),
            tuple(text for _, text in self.inputs),
            tuple(self.attributes.items()),
        )


@dataclass
class BlockGraph:
    """The ops of a block, in order; the source of an edge has a smaller number than its target."""

    title: str
    nodes: list[NodeView] = field(default_factory=list)
    edges: list[tuple[int, int]] = field(default_factory=list)


@dataclass
class ProgramGraphs:
    """The graphs of a program, that of ``main`` first. The ops live as long as `module`."""

    graphs: list[BlockGraph]
    module: ir.Module
    main: Any


def read_program(text: str) -> ProgramGraphs:
    """Parse the text of a `Stage`.

    Ops are parsed as unregistered, without the dialect, whose rules need the constants that are
    elided in the text.
    """
    context = create_context()
    context.allow_unregistered_dialects = True
    with context:
        module = ir.Module.parse(text)
        main = next(op for op in module.body.operations if _is_main(op.operation))
        reader = _Reader()
        reader.read_function(main.operation)
    return ProgramGraphs(reader.graphs, module, main)


def _is_main(op: ir.Operation) -> bool:
    if op.name != "func.func":
        return False
    return ir.StringAttr(op.attributes["sym_name"]).value == "main"


class _Reader:
    def __init__(self) -> None:
        self.graphs: list[BlockGraph] = []

    def read_function(self, function: ir.Operation) -> None:
        block = function.regions[0].blocks[0]
        names = [_argument_names(function, kind) for kind in ("arg_attrs", "res_attrs")]
        self.read_block("main", block, *names)

    def read_block(
        self, title: str, block: ir.Block, inputs: Sequence[str], outputs: Sequence[str]
    ) -> int:
        number = len(self.graphs)
        found = BlockGraph(title)
        self.graphs.append(found)
        owners: dict[ir.Value, int] = {}
        types: dict[ir.Value, str] = {}
        for argument in block.arguments:
            names = tuple(inputs[argument.arg_number : argument.arg_number + 1])
            owners[argument] = len(found.nodes)
            found.nodes.append(NodeView("input", "input", names, outputs=[_spell(argument.type)]))
        *ops, terminator = [op.operation for op in block.operations]
        for position, op in enumerate(ops):
            if op.name == "graph.constant":
                types[op.results[0]] = _spell(op.results[0].type)
                continue
            node = self._read(op, position)
            _connect(found, node, _captured(op), owners, types)
            owners.update(dict.fromkeys(op.results, len(found.nodes) - 1))
        for index, value in enumerate(terminator.operands):
            node = NodeView("output", "output", tuple(outputs[index : index + 1]))
            _connect(found, node, [value], owners, types)
        return number

    def _read(self, op: ir.Operation, position: int) -> NodeView:
        name = op.name.removeprefix("graph.")
        node = NodeView(name, family(op.name), location_names(op.location), position=position)
        node.outputs = [_spell(result.type) for result in op.results]
        node.attributes = {
            key: _shortened(str(attribute))
            for key, attribute in op.attributes.items()
            if key not in SEGMENTS
        }
        if isinstance(graph.graph_op(op), graph.GroupOp):
            *inner, _ = [each.operation for each in op.regions[0].blocks[0].operations]
            node.inner = [(each.name.removeprefix("graph."), family(each.name)) for each in inner]
            return node
        for index, region in enumerate(op.regions):
            title = f"{name} {' '.join(node.origin[:1])}: body {index + 1}"
            node.bodies.append(self.read_block(title, region.blocks[0], (), ()))
        return node


def _connect(
    found: BlockGraph,
    node: NodeView,
    operands: Sequence[ir.Value],
    owners: dict[ir.Value, int],
    constants: dict[ir.Value, str],
) -> None:
    """Add `node`, with an edge from each op of the graph that it uses."""
    number = len(found.nodes)
    found.nodes.append(node)
    for value in operands:
        source = owners.get(value)
        node.inputs.append((source, constants.get(value) or _spell(value.type)))
        if source is not None:
            found.edges.append((source, number))


def _captured(op: ir.Operation) -> list[ir.Value]:
    """The values defined outside of `op` that it uses, including uses within its regions."""
    if not op.regions:
        return list(op.operands)
    inside = set(_defined(op))
    return [value for value in dict.fromkeys(operands_of(op)) if value not in inside]


def _defined(op: ir.Operation) -> Iterator[ir.Value]:
    for region in op.regions:
        for block in region.blocks:
            yield from block.arguments
            for inner in block.operations:
                yield from inner.operation.results
                yield from _defined(inner.operation)


@lru_cache(maxsize=1024)
def family(name: str) -> str:
    """The family of an op, which is the name of its file."""
    op_class = graph.GraphOp.op_classes.get(name)
    return op_class.__module__.rpartition(".")[2] if op_class else "other"


def _argument_names(function: ir.Operation, kind: str) -> list[str]:
    if kind not in function.attributes:
        return []
    named = (ir.DictAttr(each) for each in ir.ArrayAttr(function.attributes[kind]))
    return [
        ir.StringAttr(each["graph.name"]).value if "graph.name" in each else "" for each in named
    ]


def _spell(type_: ir.Type) -> str:
    """Format a shape, with named sizes, and an element type."""
    found = graph.from_mlir(type_)
    return f"{TIMES.join(map(str, found.shape))} {graph.types.dtype_name(found.dtype)}".strip()


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_ATTRIBUTE else text[: LONGEST_ATTRIBUTE - 1] + "…"
