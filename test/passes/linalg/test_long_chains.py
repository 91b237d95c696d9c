"""Long chains of elementwise ops."""

import re

import pytest

from graphc.mlir import ir
from graphc.passes.infra.pipeline import run_pipeline
from graphc.passes.linalg.long_chains import MOST_OPS

NEGATION = """
  {y} = linalg.generic {{indexing_maps = [#i, #i], iterator_types = ["parallel"]}}
    ins({x} : tensor<?xf32>) outs(%out : tensor<?xf32>) {{
  ^bb0(%a: f32, %o: f32):
    %n = arith.negf %a : f32
    linalg.yield %n : f32
  }} -> tensor<?xf32>"""
"""An op of two operations, with its terminator."""


def after(nodes: int, *, ends: str = "%v{}") -> str:
    body = "".join(NEGATION.format(x=f"%v{n}", y=f"%v{n + 1}") for n in range(nodes))
    result = ends.format(nodes)
    text = (
        "#i = affine_map<(i) -> (i)>\n"
        "func.func @main(%v0: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> {"
        f"{body}\n  return {result} : tensor<?xf32>\n}}"
    )
    with ir.Context() as context, ir.Location.unknown():
        context.allow_unregistered_dialects = True
        module = ir.Module.parse(text)
        run_pipeline(module, "linalg-long-chains")
        return str(module)


@pytest.mark.parametrize(("nodes", "barriers"), [(256, 0), (257, 1), (513, 1), (514, 2)])
def test_a_barrier_after_some_hundred_operations(nodes, barriers):
    assert MOST_OPS == 512
    assert after(nodes).count("compute_barrier") == barriers


def test_what_follows_reads_the_barrier():
    text = after(300)
    (barrier,) = re.findall(r"(%\w+) = \"iree_tensor_ext.compute_barrier.end\"\((%\w+),", text)
    assert text.count(f"ins({barrier[0]} :") == 1
    assert f"ins({barrier[1]} :" not in text
