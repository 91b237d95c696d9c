"""GGUF files: metadata, and tensors as the file holds them."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from ...errors import InvalidModelError, MissingPackageError

_BROKEN = (ValueError, IndexError, KeyError, OverflowError, MemoryError, UnicodeDecodeError)
"""Exceptions of the reader for files that end early or are no GGUF."""


@dataclass(frozen=True)
class GGUFTensor:
    """A tensor: its type by GGUF's name, its shape with the longest stride first, and its data.

    `data` has the element type of floats, and bytes of blocks, uint8 ``[rows, bytes]``, otherwise.
    """

    name: str
    type_name: str
    shape: tuple[int, ...]
    data: np.ndarray


class GGUFFile:
    """The metadata and tensors of a GGUF file, mapped into memory.

    Raises `InvalidModelError` for a file that is none, and `MissingPackageError` without the
    package ``gguf``.
    """

    def __init__(self, path: str | os.PathLike[str]):
        try:
            from gguf import GGUFReader  # pyright: ignore[reportAttributeAccessIssue, reportMissingImports]
        except ImportError as error:
            raise MissingPackageError("reading GGUF files", "gguf", "llm") from error
        self.path = Path(path)
        try:
            self._reader = GGUFReader(self.path)
        except _BROKEN as error:
            raise InvalidModelError(f"{self.path}: not a valid GGUF file: {error}") from error
        self._tensors = {each.name: each for each in self._reader.tensors}
        self._taken: set[str] = set()

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The keys of the file; `get` reads their values."""
        return self._reader.fields

    def get(self, key: str, default: Any = None) -> Any:
        """The value of `key`: a number, a string, a truth value or a list; `default` if absent.

        Raises `InvalidModelError` for text that is no UTF-8.
        """
        field = self._reader.fields.get(key)
        try:
            return default if field is None else field.contents()
        except UnicodeDecodeError as error:
            raise InvalidModelError(f"{self.path}: the metadata has no text at {key}") from error

    def require(self, key: str) -> Any:
        """The value of `key`. Raises `InvalidModelError` if it is absent."""
        value = self.get(key)
        if value is None:
            raise InvalidModelError(f"{self.path}: the metadata lacks {key}")
        return value

    def __contains__(self, name: str) -> bool:
        return name in self._tensors

    def tensor(self, name: str) -> GGUFTensor:
        """The tensor `name`, which counts as used. Raises `InvalidModelError` if it is absent."""
        found = self._tensors.get(name)
        if found is None:
            raise InvalidModelError(f"{self.path}: there is no tensor '{name}'")
        self._taken.add(name)
        shape = tuple(int(size) for size in reversed(found.shape))
        return GGUFTensor(name, found.tensor_type.name, shape, found.data)

    def unused(self) -> Iterator[str]:
        """The names of tensors that `tensor` was not asked for."""
        return (name for name in self._tensors if name not in self._taken)

    def close(self) -> None:
        """Unmap the file, once no tensor is in use."""
        self._reader.tensors.clear()
        self._tensors.clear()

    def __enter__(self) -> "GGUFFile":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
