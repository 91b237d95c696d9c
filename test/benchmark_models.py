"""The models of ``make bench``, which lie in ``weightless/`` and get weights here.

PyTorch's older exporter wrote them: ``python -m graphc.benchmarks.models`` and
``graphc.benchmarks.weightless`` make them.
"""

from pathlib import Path

import onnx
import pytest

from graphc.benchmarks.weightless import filled

PATHS = sorted((Path(__file__).parent / "weightless").glob("*.onnx"))
each_benchmark_model = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)


def load(path: Path) -> onnx.ModelProto:
    """The model with weights drawn for it."""
    return filled(onnx.load(path))
