"""Models and data for tests of quantisation."""

from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper
from tool_models import model

import graphc

DIGITS = Path(graphc.__file__).parent / "examples" / "digits.onnx"


def heldout() -> tuple[np.ndarray, np.ndarray]:
    """Images ``[450, 1, 8, 8]`` of handwritten digits that the model was not trained on, labels."""
    with np.load(DIGITS.with_name("digits_heldout.npz")) as arrays:
        return arrays["images"].astype(np.float32), arrays["labels"]


def batches(count: int, size: int = 20) -> list[np.ndarray]:
    """So many batches of held-out images."""
    images, _ = heldout()
    return [images[i * size : (i + 1) * size] for i in range(count)]


def three_layers(outlier: float = 1.0) -> onnx.ModelProto:
    """Three matmuls named ``first``, ``second`` and ``third``, with activations between them.

    The weights of the second have one element `outlier` times as large as the others, which takes
    the others' precision away in a scale for the whole tensor.
    """
    random = np.random.default_rng(0)
    weights = [random.uniform(-1, 1, (16, 16)).astype(np.float32) / 4 for _ in range(3)]
    weights[1][0, 0] = outlier / 4
    nodes = []
    previous = "x"
    for name, result in (("first", "a"), ("second", "b"), ("third", "y")):
        nodes.append(helper.make_node("MatMul", [previous, f"w_{name}"], [result], name=name))
        if result != "y":
            previous = f"{result}_tanh"
            nodes.append(helper.make_node("Tanh", [result], [previous], name=f"{name}_tanh"))
    names = ("w_first", "w_second", "w_third")
    tensors = [numpy_helper.from_array(w, n) for w, n in zip(weights, names, strict=True)]
    return model(nodes, {"x": ["n", 16]}, {"y": ["n", 16]}, tensors)


def uniform_feeds(count: int = 4) -> list[dict[str, np.ndarray]]:
    """Feeds for `three_layers`."""
    random = np.random.default_rng(1)
    return [{"x": random.uniform(-1, 1, (8, 16)).astype(np.float32)} for _ in range(count)]
