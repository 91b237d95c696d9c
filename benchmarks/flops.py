"""FLOP count of a model: the operations of its matmuls and convolutions."""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import graphc
from graphc.dialects import graph
from graphc.dialects.graph.contraction import letter_sizes, parse_equation
from graphc.mlir import ir

Shape = Callable[[ir.Value], tuple[int, ...]]


def count_flops(path: Path, feed: Mapping[str, np.ndarray]) -> int | None:
    """Number of multiplications and additions of the model at `path` on `feed`.

    Only contractions, convolutions and recurrent layers count, all by their direct algorithm. None
    if the model cannot be imported as a whole, or if a size depends on data.
    """
    try:
        module = graphc.import_onnx(str(path))
    except graphc.UnsupportedModelError:
        return None
    with module.context:
        sizes = _sizes(module, feed)
        total = 0

        def shape(value: ir.Value) -> tuple[int, ...]:
            dims = graph.type_of(value).shape
            known = [dim if isinstance(dim, int) else dim.evaluate(sizes) for dim in dims]
            return tuple(map(graph.static_size, known))

        def visit(op: ir.Operation) -> ir.WalkResult:
            nonlocal total
            count = _MULTIPLICATIONS.get(op.name)
            if count is not None:
                total += count(op.opview, shape)
            return ir.WalkResult.ADVANCE

        try:
            module.operation.walk(visit)
        except ValueError:
            return None
    return 2 * total


def _sizes(module: ir.Module, feed: Mapping[str, np.ndarray]) -> dict[str, int]:
    """The values of the symbolic sizes of the inputs in `feed`."""
    main = module.body.operations[0]
    pairs = [
        (dim, size)
        for argument, array in zip(main.arguments, feed.values(), strict=True)
        for dim, size in zip(graph.type_of(argument).shape, array.shape, strict=True)
    ]
    return {str(dim): size for dim, size in pairs if not isinstance(dim, int) and dim.is_symbol}


def _matmul(op: Any, shape: Shape) -> int:
    return math.prod(shape(op.result)) * shape(op.a)[-1]


def _einsum(op: Any, shape: Shape) -> int:
    letters, _ = parse_equation(op.attrs["equation"])
    sizes = letter_sizes(letters, [shape(value) for value in op.operation.operands])
    return math.prod(map(graph.static_size, sizes.values()))


def _conv(op: Any, shape: Shape) -> int:
    return math.prod(shape(op.result)) * math.prod(shape(op.w)[1:])


def _conv_transpose(op: Any, shape: Shape) -> int:
    return math.prod(shape(op.x)) * math.prod(shape(op.w)[1:])


def _attention(op: Any, shape: Shape) -> int:
    return (math.prod(shape(op.q)) + math.prod(shape(op.result))) * shape(op.k)[-2]


def _recurrent(op: Any, shape: Shape) -> int:
    steps, batch, _ = shape(op.gates)
    return steps * batch * math.prod(shape(op.recurrence))


_MULTIPLICATIONS: Mapping[str, Callable[[Any, Shape], int]] = {
    "graph.matmul": _matmul,
    "graph.einsum": _einsum,
    "graph.conv": _conv,
    "graph.conv_transpose": _conv_transpose,
    "graph.attention": _attention,
    "graph.rnn": _recurrent,
    "graph.gru": _recurrent,
    "graph.lstm": _recurrent,
}
"""Number of multiplications of each op, as imported: convolutions have channels first."""
