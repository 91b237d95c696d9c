"""Difference of two arrays."""

from dataclasses import dataclass

import numpy as np

TOLERANCES = {
    "float64": 1e-9,
    "float32": 1e-4,
    "float16": 1e-2,
    "bfloat16": 6e-2,
    "complex128": 1e-9,
    "complex64": 1e-4,
    "float8_e4m3fn": 0.13,
    "float8_e5m2": 0.25,
}
"""Tolerances for rounding errors, relative to the largest value; other types must be equal."""


def tolerance_of(dtype: np.dtype, tolerance: float | None) -> float:
    """The given `tolerance`, or the default one for values of `dtype`."""
    if tolerance is not None:
        return tolerance
    return TOLERANCES.get(dtype.name, 0.0)


@dataclass(frozen=True)
class Difference:
    """The largest difference of two arrays."""

    relative: float
    """Difference relative to the largest magnitude of the expected array; infinite if shapes or
    NaNs differ."""
    absolute: float
    index: tuple[int, ...] | None
    """Index of the element; None if the arrays are equal, or have different shapes."""
    have: object = None
    want: object = None

    @property
    def place(self) -> str:
        """The index and the elements there, such as ``[3, 0]: 0.5, not 0.25``."""
        if self.index is None:
            return ""
        return f"[{', '.join(map(str, self.index))}]: {self.have:.6g}, not {self.want:.6g}"


def difference(have: np.ndarray, want: np.ndarray) -> Difference:
    """The largest difference between `have` and `want`."""
    if have.shape != want.shape:
        return Difference(float("inf"), float("inf"), None)
    kind = np.complex128 if np.iscomplexobj(want) else np.float64
    a, b = have.astype(kind), want.astype(kind)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    if same.all():
        return Difference(0.0, 0.0, None)
    with np.errstate(invalid="ignore"):
        apart = np.where(same, 0.0, np.abs(a - b))
    apart = np.where(np.isnan(apart), np.inf, apart)
    index = tuple(map(int, np.unravel_index(np.argmax(apart), apart.shape)))
    scale = np.max(np.abs(b), where=np.isfinite(b), initial=0.0)
    largest = float(apart[index])
    return Difference(largest / float(scale or 1.0), largest, index, a[index], b[index])


def relative_difference(have: np.ndarray, want: np.ndarray) -> float:
    """The largest difference of two arrays, relative to the largest magnitude of `want`.

    Infinite if shapes differ, or if one is NaN where the other is not.
    """
    return difference(have, want).relative
