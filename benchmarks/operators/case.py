"""A case of the sweep over operators: a model of one node, and its inputs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

Array = Callable[[np.random.Generator], np.ndarray]
"""Draws the array of an input."""


@dataclass(frozen=True)
class Initializer:
    """An input that is an initializer of the model."""

    draw: Array


Inputs = Mapping[str, Array | Initializer | None]
"""The inputs of a node by name, in order; None for an omitted one."""


@dataclass(frozen=True)
class OperatorCase:
    """One node at one size."""

    operator: str
    size: str
    inputs: Inputs
    attributes: Mapping[str, Any]
    domain: str = ""
    outputs: int = 1
    opset: int = 21
    named: Sequence[int] = ()
    """Sizes that become named ones, in all inputs that are not constants."""
    apart: bool = False
    """True if each input has names of its own, so that the run decides what is broadcast."""

    @property
    def title(self) -> str:
        """Operator and size, which no other case has."""
        operator = f"{self.domain}.{self.operator}" if self.domain else self.operator
        return f"{operator} {self.size}{' named' if self.named else ''}"

    def feed(self) -> dict[str, np.ndarray]:
        """The inputs, deterministic."""
        generator = np.random.default_rng(0)
        return {
            name: draw(generator)
            for name, draw in self.inputs.items()
            if draw is not None and not isinstance(draw, Initializer)
        }

    def model(self) -> onnx.ModelProto:
        """The ONNX model of the case."""
        names = ["" if draw is None else name for name, draw in self.inputs.items()]
        results = [f"result{number}" for number in range(self.outputs)]
        node = helper.make_node(
            self.operator, names, results, domain=self.domain, **self.attributes
        )
        inputs = [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(array.dtype), self._dims(name, array.shape)
            )
            for name, array in self.feed().items()
        ]
        generator = np.random.default_rng(1)
        weights = [
            numpy_helper.from_array(draw.draw(generator), name)
            for name, draw in self.inputs.items()
            if isinstance(draw, Initializer)
        ]
        outputs = [onnx.ValueInfoProto(name=name) for name in results]
        graph = helper.make_graph([node], self.operator, inputs, outputs, weights)
        opsets = [helper.make_opsetid("", self.opset)]
        if self.domain:
            version = 4 if self.domain == "ai.onnx.ml" else 1
            opsets.append(helper.make_opsetid(self.domain, version))
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)

    def _dims(self, name: str, shape: Sequence[int]) -> list[int | str]:
        prefix = name if self.apart else "n"
        return [f"{prefix}{size}" if size in self.named else size for size in shape]


def cases(
    operator: str, *sizes: tuple[str, Inputs], named: Iterable[int] = (), **attributes: Any
) -> list[OperatorCase]:
    """Cases of one operator with fixed sizes, and the last but one also with those `named`.

    ``_domain``, ``_outputs``, ``_opset`` and ``_apart`` are fields of the case; the rest are
    attributes.
    """
    fields = {
        field: attributes.pop(f"_{field}")
        for field in ("domain", "outputs", "opset", "apart")
        if f"_{field}" in attributes
    }
    fixed = [OperatorCase(operator, size, inputs, attributes, **fields) for size, inputs in sizes]
    if not (chosen := tuple(named)):
        return fixed
    size, inputs = sizes[max(len(sizes) - 2, 0)]
    return [*fixed, OperatorCase(operator, size, inputs, attributes, named=chosen, **fields)]


def f32(*shape: int, scale: float = 1.0) -> Array:
    """Normally distributed floats."""
    return lambda generator: generator.standard_normal(shape, np.float32) * np.float32(scale)


def f16(*shape: int) -> Array:
    """Normally distributed halves."""
    return lambda generator: generator.standard_normal(shape, np.float32).astype(np.float16)


def f64(*shape: int) -> Array:
    """Normally distributed doubles."""
    return lambda generator: generator.standard_normal(shape)


def uniform(low: float, high: float, *shape: int) -> Array:
    """Uniformly distributed floats."""
    return lambda generator: generator.uniform(low, high, shape).astype(np.float32)


def integers(low: int, high: int, *shape: int, dtype: Any = np.int64) -> Array:
    """Integers from `low` to below `high`."""
    return lambda generator: generator.integers(low, high, shape).astype(dtype)


def u8(*shape: int) -> Array:
    """Bytes."""
    return integers(0, 256, *shape, dtype=np.uint8)


def s8(*shape: int) -> Array:
    """Signed bytes."""
    return integers(-128, 128, *shape, dtype=np.int8)


def mask(*shape: int) -> Array:
    """Booleans, half of them true."""
    return integers(0, 2, *shape, dtype=np.bool_)


def given(value: Any, dtype: Any = None) -> Initializer:
    """A constant of known value."""
    return Initializer(lambda generator: np.asarray(value, dtype))


def fed(value: Any, dtype: Any = None) -> Array:
    """An input of known value."""
    return lambda generator: np.asarray(value, dtype)
