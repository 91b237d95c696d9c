"""Pipelines: from text to passes, and passes over a module.

run_pipeline(module, "func.func(graph-simplify,cse),symbol-dce")
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ...aliases import pass_options
from ...dialects import graph
from ...dialects.remembering import remembering
from ...errors import GraphcError, PassError, PipelineError, VerificationError
from ...mlir import ir
from . import options, syntax
from .base import MODULE, Fuel, Pass, PassState
from .diagnostics import collected_errors, error_text
from .greedy import op_count
from .pass_checking import PassChecker
from .registry import MLIR_PASSES, MlirPass, find_pass, known_passes, mlir_pass_problem
from .report import PassRecord, Report
from .reproducer import Reproducer


@dataclass(frozen=True)
class PipelineStep:
    """A pass and the op it runs on: the module, or each function."""

    pass_: Pass
    anchor: str = MODULE

    def element(self) -> syntax.Element:
        """The pass as an element of a pipeline text."""
        if isinstance(self.pass_, MlirPass):
            return syntax.Element(self.pass_.mlir_name, self.pass_.options)
        return syntax.Element(self.pass_.name, options.render(self.pass_))


@dataclass(frozen=True)
class Pipeline:
    """Passes in the order in which they run. Its text is canonical, and `parse` reads it back."""

    steps: tuple[PipelineStep, ...]

    @staticmethod
    def parse(text: str) -> "Pipeline":
        """Read the grammar of `syntax`, with or without the outer ``builtin.module(...)``.

        PipelineError lists all unknown passes and all options that do not fit.
        """
        elements = syntax.parse(text)
        if len(elements) == 1 and elements[0].name == MODULE:
            elements = elements[0].nested or ()
        problems: list[str] = []
        steps = _resolve(elements, MODULE, problems)
        if problems:
            raise PipelineError("\n".join(problems))
        return Pipeline(tuple(steps))

    @staticmethod
    def of(*passes: Pass) -> "Pipeline":
        """The pipeline of `passes`, each on the op that it is made for."""
        return Pipeline(tuple(PipelineStep(p, p.anchor) for p in passes))

    def __add__(self, other: "Pipeline") -> "Pipeline":
        return Pipeline(self.steps + other.steps)

    def __str__(self) -> str:
        elements: list[syntax.Element] = []
        for step in self.steps:
            element = step.element()
            if step.anchor == MODULE:
                elements.append(element)
            elif elements and elements[-1].name == step.anchor and (nested := elements[-1].nested):
                elements[-1] = syntax.Element(step.anchor, nested=(*nested, element))
            else:
                elements.append(syntax.Element(step.anchor, nested=(element,)))
        return f"{MODULE}({syntax.render(elements)})"


class Observer(Protocol):
    """An observer of the program between passes: printers, progress, dumps."""

    def before(self, step: PipelineStep, module: ir.Module) -> None: ...

    def after(self, step: PipelineStep, module: ir.Module, changed: bool) -> None: ...


@remembering()
def run_pipeline(
    module: ir.Module,
    pipeline: "str | Pipeline",
    *,
    report: Report | None = None,
    verify_each: bool = True,
    observers: Sequence[Observer] = (),
    check_rewrites: bool = False,
    fuel: Fuel | None = None,
    find_changes: bool = True,
    keep_copies: bool = True,
) -> ir.Module:
    """Run `pipeline` on `module`, in place, and return it.

    `report` collects timings and rewrites. With `check_rewrites` each rewrite that fires is
    evaluated on drawn inputs, before and after, and so is each pass whose rewrites cannot be:
    RewriteCheckError where one changes the result. `fuel` bounds how many rewrites fire. Without
    `find_changes`, which takes longer than to verify a large program, the report does not say which
    passes changed it; observers and checks need to know.
    PassError says which pass failed and carries a `reproducer`, unless without `keep_copies` there
    is no copy of the program from before that pass; errors of graphc that a pass raises on purpose
    keep their own type.
    """
    if isinstance(pipeline, str):
        pipeline = Pipeline.parse(pipeline)
    looks = find_changes or bool(observers) or check_rewrites
    copies = keep_copies or check_rewrites
    run = _Run(
        module, pipeline, report or Report(), verify_each, observers, check_rewrites, fuel, looks,
        copies,
    )  # fmt: skip
    with module.context, ir.Location.unknown():
        graph.Graph.load()
        for index in range(len(pipeline.steps)):
            run.step(index)
    return module


class _Run:
    def __init__(
        self,
        module: ir.Module,
        pipeline: Pipeline,
        report: Report,
        verify_each: bool,
        observers: Sequence[Observer],
        check_rewrites: bool,
        fuel: Fuel | None,
        finds_changes: bool,
        keeps_copies: bool,
    ):
        self.fuel = fuel
        self.module = module
        self.pipeline = pipeline
        self.report = report
        self.verify_each = verify_each
        self.observers = observers
        self.checker = PassChecker(report) if check_rewrites else None
        self.finds_changes = finds_changes
        self.keeps_copies = keeps_copies
        self.fingerprint: int | None = None
        self.ops = 0
        """The number of ops of the program with this fingerprint."""
        self.backup: Any = None

    def step(self, index: int) -> None:
        step = self.pipeline.steps[index]
        if (
            self.keeps_copies and self.backup is None
        ):  # the program, or a copy of it, from before this pass
            self.backup = self.module.operation.clone(ip=False)
        if self.finds_changes and self.fingerprint is None:
            self._take_fingerprint()
        for observer in self.observers:
            observer.before(step, self.module)
        start = time.perf_counter()
        try:
            state = self._apply(step)
            seconds = time.perf_counter() - start
            changed = self._has_changed(step.pass_, state)
            if changed is not False and self.verify_each:
                self._verify(step)
            if changed and self.checker is not None:
                self.checker.check(step.pass_, self.backup, self.module)
        except GraphcError as error:
            if isinstance(error, PassError):
                error.pass_name = error.pass_name or step.pass_.name
                error.reproducer = error.reproducer or self._reproducer(index)
            raise
        except Exception as error:
            message = f"pass '{step.pass_.name}' failed: {_described(error)}"
            raise PassError(message, step.pass_.name, self._reproducer(index)) from error
        self.report.passes.append(PassRecord(step.pass_.name, seconds, changed))
        if changed is not False:
            self.backup = None
        for observer in self.observers:
            observer.after(step, self.module, bool(changed))

    def _has_changed(self, pass_: Pass, state: PassState) -> bool | None:
        """Return whether the program changed since the last call; None without `finds_changes`."""
        if not self.finds_changes:
            return None
        # The greedy driver erases dead ops, too.
        idle = pass_.only_rewrites and not state.fired
        if idle and op_count(self.module.operation) == self.ops:
            return False
        before = self.fingerprint
        self._take_fingerprint()
        return self.fingerprint != before

    def _take_fingerprint(self) -> None:
        self.fingerprint, self.ops = fingerprint(self.module), op_count(self.module.operation)

    def _apply(self, step: PipelineStep) -> PassState:
        state = PassState(self.report, step.pass_.name, self.checker is not None, self.fuel)
        with collected_errors(self.module.context) as errors:
            for op in _anchored(self.module, step.anchor):
                step.pass_.run(op, state)
        if errors:
            name = step.pass_.name
            raise PassError(f"pass '{name}' failed: {'; '.join(errors)}", name)
        return state

    def _verify(self, step: PipelineStep) -> None:
        try:
            self.module.operation.verify()
        except ir.MLIRError as error:
            name = step.pass_.name
            message = f"pass '{name}' made an invalid program: {error_text(error)}"
            raise PassError(message, name) from error

    def _reproducer(self, index: int) -> Reproducer | None:
        if self.backup is None:
            return None
        rest = Pipeline(self.pipeline.steps[index:])
        return Reproducer(self.backup, str(rest))


def verify(module: ir.Module) -> None:
    """Check `module` against the rules of its dialects. VerificationError says what is broken."""
    try:
        with module.context:
            module.operation.verify()
    except ir.MLIRError as error:
        raise VerificationError(error_text(error)) from error


def fingerprint(module: ir.Module) -> int:
    """A hash that tells programs of a process apart; the data of large constants counts by name
    only."""
    return hash(distinct_text(module))


def distinct_text(module: ir.Module) -> str:
    """A text that tells programs apart; the data of large constants counts by name only."""
    return module.operation.get_asm(
        print_generic_op_form=True,
        large_elements_limit=64,
        use_local_scope=True,  # at local scope MLIR leaves the data of blobs alone
    )


def _anchored(module: ir.Module, anchor: str) -> list[Any]:
    if anchor == MODULE:
        return [module.operation.opview]
    return [op for op in module.body.operations if op.operation.name == anchor]


def _described(error: Exception) -> str:
    if isinstance(error, ir.MLIRError):
        return error_text(error)
    return f"{type(error).__name__}: {error}"


def _resolve(
    elements: Iterable[syntax.Element], anchor: str, problems: list[str]
) -> list[PipelineStep]:
    steps: list[PipelineStep] = []
    for element in elements:
        if element.nested is not None:
            if anchor != MODULE:
                problems.append(f"'{element.name}' cannot be nested in '{anchor}'")
            steps += _resolve(element.nested, element.name, problems)
            continue
        pass_class = find_pass(element.name)
        if pass_class is None:
            step = _resolve_mlir(element, anchor, problems)
        else:
            step = _resolve_ours(pass_class, element, anchor, problems)
        steps += [step] if step is not None else []
    return steps


def _resolve_ours(
    pass_class: type[Pass], element: syntax.Element, anchor: str, problems: list[str]
) -> PipelineStep | None:
    if anchor not in (MODULE, pass_class.anchor):
        problems.append(f"'{element.name}' runs on {pass_class.anchor}, not on {anchor}")
        return None
    given = pass_options(pass_class.name, syntax.parse_options(element.options))
    try:
        pass_ = options.build(pass_class, given)
    except options.OptionError as error:
        problems += [f"{element.name}: {problem}" for problem in error.problems]
        return None
    return PipelineStep(pass_, pass_class.anchor)


def _resolve_mlir(element: syntax.Element, anchor: str, problems: list[str]) -> PipelineStep | None:
    problem = mlir_pass_problem(element.name, element.options)
    if problem is None:
        return PipelineStep(MlirPass(element.name, element.options), anchor)
    if problem == "unknown":
        hint = options.suggestion(element.name, [*known_passes(), *MLIR_PASSES])
        problems.append(f"no pass '{element.name}'{hint}")
    else:
        problems.append(f"{element.name}: {problem}")
    return None
