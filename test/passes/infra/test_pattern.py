"""The matcher: captures, commutativity, constraints, and explanations."""

import numpy as np
import pytest
from graph_programs import build_module, ops_of

from graphc.dialects import graph
from graphc.mlir import ir
from graphc.passes.infra.pattern import absent, any_, constant, either, op, scalar


def named(name, builder, *operands, **attrs):
    with ir.Location.name(name):
        return builder(*operands, **attrs)


def c(value, dtype=np.float32):
    return graph.constant(value=np.asarray(value, dtype))


def erf_gelu(x, flip=False, half=0.5):
    """``(x / 2) * (1 + erf(x))`` with operands in either order."""
    order = (lambda a, b: (b, a)) if flip else (lambda a, b: (a, b))
    gate = named("gate", graph.add, *order(c(1.0), named("erf", graph.erf, x)))
    scaled = named("half", graph.mul, *order(x, c(half)))
    return named("gelu", graph.mul, *order(scaled, gate))


X = any_("x")
GELU = op(
    graph.MulOp,
    op(graph.MulOp, X, scalar(0.5)),
    op(graph.AddOp, op(graph.ErfOp, X, name="erf"), scalar(1.0), one_use=True),
)


@pytest.mark.parametrize("flip", [False, True])
def test_commutative_operands_match_in_both_orders(context, flip):
    module = build_module(lambda x: erf_gelu(x, flip), "4xf32")
    root = ops_of(module)[-1]
    captures = GELU.match(root)
    assert captures is not None
    assert captures["x"] == module.body.operations[0].arguments[0]
    assert isinstance(captures["erf"], graph.ErfOp)
    assert GELU.match(root.result) == captures  # a value matches by its producer
    assert GELU.explain(root) is None


def test_operands_of_other_ops_keep_their_order(context):
    module = build_module(lambda x: graph.sub(c(1.0), x), "4xf32")
    (root,) = ops_of(module)
    assert op(graph.SubOp, scalar(1.0), X).match(root) is not None
    assert op(graph.SubOp, X, scalar(1.0)).match(root) is None


def test_one_name_is_one_value(context):
    square = op(graph.MulOp, X, X)
    module = build_module(lambda x, y: [graph.mul(x, x), graph.mul(x, y)], "4xf32", "4xf32")
    same, different = ops_of(module)
    assert square.match(same) is not None
    assert square.match(different) is None
    assert square.explain(different) == "at argument 1: 'x' is another value"


def test_scalars(context):
    def body(x):
        tensor = c([0.5, 0.5, 0.5, 0.5])
        return [graph.mul(x, c(v)) for v in (0.5, 0.5000001, 0.6)] + [graph.mul(x, tensor)]

    exact, close, other, tensor = ops_of(build_module(body, "4xf32"))
    half = op(graph.MulOp, X, scalar(0.5, "half"))
    assert half.match(exact) is not None
    assert half.match(close) is not None
    assert half.match(other) is None
    assert half.match(tensor) is None
    assert op(graph.MulOp, X, scalar(lambda v: v > 0.55)).match(other) is not None
    assert op(graph.MulOp, X, constant("c")).match(tensor) is not None


def test_one_use(context):
    def body(x):
        e = graph.exp(x)
        return [graph.neg(e), graph.abs_(e), graph.neg(graph.exp(x))]

    first, _, last = (o for o in ops_of(build_module(body, "4xf32")) if "exp" not in o.name)
    pattern = op(graph.NegOp, op(graph.ExpOp, X).one_use())
    assert pattern.match(first) is None
    assert "graph.exp has several uses" in pattern.explain(first)
    assert pattern.match(last) is not None


def test_one_use_counts_both_operands(context):
    def body(x):
        e = graph.exp(x)
        return graph.mul(e, e)

    root = ops_of(build_module(body, "4xf32"))[-1]
    assert op(graph.MulOp, op(graph.ExpOp, X).one_use(), any_()).match(root) is None


def test_attributes(context):
    module = build_module(lambda x: graph.transpose(x, perm=[1, 0]), "4x8xf32")
    (root,) = ops_of(module)
    assert op(graph.TransposeOp, X, perm=(1, 0)).match(root) == {"x": root.x}
    assert op(graph.TransposeOp, X, perm=lambda perm: perm[0] == 1).match(root) is not None
    wrong = op(graph.TransposeOp, X, perm=(0, 1))
    assert wrong.match(root) is None
    assert "has perm = (1, 0)" in wrong.explain(root)


def test_either_and_several_classes(context):
    module = build_module(lambda x: [graph.exp(x), graph.log(x), graph.sin(x)], "4xf32")
    exp, log, sin = ops_of(module)
    choice = either(op(graph.ExpOp, X, name="exp"), op(graph.LogOp, X))
    assert set(choice.match(exp)) == {"x", "exp"}
    assert set(choice.match(log)) == {"x"}
    assert choice.match(sin) is None
    several = op((graph.ExpOp, graph.LogOp), X)
    assert [several.match(o) is not None for o in (exp, log, sin)] == [True, True, False]


def test_variadic_operands(context):
    module = build_module(lambda x, y: graph.concat([x, y], axis=0), "4xf32", "2xf32")
    (root,) = ops_of(module)
    assert set(op(graph.ConcatOp, [X, any_("y")]).match(root)) == {"x", "y"}
    three = op(graph.ConcatOp, [X, any_("y"), any_("z")])
    assert three.match(root) is None
    assert three.explain(root).endswith("expected 3 operands, found 2")
    assert absent().match(root.operation.results[0]) is None


def test_backtracking_across_operands(context):
    """The first way to match one operand may have to give way for the sake of another."""

    def body(x, y):
        return graph.sub(graph.add(x, y), y)

    root = ops_of(build_module(body, "4xf32", "4xf32"))[-1]
    captures = op(graph.SubOp, op(graph.AddOp, any_("b"), any_("a")), any_("b")).match(root)
    assert captures["b"] == root.b


def test_explanations_name_the_deepest_mismatch(context):
    root = ops_of(build_module(lambda x: erf_gelu(x, half=0.7), "4xf32"))[-1]
    assert "expected the scalar constant 0.5, found 0.7" in GELU.explain(root)
    other = ops_of(build_module(graph.exp, "4xf32"))[-1]
    assert GELU.explain(other) == "at graph.exp 'graph.exp': expected graph.mul"

    def two_uses(x):
        gelu = erf_gelu(x)
        return gelu, gelu.owner.operands[1]

    root = next(o for o in reversed(ops_of(build_module(two_uses, "4xf32"))) if "mul" in o.name)
    assert GELU.explain(root) == "at graph.add 'gate': graph.add has several uses, or none"


def test_wrong_number_of_operands_is_a_mistake_in_the_pattern(context):
    (root,) = ops_of(build_module(graph.exp, "4xf32"))
    with pytest.raises(TypeError, match=r"graph\.exp takes \(x\), not 2"):
        op(graph.ExpOp, X, X).match(root)
