"""The models of ``make bench``, which lie in ``weightless/`` and get weights here.

PyTorch's older exporter wrote them: ``python -m graphc.benchmarks.models`` and
``graphc.benchmarks.weightless`` make them.
"""

import re
from pathlib import Path

import onnx
import onnx.utils
import pytest

from graphc.benchmarks.weightless import filled

PATHS = sorted((Path(__file__).parent / "weightless").glob("*.onnx"))
each_benchmark_model = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)

_LAYER = re.compile(r"(.*/(?:encoder/layer|h|layers)\.)(\d+)/")
"""Stack and number of a layer in the name of a node, where the layers of a stack are alike."""


def load(path: Path) -> onnx.ModelProto:
    """The model with weights drawn for it."""
    return filled(onnx.load(path))


def load_shortened(path: Path) -> onnx.ModelProto:
    """The model with the first and the last layer of each stack alone.

    The same rewrites fire as on the whole model, and the same kernels are compiled.
    """
    model = onnx.load(path)
    graph = model.graph
    ends: dict[str, dict[int, str]] = {}
    for node in graph.node:
        layer = _LAYER.match(node.name)
        if layer is not None:
            ends.setdefault(layer[1], {})[int(layer[2])] = node.output[0]
    skipped = {of[max(of) - 1]: of[0] for of in ends.values()}
    for node in graph.node:
        for at, name in enumerate(node.input):
            node.input[at] = skipped.get(name, name)
    needed = onnx.utils.Extractor(model)
    names = ([each.name for each in part] for part in (graph.input, graph.output))
    return filled(needed.extract_model(*names))
