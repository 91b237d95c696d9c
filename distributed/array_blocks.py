"""Blocks of arrays: ``.npz`` and ``.npy`` files, and arrays in memory."""

import io
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FeedError
from ..runtime.cache.digests import digest_of

SUFFIXES = (".npz", ".npy")
_UNREADABLE = (OSError, ValueError, EOFError, zipfile.BadZipFile)


@dataclass(frozen=True)
class ArrayRows:
    """Arrays by name, whose first axes are the rows."""

    columns: Mapping[str, np.ndarray]

    @property
    def names(self) -> Sequence[str]:
        """Names of the arrays."""
        return [*self.columns]

    @property
    def count(self) -> int:
        """Length of the first axes. Raises `FeedError` if they differ."""
        if scalars := [name for name, array in self.columns.items() if array.ndim == 0]:
            raise FeedError(f"column '{scalars[0]}' is one number: it has no axis of rows")
        counts = {name: len(array) for name, array in self.columns.items()}
        if len(set(counts.values())) != 1:
            listing = ", ".join(f"{name}: {count}" for name, count in counts.items())
            raise FeedError(f"the columns differ in their numbers of rows ({listing or 'none'})")
        return next(iter(counts.values()))

    def array(self, name: str) -> np.ndarray:
        """The array of that name."""
        return self.columns[name]

    def encode(self, outputs: Mapping[str, np.ndarray], keep: Sequence[str]) -> bytes:
        """The contents of a ``.npz`` file."""
        buffer = io.BytesIO()
        np.savez(buffer, **{name: self.columns[name] for name in keep}, **outputs)  # pyright: ignore[reportArgumentType]
        return buffer.getvalue()


@dataclass(frozen=True)
class ArrayBlock:
    """Arrays in memory."""

    rows: ArrayRows
    label: str
    identity: str
    suffix = ".npz"

    @classmethod
    def of(cls, rows: ArrayRows, start: int) -> "ArrayBlock":
        """The block of `rows`, from row `start` of the data set on; a digest identifies them."""
        label = f"rows-{start:012}"
        parts = [
            f"{name} {array.dtype} {array.shape} {digest_of(array.tobytes())}"
            for name, array in sorted(rows.columns.items())
        ]
        return cls(rows, label, " ".join([label, *parts]))

    def read(self) -> ArrayRows:
        """The rows, which are here already."""
        return self.rows


def blocks_of_feeds(feeds: Iterable[Mapping[str, Any]]) -> Iterator[ArrayBlock]:
    """One block for each of `feeds`, arrays by column."""
    start = 0
    for feed in feeds:
        if not isinstance(feed, Mapping):
            raise FeedError(f"a block must map columns to arrays, not be a {type(feed).__name__}")
        rows = ArrayRows({name: np.asarray(array) for name, array in feed.items()})
        yield ArrayBlock.of(rows, start)
        start += rows.count


def blocks_of_arrays(
    columns: Mapping[str, np.ndarray], rows_per_block: int
) -> Iterator[ArrayBlock]:
    """Blocks of `rows_per_block` rows of arrays in memory."""
    whole = ArrayRows({name: np.asarray(array) for name, array in columns.items()})
    for start in range(0, whole.count, rows_per_block):
        stop = start + rows_per_block
        yield ArrayBlock.of(ArrayRows({n: a[start:stop] for n, a in whole.columns.items()}), start)


@dataclass(frozen=True)
class NpzBlock:
    """The rows of a ``.npz`` file."""

    path: Path
    label: str
    identity: str
    suffix = ".npz"

    def read(self) -> ArrayRows:
        """Read the file."""
        try:
            with np.load(self.path, allow_pickle=False) as arrays:
                return ArrayRows(dict(arrays))
        except (*_UNREADABLE, AttributeError) as error:  # AttributeError: a .npy by another name
            raise FeedError(f"it is not a .npz file: {error}") from error


@dataclass(frozen=True)
class NpyBlock:
    """The rows from `start` to `stop` of a ``.npy`` file, which are the column `column`."""

    path: Path
    column: str
    start: int
    stop: int
    label: str
    identity: str
    suffix = ".npz"

    def read(self) -> ArrayRows:
        """Read the rows, and no others."""
        rows = np.array(map_array(self.path)[self.start : self.stop])
        return ArrayRows({self.column: rows})


def map_array(path: Path) -> np.ndarray:
    """The array in a ``.npy`` file, mapped. Raises `FeedError` that names the file."""
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except _UNREADABLE as error:
        raise FeedError(f"'{path}' is not a .npy file: {error}") from error


def blocks_of_file(
    path: Path, name: str, column: str | None, rows_per_block: int
) -> Iterator[NpzBlock | NpyBlock]:
    """The blocks of a file: one of a ``.npz``, of `rows_per_block` rows of a ``.npy``.

    `name` is that of the file within the data set. A ``.npy`` file has no name for its array, which
    is `column`. Raises `FeedError`.
    """
    status = path.stat()
    identity = f"{name} {status.st_size} {status.st_mtime_ns}"
    if path.suffix.lower() == ".npz":
        yield NpzBlock(path, name, identity)
        return
    if column is None:
        raise FeedError(f"'{path}' has one array, the model several inputs: write .npz files")
    array = map_array(path)
    if array.ndim == 0:
        raise FeedError(f"'{path}' has one number: it has no axis of rows")
    for start in range(0, len(array), rows_per_block):
        stop = min(start + rows_per_block, len(array))
        place = f"{name}-{start:012}"
        yield NpyBlock(path, column, start, stop, place, f"{identity} {start}:{stop}")
