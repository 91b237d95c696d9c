"""Values of a graph that is being drawn, and which of them may decide something."""

from collections.abc import Iterable
from dataclasses import dataclass

import ml_dtypes
import numpy as np
from onnx import helper

FLOATS = ("float32", "float64", "float16", "bfloat16")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = (*SIGNED, *UNSIGNED)
NUMBERS = (*FLOATS, *INTEGERS)
BOOL = ("bool",)

LARGEST = {"float64": 1e4, "float32": 1e3, "float16": 200.0, "bfloat16": 200.0}
"""Floats beyond this are not computed with: their differences would hide those of others."""
SMALLEST = {"float64": 1e-300, "float32": 1e-30, "float16": 0.0, "bfloat16": 1e-30}
"""Floats nearer to zero that are not zero are not computed with: the runtime takes subnormal ones
for zero, and there may have been some on the way to these. float16 is computed in float32."""
MOST_ELEMENTS = 20_000
MARGIN = 0.02
"""How far a float must lie from where a function jumps, relative to itself where it is above 1."""

_GRIDS = {"float64": (16, 128), "float32": (16, 128), "float16": (4, 64), "bfloat16": (1, 64)}
"""Steps in one, and the largest magnitude, of floats whose sums are exact in their type; of
float32 and float64 their products, too."""


def dtype_of(name: str) -> np.dtype:
    """The numpy type of this name."""
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def element_type(name: str) -> int:
    """What ONNX calls this type."""
    return helper.np_dtype_to_tensor_dtype(dtype_of(name))


def is_float(dtype: np.dtype) -> bool:
    """Whether it is one of `FLOATS`."""
    return dtype.name in FLOATS


@dataclass(frozen=True)
class Value:
    """A tensor of the graph, with what it is on the inputs of the graph."""

    name: str
    array: np.ndarray
    precision: str
    """The least precise type of what it was computed from: its own, if that is so."""
    exact: bool
    """Whether every way to compute it gives the same bits, whatever is added in which order."""
    constant: bool = False
    """Whether the model knows it."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Its sizes."""
        return self.array.shape

    @property
    def rank(self) -> int:
        """How many sizes it has."""
        return self.array.ndim

    @property
    def size(self) -> int:
        """How many elements it has."""
        return self.array.size

    @property
    def dtype(self) -> np.dtype:
        """Its element type."""
        return self.array.dtype

    @property
    def wide(self) -> np.ndarray:
        """The array in float64."""
        return self.array.astype(np.float64)

    def within(self, low: float, high: float) -> bool:
        """Whether all elements lie between."""
        return bool(((self.wide >= low) & (self.wide <= high)).all())

    def clear_of(self, steps: float = 1.0, offset: float = 0.0) -> bool:
        """Whether a function may jump at ``offset + steps * n`` (only at `offset` where `steps` is
        0): rounding cannot bring an element to the other side."""
        if self.exact:
            return True
        x = self.wide - offset
        away = np.abs(x - steps * np.round(x / steps)) if steps else np.abs(x)
        return bool((away > MARGIN * np.maximum(np.abs(self.wide), 1)).all())


def least_precise(names: Iterable[str]) -> str:
    """The last of them in the order of precision, where all that are no floats come first."""
    order = ("float64", "float32", "float16", "bfloat16")
    return max(names, key=lambda name: order.index(name) if name in order else -1)


def is_sane(array: np.ndarray) -> bool:
    """Whether a graph may go on with it."""
    if array.size > MOST_ELEMENTS or array.ndim > 6:
        return False
    if not is_float(array.dtype):
        return True
    wide = np.abs(array.astype(np.float64))
    within = (wide >= SMALLEST[array.dtype.name]) & (wide <= LARGEST[array.dtype.name])
    return bool((within | (wide == 0)).all())  # NaN is neither


def is_on_grid(array: np.ndarray) -> bool:
    """Whether sums of such elements are exact."""
    if not is_float(array.dtype):
        return True
    steps, largest = _GRIDS[array.dtype.name]
    wide = array.astype(np.float64)
    return bool(((np.abs(wide) <= largest) & (wide * steps == np.round(wide * steps))).all())
