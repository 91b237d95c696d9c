"""The small classic models of the onnx package, with random weights.

``light_*.onnx`` has the graphs of ResNet-50, VGG-19, DenseNet-121 and others, but all their weights
are the same number: the output is 0.001 for each of 1000 classes for any input, so a wrong runtime
may still agree. Here each tensor gets seeded random values that keep activations alive up to the
last layer.
"""

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

SCALE, RESIDUAL_SCALE, SHIFT = "scale", "residual scale", "shift"
WEIGHT, CLASSIFIER = "weight", "classifier"
# The role of an operand, by the operator that uses it and its position there.
ROLES: Mapping[tuple[str, int], str] = {
    ("Conv", 1): WEIGHT,
    ("Conv", 2): SHIFT,
    ("Gemm", 1): CLASSIFIER,
    ("Gemm", 2): SHIFT,
    ("BatchNormalization", 1): SCALE,
    ("BatchNormalization", 2): SHIFT,
    ("BatchNormalization", 3): SHIFT,
    ("BatchNormalization", 4): SCALE,
    ("Mul", 1): SCALE,
    ("Add", 1): SHIFT,
}


def light_names() -> tuple[str, ...]:
    """The names of the models in the installed onnx package, such as ``light_resnet50``."""
    return tuple(sorted(path.stem for path in _folder().glob("light_*.onnx")))


def light_file(name: str) -> Path:
    """The path of the model `name` in the onnx package."""
    return _folder() / f"{name}.onnx"


def light_model(name: str, seed: int = 0) -> onnx.ModelProto:
    """The model `name` of the onnx package, with random weights."""
    model = onnx.load(light_file(name))
    rng = np.random.default_rng(seed)
    graph = model.graph
    initial = {tensor.name: tensor for tensor in graph.initializer}
    roles = _roles(graph)
    kept, replaced = [], set()
    for node in graph.node:
        if node.op_type == "ConstantOfShape" and node.input[0] in initial:
            shape = tuple(numpy_helper.to_array(initial[node.input[0]]))
            values = _values(roles[node.output[0]], shape, rng)
            graph.initializer.append(numpy_helper.from_array(values, node.output[0]))
            replaced.add(node.input[0])
        else:
            kept.append(node)
    for field, survivors in (
        (graph.node, kept),
        (graph.initializer, [t for t in graph.initializer if t.name not in replaced]),
        (graph.input, [i for i in graph.input if i.name not in replaced]),
    ):
        del field[:]
        field.extend(survivors)
    for tensor in graph.initializer:
        # Small parameters are stored, but belong to weights that were replaced.
        if tensor.name in initial and tensor.name in roles:
            values = _values(roles[tensor.name], tuple(tensor.dims), rng)
            tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
    return model


def write_light_model(name: str, path: Path, seed: int = 0) -> Path:
    """Write `light_model` to `path` atomically."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        onnx.save(light_model(name, seed), partial)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
    return path


def _folder() -> Path:
    return Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"


def _roles(graph: onnx.GraphProto) -> dict[str, str]:
    """The role of each tensor; one that is reshaped first has the role of its reshaped form."""
    roles: dict[str, str] = {}
    summed = {name for node in graph.node if node.op_type == "Sum" for name in node.input}
    for node in reversed(graph.node):
        for position, name in enumerate(node.input):
            role = ROLES.get((node.op_type, position))
            if node.op_type == "BatchNormalization" and position == 1 and node.output[0] in summed:
                role = RESIDUAL_SCALE
            if node.op_type in {"Unsqueeze", "Reshape"} and position == 0:
                role = roles.get(node.output[0])
            if role is not None:
                roles[name] = role
    return roles


def _values(role: str, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    if role == SCALE:
        return rng.uniform(0.5, 1.1, shape).astype(np.float32)
    if role == RESIDUAL_SCALE:
        # Residual blocks accumulate: each must add little, or values grow with depth.
        return rng.uniform(0.1, 0.4, shape).astype(np.float32)
    std = {
        SHIFT: 0.1,
        WEIGHT: (2.0 / np.prod(shape[1:])) ** 0.5,
        CLASSIFIER: (2.0 / shape[-1]) ** 0.5,
    }[role]
    return rng.normal(0.0, std, shape).astype(np.float32)
