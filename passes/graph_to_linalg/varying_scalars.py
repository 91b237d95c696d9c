"""Scalars that kernels read from memory, because kernels are equal but for them.

Layers of a quantised model have equal shapes, and scales and zero points of their own. Compiled
into the epilogues, these would make a kernel of each layer.
"""

from collections import defaultdict
from collections.abc import Container, Iterator, Mapping

from ...dialects import graph
from ...mlir import ir
from ..infra.query import splat_of
from ..kernels.epilogue import steps_key
from .elementwise import values_from_outside
from .quantization import reads_zero_point

ARITHMETIC = (graph.AddOp, graph.SubOp, graph.MulOp, graph.FmaOp, graph.DequantizeOp)
"""Ops whose code is the same for any number. That of a quantization is not the same for any scale,
by which it divides with products, but for any zero point."""

Scalars = Mapping[ir.Value, frozenset[ir.Value]]
"""Constants by the result of the contraction whose epilogue they are in."""


def varying_scalars(function: ir.Operation) -> Scalars:
    """The constants of one element in the epilogues of `function` that differ between otherwise
    equal contractions with epilogues."""
    groups = defaultdict[object, list[tuple[ir.Value, list[ir.Value]]]](list)

    def note(op: ir.Operation) -> ir.WalkResult:
        fused = op.opview
        assert isinstance(fused, graph.FusedOp)
        if fused.attrs["kind"] == "epilogue":
            root, *steps = fused.ops
            result = root.operation.results[0]
            leaves = [value for value in values_from_outside(steps) if value != result]
            scalars = [leaf for leaf in leaves if _may_be_read(leaf, steps)]
            groups[tuple(_form(root, steps, leaves, scalars))].append((result, scalars))
        return ir.WalkResult.ADVANCE

    function.walk(note, op_class=graph.FusedOp)
    return dict(found for group in groups.values() for found in _varying(group))


def _form(
    root: graph.GraphOp,
    steps: list[graph.GraphOp],
    leaves: list[ir.Value],
    scalars: Container[ir.Value],
) -> Iterator[object]:
    """All of a contraction and its epilogue but the `scalars` among its `leaves`."""
    yield root.operation.name, repr(root.attrs)
    yield from map(str, (value.type for value in root.operation.operands))
    result = root.operation.results[0]
    for leaf in leaves:
        splat = None if leaf in scalars else splat_of(leaf)
        yield str(leaf.type), repr(splat)
    yield from steps_key(steps, [result, *leaves])


def _may_be_read(value: ir.Value, steps: list[graph.GraphOp]) -> bool:
    """Return whether `value` is one number, which decides no code of `steps`."""
    is_number = graph.element_count(graph.type_of(value).shape) == 1
    readers = (step for step in steps if value in list(step.operation.operands))
    is_alike = all(_is_alike(value, reader) for reader in readers)
    return is_number and is_alike and splat_of(value) is not None


def _is_alike(value: ir.Value, reader: graph.GraphOp) -> bool:
    """Return whether the code of `reader` is the same for any number `value`."""
    if not isinstance(reader, graph.QuantizeOp):
        return isinstance(reader, ARITHMETIC)
    return value == reader.zero_point and reads_zero_point(reader)


def _varying(
    group: list[tuple[ir.Value, list[ir.Value]]],
) -> Iterator[tuple[ir.Value, frozenset[ir.Value]]]:
    """The scalars of each contraction of `group` at the places where they differ."""
    places = zip(*(scalars for _, scalars in group), strict=True)
    differs = [len(set(map(_text, values))) > 1 for values in places]
    for result, scalars in group:
        chosen = (value for value, varies in zip(scalars, differs, strict=True) if varies)
        if found := frozenset(chosen):
            yield result, found


def _text(value: ir.Value) -> str:
    return repr(splat_of(value))  # in which 0.0 is not -0.0
