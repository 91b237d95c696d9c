"""The driver of a compilation: the only module that depends on frontend, passes and runtime."""

import importlib.metadata
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

from ..dialects import graph, iree
from ..dialects.iree.joined_executables import join_executables
from ..dialects.iree.outlining import outline_kernels
from ..dialects.remembering import remembering
from ..errors import OutputError, UnsupportedModelError, UsageError
from ..frontend.onnx import (
    ASSUMED,
    OVERRIDABLE,
    HostPartModel,
    NativePartModel,
    PartitionPlan,
    import_onnx,
    make_plan,
)
from ..mlir import ir
from ..passes.analysis.arena import transient_bytes
from ..passes.analysis.live_sets import largest_live_sets
from ..passes.contracts import check_linalg
from ..passes.infra.optimistic import run_optimistically
from ..passes.infra.pipeline import Observer, Pipeline, run_pipeline
from ..passes.infra.query import ops_within
from ..passes.infra.report import Report
from ..passes.infra.stages import StageRecorder
from ..passes.pipelines import lowering_pipeline
from ..runtime import (
    ModelMetadata,
    PartSpec,
    Target,
    TensorSpec,
    ValueSpec,
    compile_module,
    load,
)
from ..runtime.cache.keys import is_self_contained
from ..runtime.device.device import open_device
from ..runtime.device.memory import ALIGNMENT, ARRAY_ALIGNMENT
from ..runtime.execution.hybrid import open_host_part, warn_of_host
from ..runtime.execution.hybrid_file import write_hybrid
from ..runtime.execution.memory_estimate import LIVE_SETS_KEY, write_live_sets
from ..runtime.files.multi_target_file import bundle
from ..runtime.iree_compile.child_process import ProgressEvent
from ..runtime.iree_compile.input_program import InputProgram
from ..runtime.iree_compile.kernel_groups import count_groups
from ..runtime.iree_compile.temporary_folder import temporary_folder
from ..runtime.metadata import (
    ALIGNMENT_KEY,
    ASSUMED_KEY,
    DONATED_KEY,
    LOOPS_KEY,
    OVERRIDABLE_KEY,
    REFLECTION_KEY,
    model_name,
)
from ..runtime.model import CompiledModel, NativePart, hybrid_model
from .interpreter import InterpretedSession
from .lowered_module import LoweredProgram
from .model_signature import (
    data_dependent_sizes,
    main_function,
    specs,
    value_specs,
    without_names,
)
from .options import Options

T = TypeVar("T")
_VERSIONED = ("graphc", "torch-mlir", "iree-base-compiler", "iree-base-runtime", "onnx")


@dataclass
class Compilation:
    """A model being compiled: its module in the current state, and the report so far."""

    module: ir.Module
    name: str
    options: Options
    report: Report = field(default_factory=Report)
    started: float = field(default_factory=time.monotonic)

    @remembering()
    def graph_passes(self) -> None:
        """Run the graph pipeline."""
        self.report.cpu = self.options.target.cpu
        recorder = StageRecorder(self.report, self.name)
        recorder.record("imported", self.module)
        with graph.sharing_blobs():  # weights that several nodes read are packed for each
            self._run("graph", self.options.pipeline, [recorder])

    @remembering()
    def lower(self, *, merges: bool = True) -> None:
        """Lower to linalg, and attach the metadata that the compiled module will carry.

        Without `merges`, and at `opt_level` 0, each kernel has a dispatch of its own: kernels that
        several merged dispatches run are compiled in each of these, a third of the time that a
        decoder of two layers takes.
        """
        require_compiled(self.options)
        metadata = describe(self.module, self.name, self.options)
        target = self.options.target
        live_sets = write_live_sets(largest_live_sets(main_function(self.module), target.cpu))
        transients = transient_bytes(main_function(self.module), target.cpu)
        text = lowering_pipeline(
            target.pipeline,
            target.cpu,
            self.options.threads,
            pinned=target.knows_its_core,
            transients=transients,
            sized_by_shapes=not data_dependent_sizes(main_function(self.module)),
            precision=self.options.precision,
            merges=merges and self.options.opt_level > 0,
        )
        self._run("linalg", text)
        check_linalg(self.module)
        if _takes_arrays(target):
            iree.assume_alignment(self.module, ARRAY_ALIGNMENT, ALIGNMENT)
        with self.module.context:
            texts = {REFLECTION_KEY: metadata.to_json(), LIVE_SETS_KEY: live_sets}
            reflection: dict[str, ir.Attribute] = {
                key: ir.StringAttr.get(text) for key, text in texts.items()
            }
            function = main_function(self.module)
            function.attributes["iree.reflection"] = ir.DictAttr.get(reflection)
            for kind in ("arg_attrs", "res_attrs"):
                if kind in function.attributes:
                    function.attributes[kind] = without_names(function.attributes[kind])
            for name in (ASSUMED, OVERRIDABLE):
                if name in function.attributes:
                    del function.attributes[name]

    def backend(self) -> bytes:
        """Compile the lowered module to the contents of a ``.vmfb``, and free `module`."""
        options, kernels = self.options, []
        if options.target.shares_kernels:
            join_executables(self.module)
        if options.target.shares_kernels and is_self_contained(options.extra_flags):
            kernels = outline_kernels(self.module, self._separates_kernels)
        program = LoweredProgram(self.module, kernels)
        del kernels, self.module
        contents = self.compile_program(program)
        self.report.add_size("bytecode bytes", program.size)
        program.end()
        return contents

    def _separates_kernels(self, ops: int) -> bool:
        """Return whether kernels of so many `ops` are compiled as functions of their own."""
        cached = self.options.cache is not None
        return cached or count_groups(ops, self.options.extra_flags) > 0

    @contextmanager
    def handed_over(self) -> Generator[Path]:
        """A context with the lowered module as a bytecode file; frees `module`."""
        program = LoweredProgram(self.module)
        del self.module
        with temporary_folder() as folder:
            source = program.file(folder)
            self.report.add_size("bytecode bytes", program.size)
            yield source

    def compile_program(self, program: Path | InputProgram) -> bytes:
        """Compile the lowered module, or the file of `handed_over`, to a ``.vmfb``."""
        cache, start = self.options.cache, time.perf_counter()
        contents = self.call_backend(program, save_temps=self.options.save_temps)
        taken = cache.taken if cache else ""
        self.report.record_stage(f"backend{taken}", time.perf_counter() - start)
        self.report.add_size("module bytes", len(contents))
        return contents

    def call_backend(
        self,
        program: Path | InputProgram,
        more_flags: Sequence[str] = (),
        save_temps: Path | None = None,
    ) -> bytes:
        """Run the backend on `program`, with the options of this compilation."""
        options = self.options
        return compile_module(
            program,
            target=options.target,
            threads=options.threads,
            opt_level=options.opt_level,
            data_tiling=bool(options.data_tiling),
            extra_flags=(*options.extra_flags, *more_flags),
            timeout=options.timeout,
            progress=options.progress,
            save_temps=save_temps,
            cache=options.cache,
            name=self.name,
        )

    def text(self) -> str:
        """The program in its current state, with locations; large constants are elided."""
        asm = self.module.operation.get_asm
        return asm(large_elements_limit=32, large_resource_limit=32, enable_debug_info=True)

    def save_text(self, stage: str) -> None:
        """Write the program as text to the folder `save_temps`, if set; constants are elided."""
        folder = self.options.save_temps
        if folder is None:
            return
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{self.name}.{stage}.mlir").write_text(self.text())
        except OSError as error:
            raise OutputError(f"cannot write to '{folder}': {error.strerror}") from error

    def _run(self, stage: str, pipeline: str, observers: Sequence[Observer] = ()) -> None:
        run = partial(run_pipeline, check_rewrites=True)
        if not self.options.check_rewrites:
            run = run_optimistically
        with self._reporting(stage):
            run(
                self.module,
                pipeline,
                report=self.report,
                observers=observers,
                find_changes=stage == "graph",
            )
        self.save_text(stage)

    @contextmanager
    def _reporting(self, stage: str) -> Generator[None]:
        if self.options.progress is not None:
            self.options.progress(ProgressEvent(stage, time.monotonic() - self.started))
        yield


def compile_with(model: Any, options: Options) -> CompiledModel:
    """`compile` for one target, with existing options and without the model cache."""
    if not options.target.is_compiled:
        return interpret(model, options)
    if options.target.name != "cpu":
        open_device(options.target.driver)  # fail before any work is done
    contents, report = to_module(model, options)
    return load(contents, threads=options.threads, host=options.engine, report=report)


def to_file(model: Any, options: Sequence[Options]) -> tuple[bytes, Report]:
    """The contents of one file for all targets of `options`, and the report of the first.

    Raises `UsageError` for several targets if parts of `model` run on the host.
    """
    for each in options:
        require_compiled(each)
    if len(options) == 1:
        return to_module(model, options[0])
    try:
        modules = [to_module(model, replace(each, host=False)) for each in options]
    except UnsupportedModelError as error:
        raise UsageError(f"only compiled code can be for several targets: {error}") from error
    names = [each.target.spelling for each in options]
    contents = {name: module for name, (module, _) in zip(names, modules, strict=True)}
    return bundle(contents), modules[0][1]


def to_module(model: Any, options: Options) -> tuple[bytes, Report]:
    """The contents of a ``.vmfb``, or of a ``.gcm`` if parts of `model` run on the host."""
    try:
        compilation = begin(model, options)
    except UnsupportedModelError:
        if not options.host:
            raise
        return _compile_in_parts(model, options)
    return finish(compilation), compilation.report


def finish(compilation: Compilation) -> bytes:
    """The contents of a ``.vmfb``."""
    compilation.graph_passes()
    compilation.lower()
    return compilation.backend()


def _compile_in_parts(model: Any, options: Options) -> tuple[bytes, Report]:
    report = Report(title=model_name(model))
    metadata, contents = _make_parts(model, options, report, finish)
    return write_hybrid(metadata, report.parts, contents), report


def interpret(model: Any, options: Options) -> CompiledModel:
    """`model` as imported, or after a pipeline, interpreted in numpy."""
    try:
        return interpreted(begin(model, options))
    except UnsupportedModelError:
        if not options.host:
            raise
    report = Report(title=model_name(model))
    metadata, made = _make_parts(model, options, report, interpreted)
    runnables = [
        NativePart(each)
        if isinstance(each, CompiledModel)
        else open_host_part(each, options.engine, options.threads)
        for each in made
    ]
    made = hybrid_model(metadata, list(zip(report.parts, runnables, strict=True)), None, report)
    report.parts = list(made.parts)  # which know their engines
    return made


def interpreted(compilation: Compilation) -> CompiledModel:
    """The program after the graph pipeline, interpreted in numpy."""
    compilation.graph_passes()
    module, name = compilation.module, compilation.name
    session = InterpretedSession(name, module, main_function(module))
    metadata = describe(module, name, compilation.options)
    return CompiledModel(session, metadata, None, compilation.report)


def _make_parts(
    model: Any, options: Options, report: Report, finish: Callable[[Compilation], T]
) -> tuple[ModelMetadata, list[bytes | T]]:
    """The metadata and the parts of `model`: bytes for host parts, results of `finish` for
    others."""
    plan = plan_parts(model, options, report)
    made: list[bytes | T] = [
        finish(each) if isinstance(each, Compilation) else each
        for each in compiled_parts(plan, options, report)
    ]
    warn_of_host(report.title, report.parts)
    return plan_metadata(plan, report.title, options), made


def plan_metadata(plan: PartitionPlan, name: str, options: Options) -> ModelMetadata:
    """The metadata of a model in parts."""
    inputs, outputs = value_specs(plan.inputs()), value_specs(plan.outputs())
    return _metadata(name, inputs, outputs, options, {}, plan.overridable)


def plan_parts(model: Any, options: Options, report: Report) -> PartitionPlan:
    """Partition a model that cannot be compiled as a whole."""
    from ..runtime.host.part import why_not

    start = time.perf_counter()
    plan = make_plan(
        model,
        dims=options.dims,
        why_not=partial(why_not, engine=options.engine),
        outputs=options.outputs,
        overridden=options.overridden,
        independent_dims=options.independent_dims,
    )
    report.record_stage("partition", time.perf_counter() - start)
    return plan


def compiled_parts(
    plan: PartitionPlan, options: Options, report: Report
) -> Iterator[Compilation | bytes]:
    """The parts of `plan`: compilations, and the contents of host parts.

    Each part is freed before the next one is made, with its weights.
    """
    part_options = replace(options, dims={})  # the plan has applied `dims` already
    started = time.monotonic()
    for number in range(len(plan.parts)):
        each = plan.parts.pop(0)
        report.parts.append(_part_spec(plan, each))
        if isinstance(each, HostPartModel):
            yield each.contents
            continue
        name = f"{report.title}.part{number}"
        compilation = Compilation(each.module, name, part_options, report, started)
        del each
        compilation.save_text("imported")
        yield compilation
        del compilation


def _part_spec(plan: PartitionPlan, each: HostPartModel | NativePartModel) -> PartSpec:
    part, nodes = each.part, plan.nodes(each.part)
    reasons = {} if part.native else {node.name: node.reason for node in nodes if node.reason}
    names = tuple(node.name for node in nodes)
    return PartSpec(part.native, names, tuple(part.inputs), tuple(part.outputs), reasons)


def make_options(target: str | Target, **given: Any) -> Options:
    """`Options.of` for callers that always compile: an invalid pipeline is reported early."""
    options = Options.of(target, **given)
    Pipeline.parse(options.pipeline)
    return options


def require_compiled(options: Options) -> None:
    """Raise `UsageError` for a target without compilation."""
    if not options.target.is_compiled:
        raise UsageError(
            f"for {options.target} nothing is compiled: name another target, or run the model"
        )


def begin(model: Any, options: Options, context: ir.Context | None = None) -> Compilation:
    """Import `model`, into `context` if that is given."""
    Pipeline.parse(options.pipeline)  # fail before any work is done
    if options.progress is not None:
        options.progress(ProgressEvent("import", 0.0))
    start = time.perf_counter()
    module = import_onnx(
        model,
        dims=options.dims,
        outputs=options.outputs,
        context=context,
        assume=options.assume,
        overridden=options.overridden,
        independent_dims=options.independent_dims,
        donate=options.donate,
    )
    name = model_name(model)
    compilation = Compilation(module, name, options, Report(title=name))
    compilation.report.record_stage("import", time.perf_counter() - start)
    compilation.save_text("imported")
    return compilation


def describe(module: ir.Module, name: str, options: Options) -> ModelMetadata:
    """The metadata for the compiled module, read from the `graph` program."""
    function = main_function(module)
    signature = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    inputs = specs(function, "arg_attrs", signature.inputs)
    outputs = specs(function, "res_attrs", signature.results)
    attributes = function.attributes
    assumed: dict[str, bool] = {}
    defaults: list[str] = []
    if ASSUMED in attributes:
        values = ir.DictAttr(attributes[ASSUMED])
        assumed = {each.name: ir.BoolAttr(each.attr).value for each in values}
    if OVERRIDABLE in attributes:
        defaults = [ir.StringAttr(each).value for each in ir.ArrayAttr(attributes[OVERRIDABLE])]
    donated = [
        number
        for number, argument in enumerate(function.entry_block.arguments)
        if graph.is_donated(argument)
    ]
    made = _metadata(name, inputs, outputs, options, assumed, defaults, donated)
    if ops_within(function, graph.LoopOp):
        made.options[LOOPS_KEY] = True
    return made


def _takes_arrays(target: Target) -> bool:
    """Return whether programs for `target` use arrays of the caller in place."""
    return target.driver == "local-task"


def package_versions() -> dict[str, str]:
    """The versions of graphc, and of the packages that its output depends on."""
    return {package: _version(package) for package in _VERSIONED}


# Cached, as each is parsed from a text file, which takes milliseconds.
_version = cache(importlib.metadata.version)


def _metadata(
    name: str,
    inputs: Sequence[TensorSpec | ValueSpec],
    outputs: Sequence[TensorSpec | ValueSpec],
    options: Options,
    assumed: Mapping[str, bool],
    overridable: Sequence[str],
    donated: Sequence[int] = (),
) -> ModelMetadata:
    return ModelMetadata(
        name=name,
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        dims=dict(options.dims),
        options={
            **options.recorded(),
            **({"matrix_unit": "amx"} if "=amx" in options.pipeline else {}),
            **({ASSUMED_KEY: dict(assumed)} if assumed else {}),
            **({OVERRIDABLE_KEY: list(overridable)} if overridable else {}),
            **({DONATED_KEY: list(donated)} if donated else {}),
            **({ALIGNMENT_KEY: ARRAY_ALIGNMENT} if _takes_arrays(options.target) else {}),
        },
        versions=package_versions(),
    )
