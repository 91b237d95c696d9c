"""Graphs of thousands of nodes."""

import random

import onnx
from onnx import helper
from tool_models import model


def chain_with_branches(count: int) -> onnx.ModelProto:
    """A model of `count` nodes, each of which reads two of the last seven values."""
    draw, nodes = random.Random(0), []
    for number in range(count):
        near = [f"v{draw.randint(max(0, number - 6), number)}" for _ in range(2)]
        op = draw.choice(["Add", "Mul", "Max"])
        nodes.append(
            helper.make_node(op, near, [f"v{number + 1}"], name=f"block.{number // 9}/n{number}")
        )
    return model(nodes, {"v0": [8]}, {f"v{count}": [8]})
