"""`CompiledModel`: a model that is ready to run."""

import difflib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from ..errors import (
    FeedError,
    GraphcError,
    UsageError,
)
from .device.device import Device, accounting_device
from .device.device_tensor import DeviceTensor, send
from .device.dlpack_import import UNREADABLE
from .elements import ELEMENT_TYPES
from .execution.execution_context import CallSpec
from .execution.hybrid import HybridBinder, HybridSession, PartSpec, Runnable
from .execution.memory_estimate import LIVE_SETS_KEY, largest_live_set
from .execution.peak_memory import peak_memory
from .execution.variants import Calls, Compile, Variants, has_variants
from .feeds import FeedBinder, as_array, name_arguments
from .files.module_file import ModuleFile
from .files.output_file import write_atomically
from .metadata import OVERRIDABLE_KEY, ModelMetadata, TensorSpec, require_tensors
from .values import ValueSpec


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
    """A session: runs a model on inputs that have been validated."""

    @property
    def device(self) -> Device | None:
        """The device of the session; None if the model takes its feeds on the host."""
        ...

    def invoke(self, inputs: Sequence[Any], call_spec: CallSpec) -> list[Any]:
        """Run the model; return one value for each output of `call_spec`."""
        ...

    def close(self) -> None:
        """Free the resources of the session."""
        ...


class NativePart:
    """A compiled part of a hybrid model, whose outputs `staying` are left on its device."""

    def __init__(self, model: "CompiledModel", staying: Sequence[str] = ()):
        self._model = model
        self._staying = tuple(staying)
        self._outputs = [spec.name for spec in model.outputs]
        self.engines: Mapping[str, str] = {}
        self.owns_results = True

    def run(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        """The outputs by name."""
        results = self._model.run(None, feeds, on_device=self._staying or False)
        return dict(zip(self._outputs, results, strict=True))

    def close(self) -> None:
        """Free the module."""
        self._model.close()


class CompiledModel:
    """A compiled model: arrays in, arrays out.

    A hybrid model, with nodes that run on the host, also takes and returns arrays of strings, lists
    (sequences), dicts (maps) and ``None`` (empty optionals); `parts` tells what runs where.

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
        """The module's metadata: inputs, outputs, options and versions."""
        self.report = report
        """The report of the compilation; ``None`` for a loaded model."""
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
        self._all = CallSpec(range(len(self._output_names)))

    @property
    def parts(self) -> tuple[PartSpec, ...]:
        """The parts of a hybrid model in execution order; empty for a model compiled as a whole."""
        return self._session.parts if isinstance(self._session, HybridSession) else ()

    @property
    def native(self) -> bool:
        """True if all of the model is compiled, and nothing runs on the host."""
        return all(part.native for part in self.parts)

    @property
    def target(self) -> str:
        """Target that the code was compiled for, such as ``cpu:host``."""
        return str(self.metadata.options.get("target", "cpu"))

    @property
    def device(self) -> str:
        """Device that the model runs on, and from which it takes feeds without a copy: ``cpu``,
        ``cuda:0``."""
        return str(self._session.device or "cpu")

    @property
    def inputs(self) -> tuple[TensorSpec | ValueSpec, ...]:
        """Name, shape and element type of every input, in the order of positional arguments.

        A `ValueSpec` describes an input that is not a tensor.
        """
        return self.metadata.inputs

    @property
    def outputs(self) -> tuple[TensorSpec | ValueSpec, ...]:
        """Name, shape and element type of every output, in the order of results."""
        return self.metadata.outputs

    @property
    def overridable(self) -> tuple[str, ...]:
        """Names of the inputs with defaults, which calls may feed or omit.

        A call that feeds some of them runs a program of its own, which is compiled at the first
        such call. In a loaded model they are constants.
        """
        return tuple(self.metadata.options.get(OVERRIDABLE_KEY, ()))

    def compile_others(self, compile_: Compile["CompiledModel"], calls: Calls) -> None:
        """Use `compile_` for calls that this program, compiled for `calls`, does not cover."""
        self._variants = Variants(self.metadata, compile_, calls)

    def run(
        self,
        output_names: Sequence[str] | None,
        feeds: Mapping[str, Any],
        *,
        on_device: bool | Sequence[str] = False,
    ) -> list[Any]:
        """Run the model on `feeds`, arrays by input name.

        Returns one array per name in `output_names`, or all outputs for ``None``. Feeds are numpy
        arrays, `DeviceTensor`, anything with ``__dlpack__`` (torch, JAX, CuPy) on the host or on
        the model's own device, or Python numbers and lists of them. Feeds on the device are used in
        place; feeds on the host are copied to a device with memory of its own.

        With `on_device` outputs stay on the device as `DeviceTensor`: all returned ones for
        ``True``, or those that it names. Otherwise the results are arrays that belong to the
        caller.

        Raises `FeedError` for feeds that do not fit, `UsageError` for unknown output names and
        closed models, and `ExecutionError` if the run fails, or its subclasses `OutOfMemoryError`
        and `DeviceLostError`.
        """
        if self._has_variants and (other := self._variants.other(feeds)) is not None:
            return other.run(output_names, feeds, on_device=on_device)
        call_spec = self._all
        if output_names is not None or on_device is not False:
            call_spec = self._call_spec(output_names, on_device)
        try:
            bound = self._binder.bind(feeds)
        except FeedError as error:
            return self._run_with_independent_dims(error, output_names, feeds, on_device)
        return self._session.invoke(bound, call_spec)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run the model on positional inputs, keyword inputs, or both.

        Returns the output if there is one, otherwise a tuple of all outputs. Raises as `run` does.
        """
        outputs = self.run(None, name_arguments(self._input_names, args, kwargs))
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def to_device(self, value: Any) -> DeviceTensor:
        """Copy `value` to the model's device, to feed it without further copies: weights, a cache.

        Accepts any value that a feed can be, of any shape; a tensor that is on the device already
        is returned as it is. Raises `FeedError` if `value` is not an array, `OutOfMemoryError`, and
        `UsageError` for closed models and hybrid models.
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
        """Validate `feeds`; return host arrays in the order of the inputs, for compiled code.

        Raises `FeedError`.
        """
        bound = self._binder.bind(feeds)
        return [each.numpy() if isinstance(each, DeviceTensor) else each for each in bound]

    def peak_memory(self, feeds: Mapping[str, Any]) -> int:
        """Measure the peak memory of a run on `feeds`, in bytes: intermediate tensors and outputs.

        The measurement is an extra run on a device of its own; inputs and weights do not count.
        Raises as `run` does, and `UsageError` for a hybrid model.
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

    @property
    def constant_bytes(self) -> int:
        """The bytes of weights and other constants in the compiled code, with those of other entry
        points of the same module. 0 for a model that is not one module."""
        return 0 if self._measured is None else self._measured[0].constant_bytes

    def predict_memory(self, sizes: Mapping[str, int] | None = None) -> int:
        """Predict the bytes of intermediate tensors and outputs that are alive at once in a run,
        with these sizes of named dimensions. Nothing runs.

        Outputs that lie in memory of donated inputs count. Raises `UsageError` for hybrid models,
        and for closed ones.
        """
        if self._measured is None:
            raise UsageError(f"memory of '{self.metadata.name}' cannot be predicted")
        text = self._measured[0].function.reflection.get(LIVE_SETS_KEY)
        live_set = None if text is None else largest_live_set(text, sizes or {})
        return 0 if live_set is None else live_set.bytes

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the module to `path` atomically.

        Raises `OutputError`, and `UsageError` for closed, interpreted and placed models.
        """
        if self._closed:
            raise UsageError(f"model '{self.metadata.name}' is closed")
        if self._contents is None:
            why = (
                "is interpreted: there is no code to save"
                if self.target.startswith("interpret")
                else "runs in parts on several devices, for which there is no file: keep its "
                "placement, and compile it by that again"
            )
            raise UsageError(f"model '{self.metadata.name}' {why}")
        write_atomically(Path(path), self._contents)

    def close(self) -> None:
        """Free the model. Its arrays stay valid; running it is an error. May be called twice."""
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

    def _run_with_independent_dims(
        self,
        error: FeedError,
        output_names: Sequence[str] | None,
        feeds: Mapping[str, Any],
        on_device: bool | Sequence[str],
    ) -> list[Any]:
        """Run `feeds` whose only problem is that dimensions of the same name differ in size.

        Raises `error`, which reports that, if the model cannot run with such sizes.
        """
        if self._closed or not error.names or not self._variants.can_compile:
            raise error
        try:
            other = self._variants.with_independent_dims(error.names)
            return other.run(output_names, feeds, on_device=on_device)
        except GraphcError as failure:
            raise error from failure

    def _call_spec(
        self, output_names: Sequence[str] | None, on_device: bool | Sequence[str]
    ) -> CallSpec:
        indices = self._indices(output_names, "output_names")
        if isinstance(on_device, bool):
            return CallSpec(indices, indices if on_device else ())
        stay = set(self._indices(on_device, "on_device"))
        if lost := stay - set(indices):
            names = ", ".join(f"'{self._output_names[index]}'" for index in sorted(lost))
            raise UsageError(f"on_device names {names}, which output_names does not ask for")
        return CallSpec(indices, stay)

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
