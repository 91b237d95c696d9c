"""Gradients, by walking back from a tensor to those it is computed from.

Each rule says, for one op and the gradient of its result, what the gradients of its operands are,
in the shape of the result: what broadcasting repeated is summed afterwards.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ....dialects import graph
from ....mlir import ir
from ..importing.registry import Node, UnsupportedError, onnx_op

Rule = Callable[[Any, ir.Value], tuple[ir.Value | None, ...]]


@onnx_op("Gradient", domain="ai.onnx.preview.training")
def gradient(*inputs: ir.Value, xs: list[str], y: str, zs: list[str] | None = None, node: Node):
    named = [node.lookup(name) for name in (*xs, *(zs or []))]
    if named != list(inputs):
        raise UnsupportedError("at other values than those of the tensors that xs and zs name")
    result = node.lookup(y)
    gradients = _gradients(result, inputs)
    missing = [name for name, value in zip(xs, inputs, strict=False) if value not in gradients]
    if missing:
        raise UnsupportedError(f"{y} is not computed from {', '.join(missing)}")
    return tuple(gradients[value] for value in inputs[: len(xs)])


def _gradients(result: ir.Value, leaves: tuple[ir.Value, ...]) -> dict[ir.Value, ir.Value]:
    """The gradients of the sum of `result` by `leaves`, and by everything between."""
    type_ = graph.type_of(result)
    gradients = {result: _expand(_like(result, 1.0), type_)}
    for value in _order(result, leaves):
        op = graph.graph_op(value.owner)
        if op is None or value in leaves or value not in gradients or not op.operands:
            continue
        rule = _rules.get(type(op))
        if rule is None:
            raise UnsupportedError(f"through {op.name}")
        for operand, part in zip(op.operands, rule(op, gradients[value]), strict=True):
            if part is None or not graph.is_float(graph.type_of(operand).dtype):
                continue
            part = _sum_repeated(part, operand)
            have = gradients.get(operand)
            gradients[operand] = part if have is None else graph.add(have, part)
    return gradients


def _order(result: ir.Value, leaves: tuple[ir.Value, ...]) -> list[ir.Value]:
    """The values that `result` is computed from, down to `leaves`; each value after all its
    users."""
    order: list[ir.Value] = []
    seen: set[ir.Value] = set()
    stack = [(result, False)]
    while stack:
        value, done = stack.pop()
        if done:
            order.append(value)
            continue
        if value in seen:
            continue
        seen.add(value)
        stack.append((value, True))
        if value in leaves:
            continue
        if isinstance(value.owner, ir.Block):
            raise UnsupportedError("of a tensor that depends on others than xs and zs name")
        stack += [(operand, False) for operand in value.owner.operands]
    return order[::-1]


def _like(value: ir.Value, number: float) -> ir.Value:
    return graph.constant(value=np.array(number, graph.type_of(value).dtype))


def _expand(value: ir.Value, type_: graph.TensorType) -> ir.Value:
    return graph.expand(value, shape=type_.shape)


def _sum_repeated(part: ir.Value, operand: ir.Value) -> ir.Value:
    """`part` summed over what broadcasting repeated, in the shape of `operand`."""
    have, want = graph.type_of(part), graph.type_of(operand)
    if have.shape == want.shape:
        return part
    extra = have.rank - want.rank
    axes = [*range(extra)]
    for axis, size in enumerate(want.shape):
        if have.shape[axis + extra] != size:
            if size != 1:
                raise UnsupportedError(f"through broadcasting of {want} to {have}")
            axes.append(axis + extra)
    summed = graph.reduce_sum(part, axes=tuple(axes), keepdims=False)
    return graph.reshape(summed, shape=want.shape)


_rules: dict[type, Rule] = {
    graph.AddOp: lambda op, g: (g, g),
    graph.SubOp: lambda op, g: (g, graph.neg(g)),
    graph.MulOp: lambda op, g: (graph.mul(g, op.b), graph.mul(g, op.a)),
    graph.DivOp: lambda op, g: (
        graph.div(g, op.b),
        graph.neg(graph.div(graph.mul(g, op.operation.results[0]), op.b)),
    ),
    graph.NegOp: lambda op, g: (graph.neg(g),),
    graph.ExpOp: lambda op, g: (graph.mul(g, op.operation.results[0]),),
    graph.LogOp: lambda op, g: (graph.div(g, op.x),),
    graph.SqrtOp: lambda op, g: (graph.div(graph.mul(g, _like(g, 0.5)), op.operation.results[0]),),
    graph.SinOp: lambda op, g: (graph.mul(g, graph.cos(op.x)),),
    graph.CosOp: lambda op, g: (graph.neg(graph.mul(g, graph.sin(op.x))),),
    graph.TransposeOp: lambda op, g: (
        graph.transpose(g, perm=tuple(np.argsort(op.attrs["perm"]).tolist())),
    ),
    graph.ReshapeOp: lambda op, g: (graph.reshape(g, shape=graph.type_of(op.x).shape),),
    graph.ExpandOp: lambda op, g: (g,),
    graph.ReduceSumOp: lambda op, g: (_spread(op, g),),
}


def _rule(op_class: type) -> Callable[[Rule], Rule]:
    def register(rule: Rule) -> Rule:
        _rules[op_class] = rule
        return rule

    return register


@_rule(graph.TanhOp)
def _tanh(op: Any, g: ir.Value) -> tuple[ir.Value]:
    y = op.operation.results[0]
    return (graph.mul(g, graph.sub(_like(y, 1.0), graph.mul(y, y))),)


@_rule(graph.SigmoidOp)
def _sigmoid(op: Any, g: ir.Value) -> tuple[ir.Value]:
    y = op.operation.results[0]
    return (graph.mul(g, graph.mul(y, graph.sub(_like(y, 1.0), y))),)


@_rule(graph.ReluOp)
def _relu(op: Any, g: ir.Value) -> tuple[ir.Value]:
    zero = _like(g, 0.0)
    return (graph.where(graph.greater(op.x, zero), g, zero),)


@_rule(graph.MatmulOp)
def _matmul(op: Any, g: ir.Value) -> tuple[ir.Value, ir.Value]:
    return graph.matmul(g, _matrix_transpose(op.b)), graph.matmul(_matrix_transpose(op.a), g)


def _matrix_transpose(x: ir.Value) -> ir.Value:
    *batch, row, column = range(graph.type_of(x).rank)
    return graph.transpose(x, perm=(*batch, column, row))


@_rule(graph.ReduceMeanOp)
def _mean(op: Any, g: ir.Value) -> tuple[ir.Value]:
    sizes = [graph.type_of(op.x).shape[axis] for axis in op.attrs["axes"]]
    if not all(isinstance(size, int) for size in sizes):
        raise UnsupportedError("through a mean over a size that is only known at run time")
    count = float(np.prod(sizes, dtype=np.int64))
    return (_spread(op, graph.mul(g, _like(g, 1 / max(count, 1)))),)


def _spread(op: Any, g: ir.Value) -> ir.Value:
    """The gradient of a reduction, given to each element that took part."""
    type_ = graph.type_of(op.x)
    kept = [1 if axis in op.attrs["axes"] else size for axis, size in enumerate(type_.shape)]
    return _expand(graph.reshape(g, shape=tuple(kept)), type_)
