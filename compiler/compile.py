"""Compilation of models, with a cache of earlier results."""

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..aliases import takes_old_arguments
from ..errors import ModuleFileError
from ..runtime import CompiledModel, ProgressEvent, Target, load
from ..runtime.device.device import open_device
from ..runtime.execution.hybrid import warn_of_host
from ..runtime.execution.variants import Calls, has_variants
from ..runtime.metadata import is_path, model_name
from ..viewing import CompilationReport
from .garbage_collection import rare_collections
from .model_cache import CachedModel, ModelCache
from .options import Options, Progress

if TYPE_CHECKING:
    from ..passes.infra.report import Report

T = TypeVar("T")
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

    `graphc.compile` without `tune` and `place`; its description explains all options.
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
            return job.load(found.path, found.reports[0])
        except ModuleFileError as error:
            logger.info("the cache has '%s', which does not load: %s", found.path, error)
    contents, report = job.make(for_here=True)
    return load_made(contents, job.kept, lambda source: job.load(source, report))


def load_made(contents: bytes, kept: Path | None, load_: Callable[[Any], T]) -> T:
    """Load what was just compiled: from the file in the cache if it was `kept`, as later processes
    do. That is mapped, and takes no memory of this process's own."""
    if kept is not None:
        try:
            return load_(kept)
        except ModuleFileError as error:  # another process has just removed it
            logger.info("the cache has lost '%s': %s", kept, error)
    return load_(contents)


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
            return found.path.read_bytes(), found.reports[0]
        except OSError as error:  # another process has just removed it
            logger.info("the cache has lost '%s': %s", found.path, error)
    return job.make()


class Job:
    """One model to be compiled for one or more targets, with options for each.

    The compiler is not imported until the cache has been searched.
    """

    def __init__(self, model: Any, options: Sequence[Options]):
        self._model, self._options = model, options
        self.kept: Path | None = None
        """The file in the cache with what was made."""
        self.is_compiled = any(each.target.is_compiled for each in options)
        store = next((each.cache for each in options if each.cache is not None), None)
        if store is not None and options[0].progress is not None:
            options[0].progress(ProgressEvent("cache", 0.0))
        self._cached = ModelCache(store, [model], options)

    def load(self, source: Any, report: "Report") -> CompiledModel:
        """Load the compiled model, from a path or from its bytes."""
        first = self._options[0]
        made = load(source, threads=first.threads, host=first.engine, report=report)
        if made.parts:
            report.parts = list(made.parts)  # which know their engines
        return made

    def find(self) -> CachedModel | None:
        """The model from the cache, or None."""
        found = self._cached.find()
        if found is None:
            return None
        (report,) = found.reports
        if report.parts:
            warn_of_host(model_name(self._model), report.parts)
        return found._replace(reports=[CompilationReport.of(report)])

    def interpret(self) -> CompiledModel:
        """The model, interpreted in numpy."""
        from .driver import interpret

        (options,) = self._options
        made = interpret(self._model, options)
        made.report = CompilationReport.of(made.report)
        return made

    @rare_collections()
    def make(self, *, for_here: bool = False) -> tuple[bytes, "Report"]:
        """Compile the model. With `for_here`, raise `DeviceError` first if its device is absent."""
        from ..passes.infra.pipeline import Pipeline
        from .driver import to_file

        first, *others = self._options
        Pipeline.parse(first.pipeline)  # fail before any work is done, as for devices
        if for_here and not others and first.target.name != "cpu":
            open_device(first.target.driver)
        self._cached.before_compiling()
        contents, report = to_file(self._model, self._options)
        self.kept = self._cached.keep(contents, [report])
        return contents, CompilationReport.of(report)
