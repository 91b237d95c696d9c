"""Models without their weights: graphs as they were exported, in a few hundred kilobytes.

::

    python -m graphc.benchmarks.weightless models/bert.onnx models/gpt2.onnx -o test/weightless

The work of a compiler depends on the shapes of weights, not on their values: with random weights
(`filled`), a model is equivalent to the original except for accuracy. With ``--repeat`` the models
repeat the beginning of each weight (`repeating`): the compiled model then has its full size, and
compresses to one or two percent of it.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import onnx

LEAST_BYTES = 1024
"""Size below which weights are kept: among them are constants that rewrites match."""
REPEAT_PERIOD = 4093
"""Period in elements: a prime, so that nearby rows of a matrix of usual size differ."""
SCALE = 0.02
"""Standard deviation of matrices, about that of freshly initialized transformers."""


def without_weights(model: onnx.ModelProto) -> onnx.ModelProto:
    """Remove the data of the floating-point weights of `model`, in place."""
    for tensor in model.graph.initializer:
        if tensor.data_type == onnx.TensorProto.FLOAT and len(tensor.raw_data) >= LEAST_BYTES:
            tensor.ClearField("raw_data")
    return model


def filled(model: onnx.ModelProto, seed: int = 0) -> onnx.ModelProto:
    """Fill the weights of `model` that have no data with random values, in place.

    Vectors, which scale and shift, are drawn from [0.5, 1.1], since some are variances.
    """
    rng = np.random.default_rng(seed)
    for tensor in _missing(model):
        shape = tuple(tensor.dims)
        values = (
            rng.uniform(0.5, 1.1, shape).astype(np.float32)
            if len(shape) == 1
            else SCALE * rng.standard_normal(shape, np.float32)
        )
        tensor.raw_data = values.tobytes()
    return model


def repeating(model: onnx.ModelProto, period: int = REPEAT_PERIOD) -> onnx.ModelProto:
    """Replace each weight of `model` by repetitions of its first `period` elements, in place."""
    for tensor in model.graph.initializer:
        if tensor.data_type == onnx.TensorProto.FLOAT and len(tensor.raw_data) > 4 * period:
            values = np.frombuffer(tensor.raw_data, np.float32)
            tensor.raw_data = np.resize(values[:period], values.shape).tobytes()
    return model


def _missing(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    for tensor in model.graph.initializer:
        has_data = tensor.raw_data or tensor.float_data or not np.prod(tensor.dims)
        if tensor.data_type == onnx.TensorProto.FLOAT and not has_data:
            yield tensor


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Write models without their weights.")
    parser.add_argument("models", nargs="+", type=Path, metavar="FILE.onnx")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--repeat", action="store_true", help="write weights that repeat")
    options = parser.parse_args(arguments)
    change = repeating if options.repeat else without_weights
    options.output.mkdir(parents=True, exist_ok=True)
    for path in options.models:
        onnx.save(change(onnx.load(path)), options.output / path.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
