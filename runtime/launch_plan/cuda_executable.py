"""Code for CUDA as IREE stores it: a flatbuffer with PTX, and what a launch of each kernel needs
(``cuda_executable_def.fbs`` in IREE's sources)."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from ...errors import ModuleFileError

_MAGIC = b"CDA1"
_HEADER_BYTES = 64
"""Bytes of the header that precedes the flatbuffer."""


@dataclass(frozen=True)
class CudaKernelCode:
    """A kernel: the number of its PTX text in `CudaExecutable.images`, its name there, the threads
    of a workgroup, bytes of shared memory, and the number of its arguments."""

    image: int
    name: str
    block: tuple[int, int, int]
    shared_bytes: int
    constants: int
    bindings: int


@dataclass(frozen=True)
class CudaExecutable:
    """The kernels of a program, and their code: PTX, with a zero at the end."""

    kernels: tuple[CudaKernelCode, ...]
    images: tuple[bytes, ...]


def read_executable(contents: memoryview) -> CudaExecutable:
    """Read an executable in format ``cuda-nvptx-fb``. Raises `ModuleFileError`."""
    try:
        if bytes(contents[:4]) != _MAGIC:
            raise ModuleFileError("the module's code is not for CUDA")
        return _read(_Table.root(contents[_HEADER_BYTES:]))
    except (struct.error, UnicodeDecodeError, IndexError) as error:
        raise ModuleFileError(f"the module's code for CUDA is damaged: {error}") from None


def _read(root: "_Table") -> CudaExecutable:
    images = tuple(module.text(0) + b"\0" for module in root.tables(1))
    kernels = tuple(_read_kernel(export) for export in root.tables(0))
    if any(kernel.image >= len(images) for kernel in kernels):
        raise ModuleFileError("the module's code for CUDA is damaged: a kernel without code")
    return CudaExecutable(kernels, images)


def _read_kernel(export: "_Table") -> CudaKernelCode:
    x, y, z = export.numbers(2, 3)
    return CudaKernelCode(
        export.number(0),
        export.text(1).decode(),
        (x, y, z),
        export.number(3),
        export.number(4),
        export.count(5),
    )


class _Table:
    """A table of a flatbuffer; fields are numbered in the order of the schema."""

    def __init__(self, contents: memoryview, at: int):
        self._contents, self._at = contents, at
        self._fields = at - self._int("<i", at)
        self._bytes = self._int("<H", self._fields)

    @classmethod
    def root(cls, contents: memoryview) -> "_Table":
        return cls(contents, struct.unpack_from("<I", contents, 0)[0])

    def number(self, field: int) -> int:
        """A 32-bit number, 0 if it is absent."""
        at = self._find(field)
        return self._int("<I", at) if at else 0

    def numbers(self, field: int, count: int) -> tuple[int, ...]:
        """A structure of `count` 32-bit numbers, zeros if it is absent."""
        at = self._find(field)
        return struct.unpack_from(f"<{count}I", self._contents, at) if at else (0,) * count

    def count(self, field: int) -> int:
        """The number of elements of a vector, 0 if it is absent."""
        at = self._follow(field)
        return self._int("<I", at) if at else 0

    def text(self, field: int) -> bytes:
        """A string, empty if it is absent."""
        at, size = self._follow(field), self.count(field)
        return bytes(self._contents[at + 4 : at + 4 + size]) if at else b""

    def tables(self, field: int) -> "Iterator[_Table]":
        """The tables in a vector of them."""
        first = self._follow(field) + 4
        for at in range(first, first + 4 * self.count(field), 4):
            yield _Table(self._contents, at + self._int("<I", at))

    def _find(self, field: int) -> int:
        """The position of a field; 0 if it is absent."""
        entry = 4 + 2 * field
        offset = self._int("<H", self._fields + entry) if entry < self._bytes else 0
        return self._at + offset if offset else 0

    def _follow(self, field: int) -> int:
        at = self._find(field)
        return at + self._int("<I", at) if at else 0

    def _int(self, form: str, at: int) -> int:
        return struct.unpack_from(form, self._contents, at)[0]
