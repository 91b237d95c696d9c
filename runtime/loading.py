"""Loading of compiled modules from files: ``.vmfb`` and ``.gcm``."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from ..errors import DeviceError, ModuleFileError, UnknownTargetError, UsageError
from .device.device import open_device
from .device.discovery import require_family, select_targets
from .execution.device_lost import RecoveringSession, open_session
from .execution.hybrid import PartSpec, Runnable, open_host_part
from .execution.hybrid_file import is_hybrid, read_hybrid
from .execution.inline_execution import AdaptiveSession
from .execution.session import Session
from .files.module_file import ModuleFile, OpenedFile, open_file, read_entry_points, read_module
from .host.engine_choice import AUTO, engine_for, read_engine
from .metadata import DONATED_KEY, LOOPS_KEY
from .model import CompiledModel, Invocable, NativePart, hybrid_model
from .targets import resolve_target

T = TypeVar("T")


def load(
    source: str | os.PathLike[str] | bytes,
    *,
    target: str | None = None,
    threads: int | None = None,
    host: str | bool = AUTO,
    entry: str | None = None,
    report: Any = None,
) -> CompiledModel:
    """Load a ``.vmfb`` or ``.gcm`` made by graphc, from a path or from its bytes.

    For a multi-target file, loads the first of ``cuda``, ``rocm``, ``metal``, ``vulkan`` and
    ``cpu`` that this machine can run, or `target`; `CompiledModel.target` tells which. `threads` is
    the number of workers that share one call, by default one for each CPU that this process may
    use. Calls that are too short to benefit from several threads stay on the caller's thread.
    `host` is the engine of the nodes in a ``.gcm`` that are not compiled, as in `graphc.compile`;
    False refuses such files. `entry` is the entry point of a file with several, of which
    `load_entry_points` loads all. `report` is passed on to `CompiledModel.report`.

    Raises `ModuleFileError` for a file that is damaged, foreign or of another version,
    `DeviceError` if this machine cannot run it, `UsageError` for invalid `threads` or `host`, or a
    `target` or `entry` that the file has no code for, and `MissingPackageError` if `host` is
    ``onnxruntime`` and that is not installed.
    """
    source = source if isinstance(source, (bytes, bytearray)) else Path(source)
    engine = None if host is False else read_engine(host)
    if is_hybrid(source):
        if engine is None:
            raise UsageError("host=False refuses a file with nodes that run on the host")
        if entry is not None:
            raise UsageError("a file with nodes that run on the host has one entry point")
        return _load_hybrid(source, target, threads, engine, report)

    def load_from(opened: OpenedFile, target: str | None) -> CompiledModel:
        return _load_module(read_module(opened, entry), whole.contents, target, threads, report)

    whole = open_file(source)
    return _load_for_target(whole, target, load_from)


def load_entry_points(
    source: str | os.PathLike[str] | bytes,
    *,
    target: str | None = None,
    threads: int | None = None,
    reports: Mapping[str, Any] | None = None,
) -> dict[str, CompiledModel]:
    """Load all entry points of a ``.vmfb``, by name: the models that `compile_entry_points` was
    given, with one copy of what they have in common in memory. That is freed with the last one.

    Arguments and errors are those of `load`; `reports` has one for each entry point.
    """
    source = source if isinstance(source, (bytes, bytearray)) else Path(source)

    def load_from(opened: OpenedFile, target: str | None) -> dict[str, CompiledModel]:
        return {
            name: _load_module(file, whole.contents, target, threads, (reports or {}).get(name))
            for name, file in read_entry_points(opened).items()
        }

    whole = open_file(source)
    return _load_for_target(whole, target, load_from)


def _load_for_target(
    file: OpenedFile, target: str | None, load_from: Callable[[OpenedFile, str | None], T]
) -> T:
    """The result of `load_from` for a file, or from the first of its modules that runs here."""
    modules = file.modules()
    if not modules:
        return load_from(file, target)
    reasons = []
    for name in select_targets(modules, target, file.origin):
        try:
            return load_from(file.module(modules[name]), None)
        except DeviceError as error:
            reasons.append(f"{name}: {error}")
    raise DeviceError("\n".join([f"{file.origin}: no target of the file is here", *reasons]))


def _load_module(
    file: ModuleFile,
    contents: memoryview,
    target: str | None,
    threads: int | None,
    report: Any,
) -> CompiledModel:
    name = file.metadata.options.get("target", "cpu")
    try:
        row = resolve_target(name)
    except UnknownTargetError as error:
        raise ModuleFileError(f"{file.origin}: made for a target unknown here: {error}") from error
    if not row.is_compiled:
        raise ModuleFileError(f"{file.origin}: made for {row}, for which nothing is compiled")
    if target is not None:
        select_targets([name], target, file.origin)
    require_family(row, file.origin)
    session = _open_session(file, row.driver, threads)
    model = CompiledModel(session, file.metadata, contents, report)
    model._measured = (file, row.driver)
    return model


def _open_session(file: ModuleFile, driver: str, threads: int | None) -> Invocable:
    device = open_device(driver, threads)
    if not device.is_local:
        return RecoveringSession(lambda: open_session(file, driver))
    session = Session(file, device)
    if device.threads == 1 or file.metadata.options.get(DONATED_KEY):
        return session  # tensors that are given away stay where they are
    has_loops = bool(file.metadata.options.get(LOOPS_KEY))
    return AdaptiveSession(
        session, lambda: Session(file, open_device(driver, 1)), has_loops=has_loops
    )


def _load_hybrid(
    source: Path | bytes, target: str | None, threads: int | None, host: str, report: Any
) -> CompiledModel:
    file = read_hybrid(source)
    engine = engine_for(host, file.metadata.options.get("precision"))

    def open_part(spec: PartSpec, data: bytes) -> Runnable:
        if not spec.native:
            return open_host_part(data, engine, threads)
        if is_hybrid(data):
            raise ModuleFileError("a compiled part is a file of parts itself")
        return NativePart(_require_names(load(data, target=target, threads=threads), spec))

    runnables = []
    for index, (spec, data) in enumerate(zip(file.parts, file.contents, strict=True)):
        try:
            runnables.append((spec, open_part(spec, data)))
        except (ModuleFileError, DeviceError) as error:
            origin = source if isinstance(source, Path) else "<bytes>"
            raise type(error)(f"{origin}: part {index}: {error}") from error
    return hybrid_model(file.metadata, runnables, file.whole, report)


def _require_names(model: CompiledModel, spec: PartSpec) -> CompiledModel:
    """`model`, if its inputs and outputs are those of `spec`. Raises `ModuleFileError`."""
    for specs, names in ((model.inputs, spec.inputs), (model.outputs, spec.outputs)):
        if {each.name for each in specs} != set(names):
            raise ModuleFileError(f"it has {', '.join(map(str, specs))}, the file says {names}")
    return model
