"""Blocks of Parquet files: row groups, read and written by pyarrow."""

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import FeedError, MissingPackageError

SUFFIXES = (".parquet", ".pq")


def require_pyarrow() -> Any:
    """The package pyarrow. Raises `MissingPackageError`."""
    try:
        import pyarrow  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise MissingPackageError("reading Parquet files", "pyarrow", "parquet") from error
    return pyarrow


def open_location(location: str) -> tuple[Any, str]:
    """The pyarrow file system of a path or a URI (``s3://bucket/folder``), and the path in it.

    Raises `FeedError`.
    """
    arrow = require_pyarrow()
    from pyarrow import fs  # pyright: ignore[reportMissingImports]

    try:
        if "://" in location:
            return fs.FileSystem.from_uri(location)
        return fs.LocalFileSystem(), location
    except (OSError, ValueError, arrow.ArrowException) as error:
        raise FeedError(f"cannot read '{location}': {error}") from error


@dataclass(frozen=True)
class ArrowRows:
    """A table of Arrow."""

    table: Any

    @property
    def names(self) -> Sequence[str]:
        """Names of the columns."""
        return self.table.column_names

    @property
    def count(self) -> int:
        """Number of rows."""
        return self.table.num_rows

    def array(self, name: str) -> np.ndarray:
        """A column as an array. Raises `FeedError` for nulls and lists of unequal lengths."""
        column = self.table.column(name).combine_chunks()
        if column.null_count:
            raise FeedError(f"column '{name}' has {column.null_count} null(s)")
        return _dense(column, name)

    def encode(self, outputs: Mapping[str, np.ndarray], keep: Sequence[str]) -> bytes:
        """The contents of a Parquet file."""
        from pyarrow import parquet  # pyright: ignore[reportMissingImports]

        table = self.table.select(list(keep))
        for name, array in outputs.items():
            table = table.append_column(name, _to_arrow(array, name))
        buffer = io.BytesIO()
        parquet.write_table(table, buffer)
        return buffer.getvalue()


def _dense(column: Any, name: str) -> np.ndarray:
    """A column of numbers, of tensors, or of (nested) lists of equal lengths, as one array."""
    import pyarrow  # pyright: ignore[reportMissingImports]

    if isinstance(column, pyarrow.FixedShapeTensorArray):
        return column.to_numpy_ndarray()
    kind, count = column.type, len(column)
    if pyarrow.types.is_fixed_size_list(kind):
        inner = _dense(column.flatten(), name)
        return inner.reshape(count, kind.list_size, *inner.shape[1:])
    if pyarrow.types.is_list(kind) or pyarrow.types.is_large_list(kind):
        lengths = np.unique(np.diff(column.offsets.to_numpy()))
        if len(lengths) > 1:
            raise FeedError(f"column '{name}' has lists of {lengths[0]} to {lengths[-1]} elements")
        inner = _dense(column.flatten(), name)
        return inner.reshape(count, int(lengths[0]) if len(lengths) else 0, *inner.shape[1:])
    if column.null_count:
        raise FeedError(f"column '{name}' has {column.null_count} null(s) in its lists")
    return column.to_numpy(zero_copy_only=False)


def _to_arrow(array: np.ndarray, name: str) -> Any:
    """An output as a column: numbers, or tensors of a fixed shape. Raises `FeedError`."""
    import pyarrow  # pyright: ignore[reportMissingImports]

    try:
        array = np.ascontiguousarray(array)
        if array.ndim == 1:
            return pyarrow.array(array)
        flat = pyarrow.array(array.reshape(-1))
        shape = array.shape[1:]
        storage = pyarrow.FixedSizeListArray.from_arrays(flat, int(np.prod(shape)))
        kind = pyarrow.fixed_shape_tensor(flat.type, shape)
        return pyarrow.ExtensionArray.from_storage(kind, storage)
    except (pyarrow.ArrowException, TypeError) as error:
        raise FeedError(
            f"Parquet has no column for output '{name}', {array.dtype.name}: {error}"
        ) from error


@dataclass(frozen=True)
class ParquetBlock:
    """A row group of a Parquet file."""

    location: str
    """The path or the URI of the file."""
    group: int
    label: str
    identity: str
    suffix = ".parquet"

    def read(self) -> ArrowRows:
        """Read the row group. Raises `FeedError`."""
        with _open(self.location) as file:
            return ArrowRows(file.read_row_group(self.group))


def blocks_of_parquet(location: str, name: str, state: str) -> Iterator[ParquetBlock]:
    """One block for each row group of a file, `name` in its data set; `state` is its size and time.

    Raises `FeedError`.
    """
    with _open(location) as file:
        groups = file.num_row_groups
    for group in range(groups):
        place = f"{name}-{group:06}"
        yield ParquetBlock(location, group, place, f"{name} {state} {group}")


class _open:  # noqa: N801
    """A Parquet file, whose errors name it."""

    def __init__(self, location: str):
        self._location = location

    def __enter__(self) -> Any:
        arrow = require_pyarrow()
        from pyarrow import parquet  # pyright: ignore[reportMissingImports]

        system, path = open_location(self._location)
        self._errors = (OSError, ValueError, arrow.ArrowException)
        try:
            self._file = parquet.ParquetFile(path, filesystem=system)
        except self._errors as error:
            raise FeedError(f"cannot read '{self._location}': {error}") from error
        return self._file

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        self._file.close()
        if isinstance(error, self._errors):
            raise FeedError(f"cannot read '{self._location}': {error}") from error
