"""The contracts at the borders between stages."""

import pytest
from graph_programs import build_module

from graphc.dialects import graph
from graphc.errors import VerificationError
from graphc.mlir import ir
from graphc.passes.contracts import MAX_LISTED, check_graph, check_imported, check_linalg

LINALG = """
func.func @main(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %zero = arith.constant 0 : index
  %n = tensor.dim %x, %zero : tensor<?x4xf32>
  %init = tensor.empty(%n) : tensor<?x4xf32>
  %0 = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%x : tensor<?x4xf32>) outs(%init : tensor<?x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %e = math.exp %a : f32
    linalg.yield %e : f32
  } -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}
"""


def parse(text):
    return ir.Module.parse(text)


def test_graph_programs(context):
    module = build_module(lambda x: graph.relu(graph.exp(x)), "nx4xf32")
    check_imported(module)
    check_graph(module)
    with pytest.raises(VerificationError) as caught:
        check_linalg(module)
    text = str(caught.value)
    assert "the linalg contract" in text
    assert "graph.relu is not legal" in text
    assert "graph.exp is not legal" in text
    assert "keeps the encoding of" in text


def test_linalg_programs(context):
    check_linalg(parse(LINALG))
    with pytest.raises(VerificationError, match=r"linalg\.generic is not legal"):
        check_imported(parse(LINALG))


def test_nodes_are_named(context):
    with ir.Location.name("encoder/relu"):
        module = build_module(graph.relu, "4xf32")
    with pytest.raises(VerificationError, match=r"encoder/relu: graph\.relu is not legal"):
        check_linalg(module)


def test_what_the_backend_spells_in_another_way_is_refused(context):
    text = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = linalg.exp ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32> }"""
    with pytest.raises(VerificationError, match=r"-:2:12: linalg\.exp is not legal$"):
        check_linalg(parse(text))


def test_signedness_is_gone_in_linalg(context):
    text = "func.func @main(%x: tensor<4xui8>) -> tensor<4xui8> { return %x : tensor<4xui8> }"
    with pytest.raises(VerificationError, match="keeps the signedness of tensor<4xui8>"):
        check_linalg(parse(text))
    check_imported(parse(text))


def test_every_size_has_a_name_in_graph_programs(context):
    text = "func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> { return %x : tensor<?xf32> }"
    with pytest.raises(VerificationError, match="each dynamic dimension needs its name"):
        check_imported(parse(text))


def test_all_ops_without_a_lowering_are_listed(context, monkeypatch):
    monkeypatch.setattr(
        "graphc.passes.contracts.find_rule",
        lambda name: None if name in ("graph.sin", "graph.cos") else object(),
    )
    module = build_module(lambda x: graph.cos(graph.sin(graph.relu(x))), "4xf32")
    with pytest.raises(VerificationError) as caught:
        check_graph(module)
    assert str(caught.value).splitlines()[1:] == [
        "graph.sin: graph.sin has no lowering",
        "graph.cos: graph.cos has no lowering",
    ]


def test_broken_programs_break_every_contract(context):
    module = build_module(graph.relu, "4xf32")
    relu = module.body.operations[0].regions[0].blocks[0].operations[0]
    relu.operation.results[0].set_type(ir.Type.parse("tensor<5xf32>"))
    with pytest.raises(VerificationError, match="has result type 5xf32"):
        check_imported(module)


def test_long_lists_are_cut(context):
    def body(x):
        for _ in range(MAX_LISTED + 5):
            x = graph.neg(x)
        return x

    with pytest.raises(VerificationError, match=r"and 5 more$"):
        check_linalg(build_module(body, "4xf32"))
