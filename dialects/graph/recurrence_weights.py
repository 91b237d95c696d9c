"""The weights by which recurrent cells multiply their states, in the layouts of kernels."""

from dataclasses import dataclass

import numpy as np

from .int8_matmul import INT8_GROUP, INT8_K_STEPS, in_int8_groups
from .types import TensorType

GROUPING_UNITS = [unit for unit in INT8_K_STEPS if unit != "amx"]
"""The instruction sets that multiply weights in groups: vectors, not tiles."""

_MATRIX, _PANELS, _GROUPS = 2, 3, 4
"""The ranks of the layouts."""


def pack_recurrence(recurrence: np.ndarray, gates: int, width: int) -> np.ndarray:
    """[H, k*H], for k = `gates`, as panels [ceil(H/width), H, k*width], which a kernel reads
    sequentially; the last one is padded with zeros."""
    hidden = recurrence.shape[0]
    w = recurrence.reshape(hidden, gates, hidden)
    w = np.pad(w, [(0, 0), (0, 0), (0, -hidden % width)]).reshape(hidden, gates, -1, width)
    return np.ascontiguousarray(w.transpose(2, 0, 1, 3).reshape(-1, hidden, gates * width))


def group_recurrence(recurrence: np.ndarray, gates: int, width: int) -> np.ndarray:
    """[H, k*H] of i8, for k = `gates`, as panels [ceil(H/width), ceil(H/4), k*width, 4], in which
    four consecutive elements of a column are adjacent; the last group and panel end with zeros."""
    return in_int8_groups(pack_recurrence(recurrence, gates, width))


def recurrence_matrix(
    recurrence: np.ndarray, scales: np.ndarray | None, gates: int, hidden: int
) -> np.ndarray:
    """The recurrence of `gates` gates of a state of `hidden` elements as a matrix [H, k*H] of
    floats."""
    matrix = unpacked_recurrence(recurrence, gates, hidden)
    return matrix if scales is None else matrix.astype(scales.dtype) * scales


def unpacked_recurrence(recurrence: np.ndarray, gates: int, hidden: int) -> np.ndarray:
    """The recurrence as a matrix [H, k*H]."""
    if recurrence.ndim == _MATRIX:
        return recurrence
    if recurrence.ndim == _GROUPS:
        panels, groups, line, size = recurrence.shape
        recurrence = recurrence.transpose(0, 1, 3, 2).reshape(panels, groups * size, line)
    panels, rows, line = recurrence.shape
    w = recurrence.reshape(panels, rows, gates, line // gates).transpose(1, 2, 0, 3)
    return w.reshape(rows, gates, -1)[:hidden, :, :hidden].reshape(hidden, -1)


@dataclass(frozen=True)
class RecurrenceWeights:
    """The types of a recurrence and its scales."""

    recurrence: TensorType
    scales: TensorType | None

    @property
    def in_groups(self) -> bool:
        """True if four elements of a column are adjacent."""
        return self.recurrence.rank == _GROUPS

    def hold(self, matrix: TensorType) -> bool:
        """Return whether they hold floats of the type `matrix` [H, k*H]."""
        if self.scales is None:
            return self.recurrence.dtype == matrix.dtype and self._fit(matrix)
        _, wide = matrix.shape
        is_scaled = self.scales == TensorType((wide,), np.dtype(np.float32))
        is_packed = self.recurrence.rank > _MATRIX and self.recurrence.dtype == np.int8
        return is_scaled and is_packed and matrix.dtype == np.float32 and self._fit(matrix)

    def __str__(self) -> str:
        return f"{self.recurrence}" + (f" with scales {self.scales}" if self.scales else "")

    def _fit(self, matrix: TensorType) -> bool:
        """Return whether the recurrence has the shape `matrix`, or holds such a one in panels."""
        if self.recurrence.rank not in (_PANELS, _GROUPS):
            return self.recurrence.shape == matrix.shape
        panels, rows, line, *group = self.recurrence.static_shape
        hidden, wide = matrix.static_shape
        rows_fit = [rows, *group] == ([-(-hidden // INT8_GROUP), INT8_GROUP] if group else [hidden])
        fits = rows_fit and line * hidden % wide == 0 and panels * line >= wide
        return fits and (panels - 1) * line < wide
