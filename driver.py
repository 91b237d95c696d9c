"""From a model to something that runs: the one place that knows frontend, passes and runtime."""

import ctypes
import gc
import importlib.metadata
import logging
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from .errors import OutputError, UnsupportedModelError, UsageError
from .frontend.onnx import (
    HostPiece,
    NativePiece,
    Plan,
    import_onnx,
    make_plan,
)
from .interpret import InterpretedSession
from .mlir import ir
from .passes.contracts import check_linalg
from .passes.pipeline import Pipeline, run_pipeline
from .passes.pipelines import PRECISIONS, graph_pipeline, lowering_pipeline
from .passes.report import Report
from .runtime import (
    CompiledModel,
    ModelMetadata,
    PartSpec,
    Target,
    TensorSpec,
    ValueSpec,
    compile_module,
    load,
    resolve_target,
)
from .runtime.child_process import ProgressEvent
from .runtime.compile_cache import CompileCache
from .runtime.cpu import usable_cpus
from .runtime.device import open_device
from .runtime.discovery import on_this_machine
from .runtime.hybrid import open_host_part
from .runtime.hybrid_file import write_hybrid
from .runtime.metadata import REFLECTION_KEY
from .runtime.model import NativePart, hybrid_model
from .runtime.multi_target_file import bundle
from .signature import main_function, specs, value_specs

T = TypeVar("T")
Progress = Callable[[ProgressEvent], None]
VERSIONED_PACKAGES = ("graphc", "torch-mlir", "iree-base-compiler", "iree-base-runtime", "onnx")
SHOWN_REASONS = 8
"""A warning names at most this many nodes."""

logger = logging.getLogger("graphc")


@dataclass(frozen=True)
class Options:
    """How to compile; see `compile`."""

    target: Target
    threads: int
    dims: Mapping[str, int]
    pipeline: str
    precision: str = "f32"
    opt_level: int = 3
    data_tiling: bool | None = None
    extra_flags: Sequence[str] = ()
    timeout: float | None = None
    progress: Progress | None = None
    save_temps: Path | None = None
    check_rewrites: bool = False
    outputs: Sequence[str] | None = None
    cache: CompileCache | None = None


@dataclass
class Compilation:
    """A model on its way: the module as it stands, and what has happened to it."""

    module: ir.Module
    name: str
    options: Options
    report: Report = field(default_factory=Report)
    started: float = field(default_factory=time.monotonic)

    def graph_passes(self) -> None:
        """Run the graph pipeline."""
        self._run("graph", self.options.pipeline)

    def lower(self) -> None:
        """Lower to linalg and put the metadata where the compiled module will carry it."""
        require_compiled(self.options)
        metadata = describe(self.module, self.name, self.options)
        self._run("linalg", lowering_pipeline(self.options.target.pipeline))
        check_linalg(self.module)
        with self.module.context:
            reflection = {REFLECTION_KEY: ir.StringAttr.get(metadata.to_json())}
            function = main_function(self.module)
            function.attributes["iree.reflection"] = ir.DictAttr.get(reflection)
            for kind in ("arg_attrs", "res_attrs"):  # the backend does not know graph.name
                if kind in function.attributes:
                    del function.attributes[kind]

    def write_bytecode(self, path: Path) -> None:
        """Write the module as MLIR bytecode, weights straight from where they lie in memory."""
        try:
            self.module.operation.write_bytecode(str(path))
        except (OSError, ValueError, RuntimeError) as error:
            raise OutputError(f"cannot write the program to '{path}': {error}") from error

    def backend(self) -> bytes:
        """Compile the lowered module to the contents of a ``.vmfb``; the end of `module`."""
        with self.handed_over() as source:
            return self.compile_bytecode(source)

    @contextmanager
    def handed_over(self) -> Iterator[Path]:
        """The lowered module as a file of bytecode.

        This is the end of `module`: its weights are freed before the backend takes as much again.
        """
        with tempfile.TemporaryDirectory(prefix="graphc-") as folder:
            source = Path(folder, "module.mlir")
            self.write_bytecode(source)
            self.report.add_size("bytecode bytes", source.stat().st_size)
            del self.module
            _give_memory_back()
            yield source

    def compile_bytecode(self, source: Path) -> bytes:
        """Compile the module that was `handed_over` to the contents of a ``.vmfb``."""
        start = time.perf_counter()
        contents = self.call_backend(source, save_temps=self.options.save_temps)
        self.report.record_stage("backend", time.perf_counter() - start)
        self.report.add_size("module bytes", len(contents))
        return contents

    def call_backend(
        self, source: Path, more_flags: Sequence[str] = (), save_temps: Path | None = None
    ) -> bytes:
        """What the backend makes of `source`, with the options of this compilation."""
        options = self.options
        return compile_module(
            source,
            target=options.target,
            threads=options.threads,
            opt_level=options.opt_level,
            data_tiling=bool(options.data_tiling),
            extra_flags=(*options.extra_flags, *more_flags),
            timeout=options.timeout,
            progress=options.progress,
            save_temps=save_temps,
            cache=options.cache,
        )

    def text(self) -> str:
        """The program as it stands, with locations; large constants elided."""
        asm = self.module.operation.get_asm
        return asm(large_elements_limit=32, large_resource_limit=32, enable_debug_info=True)

    def save_text(self, stage: str) -> None:
        """With `save_temps`, keep the program as text, constants elided."""
        folder = self.options.save_temps
        if folder is None:
            return
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{self.name}.{stage}.mlir").write_text(self.text())
        except OSError as error:
            raise OutputError(f"cannot write to '{folder}': {error.strerror}") from error

    def _run(self, stage: str, pipeline: str) -> None:
        with self._reporting(stage):
            run_pipeline(
                self.module,
                pipeline,
                report=self.report,
                check_rewrites=self.options.check_rewrites,
            )
        self.save_text(stage)

    @contextmanager
    def _reporting(self, stage: str) -> Iterator[None]:
        if self.options.progress is not None:
            self.options.progress(ProgressEvent(stage, time.monotonic() - self.started))
        yield


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
    cache: str | os.PathLike[str] | None = None,
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
    convolutions may also be computed with fewer products, whose results lie some 1e-6 of the
    largest element apart. `opt_level` (0 to 3) and `data_tiling` steer the backend, `extra_flags`
    are handed to it, `timeout` (seconds) bounds it. `progress` is called with a `ProgressEvent` now
    and then; an exception it raises stops the compilation. `save_temps` names a folder for the
    program after every stage.

    Nodes that cannot be compiled (strings, sequences, pictures, what is not supported) run on the
    host, between compiled parts: a warning in the log names them, `CompiledModel.parts` and the
    report say why. With ``host=False`` a model that has such nodes is refused.

    `cache` names a folder in which compiled programs are kept: one that was compiled before, with
    the same weights and options, on such a processor, is not compiled again.

    With `check_rewrites` each rewrite that fires is evaluated in numpy on inputs drawn at random,
    before and after; one that changes the result raises RewriteCheckError.

    Raises `GraphcError`: InvalidModelError, UnsupportedModelError (all nodes at once),
    InvalidDimError, PipelineError, UnknownTargetError, PassError, RewriteCheckError, LoweringError,
    BackendError, DeviceError.
    """
    targets = [target] if isinstance(target, str | Target) else target
    options = [
        make_options(
            each, dims, threads, pipeline, precision, opt_level=opt_level, data_tiling=data_tiling,
            extra_flags=extra_flags, timeout=timeout, progress=progress, save_temps=save_temps,
            check_rewrites=check_rewrites, outputs=outputs, cache=cache,
        )
        for each in targets
    ]  # fmt: skip
    if len(options) == 1:
        return compile_with(model, options[0], host)
    contents, report = to_file(model, options, host)
    return load(contents, threads=options[0].threads, report=report)


def compile_with(model: Any, options: Options, host: bool = True) -> CompiledModel:
    """`compile` for one target, with options that were made before."""
    if not options.target.is_compiled:
        return _interpret(model, options, host)
    if options.target.name != "cpu":
        open_device(options.target.driver)  # if that fails, before the work is done
    contents, report = to_module(model, options, host)
    return load(contents, threads=options.threads, report=report)


def to_file(model: Any, options: Sequence[Options], host: bool) -> tuple[bytes, Report]:
    """The contents of one file for all targets of `options`, and the report of the first.

    Raises `UsageError` where there are several and parts of `model` run on the host, or one is
    there twice, or none.
    """
    names = [each.target.spelling for each in options]
    if not names or len(set(names)) != len(names):
        raise UsageError(f"targets must be one or more different ones, not {', '.join(names)}")
    for each in options:
        require_compiled(each)
    if len(options) == 1:
        return to_module(model, options[0], host)
    try:
        modules = [to_module(model, each, host=False) for each in options]
    except UnsupportedModelError as error:
        raise UsageError(f"only compiled code can be for several targets: {error}") from error
    contents = {name: module for name, (module, _) in zip(names, modules, strict=True)}
    return bundle(contents), modules[0][1]


def to_module(model: Any, options: Options, host: bool) -> tuple[bytes, Report]:
    """The contents of a ``.vmfb``, or of a ``.gcm`` where parts of `model` run on the `host`."""
    try:
        compilation = begin(model, options)
    except UnsupportedModelError:
        if not host:
            raise
        return _compile_in_parts(model, options)
    return _finish(compilation), compilation.report


def _finish(compilation: Compilation) -> bytes:
    compilation.graph_passes()
    compilation.lower()
    return compilation.backend()


def _compile_in_parts(model: Any, options: Options) -> tuple[bytes, Report]:
    report = Report()
    metadata, contents = _make_parts(model, options, report, _finish)
    return write_hybrid(metadata, report.parts, contents), report


def _interpret(model: Any, options: Options, host: bool) -> CompiledModel:
    try:
        return _interpreted(begin(model, options))
    except UnsupportedModelError:
        if not host:
            raise
    report = Report()
    metadata, made = _make_parts(model, options, report, _interpreted)
    runnables = [
        NativePart(each) if isinstance(each, CompiledModel) else open_host_part(each)
        for each in made
    ]
    return hybrid_model(metadata, list(zip(report.parts, runnables, strict=True)), None, report)


def _interpreted(compilation: Compilation) -> CompiledModel:
    compilation.graph_passes()
    module, name = compilation.module, compilation.name
    session = InterpretedSession(name, module, main_function(module))
    metadata = describe(module, name, compilation.options)
    return CompiledModel(session, metadata, None, compilation.report)


def _make_parts(
    model: Any, options: Options, report: Report, finish: Callable[[Compilation], T]
) -> tuple[ModelMetadata, list[bytes | T]]:
    """The parts of `model`: the bytes of those for the host, the others as `finish` makes them."""
    from .runtime.host.part import why_not

    started = time.monotonic()
    name = _model_name(model)
    start = time.perf_counter()
    plan = make_plan(model, dims=options.dims, why_not=why_not, outputs=options.outputs)
    report.record_stage("partition", time.perf_counter() - start)
    part_options = replace(options, dims={})  # which the plan has taken account of
    made: list[bytes | T] = []
    while plan.pieces:  # a piece's weights are freed when it has been compiled
        piece = plan.pieces.pop(0)
        report.parts.append(_part_spec(plan, piece))
        if isinstance(piece, HostPiece):
            made.append(piece.contents)
            continue
        part_name = f"{name}.part{len(made)}"
        compilation = Compilation(piece.module, part_name, part_options, report, started)
        del piece
        compilation.save_text("imported")
        made.append(finish(compilation))
    _warn(name, report.parts)
    metadata = _metadata(name, value_specs(plan.inputs()), value_specs(plan.outputs()), options)
    return metadata, made


def _part_spec(plan: Plan, piece: HostPiece | NativePiece) -> PartSpec:
    part, nodes = piece.part, plan.nodes(piece.part)
    reasons = {} if part.native else {node.name: node.reason for node in nodes if node.reason}
    names = tuple(node.name for node in nodes)
    return PartSpec(part.native, names, tuple(part.inputs), tuple(part.outputs), reasons)


def _warn(name: str, parts: Sequence[PartSpec]) -> None:
    """Say which nodes are not compiled: nothing falls back in silence."""
    total = sum(len(part.nodes) for part in parts)
    reasons = {node: why for part in parts for node, why in part.reasons.items()}
    shown = "; ".join(f"'{node}' ({why})" for node, why in list(reasons.items())[:SHOWN_REASONS])
    more = f" and {len(reasons) - SHOWN_REASONS} more" if len(reasons) > SHOWN_REASONS else ""
    logger.warning(
        "model '%s': %d of %d nodes run on the host: %s%s", name, len(reasons), total, shown, more
    )


def _give_memory_back() -> None:
    """Free what reference cycles hold, and with glibc the memory it keeps for later: packed
    weights, hundreds of megabytes."""
    gc.collect()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


def make_options(
    target: str | Target,
    dims: Mapping[str, int] | None,
    threads: int | None,
    pipeline: str | None,
    precision: str = "f32",
    *,
    extra_flags: Sequence[str] = (),
    save_temps: str | os.PathLike[str] | None = None,
    cache: str | os.PathLike[str] | None = None,
    **rest: Any,
) -> Options:
    """Resolve names and defaults, so that a bad one shows before any work is done."""
    row = on_this_machine(resolve_target(target))
    if threads is not None and (not isinstance(threads, int) or threads < 1):
        raise UsageError(f"threads must be a positive integer, not {threads!r}")
    if precision not in PRECISIONS:
        raise UsageError(f"precision must be one of {', '.join(PRECISIONS)}, not {precision!r}")
    text = pipeline
    if text is None:
        text = graph_pipeline(row.pipeline, row.vector_bits, precision)
    Pipeline.parse(text)
    return Options(
        row, threads or usable_cpus(), dict(dims or {}), text, precision,
        extra_flags=tuple(extra_flags),
        save_temps=None if save_temps is None else Path(save_temps),
        cache=None if cache is None else CompileCache(Path(cache)),
        **rest,
    )  # fmt: skip


def require_compiled(options: Options) -> None:
    """Raises `UsageError` for a target that nothing is compiled for."""
    if not options.target.is_compiled:
        raise UsageError(
            f"for {options.target} nothing is compiled: name another target, or run the model"
        )


def begin(model: Any, options: Options) -> Compilation:
    """Import `model`."""
    if options.progress is not None:
        options.progress(ProgressEvent("import", 0.0))
    start = time.perf_counter()
    module = import_onnx(model, dims=options.dims, outputs=options.outputs)
    compilation = Compilation(module, _model_name(model), options)
    compilation.report.record_stage("import", time.perf_counter() - start)
    compilation.save_text("imported")
    return compilation


def _model_name(model: Any) -> str:
    return Path(model).stem if isinstance(model, str | os.PathLike) else "model"


def describe(module: ir.Module, name: str, options: Options) -> ModelMetadata:
    """What the compiled module will say about itself; read from the `graph` program."""
    function = main_function(module)
    signature = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    inputs = specs(function, "arg_attrs", signature.inputs)
    outputs = specs(function, "res_attrs", signature.results)
    return _metadata(name, inputs, outputs, options)


def _metadata(
    name: str,
    inputs: Sequence[TensorSpec | ValueSpec],
    outputs: Sequence[TensorSpec | ValueSpec],
    options: Options,
) -> ModelMetadata:
    return ModelMetadata(
        name=name,
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        dims=dict(options.dims),
        options={
            "target": options.target.spelling,
            "threads": options.threads,
            "precision": options.precision,
            "opt_level": options.opt_level,
        },
        versions={package: importlib.metadata.version(package) for package in VERSIONED_PACKAGES},
    )
