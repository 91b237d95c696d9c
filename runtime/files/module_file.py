"""Reading and validation of a ``.vmfb``: integrity, origin, metadata.

IREE checks the structure of a module but not its contents, and runs its machine code unverified. A
damaged file must therefore be rejected before IREE loads it. A module is also a zip archive (IREE
calls the form polyglot), whose entries hold all code and all constants, so checksums exist already:
`archive` verifies all of them.

The code in a file runs in this process, with its rights. No check makes a malicious file safe.
"""

import importlib.metadata
import mmap
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import DeviceError, ModuleFileError, UsageError
from ..device.device import import_runtime, setup_lock, vm_instance
from ..device.memory import aligned_empty
from ..elements import ELEMENT_TYPES
from ..launch_plan.launch_plan import ENTRY as PLAN_ENTRY
from ..launch_plan.launch_plan import LaunchPlan, NoLaunchPlan, read_plan
from ..metadata import (
    DESTINATION_SUFFIX,
    ENTRY_FUNCTION,
    REFLECTION_KEY,
    ModelMetadata,
    TensorSpec,
    require_tensors,
)
from ..targets.cpu_features import has_tiles, missing_features
from .archive import read_entries
from .loaded_program import LoadedProgram
from .multi_target_file import find_modules

_CONSTANTS = "_const"
"""The beginning of the names that IREE gives to constants in an archive."""
_BUFFER = "!hal.buffer"
_TRANSIENTS = "iree.abi.transients.size.constant"
_TRANSIENTS_QUERY = "iree.abi.transients.size"
"""The name of a function that computes the size from the arguments of the entry."""
_LONGEST_SIZE = 18
"""Maximum number of digits of a size in bytes."""
_TENSOR = re.compile(r"tensor<((?:[\d?]+x)*)(complex<\w+>|\w+)>")


@dataclass(frozen=True)
class TransientsSize:
    """The size of the buffer for intermediate results that a function takes from its caller.

    `constant` is the size in bytes. If the sizes of inputs determine it, `query` is the function
    that computes it from the arguments. 0 and None if the function takes no such buffer.
    """

    constant: int = 0
    query: Any = None

    @property
    def buffers(self) -> int:
        """The number of buffers that the function takes for this."""
        return 1 if self.constant or self.query is not None else 0


@dataclass(frozen=True)
class ModuleFile:
    """An entry point of a module that passed all checks, mapped or copied into memory."""

    origin: str
    contents: memoryview
    metadata: ModelMetadata
    program: LoadedProgram
    """The module, which entry points of one file have in common."""
    function: Any
    into: Any = None
    """The entry point that writes to preallocated outputs, if there is one."""
    transients: TransientsSize = TransientsSize()
    """Buffers that `function` takes for intermediate results."""
    into_transients: TransientsSize = TransientsSize()
    """Buffers that `into` takes for them."""
    plan: LaunchPlan | NoLaunchPlan | None = None
    """The launch plan of `function`, or the reason why it has none; None if the file says
    nothing."""
    entries: Mapping[str, memoryview] = field(default_factory=dict[str, memoryview], repr=False)
    """The entries of the archive: code and constants."""
    constant_bytes: int = 0
    """Bytes of the constants of all entry points."""


@dataclass(frozen=True)
class OpenedFile:
    """An intact file: its bytes, and those of the entries of its archive."""

    origin: str
    contents: memoryview
    entries: dict[str, memoryview]

    def modules(self) -> dict[str, memoryview]:
        """The modules by target; empty for a single-module file. Raises `ModuleFileError`."""
        try:
            return find_modules(self.contents, self.entries)
        except ModuleFileError as error:
            raise ModuleFileError(f"{self.origin}: {error}") from None

    def module(self, contents: memoryview) -> "OpenedFile":
        """One of the `modules` as a file of its own."""
        return self if contents is self.contents else _checked(self.origin, contents)


def open_file(source: str | Path | bytes) -> OpenedFile:
    """Open a file by its path (it is mapped, not read) or its bytes (they are copied).

    Raises `ModuleFileError`, with the path and the reason, if it is not an intact archive.
    """
    return _checked(*_open(source))


def _checked(origin: str, contents: memoryview) -> OpenedFile:
    try:
        return OpenedFile(origin, contents, read_entries(contents))
    except ModuleFileError as error:
        raise ModuleFileError(f"{origin}: {error}") from error.__cause__


def read_module(file: OpenedFile, entry: str | None = None) -> ModuleFile:
    """Read the module that `file` begins with: its entry point `entry`, or the only one.

    Raises `ModuleFileError`, with the path and the reason, if it is not a graphc module that this
    version can run, `DeviceError` if this CPU cannot run it, and `UsageError` if there is no such
    entry point, or several to choose from.
    """
    program, names = _read_program(file)
    if entry is None and len(names) > 1:
        raise UsageError(f"{file.origin} has several entry points: {', '.join(names)}")
    if entry is not None and entry not in names:
        raise UsageError(
            f"{file.origin} has no entry point '{entry}' (entry points: {', '.join(names)})"
        )
    return _read_entry(file, program, entry or names[0])


def read_entry_points(file: OpenedFile) -> dict[str, ModuleFile]:
    """All entry points of the module that `file` begins with, by name. Raises as `read_module`."""
    program, names = _read_program(file)
    return {name: _read_entry(file, program, name) for name in names}


def _read_program(file: OpenedFile) -> tuple[LoadedProgram, list[str]]:
    """The module of `file`, loaded, and the names of its entry points."""
    origin = file.origin
    if missing := missing_features(_code(file)):
        raise DeviceError(
            f"{origin}: the module was compiled for a CPU with "
            f"{', '.join(missing)}, which this one lacks; compile it for a target such as "
            "cpu:x86-64-v3 (AVX2) or cpu:x86-64-v2"
        )
    try:
        module = _load(file.contents)
        return LoadedProgram(module), _entry_names(module)
    except ModuleFileError as error:
        raise ModuleFileError(f"{origin}: {error}") from error.__cause__


def _code(file: OpenedFile) -> memoryview:
    return next(iter(file.entries.values()))


def _constant_bytes(entries: Mapping[str, memoryview]) -> int:
    """The bytes of the constants that are entries of the archive of a module."""
    return sum(len(data) for name, data in entries.items() if name.startswith(_CONSTANTS))


def _entry_names(module: Any) -> list[str]:
    """The entry points of a module: the functions with metadata, but for second ways to call
    others."""
    functions = {name: module.lookup_function(name) for name in module.function_names}
    described = [
        name
        for name, function in functions.items()
        if function is not None and function.reflection.get(REFLECTION_KEY) is not None
    ]
    seconds = {name + DESTINATION_SUFFIX for name in described}
    if described:
        return [name for name in described if name not in seconds]
    if functions.get(ENTRY_FUNCTION) is not None:
        raise ModuleFileError("the module was not made by graphc: it carries no metadata")
    raise ModuleFileError(f"the module was not made by graphc: no function {ENTRY_FUNCTION}")


def _read_entry(file: OpenedFile, program: LoadedProgram, name: str) -> ModuleFile:
    """One entry point of `program`."""
    origin, module = file.origin, program.module
    function = module.lookup_function(name)
    try:
        metadata = _read_metadata(function)
        if metadata.options.get("matrix_unit") == "amx" and not has_tiles(_code(file)):
            raise DeviceError(
                f"{origin}: the module multiplies by the tiles of AMX, which the system does not "
                "let this process use (arch_prctl refuses them); compile it with precision strict"
            )
        transients = _read_transients(module, function)
        _check_signature(metadata, function, buffers=transients.buffers)
        into = module.lookup_function(name + DESTINATION_SUFFIX)
        into_transients = TransientsSize()
        if into is not None:
            into_transients = _read_transients(module, into)
            buffers = into_transients.buffers + len(metadata.outputs)
            _check_signature(metadata, into, buffers=buffers)
        plan = _read_plan(file) if name == ENTRY_FUNCTION else None
    except ModuleFileError as error:
        raise ModuleFileError(f"{origin}: {error}") from error.__cause__
    return ModuleFile(
        origin, file.contents, metadata, program, function, into, transients, into_transients,
        plan, file.entries, constant_bytes=_constant_bytes(file.entries),
    )  # fmt: skip


def _read_plan(file: OpenedFile) -> LaunchPlan | NoLaunchPlan | None:
    text = file.entries.get(PLAN_ENTRY)
    return None if text is None else read_plan(bytes(text))


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


def _load(contents: memoryview) -> Any:
    runtime = import_runtime()
    with setup_lock:
        try:
            return runtime.VmModule.wrap_buffer(vm_instance(), contents)
        except (RuntimeError, ValueError) as error:
            version = importlib.metadata.version("iree-base-runtime")
            raise ModuleFileError(
                f"the IREE runtime {version} installed here does not accept the module: "
                + " ".join(str(error).split())
            ) from error


def _read_metadata(function: Any) -> ModelMetadata:
    text = function.reflection.get(REFLECTION_KEY)
    if text is None:
        raise ModuleFileError("the module was not made by graphc: it carries no metadata")
    return ModelMetadata.from_json(text)


def _read_transients(module: Any, function: Any) -> TransientsSize:
    size = _read_size(function)
    return TransientsSize(size, None if size else _find_query(module, function))


def _read_size(function: Any) -> int:
    text = function.reflection.get(_TRANSIENTS, "0")
    if not text.isdecimal() or len(text) > _LONGEST_SIZE:
        raise ModuleFileError(f"the code takes {text!r} bytes for intermediate results")
    return int(text)


def _find_query(module: Any, function: Any) -> Any:
    """The function that computes the size of the buffer for intermediate results, or None."""
    name = function.reflection.get(_TRANSIENTS_QUERY)
    if name is None:
        return None
    query = module.lookup_function(name)
    if query is None:
        raise ModuleFileError(f"the code has no function {name!r}, which its signature mentions")
    return query


def _check_signature(metadata: ModelMetadata, function: Any, buffers: int = 0) -> None:
    """Raise `ModuleFileError` if the metadata disagrees with the signature that IREE recorded, in
    which `buffers` buffer arguments follow the inputs.

    Compiled code trusts its arguments, so the metadata that feeds are validated against must be
    right. A signature reads ``sync func @main(%x: tensor<?x4xf32>) -> (%y: tensor<4xf32>)``.
    """
    declaration = function.reflection.get("iree.abi.declaration", "")
    arguments, arrow, results = declaration.partition(" -> ")
    if arguments.count(_BUFFER) != buffers:
        raise ModuleFileError(f"the code does not take {buffers} buffers beside its inputs")
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
