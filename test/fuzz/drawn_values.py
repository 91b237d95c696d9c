"""Values of a graph that is being drawn, and tests of which values a jump may depend on."""

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
"""Largest magnitude of floats in a graph. The differences of larger ones would hide those of
others."""
SMALLEST = {"float64": 1e-300, "float32": 1e-30, "float16": 0.0, "bfloat16": 1e-30}
"""Smallest nonzero magnitude of floats in a graph. The runtime treats subnormal floats as zero, and
some may have occurred on the way to such values. float16 is computed in float32."""
MOST_ELEMENTS = 20_000
MARGIN = 0.02
"""Minimum distance of a float from a jump of a function, relative to the float if that is above
1."""

_GRIDS = {"float64": (16, 128), "float32": (16, 128), "float16": (4, 64), "bfloat16": (1, 64)}
"""Steps per unit, and the largest magnitude, of floats whose sums are exact in their type. For
float32 and float64, their products are exact, too."""


def dtype_of(name: str) -> np.dtype:
    """The numpy type with this name."""
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def element_type(name: str) -> int:
    """The ONNX element type with this name."""
    return helper.np_dtype_to_tensor_dtype(dtype_of(name))


def is_float(dtype: np.dtype) -> bool:
    """Return whether `dtype` is one of `FLOATS`."""
    return dtype.name in FLOATS


@dataclass(frozen=True)
class Value:
    """A tensor of the graph, with its value for the drawn inputs."""

    name: str
    array: np.ndarray
    precision: str
    """The least precise type among its own and those that it was computed from."""
    exact: bool
    """True if the bits are the same however it is computed, for example in any order of
    summation."""
    constant: bool = False
    """True if the value is a constant of the model."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""
        return self.array.shape

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return self.array.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.array.size

    @property
    def dtype(self) -> np.dtype:
        """The element type."""
        return self.array.dtype

    @property
    def wide(self) -> np.ndarray:
        """The array in float64."""
        return self.array.astype(np.float64)

    def within(self, low: float, high: float) -> bool:
        """Return whether all elements are in [`low`, `high`]."""
        return bool(((self.wide >= low) & (self.wide <= high)).all())

    def clear_of(self, steps: float = 1.0, offset: float = 0.0) -> bool:
        """Return whether a function may jump at ``offset + steps * n``, or only at `offset` if
        `steps` is 0.

        It may if rounding cannot move an element across a jump.
        """
        if self.exact:
            return True
        x = self.wide - offset
        away = np.abs(x - steps * np.round(x / steps)) if steps else np.abs(x)
        return bool((away > MARGIN * np.maximum(np.abs(self.wide), 1)).all())


def least_precise(names: Iterable[str]) -> str:
    """The least precise type of `names`. Types other than floats count as the most precise."""
    order = ("float64", "float32", "float16", "bfloat16")
    return max(names, key=lambda name: order.index(name) if name in order else -1)


def is_sane(array: np.ndarray, largest: float | None = None) -> bool:
    """Return whether a graph may use `array`: its size, rank and magnitudes are within the limits,
    or at most `largest`."""
    if array.size > MOST_ELEMENTS or array.ndim > 6:
        return False
    if not is_float(array.dtype):
        return True
    wide = np.abs(array.astype(np.float64))
    within = (wide >= SMALLEST[array.dtype.name]) & (wide <= (largest or LARGEST[array.dtype.name]))
    return bool((within | (wide == 0)).all())  # NaN is neither


def is_on_grid(array: np.ndarray) -> bool:
    """Return whether sums of such elements are exact."""
    if not is_float(array.dtype):
        return True
    steps, largest = _GRIDS[array.dtype.name]
    wide = array.astype(np.float64)
    return bool(((np.abs(wide) <= largest) & (wide * steps == np.round(wide * steps))).all())
