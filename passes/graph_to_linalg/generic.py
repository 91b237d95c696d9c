"""Builders for ``linalg.generic`` and the loops around it."""

from collections.abc import Callable, Sequence

from ...mlir import ir, linalg

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
