"""gc-opt: run passes over programs, as mlir-opt does."""

import argparse
import shlex
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import GraphcError, InvalidModelError, PassError, PipelineError, UsageError
from ..mlir import ir
from ..passes.infra import syntax
from ..passes.infra.pipeline import Pipeline, run_pipeline, verify
from ..passes.infra.printing import IrPrinter
from ..passes.infra.registry import load_plugin
from ..passes.infra.report import Report
from ..passes.infra.reproducer import pipeline_of
from . import expected_diagnostics, listings, program_files
from .cli import FAILED, OK, exit_with, print_error, print_note, run_tool
from .gc_opt_flags import make_parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tool on `argv` (the process's arguments by default); returns the exit code."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    parser = make_parser()
    return run_tool(lambda: _run(*parser.parse_known_args(arguments)))


def _run(flags: argparse.Namespace, rest: list[str]) -> int:
    for plugin in flags.load_plugin:
        load_plugin(plugin)
    if flags.list_passes:
        print(listings.passes())
        return OK
    if flags.show_dialects:
        print(listings.dialects())
        return OK
    files = [word for word in rest if word == "-" or not word.startswith("-")]
    if len(files) > 1:
        raise UsageError(f"one file at a time, not {' '.join(files)}")
    path = files[0] if files else "-"
    pipeline = _pipeline(flags, [word for word in rest if word not in files])
    data = program_files.read_input(path)
    if flags.run_reproducer:
        pipeline = _recorded_pipeline(data, path)
    return _Session(flags, path, pipeline).run(data)


def _pipeline(flags: argparse.Namespace, pass_flags: list[str]) -> Pipeline:
    """The pipeline of ``--pass-pipeline``, or of the pass flags."""
    if flags.pass_pipeline is not None:
        if pass_flags:
            raise UsageError(f"--pass-pipeline and {pass_flags[0]} exclude each other")
        return Pipeline.parse(flags.pass_pipeline)
    elements: list[syntax.Element] = []
    for flag in pass_flags:
        name, _, text = flag.lstrip("-").partition("=")
        elements.append(syntax.Element(name, text))
    try:
        return Pipeline.parse(syntax.render(elements))
    except PipelineError as error:
        raise PipelineError(f"{error}\n(--help lists the options of gc-opt itself)") from error


def _recorded_pipeline(data: bytes, path: str) -> Pipeline:
    text = pipeline_of(program_files.decode(data, path))
    if text is None:
        raise InvalidModelError(f"{path} is not a reproducer: it carries no pipeline")
    return Pipeline.parse(text)


@dataclass
class _Session:
    """One run over one file."""

    flags: argparse.Namespace
    path: str
    pipeline: Pipeline
    report: Report = field(default_factory=Report)

    def run(self, data: bytes) -> int:
        outputs: list[str | bytes] = []
        failed = False
        for part in self._parts(data):
            if self.flags.verify_diagnostics:
                failed |= not self._verify_diagnostics(part)
                continue
            try:
                outputs.append(self._process(part))
            except PassError as error:
                print_error(str(error))
                self._write_reproducer(error)
                failed = True
            except InvalidModelError as error:
                print_error(str(error))
                failed = True
        self._write(outputs)
        if self.flags.mlir_timing or self.flags.report:
            print(self.report, file=sys.stderr)
        return FAILED if failed else OK

    def _parts(self, data: bytes) -> list[str | bytes]:
        if self._is_onnx() or data.startswith(program_files.BYTECODE_MAGIC):
            if self.flags.split_input_file:
                raise UsageError("--split-input-file is for MLIR text")
            return [data]
        text = program_files.decode(data, self.path)
        return [*program_files.split(text)] if self.flags.split_input_file else [text]

    def _is_onnx(self) -> bool:
        return self.path.endswith(".onnx")

    def _process(self, part: str | bytes) -> str | bytes:
        """Parse, run and print one part."""
        context = program_files.new_context(self.flags.allow_unregistered_dialect)
        module = self._load(part, context)
        run_pipeline(
            module,
            self.pipeline,
            report=self.report,
            verify_each=self.flags.verify_each,
            observers=[self._printer()],
            check_rewrites=self.flags.check_rewrites,
        )
        if self.flags.verify_roundtrip:
            self._verify_roundtrip(module)
        if self.flags.emit_bytecode:
            return program_files.bytecode(module)
        return module.operation.get_asm(**self._asm_options()) + "\n"

    def _load(self, part: str | bytes, context: ir.Context) -> ir.Module:
        if self._is_onnx():
            assert isinstance(part, bytes)
            return program_files.import_model(self.path, part, context)
        return program_files.parse(part, self.path, context)

    def _verify_diagnostics(self, part: str | bytes) -> bool:
        if isinstance(part, bytes):
            raise UsageError("--verify-diagnostics is for MLIR text")
        produced: list[expected_diagnostics.Diagnostic] = []
        context = program_files.new_context(self.flags.allow_unregistered_dialect)

        def handle(diagnostic: Any) -> bool:
            produced.extend(expected_diagnostics.from_mlir(diagnostic))
            return True

        handler = context.attach_diagnostic_handler(handle)
        try:
            module = self._load(part, context)
            run_pipeline(module, self.pipeline, verify_each=self.flags.verify_each)
        except GraphcError as error:
            produced += expected_diagnostics.from_error(error)
        finally:
            handler.detach()
        expected = expected_diagnostics.expectations(part)
        problems = expected_diagnostics.mismatches(expected, produced, self.path)
        for problem in problems:
            print_error(problem)
        return not problems

    def _verify_roundtrip(self, module: ir.Module) -> None:
        """Raise InvalidModelError unless text and bytecode parse to the same program."""
        text = module.operation.get_asm(enable_debug_info=True)
        for form in (text, program_files.bytecode(module)):
            context = program_files.new_context(self.flags.allow_unregistered_dialect)
            again = program_files.parse(form, "the printed program", context)
            verify(again)
            if program_files.normal_form(again) != program_files.normal_form(module):
                kind = "text" if isinstance(form, str) else "bytecode"
                raise InvalidModelError(f"{self.path}: the program changes when read as {kind}")

    def _printer(self) -> IrPrinter:
        flags = self.flags
        return IrPrinter(
            before=flags.mlir_print_ir_before_all or flags.mlir_print_ir_before,
            after=flags.mlir_print_ir_after_all
            or flags.mlir_print_ir_after_change
            or flags.mlir_print_ir_after,
            only_changes=flags.mlir_print_ir_after_change,
            **self._asm_options(),
        )

    def _asm_options(self) -> dict[str, Any]:
        return {
            "enable_debug_info": self.flags.mlir_print_debuginfo,
            "large_elements_limit": self.flags.mlir_elide_elementsattrs_if_larger,
            "print_generic_op_form": self.flags.mlir_print_op_generic,
        }

    def _write_reproducer(self, error: PassError) -> None:
        if error.reproducer is None or self.flags.run_reproducer:
            return
        stem = self.flags.mlir_pass_pipeline_crash_reproducer
        if stem is None:
            stem = f"{tempfile.mkdtemp(prefix='gc-opt-')}/reproducer"
        command = error.reproducer.save(stem)
        plugins = "".join(f" --load-plugin={shlex.quote(p)}" for p in self.flags.load_plugin)
        print_note(f"to reproduce: {command}{plugins}")

    def _write(self, outputs: list[str | bytes]) -> None:
        if not outputs or self.flags.verify_diagnostics:
            return
        texts = [output for output in outputs if isinstance(output, str)]
        if len(texts) == len(outputs):
            program_files.write_output(f"{program_files.SEPARATOR}\n".join(texts), self.flags.o)
        elif len(outputs) == 1:
            program_files.write_output(outputs[0], self.flags.o)
        else:
            raise UsageError("--emit-bytecode writes one program; leave out --split-input-file")


if __name__ == "__main__":
    exit_with(main)
