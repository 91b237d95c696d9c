"""Sizes that a model leaves open, by the names that ``dims=`` takes."""

import re
from pathlib import Path

import onnx

from ..feeds import load_structure
from .entry import Shapes


def open_sizes(path: Path, shapes: Shapes) -> dict[str, int]:
    """The open sizes of the model at `path` in a call with inputs of these `shapes`."""
    sizes: dict[str, int] = {}
    for value in load_structure(path).graph.input:
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            if value.name in shapes and not dim.HasField("dim_value"):
                sizes[_name(dim, value.name, axis)] = shapes[value.name][axis]
    return sizes


def _name(dim: onnx.TensorShapeProto.Dimension, owner: str, axis: int) -> str:
    """The model's own name, or the one that a size without a name gets."""
    if any(map(str.isalpha, dim.dim_param)):
        return dim.dim_param
    return re.sub(r"[^A-Za-z0-9_]", "_", f"{owner}_{axis}")
