"""Contiguous rows of a tensor, for kernels that work row by row (`kernels.rows`)."""

from ...dialects import graph
from ...dialects.symbolic import Dim
from ..kernels.rows import RowChunks


def row_chunks(type_: graph.TensorType, axis: int) -> tuple[RowChunks, list[Dim]]:
    """The rows of a tensor, of all axes from `axis` on, and those of their numbers that are
    dynamic."""
    rows, length = map(graph.element_count, (type_.shape[:axis], type_.shape[axis:]))
    known = [size if isinstance(size, int) else None for size in (rows, length)]
    return RowChunks(*known), [size for size in (rows, length) if isinstance(size, Dim)]
