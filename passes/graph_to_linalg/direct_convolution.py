"""Direct convolutions, alone or with the elementwise ops that follow: kernels of our own."""

from collections.abc import Sequence

from ...dialects import graph, iree
from ...mlir import ir
from .direct_kernel import Emitter, Shape
from .kernels import define, flat
from .lowering import Lowering, lowers, plain_type
from .vector_emitter import Registers
from .vector_epilogue import Place, VectorEpilogue


@lowers(graph.DirectConvOp)
def direct_conv(ctx: Lowering, op: graph.GraphOp, x: ir.Value, w: ir.Value) -> ir.Value:
    del x, w
    return direct_epilogue(ctx, op, VectorEpilogue.nothing(op.operation.results[0]))


def direct_epilogue(ctx: Lowering, op: graph.GraphOp, epilogue: VectorEpilogue) -> ir.Value:
    """A direct convolution and its `epilogue`."""
    result = graph.type_of(op.operation.results[0])
    shape = _shape(op)
    operands = [ctx.values[op.x], ctx.values[op.w], *epilogue.operands(ctx)]
    buffers = [flat(type_) for type_ in (*(v.type for v in operands), plain_type(result))]

    def kernel(number: ir.Value, image: ir.Value, weights: ir.Value, *rest: ir.Value) -> None:
        *inputs, output = rest

        def finish(places: list[Place], sums: Registers) -> Registers:
            return epilogue.apply(emitter, inputs, places, sums)

        emitter = Emitter(shape, image, weights, output, finish)
        emitter.piece(number)

    name = define(ctx, "direct_conv", (shape, *epilogue.key), buffers, kernel)
    return iree.run_kernel(name, shape.pieces, operands, plain_type(result))


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
