"""If against ONNX Runtime."""

import numpy as np
from control_flow_models import check, floats, parse

from graphc.frontend.onnx import import_onnx

BRANCHES = parse(
    "(float[n, 4] x, bool c, bool[1] d)"
    " => (float[m, 4] a, float[k, 4] b, float[n] e, float[n, 4] f)"
    "<float[4] w = {1, 2, 3, 4}>",
    """
    zero = Constant <value_int: int = 0> ()
    sum = ReduceSum <keepdims: int = 0> (x)
    limit = Constant <value_float: float = 100.0> ()
    small = Less (sum, limit)
    a = If (c) <
      then_branch: graph = g1 () => (t) { t = Concat <axis: int = 0> (x, x) },
      else_branch: graph = g2 () => (t) { t = Mul (x, w) }>
    b = If (d) <
      then_branch: graph = g3 () => (t) {
        t = If (small) <
          then_branch: graph = g4 () => (u) { u = Relu (a) },
          else_branch: graph = g5 () => (u) { u = Neg (x) }>
      },
      else_branch: graph = g6 () => (t) { shape = Constant <value_ints: ints = [2, 4]> ()
                                          t = ConstantOfShape (shape) }>
    axis = Constant <value_ints: ints = [1]> ()
    total, most = If (c) <
      then_branch: graph = g7 () => (t, u) { t = ReduceSum <keepdims: int = 0> (x, axis)
                                             u = ReduceMax <keepdims: int = 0> (x, axis) },
      else_branch: graph = g8 () => (t, u) { t = ReduceMin <keepdims: int = 0> (x, axis)
                                             u = ReduceMean <keepdims: int = 0> (x, axis) }>
    e = Sub (total, most)
    f = Add (x, w)
    """,
)


def test_branches():
    """Results of differing sizes, nested branches, an initializer first used in a branch."""
    cases = [(True, True, 3), (False, False, 1), (False, True, 2)]
    check(
        BRANCHES,
        *({"x": floats(rows, 4), "c": np.array(c), "d": np.array([d])} for c, d, rows in cases),
    )


def test_a_known_condition_selects_its_branch():
    model = parse(
        "(float[3, 4] x) => (float[4, 3] y)",
        """
        s = Size (x)
        twelve = Constant <value_int: int = 12> ()
        c = Equal (s, twelve)
        y = If (c) <
          then_branch: graph = g1 () => (t) { t = Transpose (x) },
          else_branch: graph = g2 () => (t) { t = ReduceSum (x) }>
        """,
    )
    assert "graph.if" not in str(import_onnx(model))
