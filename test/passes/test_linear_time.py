"""Passes whose work must grow with the size of a program, not with its square."""

import pytest
from onnx import helper
from tool_models import model

from graphc.compiler.driver import begin, make_options
from graphc.passes.graph.simplify import commuted
from graphc.passes.linalg.workarounds import reordered_reductions

COUNT = 200


def chain():
    """Each node reads the result of the one before, and the input."""
    nodes = [helper.make_node("Add", [f"v{n}", "v0"], [f"v{n + 1}"]) for n in range(COUNT)]
    return model(nodes, {"v0": [8]}, {f"v{COUNT}": [8]})


def fan():
    """Each node reads the input, and has a result of the model."""
    nodes = [
        node
        for n in range(COUNT)
        for node in (
            helper.make_node("Constant", [], [f"c{n}"], value_float=float(n)),
            helper.make_node("Mul", ["x", f"c{n}"], [f"y{n}"]),
        )
    ]
    return model(nodes, {"x": [8]}, {f"y{n}": [8] for n in range(COUNT)})


@pytest.mark.parametrize(
    ("made", "module", "function"),
    [(chain, reordered_reductions, "_sources"), (fan, commuted, "_is_commuted")],
)
def test_work_is_proportional_to_the_number_of_nodes(made, module, function, monkeypatch):
    calls, original = [], getattr(module, function)

    def counted(*given):
        calls.append(function)
        return original(*given)

    monkeypatch.setattr(module, function, counted)
    compilation = begin(made(), make_options("cpu", threads=1, cache=False))
    compilation.graph_passes()
    compilation.lower()
    assert COUNT / 4 < len(calls) < 20 * COUNT
