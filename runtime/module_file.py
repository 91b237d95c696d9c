"""Reading a ``.vmfb``: is it whole, is it ours, and what does it say about itself?

IREE checks the structure of a module but not its contents, and runs the machine code in it as it
finds it. A damaged file must therefore be found before IREE sees it. A module is a zip archive too
(IREE calls the form polyglot), whose entries hold all code and all constants, so the checksums
are there already: every one of them is verified here.
"""

import importlib.metadata
import io
import mmap
import re
import struct
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DeviceError, ModuleFileError
from .cpu_features import has_tiles, missing_features
from .device import import_runtime, setup_lock, vm_instance
from .elements import ELEMENT_TYPES
from .memory import aligned_empty
from .metadata import ENTRY_FUNCTION, REFLECTION_KEY, ModelMetadata, TensorSpec, require_tensors
from .multi_target_file import find_modules

_ZIP_MAGIC = b"PK\x03\x04"
_LOCAL_HEADER = struct.Struct("<4s5H3I2H")
_TENSOR = re.compile(r"tensor<((?:[\d?]+x)*)(complex<\w+>|\w+)>")


@dataclass(frozen=True)
class ModuleFile:
    """A module that passed every check, mapped or copied into memory."""

    origin: str
    contents: memoryview
    metadata: ModelMetadata
    module: Any
    function: Any


@dataclass(frozen=True)
class OpenedFile:
    """A file that is whole: its bytes, and those of the entries of its archive."""

    origin: str
    contents: memoryview
    entries: dict[str, memoryview]

    def modules(self) -> dict[str, memoryview]:
        """The modules by target; none where the file is a single one. Raises `ModuleFileError`."""
        try:
            return find_modules(self.contents, self.entries)
        except ModuleFileError as error:
            raise ModuleFileError(f"{self.origin}: {error}") from None

    def module(self, contents: memoryview) -> "OpenedFile":
        """One of the `modules` as a file of its own."""
        return self if contents is self.contents else _checked(self.origin, contents)


def open_file(source: str | Path | bytes) -> OpenedFile:
    """Opens a file by its path (it is mapped, not read) or its bytes (they are copied).

    Raises `ModuleFileError`, with the path and the reason, where it is not a whole archive.
    """
    return _checked(*_open(source))


def _checked(origin: str, contents: memoryview) -> OpenedFile:
    try:
        return OpenedFile(origin, contents, _check_archive(contents))
    except ModuleFileError as error:
        raise ModuleFileError(f"{origin}: {error}") from error.__cause__


def read_module(file: OpenedFile) -> ModuleFile:
    """Reads the module that `file` begins with.

    Raises `ModuleFileError`, with the path and the reason, where it is not a module of graphc's
    that this version can run, and `DeviceError` where the processor cannot run it.
    """
    origin, contents = file.origin, file.contents
    try:
        code = next(iter(file.entries.values()))
        if missing := missing_features(code):
            raise DeviceError(
                f"{origin}: the module was compiled for a processor with "
                f"{', '.join(missing)}, which this one lacks; compile it for a target such as "
                "cpu:x86-64-v3 (AVX2) or cpu:x86-64-v2"
            )
        module, function = _load(contents)
        metadata = _read_metadata(function)
        if metadata.options.get("precision") == "bf16" and not has_tiles(code):
            raise DeviceError(
                f"{origin}: the module multiplies bf16 by the tiles of AMX, which the system does "
                "not let this process use (arch_prctl refuses them); compile it with precision f32"
            )
        _check_signature(metadata, function.reflection.get("iree.abi.declaration", ""))
    except ModuleFileError as error:
        raise ModuleFileError(f"{origin}: {error}") from error.__cause__
    return ModuleFile(origin, contents, metadata, module, function)


def _open(source: str | Path | bytes) -> tuple[str, memoryview]:
    if isinstance(source, (bytes, bytearray, memoryview)):
        buffer = aligned_empty((len(source),), np.dtype(np.uint8))
        buffer[:] = np.frombuffer(source, np.uint8)
        return "<bytes>", buffer.data.toreadonly()
    path = Path(source)
    try:
        with path.open("rb") as file:
            # An empty file cannot be mapped.
            if path.stat().st_size == 0:
                return str(path), memoryview(b"")
            return str(path), memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except OSError as error:
        raise ModuleFileError(f"{path}: {error.strerror or error}") from error


def _check_archive(contents: memoryview) -> dict[str, memoryview]:
    """Verifies the checksum of every entry, and that both zip directories agree on them.

    Answers with the entries by name: the bytecode first, then large constants and machine code.
    """
    if len(contents) == 0:
        raise ModuleFileError("the file is empty")
    if contents[: len(_ZIP_MAGIC)] != _ZIP_MAGIC:
        raise ModuleFileError("the file is no compiled module (.vmfb) of graphc")
    try:
        with zipfile.ZipFile(_Reader(contents)) as archive:
            infos = archive.infolist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError) as error:
        raise ModuleFileError(f"the file is truncated or damaged ({error})") from None
    if infos and infos[0].header_offset != 0:  # what was found is the directory of a part
        raise ModuleFileError("the file is truncated or damaged (its directory is missing)")
    entries: dict[str, memoryview] = {}
    for info in infos:
        data = _entry_data(contents, info)
        if data is None or zlib.crc32(data) != info.CRC:
            raise ModuleFileError(f"the file is damaged (in its part {info.filename!r})")
        entries[info.filename] = data
    if not entries:
        raise ModuleFileError("the file is no compiled module (.vmfb) of graphc")
    return entries


class _Reader(io.RawIOBase):
    """A file over memory that, unlike `io.BytesIO`, does not copy all of it."""

    def __init__(self, contents: memoryview):
        self._contents = contents
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: len(self._contents)}
        position = base[whence] + offset
        if position < 0:
            raise OSError("seek before the beginning")
        self._position = position
        return position

    def tell(self) -> int:
        return self._position

    def readinto(self, target: Any) -> int:
        piece = self._contents[self._position : self._position + len(target)]
        target[: len(piece)] = piece
        self._position += len(piece)
        return len(piece)


def _entry_data(contents: memoryview, entry: zipfile.ZipInfo) -> memoryview | None:
    """The bytes of `entry`, or ``None`` where its local header is not what it should be."""
    begin = entry.header_offset
    if begin < 0 or begin + _LOCAL_HEADER.size > len(contents):
        return None
    fields = _LOCAL_HEADER.unpack_from(contents, begin)
    magic, _, _, method, _, _, crc, _, _, name_length, extra_length = fields
    begin += _LOCAL_HEADER.size
    name = bytes(contents[begin : begin + name_length])
    begin += name_length + extra_length
    stored = method == entry.compress_type == zipfile.ZIP_STORED
    if magic != _ZIP_MAGIC or not stored or crc != entry.CRC or name != entry.filename.encode():
        return None
    return contents[begin : begin + entry.file_size]


def _load(contents: memoryview) -> tuple[Any, Any]:
    runtime = import_runtime()
    with setup_lock:
        try:
            module = runtime.VmModule.wrap_buffer(vm_instance(), contents)
            function = module.lookup_function(ENTRY_FUNCTION)
        except (RuntimeError, ValueError) as error:
            version = importlib.metadata.version("iree-base-runtime")
            raise ModuleFileError(
                f"the IREE runtime {version} installed here does not accept the module: "
                + " ".join(str(error).split())
            ) from error
    if function is None:
        raise ModuleFileError(f"the module was not made by graphc: no function {ENTRY_FUNCTION}")
    return module, function


def _read_metadata(function: Any) -> ModelMetadata:
    text = function.reflection.get(REFLECTION_KEY)
    if text is None:
        raise ModuleFileError("the module was not made by graphc: it carries no metadata")
    return ModelMetadata.from_json(text)


def _check_signature(metadata: ModelMetadata, declaration: str) -> None:
    """Holds the metadata against the signature that IREE recorded.

    The compiled code trusts its arguments, so what feeds are checked against must be the truth.
    `declaration` reads like ``sync func @main(%x: tensor<?x4xf32>) -> (%y: tensor<4xf32>)``.
    """
    arguments, arrow, results = declaration.partition(" -> ")
    for what, specs, text in (
        ("input", require_tensors(metadata.inputs), arguments),
        ("output", require_tensors(metadata.outputs), results if arrow else ""),
    ):
        types = _TENSOR.findall(text)
        if len(types) != len(specs):
            raise ModuleFileError(
                f"the metadata names {len(specs)} {what}s, the code has {len(types)}"
            )
        for spec, (dims, element) in zip(specs, types, strict=True):
            if not _agrees(spec, dims.split("x")[:-1], element):
                raise ModuleFileError(
                    f"the metadata has {what} {spec}, the code has tensor<{dims}{element}>"
                )


def _agrees(spec: TensorSpec, dims: list[str], element: str) -> bool:
    known = ELEMENT_TYPES.get(spec.dtype)
    if known is None or element not in known.mlir or len(dims) != len(spec.shape):
        return False
    return all(
        dim == "?" if isinstance(size, str) else dim == str(size)
        for size, dim in zip(spec.shape, dims, strict=True)
    )
