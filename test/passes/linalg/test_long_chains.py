"""Long chains of elementwise ops."""

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


def barriers_in_chain(nodes: int) -> int:
    """The barriers in a chain of so many ops."""
    body = "".join(NEGATION.format(x=f"%v{n}", y=f"%v{n + 1}") for n in range(nodes))
    text = (
        "#i = affine_map<(i) -> (i)>\n"
        "func.func @main(%v0: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> {"
        f"{body}\n  return %v{nodes} : tensor<?xf32>\n}}"
    )
    with ir.Context() as context, ir.Location.unknown():
        context.allow_unregistered_dialects = True
        module = ir.Module.parse(text)
        run_pipeline(module, "linalg-long-chains")
        return str(module).count("compute_barrier")


@pytest.mark.parametrize(("nodes", "barriers"), [(256, 0), (257, 1), (513, 1), (514, 2)])
def test_a_barrier_after_some_hundred_operations(nodes, barriers):
    assert MOST_OPS == 512
    assert barriers_in_chain(nodes) == barriers
