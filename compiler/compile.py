"""Compilation of models, with a cache of earlier results."""

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ..aliases import takes_old_arguments
from ..errors import ModuleFileError
from ..runtime import CompiledModel, ProgressEvent, Target, load
from ..runtime.device.device import open_device
from ..runtime.execution.hybrid import warn_of_host
from ..runtime.execution.variants import Calls, has_variants
from ..runtime.metadata import is_path, model_name
from ..viewing import CompilationReport
from .model_cache import CachedModel, ModelCache
from .options import Options, Progress

if TYPE_CHECKING:
    from ..passes.infra.report import Report

_KEPT_BYTES = 64 << 20
"""Maximum size of an in-memory model that is retained with its compiled form; larger ones are
retained only if the model has variants."""

logger = logging.getLogger("graphc")


@takes_old_arguments
def compile(
    model: "str | os.PathLike[str] | bytes | Any",
    target: str | Target | Sequence[str | Target] = "cpu",
    *,
    dims: Mapping[str, int] | None = None,
    outputs: Sequence[str] | None = None,
    threads: int | None = None,
    pipeline: str | None = None,
    precision: str = "f32",
    opt_level: int = 3,
    data_tiling: bool | None = None,
    extra_flags: Sequence[str] = (),
    timeout: float | None = None,
    progress: Progress | None = None,
    save_temps: str | os.PathLike[str] | None = None,
    host: str | bool = True,
    check_rewrites: bool = False,
    assume: Mapping[str, bool] | None = None,
    overridden: Sequence[str] = (),
    independent_dims: Sequence[str] = (),
    donate: Sequence[str] = (),
    cache: bool | str | os.PathLike[str] | None = None,
) -> CompiledModel:
    """Compile an ONNX model and load it, ready to run.

    `model` is a path, the bytes of a model, or an ``onnx.ModelProto``. `target` names a target
    (``cpu``, ``cpu:x86-64-v3``, ``vulkan``) whose device must be present, or several targets, for
    one file that runs on any of them (see `load`). ``interpret`` compiles nothing: the program runs
    in numpy, as imported or after `pipeline`. `dims` fixes symbolic dimensions (``{"batch": 4}``).
    `outputs` names values of the graph to compute instead of the model's outputs. `threads` is the
    number of workers, by default the number of usable CPUs. `pipeline` replaces the default graph
    pipeline (see ``gc-opt --list-passes``).

    `precision` selects the arithmetic. With ``strict``, only the order of sums differs from the
    model. With ``f32``, the default, convolutions may also be computed with fewer multiplications
    (differences of about 1e-6 of the largest element), and matmuls as three bf16 matmuls (about
    5e-6) or, on NVIDIA's GPUs, three of TF32 (1e-6); with ``tf32``, these GPUs round the operands
    of matmuls and convolutions to 10 bits of fraction. With ``f16`` and ``bf16``, matmuls and the
    ops between them are computed in that type, converted from and to f32, with f32 accumulators;
    CPUs use ``bf16`` only if they multiply it faster than f32, and only for the operands of
    matmuls.

    `opt_level` (0 to 3) and `data_tiling` control the backend, `extra_flags` are passed to it,
    `timeout` (seconds) limits it. `progress` is called with a `ProgressEvent` from time to time; an
    exception that it raises stops the compilation. `save_temps` names a folder for the program
    after every stage.

    Nodes that cannot be compiled (strings, sequences, images, unsupported operators) run on the
    host, between compiled parts: a warning in the log names them, `CompiledModel.parts` and the
    report give the reasons. `host` names their engine: ``onnxruntime``, ``python``, or ``auto``
    (True), which is ONNX Runtime for nodes that it is faster at and computes as they are defined,
    if it is installed, and Python for others and with ``strict``. With ``host=False`` a model with
    such nodes is rejected.

    Compiled models are cached: a model that was compiled before, with the same options and the same
    graphc on the same kind of CPU, is not compiled again. `cache` names the folder, False disables
    the cache; the default is ``GRAPHC_CACHE`` or a folder in the user's cache folder.
    ``docs/caching.md`` has the details.

    Inputs with a default (initializers that are also inputs) are constants of the compiled program.
    A call that feeds some of them (`CompiledModel.overridable`) runs a program of its own, compiled
    (JIT) at the first such call; `overridden` names those that every call feeds. The same holds if
    the rank of a value depends on sizes, as after a ``Squeeze`` without axes: the program assumes
    that these are not 1, and other calls have programs of their own. `assume` states whether
    equations between sizes hold: ``{"batch == 1": True}``. A call in which dimensions of the same
    name differ in size, which ONNX Runtime does not check, has a program of its own if the model
    can run that way; `independent_dims` lists names whose dimensions may differ.

    `donate` lists inputs, or patterns (``past_key_values.*``), whose memory a call may write
    results to: the caller gives a `DeviceTensor` away, which cannot be used afterwards, and arrays
    are copied. A cache of keys and values is then updated in place, as its output is the same
    memory; it has room for as many positions as the input has. A pattern that no input matches
    raises UsageError.

    With `check_rewrites` each rewrite that fires is evaluated in numpy on random inputs, before and
    after; one that changes the result raises RewriteCheckError.

    Raises `GraphcError`: InvalidModelError, UnsupportedModelError (all nodes at once),
    InvalidDimError, PipelineError, UnknownTargetError, PassError, RewriteCheckError, LoweringError,
    BackendError, DeviceError.
    """
    options = Options.of_all(
        target, dims=dims, outputs=outputs, threads=threads, pipeline=pipeline,
        precision=precision, opt_level=opt_level, data_tiling=data_tiling,
        extra_flags=extra_flags, timeout=timeout, progress=progress, save_temps=save_temps,
        host=host, check_rewrites=check_rewrites, assume=assume, overridden=overridden,
        independent_dims=independent_dims, donate=donate, cache=cache,
    )  # fmt: skip
    equations = frozenset((assume or {}).items())
    calls = Calls(frozenset(overridden), equations, frozenset(independent_dims))
    return _compile(model, options, calls)


def _compile(model: Any, options: Sequence[Options], calls: Calls) -> CompiledModel:
    made = _ready(Job(model, [replace(each, **calls.options) for each in options]))
    if has_variants(made.metadata) or _is_at_hand(model):
        # Progress and saved files are for the main program only.
        later = [replace(each, progress=None, save_temps=None) for each in options]
        made.compile_others(partial(_compile, model, later), calls)
    return made


def _is_at_hand(model: Any) -> bool:
    """True if `model` may be retained for later calls: a file, or a small model in memory."""
    if is_path(model):
        return True
    size = model.ByteSize() if hasattr(model, "ByteSize") else len(model)
    return size <= _KEPT_BYTES


def _ready(job: "Job") -> CompiledModel:
    """Load the model of `job` from the cache, or compile it."""
    if not job.is_compiled:
        return job.interpret()
    found = job.find()
    if found is not None:
        try:
            return job.load(found.path, found.report)
        except ModuleFileError as error:
            logger.info("the cache has '%s', which does not load: %s", found.path, error)
    contents, report = job.make(for_here=True)
    return job.load(contents, report)


@takes_old_arguments
def compile_to_file(
    model: Any, target: str | Target | Sequence[str | Target], **options: Any
) -> tuple[bytes, "Report"]:
    """Compile `model` ahead of time (AOT); return the contents of a ``.vmfb``, or of a ``.gcm`` if
    parts run on the host, and the report.

    Arguments and errors are those of `compile`; no device needs to be present.
    """
    job = Job(model, Options.of_all(target, **options))
    found = job.find()
    if found is not None:
        try:
            return found.path.read_bytes(), found.report
        except OSError as error:  # another process has just removed it
            logger.info("the cache has lost '%s': %s", found.path, error)
    return job.make()


class Job:
    """One model to be compiled for one or more targets, with options for each.

    The compiler is not imported until the cache has been searched.
    """

    def __init__(self, model: Any, options: Sequence[Options]):
        self._model, self._options = model, options
        self.is_compiled = any(each.target.is_compiled for each in options)
        store = next((each.cache for each in options if each.cache is not None), None)
        if store is not None and options[0].progress is not None:
            options[0].progress(ProgressEvent("cache", 0.0))
        self._kept = ModelCache(store, model, options)

    def load(self, source: Any, report: "Report") -> CompiledModel:
        """Load the compiled model, from a path or from its bytes."""
        first = self._options[0]
        made = load(source, threads=first.threads, host=first.engine, report=report)
        if made.parts:
            report.parts = list(made.parts)  # which know their engines
        return made

    def find(self) -> CachedModel | None:
        """The model from the cache, or None."""
        found = self._kept.find()
        if found is None:
            return None
        if found.report.parts:
            warn_of_host(model_name(self._model), found.report.parts)
        return found._replace(report=CompilationReport.of(found.report))

    def interpret(self) -> CompiledModel:
        """The model, interpreted in numpy."""
        from .driver import interpret

        (options,) = self._options
        made = interpret(self._model, options)
        made.report = CompilationReport.of(made.report)
        return made

    def make(self, *, for_here: bool = False) -> tuple[bytes, "Report"]:
        """Compile the model. With `for_here`, raise `DeviceError` first if its device is absent."""
        from ..passes.infra.pipeline import Pipeline
        from .driver import to_file

        first, *others = self._options
        Pipeline.parse(first.pipeline)  # fail before any work is done, as for devices
        if for_here and not others and first.target.name != "cpu":
            open_device(first.target.driver)
        self._kept.before_compiling()
        contents, report = to_file(self._model, self._options)
        self._kept.keep(contents, report)
        return contents, CompilationReport.of(report)
