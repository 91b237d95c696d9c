"""Bisection of the compiler: the first pass, rewrite and nodes that break a model, or the op whose
lowering does.

The program after each pass is kept, and the first one that is wrong in numpy is found by bisection.
Within its pass, the number of rewrites that may fire is bisected. If all programs are right in
numpy, compiled code is wrong, and the search continues in `bisect_lowering`.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ..compiler.driver import begin, compile_with, main_function, make_options
from ..dialects.graph.interpreter import Recording
from ..errors import GraphcError, ReductionError
from ..mlir import ir
from ..passes.infra.base import Fuel
from ..passes.infra.pass_checking import first_difference
from ..passes.infra.pipeline import Pipeline, PipelineStep, run_pipeline
from ..runtime.targets.interpret import INTERPRET
from .bisect_lowering import LoweringSearch
from .bisection_result import BisectionResult, Log, PassSnapshot, first_wrong
from .checks import Check, Compiled, Interpreted, describe_error
from .onnx.reference import default_reference, reference_values
from .programs import body, clone
from .verification import ValueComparison, verify

UNLIMITED = 1 << 60


def bisect(
    model: Any,
    feeds: Mapping[str, Any] | Callable[[Any], Mapping[str, Any]],
    target: str = "cpu",
    *,
    reference: str | None = None,
    tolerance: float | None = None,
    predicate: Check | None = None,
    log: Log = lambda line: None,
    dims: Mapping[str, int] | None = None,
    threads: int | None = None,
    pipeline: str | None = None,
    **options: Any,
) -> BisectionResult:
    """Find the first step that takes the results of `model` beyond `tolerance`, or fails.

    `feeds` are arrays by input name, or a function that makes them for an object with ``inputs``
    and ``metadata``. `predicate` replaces the comparison of results as the check of a program: then
    only the graph passes are searched. Other arguments are those of `verify`.

    Raises ReductionError if nothing is wrong.
    """
    chosen = make_options(target, dims=dims, threads=threads, pipeline=pipeline, **options)
    search = _Bisection(begin(model, chosen).module, Pipeline.parse(chosen.pipeline), log)
    if predicate is not None:
        return search.graph(predicate) or _nothing()
    with compile_with(model, replace(chosen, target=INTERPRET, pipeline="")) as interpreted:
        given = feeds(interpreted) if callable(feeds) else feeds
        inputs, outputs = interpreted.bind(given), [spec.name for spec in interpreted.outputs]
    log(f"reference: {reference or default_reference()}")
    known = reference_values(model, given, outputs, reference or default_reference())
    found = search.graph(Interpreted(inputs, [known[name] for name in outputs], tolerance))
    if found is not None and not found.position:
        row = _first_wrong(model, given, reference, tolerance, dims)
        return replace(found, nodes=row.node, op=f"what {row.op_type} is imported as")
    if found is None and chosen.target.is_compiled:
        found = LoweringSearch(search.programs, Compiled(chosen, inputs, tolerance), log).run()
    return found or _nothing()


def _first_wrong(
    model: Any, feeds: Mapping[str, Any], reference: str | None, tolerance: float | None, dims: Any
) -> ValueComparison:
    found = verify(
        model, feeds, "interpret", reference=reference, tolerance=tolerance, dims=dims, unfused=True
    )
    if found.first is None:
        raise ReductionError("the model's outputs are wrong as imported, but none of its values is")
    return found.first


def _nothing() -> BisectionResult:
    raise ReductionError(
        "nothing is wrong: the results agree with the reference after every pass and compiled "
        "(another --tolerance, other inputs or --predicate may show it)"
    )


class _Snapshots:
    """An observer of the pipeline that keeps a copy of each changed program."""

    def __init__(self, module: Any):
        self.programs = [PassSnapshot(clone(module), None, 0)]
        self.finished = 0

    def before(self, step: PipelineStep, module: Any) -> None:
        del step, module

    def after(self, step: PipelineStep, module: Any, changed: bool) -> None:
        self.finished += 1
        if changed:
            self.programs.append(PassSnapshot(clone(module), step, self.finished))


class _Bisection:
    """The search among the graph passes."""

    def __init__(self, module: ir.Module, pipeline: Pipeline, log: Log):
        self._pipeline = pipeline
        self._log = log
        snapshots = _Snapshots(module)
        self._error: GraphcError | None = None
        try:
            run_pipeline(module, pipeline, observers=[snapshots])
        except GraphcError as error:
            self._error = error
        self._finished = snapshots.finished
        self.programs = snapshots.programs
        log(f"{len(pipeline.steps)} passes, {len(self.programs) - 1} of them change the program")

    def graph(self, check: Check) -> BisectionResult | None:
        """The result for the first pass after which `check` finds a problem, or that fails."""
        problem = check(self.programs[-1].module)
        self._log(f"after all passes: {problem or 'right'}")
        if problem is None:
            return None if self._error is None else self._failed(self._error)
        low, problem = first_wrong(
            self.programs, lambda each: check(each.module), self._log_program
        )
        if low == 0:
            return BisectionResult("import", problem)
        return self._within(self.programs[low - 1], self.programs[low], check, problem)

    def _log_program(self, program: PassSnapshot, problem: str | None) -> None:
        name = program.step.pass_.name if program.step else "import"
        self._log(f"after pass {program.position} ({name}): {problem or 'right'}")

    def _failed(self, error: GraphcError) -> BisectionResult:
        step = self._pipeline.steps[self._finished]
        rewrite, node = getattr(error, "rewrite", ""), getattr(error, "node", "")
        return BisectionResult(
            "graph passes", describe_error(error), step.pass_.name, self._finished + 1,
            self._text(self._finished + 1), rewrite, nodes=node,
        )  # fmt: skip

    def _within(
        self, before: PassSnapshot, after: PassSnapshot, check: Check, problem: str
    ) -> BisectionResult:
        """Find the rewrite within a pass: the first whose firing makes the problem occur."""
        assert after.step is not None
        step = after.step
        found = BisectionResult(
            "graph passes", problem, step.pass_.name, after.position, self._text(after.position),
            nodes=_nodes(before.module, after.module, check),
        )  # fmt: skip

        def run(count: int) -> tuple[Any, Fuel]:
            module, fuel = clone(before.module), Fuel(count)
            run_pipeline(module, Pipeline((step,)), fuel=fuel, verify_each=False)
            return module, fuel

        count = run(UNLIMITED)[1].spent
        none = check(run(0)[0])
        if not count or none:
            return found
        firings = range(count + 1)
        low, problem = first_wrong(firings, lambda n: check(run(n)[0]), self._log_firing)
        _, fuel = run(low)
        rewrite, node = fuel.last
        return replace(found, problem=problem, rewrite=rewrite, firing=low, nodes=node)

    def _log_firing(self, count: int, problem: str | None) -> None:
        self._log(f"with {count} rewrites in that pass: {problem or 'right'}")

    def _text(self, position: int) -> str:
        return str(Pipeline(self._pipeline.steps[:position]))


def _nodes(before: Any, after: Any, check: Check) -> str:
    """The nodes of the first op that differs, if `check` compares results; else empty."""
    if not isinstance(check, Interpreted):
        return ""
    evaluations = []
    for module in (before, after):
        evaluation = Recording(None)
        with module.context, ir.Location.unknown():
            evaluation.bind_arguments(body(module).arguments, check.inputs)
            evaluation.run(body(module))
        evaluations.append(evaluation)
    old, new = main_function(before), main_function(after)
    return first_difference(old, evaluations[0], new, evaluations[1])
