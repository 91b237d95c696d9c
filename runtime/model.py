"""`CompiledModel`: a model that is ready to run."""

import difflib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from ..errors import (
    DeviceError,
    FeedError,
    GraphcError,
    ModuleFileError,
    UnknownTargetError,
    UsageError,
)
from .device.device import Device, accounting_device, open_device
from .device.device_tensor import DeviceTensor, send
from .device.discovery import require_family, select_targets
from .device.dlpack_import import UNREADABLE
from .elements import ELEMENT_TYPES
from .execution.device_lost import RecoveringSession, open_session
from .execution.execution_context import Plan
from .execution.hybrid import HybridBinder, HybridSession, PartSpec, Runnable, open_host_part
from .execution.hybrid_file import is_hybrid, read_hybrid
from .execution.inline_execution import AdaptiveSession
from .execution.peak_memory import peak_memory
from .execution.session import Session
from .execution.variants import Calls, Compile, Variants, has_variants
from .feeds import FeedBinder, as_array, name_arguments
from .files.module_file import ModuleFile, OpenedFile, open_file, read_module
from .files.output_file import write_atomically
from .metadata import OVERRIDABLE_KEY, ModelMetadata, TensorSpec, require_tensors
from .targets import resolve_target
from .values import ValueSpec


def load(
    source: str | os.PathLike[str] | bytes,
    *,
    target: str | None = None,
    threads: int | None = None,
    report: Any = None,
) -> "CompiledModel":
    """Loads a ``.vmfb`` or ``.gcm`` that graphc made, from a path or from its bytes.

    Of a file for several targets that is taken which this machine can run, the first of ``cuda``,
    ``rocm``, ``metal``, ``vulkan`` and ``cpu``, or that which `target` names;
    `CompiledModel.target` says which. `threads` is the number of workers that share one call; by
    default every processor that this process may use. Calls that are too short to gain by it stay
    on the caller's thread. `report` is handed through to `CompiledModel.report`.

    Raises `ModuleFileError` for a file that is damaged, foreign or of another version,
    `DeviceError` where this machine cannot run it, `UsageError` for impossible `threads` and a
    `target` that the file is not for.
    """
    source = source if isinstance(source, (bytes, bytearray)) else Path(source)
    if is_hybrid(source):
        return _load_hybrid(source, target, threads, report)
    file = open_file(source)
    modules = file.modules()
    if not modules:
        return _load_module(file, file, target, threads, report)
    reasons = []
    for name in select_targets(modules, target, file.origin):
        try:
            return _load_module(file, file.module(modules[name]), None, threads, report)
        except DeviceError as error:
            reasons.append(f"{name}: {error}")
    raise DeviceError("\n".join([f"{file.origin}: no target of the file is here", *reasons]))


def _load_module(
    whole: OpenedFile,
    opened: OpenedFile,
    target: str | None,
    threads: int | None,
    report: Any,
) -> "CompiledModel":
    file = read_module(opened)
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
    model = CompiledModel(session, file.metadata, whole.contents, report)
    model._measured = (file, row.driver)
    return model


def _open_session(file: ModuleFile, driver: str, threads: int | None) -> "Invocable":
    device = open_device(driver, threads)
    if not device.is_local:
        return RecoveringSession(lambda: open_session(file, driver))
    session = Session(file, device)
    if device.threads == 1:
        return session
    return AdaptiveSession(session, lambda: Session(file, open_device(driver, 1)))


def _load_hybrid(
    source: Path | bytes, target: str | None, threads: int | None, report: Any
) -> "CompiledModel":
    file = read_hybrid(source)

    def open_part(spec: PartSpec, data: bytes) -> Runnable:
        if not spec.native:
            return open_host_part(data)
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


def _require_names(model: "CompiledModel", spec: PartSpec) -> "CompiledModel":
    """`model`, if it takes and gives what the file says of it. Raises `ModuleFileError`."""
    for specs, names in ((model.inputs, spec.inputs), (model.outputs, spec.outputs)):
        if {each.name for each in specs} != set(names):
            raise ModuleFileError(f"it has {', '.join(map(str, specs))}, the file says {names}")
    return model


def hybrid_model(
    metadata: ModelMetadata,
    parts: Sequence[tuple[PartSpec, Runnable]],
    contents: memoryview | None,
    report: Any,
) -> "CompiledModel":
    """A model that runs `parts` one after the other."""
    session = HybridSession(
        metadata.name,
        parts,
        [spec.name for spec in metadata.inputs],
        [spec.name for spec in metadata.outputs],
    )
    return CompiledModel(session, metadata, contents, report)


class Invocable(Protocol):
    """What runs a model whose inputs have been checked."""

    @property
    def device(self) -> Device | None:
        """Where it computes; None where that is the host alone."""
        ...

    def invoke(self, inputs: Sequence[Any], plan: Plan) -> list[Any]:
        """One value for each output of `plan`."""
        ...

    def close(self) -> None:
        """Free what it holds."""
        ...


class NativePart:
    """A compiled part of a hybrid model."""

    def __init__(self, model: "CompiledModel"):
        self._model = model
        self._outputs = [spec.name for spec in model.outputs]

    def run(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        """The outputs by name."""
        return dict(zip(self._outputs, self._model.run(None, feeds), strict=True))

    def close(self) -> None:
        """Free the module."""
        self._model.close()


class CompiledModel:
    """A compiled model: arrays in, arrays out.

    A hybrid model, of which some nodes run on the host, also takes and gives arrays of strings,
    lists (sequences), dicts (maps) and ``None`` (empty optionals); `parts` says what runs where.

    Made by `graphc.compile` and `graphc.load`. Runs from several threads overlap. Close it, or use
    it in a ``with`` statement, to free its memory before the garbage collector does.
    """

    def __init__(
        self,
        session: Invocable,
        metadata: ModelMetadata,
        contents: memoryview | None,
        report: Any = None,
    ):
        self.metadata = metadata
        """What the module says about itself."""
        self.report = report
        """What happened while the model was compiled; ``None`` for a loaded model."""
        self._session = session
        self._measured: tuple[ModuleFile, str] | None = None
        self._contents = contents
        self._closed = False
        self._binder = (
            HybridBinder(metadata.inputs)
            if isinstance(session, HybridSession)
            else FeedBinder(require_tensors(metadata.inputs), lambda: session.device)
        )
        self._variants: Variants[CompiledModel] = Variants(metadata, None)
        self._has_variants = has_variants(metadata)
        self._input_names = [spec.name for spec in metadata.inputs]
        self._output_names = [spec.name for spec in metadata.outputs]
        self._all = Plan(range(len(self._output_names)))

    @property
    def parts(self) -> tuple[PartSpec, ...]:
        """The parts of a hybrid model in the order they run; none for one compiled as a whole."""
        return self._session.parts if isinstance(self._session, HybridSession) else ()

    @property
    def native(self) -> bool:
        """Whether all of the model is compiled, and nothing runs on the host."""
        return all(part.native for part in self.parts)

    @property
    def target(self) -> str:
        """What the code that runs is compiled for, such as ``cpu:host``."""
        return str(self.metadata.options.get("target", "cpu"))

    @property
    def device(self) -> str:
        """Where it computes, and where feeds are taken without a copy: ``cpu``, ``cuda:0``."""
        return str(self._session.device or "cpu")

    @property
    def inputs(self) -> tuple[TensorSpec | ValueSpec, ...]:
        """Name, shape and element type of every input, in the order of positional arguments.

        A `ValueSpec` describes what is no tensor.
        """
        return self.metadata.inputs

    @property
    def outputs(self) -> tuple[TensorSpec | ValueSpec, ...]:
        """Name, shape and element type of every output, in the order of results."""
        return self.metadata.outputs

    @property
    def overridable(self) -> tuple[str, ...]:
        """Names of the inputs with defaults, which calls may give and need not.

        A call that gives some runs with a program of its own, which is compiled when they are first
        given. Of a loaded model they are constants.
        """
        return tuple(self.metadata.options.get(OVERRIDABLE_KEY, ()))

    def compile_others(self, compile_: Compile["CompiledModel"], calls: Calls) -> None:
        """Have `compile_` make the programs for calls that this one, for `calls`, is not for."""
        self._variants = Variants(self.metadata, compile_, calls)

    def run(
        self,
        output_names: Sequence[str] | None,
        feeds: Mapping[str, Any],
        *,
        on_device: bool | Sequence[str] = False,
    ) -> list[Any]:
        """Runs the model on `feeds`, arrays by input name.

        Gives one array per name in `output_names`, all outputs for ``None``. Feeds are numpy
        arrays, `DeviceTensor`, anything with ``__dlpack__`` (torch, JAX, CuPy) on the host or on
        the model's own device, or Python numbers and lists of them. What is on the device is taken
        where it lies, what is on the host is copied there if it has memory of its own.

        With `on_device` outputs stay on the device as `DeviceTensor`: all that are given for
        ``True``, or those it names. Else the results are arrays that belong to the caller.

        Raises `FeedError` for feeds that do not fit, `UsageError` for unknown output names and
        closed models, `ExecutionError` where the run fails, and its `OutOfMemoryError` and
        `DeviceLostError`.
        """
        if self._has_variants and (other := self._variants.other(feeds)) is not None:
            return other.run(output_names, feeds, on_device=on_device)
        plan = self._all
        if output_names is not None or on_device is not False:
            plan = self._plan(output_names, on_device)
        try:
            bound = self._binder.bind(feeds)
        except FeedError as error:
            return self._run_apart(error, output_names, feeds, on_device)
        return self._session.invoke(bound, plan)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Runs the model on inputs by position, by name, or both.

        Gives the output of a model that has one, a tuple of all otherwise. Raises as `run` does.
        """
        outputs = self.run(None, name_arguments(self._input_names, args, kwargs))
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def to_device(self, value: Any) -> DeviceTensor:
        """A copy of `value` on the model's device, to be fed without another: weights, a cache.

        Takes what a feed can be, of any shape; gives back what is on that device already. Raises
        `FeedError` for what is no array, `OutOfMemoryError`, and `UsageError` for closed models and
        those of which a part runs on the host.
        """
        device = self._session.device
        if device is None:
            raise UsageError(f"model '{self.metadata.name}' takes its feeds on the host")
        if self._contents is None:
            raise UsageError(f"model '{self.metadata.name}' is closed")
        try:
            array = as_array(value, device)
        except UNREADABLE as error:
            raise FeedError(
                f"a {type(value).__name__} cannot be read as an array: {error}"
            ) from error
        if isinstance(array, DeviceTensor):
            return array if array.on(device) else send(device, array.numpy())
        if array.dtype.name not in ELEMENT_TYPES:
            raise FeedError(f"no model takes arrays of {array.dtype.name}")
        return send(device, array)

    def bind(self, feeds: Mapping[str, Any]) -> list[Any]:
        """`feeds` in the order of the inputs, as compiled code takes them on the host.

        Raises `FeedError`.
        """
        bound = self._binder.bind(feeds)
        return [each.numpy() if isinstance(each, DeviceTensor) else each for each in bound]

    def peak_memory(self, feeds: Mapping[str, Any]) -> int:
        """The most bytes that a run on `feeds` allocates: intermediate tensors and outputs.

        Measured in one more run, on a device of its own; inputs and weights do not count. Raises as
        `run` does, and `UsageError` for a hybrid model.
        """
        if self._contents is None:
            raise UsageError(f"model '{self.metadata.name}' is closed")
        if self._has_variants and (other := self._variants.other(feeds)) is not None:
            return other.peak_memory(feeds)
        if self._measured is None:
            raise UsageError(
                f"memory of '{self.metadata.name}' cannot be measured: some nodes run on the host"
            )
        file, driver = self._measured
        return peak_memory(file, accounting_device(driver), self._binder.bind(feeds), self._all)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the module to `path`, whole or not at all. Raises `OutputError`."""
        if self._closed:
            raise UsageError(f"model '{self.metadata.name}' is closed")
        if self._contents is None:
            raise UsageError(
                f"model '{self.metadata.name}' is interpreted: there is no code to save"
            )
        write_atomically(Path(path), self._contents)

    def close(self) -> None:
        """Frees the model. Its arrays stay valid; running it is an error. May be called twice."""
        self._session.close()
        self._variants.close()
        self._has_variants = False
        self._contents = self._measured = None
        self._closed = True

    def __enter__(self) -> "CompiledModel":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        inputs, outputs = (", ".join(map(str, specs)) for specs in (self.inputs, self.outputs))
        return f"<CompiledModel '{self.metadata.name}' ({inputs}) -> ({outputs})>"

    def _run_apart(
        self,
        error: FeedError,
        output_names: Sequence[str] | None,
        feeds: Mapping[str, Any],
        on_device: bool | Sequence[str],
    ) -> list[Any]:
        """The results where nothing is wrong with `feeds` but that sizes of one name differ.

        `error`, which says so, where the model cannot run with such sizes.
        """
        if self._closed or not error.names or not self._variants.can_compile:
            raise error
        try:
            other = self._variants.apart(error.names)
            return other.run(output_names, feeds, on_device=on_device)
        except GraphcError as failure:
            raise error from failure

    def _plan(self, output_names: Sequence[str] | None, on_device: bool | Sequence[str]) -> Plan:
        indices = self._indices(output_names, "output_names")
        if isinstance(on_device, bool):
            return Plan(indices, indices if on_device else ())
        stay = set(self._indices(on_device, "on_device"))
        if lost := stay - set(indices):
            names = ", ".join(f"'{self._output_names[index]}'" for index in sorted(lost))
            raise UsageError(f"on_device names {names}, which output_names does not ask for")
        return Plan(indices, stay)

    def _indices(self, names: Sequence[str] | None, argument: str) -> list[int]:
        if names is None:
            return [*range(len(self._output_names))]
        if isinstance(names, str):
            raise UsageError(f"{argument} must be a sequence of names, not the string '{names}'")
        for name in names:
            if name not in self._output_names:
                near = difflib.get_close_matches(name, self._output_names, n=1, cutoff=0.5)
                hint = f"; did you mean '{near[0]}'?" if near else ""
                known = ", ".join(self._output_names)
                raise UsageError(f"the model has no output '{name}'{hint} (outputs: {known})")
        return [self._output_names.index(name) for name in names]
