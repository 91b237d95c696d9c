"""Direct convolutions, alone or with the elementwise ops that follow: kernels of our own."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...dialects import graph, iree
from ...mlir import ir, vector
from .direct_kernel import Emitter, Registers, Shape, Tile
from .elementwise import splat_of
from .kernels import define, flat
from .lowering import Lowering, lowers, plain_type

ON_VECTORS = (
    graph.AddOp,
    graph.SubOp,
    graph.MulOp,
    graph.DivOp,
    graph.MaxOp,
    graph.MinOp,
    graph.NegOp,
    graph.AbsOp,
    graph.ReluOp,
    graph.LeakyReluOp,
    graph.HardSigmoidOp,
)
"""Elementwise ops that vectors can be computed with as they are."""

Body = Callable[[Mapping[ir.Value, ir.Value]], ir.Value]


@lowers(graph.DirectConvOp)
def direct_conv(ctx: Lowering, op: graph.GraphOp, x: ir.Value, w: ir.Value) -> ir.Value:
    del x, w
    y = direct_epilogue(ctx, op, [], {}, lambda known: known[op.operation.results[0]])
    assert y is not None
    return y


def direct_epilogue(
    ctx: Lowering,
    op: graph.GraphOp,
    steps: Sequence[graph.GraphOp],
    leaves: Mapping[ir.Value, ir.Value],
    body: Body,
) -> ir.Value | None:
    """A direct convolution and what `body` makes of it and `leaves`: the elementwise `steps`.

    None where one of the steps, or the way an operand broadcasts, is not for a kernel.
    """
    root = op.operation.results[0]
    result = graph.type_of(root)
    others = {value: _Leaf.of(value, result) for value in leaves if value != root}
    known = {value: leaf for value, leaf in others.items() if leaf is not None}
    if not all(isinstance(step, ON_VECTORS) for step in steps) or len(known) != len(others):
        return None
    shape = _shape(op)
    memory = [value for value, leaf in known.items() if leaf.splat is None]
    operands = [ctx.values[op.x], ctx.values[op.w], *(leaves[value] for value in memory)]
    buffers = [flat(type_) for type_ in (*(v.type for v in operands), plain_type(result))]

    def kernel(number: ir.Value, image: ir.Value, weights: ir.Value, *rest: ir.Value) -> None:
        *inputs, output = rest
        places = dict(zip(memory, inputs, strict=True))

        def epilogue(tile: Tile, sums: Registers) -> Registers:
            reads = {
                value: leaf.reader(emitter, tile, places.get(value))
                for value, leaf in known.items()
            }
            return [
                body({root: total, **{value: read(i) for value, read in reads.items()}})
                for i, total in enumerate(sums)
            ]

        emitter = Emitter(shape, image, weights, output, epilogue)
        emitter.piece(number)

    key = (shape, *known.values(), *_text(steps, [root, *known]))
    name = define(ctx, "direct_conv", key, buffers, kernel)
    return iree.run_kernel(name, shape.pieces, operands, plain_type(result))


@dataclass(frozen=True)
class _Leaf:
    """How a value beside the sums is read: one number, one per feature, or one per element."""

    splat: float | None = None
    whole: bool = False

    @staticmethod
    def of(value: ir.Value, result: graph.TensorType) -> "_Leaf | None":
        """None when the value broadcasts in another way."""
        type_ = graph.type_of(value)
        if type_.dtype != result.dtype:
            return None
        splat = splat_of(value)
        if splat is not None:
            return _Leaf(splat=float(splat))
        if type_.shape == result.shape:
            return _Leaf(whole=True)
        *others, last = type_.shape or (1,)
        return _Leaf() if last == result.shape[-1] and all(s == 1 for s in others) else None

    def reader(
        self, emitter: Emitter, tile: Tile, memory: ir.Value | None
    ) -> Callable[[int], ir.Value]:
        """What there is of it for each register of `tile`."""
        if self.splat is not None:
            constant = emitter.splat(self.splat)
            return lambda register: constant
        type_ = emitter.vector_type
        if self.whole:
            return lambda register: vector.load(
                type_, memory, [emitter.element(tile.offset, register)]
            )
        lanes, parts = emitter.shape.lanes, emitter.shape.parts
        columns = [
            vector.load(type_, memory, [emitter.add(tile.first_feature, part * lanes)])
            for part in range(parts)
        ]
        return lambda register: columns[register % parts]


def _shape(op: graph.GraphOp) -> Shape:
    attrs = op.attrs
    batch, *extents, channels = graph.type_of(op.x).static_shape
    _, *kernel, _, panel = graph.type_of(op.w).static_shape
    _, *places, features = graph.type_of(op.result).static_shape
    return Shape(
        (batch, *_along_axes(extents, 1), channels), (batch, *_along_axes(places, 1), features),
        _along_axes(kernel, 1), _along_axes(attrs["strides"], 1),
        _along_axes(attrs["dilations"], 1),
        _along_axes(attrs["low"], 0), width=panel, groups=attrs["groups"], places=attrs["places"],
        lanes=attrs["lanes"],
    )  # fmt: skip


def _along_axes(values: Sequence[int], above: int) -> tuple[int, int]:
    """`values` along both axes of an image; a sequence is an image of one row."""
    return (above, values[0]) if len(values) == 1 else (values[0], values[1])


def _text(steps: Sequence[graph.GraphOp], values: Sequence[ir.Value]) -> Iterator[object]:
    """`steps` on `values`, as something that is equal where they do the same."""
    numbers = {value: number for number, value in enumerate(values)}
    for step in steps:
        operands = tuple(numbers[value] for value in step.operation.operands)
        yield step.operation.name, operands, tuple(step.attrs.items())
        numbers[step.operation.results[0]] = len(numbers)
