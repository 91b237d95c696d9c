"""Images with zeros beside and between their elements, by one kernel (`kernels.image_vectors`)."""

from collections.abc import Sequence
from dataclasses import dataclass

from ...dialects import graph, iree
from ...mlir import ir
from ..infra.query import splat_of
from ..kernels.image_vectors import THREADS, ImageEmitter, ImageShape
from .elementwise import evaluate_scalars
from .kernel_calls import define, flat
from .lowering import Lowering, plain_type, scalar_constant
from .strided_view import strided_view


@dataclass(frozen=True)
class _Origin:
    """A value, and the elementwise steps from it to another one, whose axis ``i`` is its axis
    ``order[i]``."""

    value: ir.Value
    order: tuple[int, ...]
    steps: Sequence[graph.GraphOp]

    @property
    def key(self) -> list[object]:
        """Equal for steps that compute the same."""
        return [
            (
                step.operation.name,
                repr(step.attrs),
                str(graph.type_of(step.operation.results[0]).dtype),
                *(str(splat_of(operand)) for operand in step.operation.operands),
            )
            for step in self.steps
        ]

    def element(self, element: ir.Value) -> ir.Value:
        """The element of the other value, from that of this one."""
        for step in self.steps:
            known: dict[ir.Value, ir.Value] = {}
            for operand in step.operation.operands:
                splat, dtype = splat_of(operand), graph.type_of(operand).dtype
                known[operand] = element if splat is None else scalar_constant(splat, dtype)
            element = evaluate_scalars([step], known)[step.operation.results[0]]
        return element


def _origin(value: ir.Value) -> _Origin:
    order = tuple(range(graph.type_of(value).rank))
    steps: list[graph.GraphOp] = []
    while True:
        op = graph.graph_op(value.owner)
        if isinstance(op, graph.TransposeOp):
            order = tuple(op.attrs["perm"][axis] for axis in order)
            value = op.x
            continue
        if not isinstance(op, graph.ElementwiseOp):
            break
        images = {v for v in op.operation.operands if splat_of(v) is None}
        if len(images) != 1 or graph.type_of(image := images.pop()).shape != _shape_of(value):
            break
        steps.insert(0, op)
        value = image
    return _Origin(value, order, steps)


def _shape_of(value: ir.Value) -> tuple[object, ...]:
    return graph.type_of(value).shape


def image_in_vectors(
    ctx: Lowering, value: ir.Value, low: Sequence[int], sizes: Sequence[int]
) -> ir.Value:
    """The image `value` ``[N, spatial..., C]`` as a tensor of `sizes`, zero where it has no
    element; the border before its first pixels is `low`.

    If it is computed from another image, element by element or by transposes, that one is read.
    """
    type_ = graph.type_of(value)
    origin = _origin(value)
    view = strided_view(ctx.values[origin.value])
    strides = tuple(view.strides[axis] for axis in origin.order)
    shape = ImageShape(type_.static_shape, view.offset, strides, tuple(low), tuple(sizes))
    result = plain_type(type_.with_shape(sizes))

    def kernel(number: ir.Value, image: ir.Value, y: ir.Value) -> None:
        ImageEmitter(shape, image, y, origin.element).workgroup(number)

    types = [view.source.type, result]
    key = (shape, *map(str, types), *origin.key)
    name = define(ctx, "image", key, [flat(each) for each in types], kernel, threads=THREADS)
    return iree.run_kernel(name, shape.workgroups, [view.source], [result])[0]
