"""Control flow that is refused, and the errors."""

import pytest
from control_flow_models import parse

from graphc.errors import InvalidModelError, UnsupportedModelError
from graphc.frontend.onnx import import_onnx


def refusal(body, signature="(float[n] x, bool c) => (float[n] y)"):
    with pytest.raises((InvalidModelError, UnsupportedModelError)) as refused:
        import_onnx(parse(signature, body))
    return str(refused.value)


def test_branches_of_different_rank_are_refused():
    message = refusal("""
        y = If (c) <
          then_branch: graph = g1 () => (t) { t = Identity (x) },
          else_branch: graph = g2 () => (t) { t = ReduceSum <keepdims: int = 0> (x) }>
    """)
    assert "a value is nxf32 or f32, of different rank" in message


def test_an_endless_loop_is_refused():
    message = refusal("""
        y = Loop ( , , x) <body: graph = b (int64 i, bool d, float[n] s) => (d, t) { t = Neg (s) }>
    """)
    assert "the loop never ends" in message


def test_a_wrong_number_of_values_is_refused():
    message = refusal("""
        y = Loop ( , c, x) <body: graph = b (int64 i, bool d) => (d) { t = Neg (x) }>
    """)
    assert "its subgraph takes 2 inputs, not 3" in message


def test_nodes_that_are_not_supported_are_named_within_bodies():
    message = refusal("""
        y = If (c) <
          then_branch: graph = g1 () => (t) { t = StringNormalizer (x) },
          else_branch: graph = g2 () => (t) { t = Identity (x) }>
    """)
    assert "StringNormalizer" in message
    assert "If_0/StringNormalizer_0" in message
