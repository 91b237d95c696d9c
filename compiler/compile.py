"""From a model to something that runs, through the cache of what was compiled before."""

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ..errors import ModuleFileError
from ..runtime import CompiledModel, ProgressEvent, Target, load
from ..runtime.device.device import open_device
from ..runtime.execution.hybrid import warn_of_host
from ..runtime.execution.variants import Calls, has_variants
from ..runtime.metadata import model_name
from ..viewing import CompilationReport
from .model_cache import CachedModel, ModelCache
from .options import Options, Progress

if TYPE_CHECKING:
    from ..passes.infra.report import Report

_KEPT_BYTES = 64 << 20
"""A model in memory that has more is not kept beside what was compiled of it, unless it must be."""

logger = logging.getLogger("graphc")


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
    host: bool = True,
    check_rewrites: bool = False,
    assume: Mapping[str, bool] | None = None,
    overridden: Sequence[str] = (),
    apart: Sequence[str] = (),
    cache: bool | str | os.PathLike[str] | None = None,
) -> CompiledModel:
    """Compile an ONNX model and load it, ready to run.

    `model` is a path, the bytes of a model, or an ``onnx.ModelProto``. `target` names a row of the
    table of targets (``cpu``, ``cpu:x86-64-v3``, ``vulkan``), whose device must be here, or
    several, for one file that runs on any of them (see `load`). ``interpret`` compiles nothing: the
    program runs in numpy, as it was imported or after `pipeline`. `dims` fixes symbolic dimensions
    (``{"batch": 4}``). `outputs` names the values to compute, any of the graph's, in place of the
    model's outputs. `threads` is the number of workers, by default the usable processors.
    `pipeline` replaces the default graph pipeline (see ``gc-opt --list-passes``). With `precision`
    ``strict``, nothing but the order of sums differs from the model; with ``f32``, the default,
    convolutions may also be computed with fewer products, and products as three of bf16, whose
    results lie some 1e-6 and 5e-6 of the largest element apart; with ``f16`` and ``bf16``, products
    and what lies between them are computed in these, from f32 and to f32, and summed in f32;
    processors take ``bf16`` where they multiply it faster than f32, and for factors alone.
    `opt_level` (0 to 3) and `data_tiling` steer the backend, `extra_flags` are handed to it,
    `timeout` (seconds) bounds it. `progress` is called with a `ProgressEvent` now and then; an
    exception it raises stops the compilation. `save_temps` names a folder for the program after
    every stage.

    Nodes that cannot be compiled (strings, sequences, pictures, what is not supported) run on the
    host, between compiled parts: a warning in the log names them, `CompiledModel.parts` and the
    report say why. With ``host=False`` a model that has such nodes is refused.

    What was compiled is kept, and a model that was compiled before, with the same options and the
    same graphc on such a processor, is not compiled again: `cache` names a folder for that; without
    it, it is that of ``GRAPHC_CACHE`` or one in the user's cache folder, and False is for none.
    ``docs/caching.md`` tells more.

    Inputs with a default (initializers that are inputs, too) are constants in what is compiled. A
    call that gives some of them (`CompiledModel.overridable`) runs with a program of its own,
    compiled at the first such call; `overridden` names those that every call gives. Likewise where
    the rank of a value depends on sizes, as behind a ``Squeeze`` without axes: the program assumes
    that these are not 1, and calls with others have their own. `assume` says of equations between
    sizes whether they hold: ``{"batch == 1": True}``. And a call in which sizes of one name differ,
    which ONNX Runtime does not look at, has a program of its own if the model can run so; `apart`
    gives names that are none.

    With `check_rewrites` each rewrite that fires is evaluated in numpy on inputs drawn at random,
    before and after; one that changes the result raises RewriteCheckError.

    Raises `GraphcError`: InvalidModelError, UnsupportedModelError (all nodes at once),
    InvalidDimError, PipelineError, UnknownTargetError, PassError, RewriteCheckError, LoweringError,
    BackendError, DeviceError.
    """
    options = Options.of_all(
        target, dims=dims, outputs=outputs, threads=threads, pipeline=pipeline,
        precision=precision, opt_level=opt_level, data_tiling=data_tiling,
        extra_flags=extra_flags, timeout=timeout, progress=progress, save_temps=save_temps,
        host=host, check_rewrites=check_rewrites, assume=assume, overridden=overridden,
        apart=apart, cache=cache,
    )  # fmt: skip
    equations = frozenset((assume or {}).items())
    return _compile(model, options, Calls(frozenset(overridden), equations, frozenset(apart)))


def _compile(model: Any, options: Sequence[Options], calls: Calls) -> CompiledModel:
    made = _ready(Job(model, [replace(each, **calls.options) for each in options]))
    if has_variants(made.metadata) or _is_at_hand(model):
        # Who watches or keeps files does so for this program.
        later = [replace(each, progress=None, save_temps=None) for each in options]
        made.compile_others(partial(_compile, model, later), calls)
    return made


def _is_at_hand(model: Any) -> bool:
    """True if `model` may be kept for later calls: a file, or a model that takes little memory."""
    if isinstance(model, str | os.PathLike):
        return True
    size = model.ByteSize() if hasattr(model, "ByteSize") else len(model)
    return size <= _KEPT_BYTES


def _ready(job: "Job") -> CompiledModel:
    """Make the model of `job`, or load it from the cache."""
    if not job.is_compiled:
        return job.interpret()
    found = job.find()
    if found is not None:
        try:
            return load(found.path, threads=job.threads, report=found.report)
        except ModuleFileError as error:
            logger.info("the cache has '%s', which does not load: %s", found.path, error)
    contents, report = job.make(for_here=True)
    return load(contents, threads=job.threads, report=report)


def compile_to_file(
    model: Any, target: str | Target | Sequence[str | Target], **options: Any
) -> tuple[bytes, "Report"]:
    """The contents of a ``.vmfb``, or of a ``.gcm`` where parts run on the host, and the report.

    The arguments are those of `compile`, and so are the errors; no device need be here.
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

    Nothing that compiles is imported before the cache was asked.
    """

    def __init__(self, model: Any, options: Sequence[Options]):
        self._model, self._options = model, options
        self.threads = options[0].threads
        self.is_compiled = any(each.target.is_compiled for each in options)
        store = next((each.cache for each in options if each.cache is not None), None)
        if store is not None and options[0].progress is not None:
            options[0].progress(ProgressEvent("cache", 0.0))
        self._kept = ModelCache(store, model, options)

    def find(self) -> CachedModel | None:
        """The model as it was compiled before, None where it was not."""
        found = self._kept.find()
        if found is None:
            return None
        if found.report.parts:
            warn_of_host(model_name(self._model), found.report.parts)
        return found._replace(report=CompilationReport.of(found.report))

    def interpret(self) -> CompiledModel:
        """The model, to be run in numpy."""
        from .driver import interpret

        (options,) = self._options
        made = interpret(self._model, options)
        made.report = CompilationReport.of(made.report)
        return made

    def make(self, *, for_here: bool = False) -> tuple[bytes, "Report"]:
        """Compile the model, `for_here` only if its device is here."""
        from ..passes.infra.pipeline import Pipeline
        from .driver import to_file

        first, *others = self._options
        Pipeline.parse(first.pipeline)  # if that fails, before the work is done, as with devices
        if for_here and not others and first.target.name != "cpu":
            open_device(first.target.driver)
        self._kept.before_compiling()
        contents, report = to_file(self._model, self._options)
        self._kept.keep(contents, report)
        return contents, CompilationReport.of(report)
