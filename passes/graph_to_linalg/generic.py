"""Builders for ``linalg.generic`` and the loops around it."""

from collections.abc import Callable, Sequence

from ...dialects import iree
from ...mlir import arith, ir, linalg, tensor

Body = Callable[..., "ir.Value | Sequence[ir.Value]"]


def generic(
    inputs: Sequence[ir.Value],
    maps: Sequence[ir.AffineMap],
    outputs: Sequence[ir.Value],
    output_maps: Sequence[ir.AffineMap],
    iterators: Sequence[str],
    body: Body,
) -> list[ir.Value]:
    """Build a ``linalg.generic``; `body` maps the scalars of inputs and outputs to the results.

    `iterators` holds ``parallel`` and ``reduction``, one per loop.
    """
    inputs = list(inputs)
    if "reduction" in iterators and inputs and all(map(_is_uniform, inputs)):
        inputs[0] = _stored(inputs[0])
    all_maps = [ir.AffineMapAttr.get(m) for m in (*maps, *output_maps)]
    kinds = [ir.Attribute.parse(f"#linalg.iterator_type<{kind}>") for kind in iterators]
    op = linalg.GenericOp(
        [value.type for value in outputs],
        inputs,
        list(outputs),
        ir.ArrayAttr.get(all_maps),
        ir.ArrayAttr.get(kinds),
    )
    elements = [ir.ShapedType(value.type).element_type for value in (*inputs, *outputs)]
    location = ir.Location.current
    block = op.regions[0].blocks.append(*elements, arg_locs=[location] * len(elements))
    with ir.InsertionPoint(block):
        result = body(*block.arguments)
        results = [result] if isinstance(result, ir.Value) else list(result)
        linalg.YieldOp(results)
    return list(op.operation.results)


def linalg_inputs(generic: ir.Operation) -> Sequence[ir.Value]:
    """The inputs of a ``linalg.generic``."""
    view = generic.opview
    assert isinstance(view, linalg.GenericOp)
    return view.inputs


def _is_uniform(x: ir.Value) -> bool:
    """Return whether `x` is computed from splats alone, ignoring operands that are not read.

    The backend turns such operands into scalars. A reduction with no other operand then has no
    extent left to loop over, and is incorrectly run once.
    """
    if isinstance(x.owner, ir.Block):
        return False
    op = x.owner.operation
    if op.name in ("tensor.cast", "tensor.collapse_shape", "tensor.expand_shape"):
        return _is_uniform(op.operands[0])
    if op.name != "linalg.generic":
        return op.name == "linalg.fill"
    body = op.regions[0].blocks[0]
    if any(inner.operation.name == "tensor.extract" for inner in body):
        return False
    inputs = zip(linalg_inputs(op), body.arguments, strict=False)
    return all(_is_uniform(each) for each, element in inputs if any(True for _ in element.uses))


def _stored(x: ir.Value) -> ir.Value:
    """Materialize `x` by a copy in a dispatch of its own."""
    type_ = ir.RankedTensorType(x.type)
    index = ir.IndexType.get()
    sizes = [
        tensor.dim(x, arith.constant(index, axis))
        for axis in range(type_.rank)
        if type_.is_dynamic_dim(axis)
    ]
    remaining = iter(sizes)
    mixed = [
        next(remaining) if type_.is_dynamic_dim(i) else type_.shape[i] for i in range(type_.rank)
    ]
    identity = ir.AffineMap.get_identity(type_.rank)

    def copy() -> ir.Value:
        output = tensor.empty(mixed, type_.element_type)
        return parallel([x], [identity], output, lambda element: element)

    return iree.dispatch_region(type_, sizes, copy)


def parallel(
    inputs: Sequence[ir.Value], maps: Sequence[ir.AffineMap], output: ir.Value, body: Body
) -> ir.Value:
    """Build a generic with parallel loops over `output`; `body` receives only the inputs."""
    rank = len(ir.ShapedType(output.type).shape)
    identity = ir.AffineMap.get_identity(rank)
    count = len(inputs)
    (result,) = generic(
        inputs, maps, [output], [identity], ["parallel"] * rank, lambda *s: body(*s[:count])
    )
    return result


def fill(scalar: ir.Value, output: ir.Value) -> ir.Value:
    """Fill `output` with `scalar`."""
    return linalg.fill(scalar, outs=[output])


def projection(rank: int, axes: Sequence[int | None]) -> ir.AffineMap:
    """The map from `rank` loops to the given loop per axis; None is index 0."""
    exprs = [
        ir.AffineExpr.get_constant(0) if axis is None else ir.AffineExpr.get_dim(axis)
        for axis in axes
    ]
    return ir.AffineMap.get(rank, 0, exprs)


def loop_index(axis: int) -> ir.Value:
    """The position along loop `axis`, an index. To be called inside a body."""
    return linalg.IndexOp(axis).result
