"""Data of tensors that lies in files beside the model.

The model names the files, and it may be untrusted. No file outside the model's folder is opened:
not by ``..``, an absolute path or a link, nor by a link that replaces a folder during the check.
Only regular files are opened; they are mapped, not read.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import BinaryIO

import numpy as np
import onnx

from ....errors import ExternalDataError

_MAX_DIGITS = 19
_HAS_DIR_FD = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
"""True if the OS can open files relative to an open folder without following links."""


def map_data(
    tensor: onnx.TensorProto, dtype: np.dtype, byte_count: int, folder: Path | None
) -> np.ndarray:
    """The `byte_count` bytes of `tensor` as a flat array of `dtype`, mapped from its file below
    `folder`. Raises ExternalDataError."""
    entries = _entries(tensor)
    location = entries.get("location", "")
    offset = _number(tensor.name, entries.get("offset", "0"))
    length = _number(tensor.name, entries.get("length", str(byte_count)))
    if length != byte_count:
        raise ExternalDataError(
            f"tensor '{tensor.name}': its external data states {length} bytes, "
            f"but {list(tensor.dims)} of {_type_name(tensor)} takes {byte_count}"
        )
    with open_beside(tensor.name, location, folder) as file:
        available = os.fstat(file.fileno()).st_size
        if offset + length > available:
            raise ExternalDataError(
                f"tensor '{tensor.name}': '{location}' is truncated: bytes {offset} to "
                f"{offset + length} are wanted, the file has {available}"
            )
        if length == 0:
            return np.zeros(0, dtype)
        count = byte_count // dtype.itemsize
        return np.memmap(file, dtype=dtype, mode="r", offset=offset, shape=(count,))


def _type_name(tensor: onnx.TensorProto) -> str:
    return onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type).name


def _entries(tensor: onnx.TensorProto) -> dict[str, str]:
    entries: dict[str, str] = {}
    for entry in tensor.external_data:
        if entry.key in entries:
            raise ExternalDataError(
                f"tensor '{tensor.name}': its external data states '{entry.key}' twice"
            )
        entries[entry.key] = entry.value
    return entries


def _number(name: str, text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS):
        raise ExternalDataError(f"tensor '{name}': '{text[:40]}' is not a position in a file")
    return int(text)


@contextmanager
def open_beside(name: str, location: str, folder: Path | None) -> Iterator[BinaryIO]:
    """The file `location` below `folder`, in which the data of tensor `name` lies, for reading.

    Raises ExternalDataError where it is not there, is no regular file, or not below the folder.
    """
    if folder is None:
        raise ExternalDataError(
            f"tensor '{name}' has external data in '{location}', but the model was not read from "
            "a file; pass its path"
        )
    root = folder.resolve()
    parts = _parts_within(name, location, root)
    try:
        descriptor = _open_parts(root, parts)
    except FileNotFoundError:
        raise ExternalDataError(
            f"tensor '{name}': external data file '{location}' is missing"
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ExternalDataError(
            f"tensor '{name}': external data file '{location}' cannot be read: {reason}"
        ) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ExternalDataError(f"tensor '{name}': external data '{location}' is no regular file")
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        yield file  # type: ignore[misc]


def _parts_within(name: str, location: str, root: Path) -> tuple[str, ...]:
    """The path from the folder `root` to `location`, with all links resolved."""
    outside = ExternalDataError(
        f"tensor '{name}': external data '{location}' lies outside the model's folder"
    )
    if "\0" in location or "\\" in location:
        raise ExternalDataError(
            f"tensor '{name}': {location!r} names no file: ONNX spells paths with '/'"
        )
    parts = PurePosixPath(location).parts
    if not parts or ".." in parts or PurePosixPath(location).is_absolute():
        raise outside
    if PureWindowsPath(location).drive:
        raise outside
    try:
        resolved = (root / location).resolve()
    except (OSError, RuntimeError) as error:  # links in a circle
        raise ExternalDataError(
            f"tensor '{name}': external data file '{location}' cannot be read: {error}"
        ) from error
    if resolved == root or not resolved.is_relative_to(root):
        raise outside
    return resolved.relative_to(root).parts


def _open_parts(root: Path, parts: tuple[str, ...]) -> int:
    """A descriptor of the file at `parts`. Links created since the check are not followed."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    flags |= getattr(os, "O_BINARY", 0)
    if not _HAS_DIR_FD:
        return os.open(root.joinpath(*parts), flags)
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts[:-1]:
            inner = os.open(
                part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder
            )
            os.close(folder)
            folder = inner
        return os.open(parts[-1], flags | os.O_NOFOLLOW, dir_fd=folder)
    finally:
        os.close(folder)
