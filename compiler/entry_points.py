"""Compilation of several models to entry points of one module, with one copy of their weights."""

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..errors import ModuleFileError, UsageError
from ..runtime import CompiledModel, ProgressEvent, Target, load_entry_points
from ..runtime.device.device import open_device
from ..runtime.device.discovery import target_here
from ..runtime.metadata import DESTINATION_SUFFIX
from ..viewing import CompilationReport
from .compile import load_made
from .model_cache import ModelCache
from .options import Options

if TYPE_CHECKING:
    from ..passes.infra.report import Report

_NAME = re.compile(r"[A-Za-z]\w*", re.ASCII)

logger = logging.getLogger("graphc")


@dataclass(frozen=True)
class EntryModel:
    """An ONNX model that becomes an entry point, with the options of `graphc.compile` that are its
    own."""

    model: Any
    dims: Mapping[str, int] = field(default_factory=dict[str, int])
    donate: Sequence[str] = ()


def compile_entry_points(
    models: Mapping[str, EntryModel],
    target: str | Target | Sequence[str | Target] = "cpu",
    **options: Any,
) -> dict[str, CompiledModel]:
    """Compile `models` to one module with an entry point for each, and load it.

    Weights that the entry points have in common are there once, in the file and in memory: those
    that are equal as the kernels read them. `options` are those of `graphc.compile` for all of
    them. Nothing runs on the host; there are no variants for other calls. Of several targets, code
    is for the first that has a device here, GPUs before the CPU.

    Raises as `graphc.compile`, and `UsageError` for names that are no identifiers and for a target
    that is interpreted beside others.
    """
    _check_names(models)
    target = _one_target(target)
    given = {name: _options_of(each, target, **options) for name, each in models.items()}
    first = next(iter(given.values()))
    if not first.target.is_compiled:
        from .driver import interpret

        return {name: interpret(models[name].model, given[name]) for name in models}
    cache = ModelCache(
        first.cache, [each.model for each in models.values()], list(given.values()), list(models)
    )
    if first.cache is not None and first.progress is not None:
        first.progress(ProgressEvent("cache", 0.0))
    if (found := cache.find()) is not None:
        try:
            return _load(found.path, first, dict(zip(models, found.reports, strict=True)))
        except ModuleFileError as error:
            logger.info("the cache has '%s', which does not load: %s", found.path, error)
    from .joint_program import to_joint_module

    if first.target.name != "cpu":
        open_device(first.target.driver)  # fail before any work is done
    cache.before_compiling()
    contents, reports = to_joint_module(
        {name: (models[name].model, given[name]) for name in models}
    )
    kept = cache.keep(contents, list(reports.values()))
    return load_made(contents, kept, lambda source: _load(source, first, reports))


def _options_of(
    entry: EntryModel,
    target: str | Target,
    *,
    dims: Mapping[str, int] | None = None,
    donate: Sequence[str] = (),
    host: str | bool = False,
    **options: Any,
) -> Options:
    """The options of one entry point: `options`, and its own."""
    del host  # nothing runs there
    sizes, donated = {**(dims or {}), **entry.dims}, (*donate, *entry.donate)
    return Options.of(target, **options, dims=sizes, donate=donated, host=False)


def _one_target(target: str | Target | Sequence[str | Target]) -> str | Target:
    """The target that code is for."""
    if isinstance(target, str | Target):
        return target
    found = [options.target for options in Options.of_all(target)]
    if len(found) == 1:
        return found[0]
    for each in found:
        if not each.is_compiled:
            raise UsageError(f"nothing is compiled for '{each}': it is no target beside others")
    return target_here(found)


def _load(
    source: Any, options: Options, reports: "Mapping[str, Report]"
) -> dict[str, CompiledModel]:
    shown = {name: CompilationReport.of(report) for name, report in reports.items()}
    return load_entry_points(source, threads=options.threads, reports=shown)


def _check_names(models: Mapping[str, EntryModel]) -> None:
    if not models:
        raise UsageError("there is no model to compile")
    for name in models:
        if not _NAME.fullmatch(name):
            raise UsageError(f"'{name}' is no name for an entry point: letters, digits and _")
        if name.endswith(DESTINATION_SUFFIX):
            raise UsageError(f"'{name}' is no name for an entry point: it ends in '_into'")
