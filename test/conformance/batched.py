"""Compilation of cases in batches, so that the per-module work of the backend is done once for
many."""

import io
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import onnx

from graphc.compiler.bytecode import BYTECODE_VERSION
from graphc.compiler.driver import Compilation, begin, compiled_parts, make_options, plan_parts
from graphc.compiler.options import Options
from graphc.errors import BackendError, UnsupportedModelError
from graphc.mlir import ir
from graphc.passes.infra.report import Report
from graphc.runtime import compile_module
from graphc.tools.program_files import new_context
from harness.isolation import Lost, call_each

from .case_outcome import CaseOutcome
from .cases import SuiteCase
from .run_cases import GRACE, ONE_THREAD, compile_case, outcome_of, run_cases

SIZE = 40
"""Number of cases in a batch. It halves the time of compiling them one by one; larger batches gain
nothing."""

_batches: list[Sequence[SuiteCase]] = []
"""The batches by number, as the forked processes of the pool find them."""


def in_batches(cases: Sequence[SuiteCase], size: int) -> list[Sequence[SuiteCase]]:
    """`cases` in order, in batches of `size`. Neighbouring cases share kernels, which are compiled
    once."""
    return [cases[first : first + size] for first in range(0, len(cases), size)]


def compile_cases(
    cases: Sequence[SuiteCase], *, jobs: int, timeout: float, target: str, host: bool
) -> Iterator[CaseOutcome]:
    """Compile `cases` in batches, `jobs` of these at a time; yield outcomes as they arrive.

    A batch that crashes, hangs or does not compile is compiled case by case, each within `timeout`
    seconds.
    """
    _batches[:] = in_batches(cases, SIZE)
    call = partial(_compile_numbered, timeout, target, host)
    limit = SIZE * (timeout + GRACE)
    lost: list[SuiteCase] = []
    for number, ended in call_each(call, range(len(_batches)), jobs=jobs, timeout=limit):
        if isinstance(ended, Lost):
            lost += _batches[number]
        else:
            yield from ended
    yield from run_cases(lost, jobs=jobs, timeout=timeout, target=target, host=host, execute=False)


def _compile_numbered(timeout: float, target: str, host: bool, number: int) -> list[CaseOutcome]:
    return compile_batched(_batches[number], timeout, target=target, host=host)


def compile_batched(
    cases: Sequence[SuiteCase], timeout: float, *, target: str, host: bool, keep: Path | None = None
) -> list[CaseOutcome]:
    """Compile all `cases` as one module within `timeout` seconds; return their outcomes.

    If that fails, each case is compiled by itself. With `keep`, a folder, the compiled module is
    written there.
    """
    start = time.perf_counter()
    options = make_options(
        target, threads=1, cache=False, extra_flags=ONE_THREAD, host=host
    )  # fmt: skip
    programs: list[bytes] = []
    outcomes = [
        outcome_of(case, timeout, partial(_lower, case, options, programs)) for case in cases
    ]
    try:
        contents = compile_module(
            join(programs),
            target=replace(options.target, fallback=()),  # fallbacks apply to single cases only
            threads=options.threads,
            extra_flags=options.extra_flags,
            timeout=timeout,
        )
    except BackendError:
        alone = partial(compile_case, timeout=timeout, target=target, host=host, keep=keep)
        return [
            alone(case) if outcome.passed else outcome
            for case, outcome in zip(cases, outcomes, strict=True)
        ]
    if keep is not None:
        (keep / cases[0].name).write_bytes(contents)
    seconds = (time.perf_counter() - start) / len(cases)
    return [replace(outcome, seconds=seconds) for outcome in outcomes]


def _lower(case: SuiteCase, options: Options, programs: list[bytes]) -> bool:
    """Add the program of `case` for the backend to `programs`; return whether it covers the whole
    case."""
    whole = True
    for each in _compiled_pieces(case.model(), options):
        if isinstance(each, bytes):
            whole = False
            continue
        each.graph_passes()
        each.lower()
        with each.handed_over() as path:
            programs.append(path.read_bytes())
    return whole


def _compiled_pieces(model: onnx.ModelProto, options: Options) -> Iterable[Compilation | bytes]:
    try:
        return [begin(model, options)]
    except UnsupportedModelError:
        if not options.host:
            raise
    report = Report()
    return compiled_parts(plan_parts(model, options, report), options, report)


def join(programs: Iterable[bytes]) -> bytes:
    """One program with all functions of `programs`, whose symbols get a number as a prefix."""
    with new_context(allow_unregistered=True), ir.Location.unknown():
        joint = ir.Module.create()
        for number, program in enumerate(dict.fromkeys(programs)):
            module = ir.Module.parse(program)
            for op in list(module.body.operations):
                _number(op.operation, number, module)
                joint.body.append(op)
        contents = io.BytesIO()
        joint.operation.write_bytecode(contents, BYTECODE_VERSION)
    return contents.getvalue()


def _number(op: ir.Operation, number: int, module: ir.Module) -> None:
    """Prefix the symbol that `op` of `module` defines, and its uses, with `number`."""
    name = ir.StringAttr(op.attributes["sym_name"]).value
    new = f"case{number}_{name}"
    if op.name == "stream.executable":
        _rename_kernel(op, name, new, module)
    ir.SymbolTable.replace_all_symbol_uses(name, new, module.operation)
    ir.SymbolTable.set_symbol_name(op, new)


def _rename_kernel(executable: ir.Operation, name: str, new: str, module: ir.Module) -> None:
    """Rename the entry point and the function of a kernel too: linking for CUDA crashes at two of
    one name."""

    def rename(op: ir.Operation) -> ir.WalkResult:
        if op.name == "stream.executable.export":
            op.attributes["function_ref"] = ir.FlatSymbolRefAttr.get(new)
        if op.name in ("stream.executable.export", "func.func"):
            op.attributes["sym_name"] = ir.StringAttr.get(new)
        return ir.WalkResult.ADVANCE

    def redirect(op: ir.Operation) -> ir.WalkResult:
        if op.name == "flow.dispatch":
            entry = ir.SymbolRefAttr(ir.ArrayAttr(op.attributes["entry_points"])[0])
            if entry.value == [name, name]:
                entry = ir.SymbolRefAttr.get([name, new])
                op.attributes["entry_points"] = ir.ArrayAttr.get([entry])
        return ir.WalkResult.ADVANCE

    executable.walk(rename)
    module.operation.walk(redirect)
