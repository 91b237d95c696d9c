"""gc-reduce: reduce a model to a minimal test case, in a folder that reproduces the problem."""

import argparse
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import UsageError
from .cli import OK, exit_with, run_tool
from .cli_options import (
    add_comparison_options,
    add_compile_options,
    load_plugins,
    repeated_flags,
)
from .explain_error import add_explain_option
from .failure_search import command_of, log_of, search_arguments
from .feeds import add_input_options

PROGRAMS = (".mlir", ".mlirbc")
EPILOG = """\
examples:
  gc-reduce model.onnx -o reduced
  gc-reduce model.onnx -o reduced --input x=@x.npy --tolerance 1e-3
  gc-reduce model.onnx -o reduced --predicate 'gc-compile {} -o out.vmfb 2>&1 | grep -q "stack"'
  gc-reduce model.onnx -o reduced --predicate 'python is_slow.py {}'
  gc-reduce program.mlir -o reduced --pass-pipeline=graph-simplify
What the model shows as it is must still show: wrong results, the error that it does not compile
with, or what a command says by exiting with 0. The folder gets model.onnx, its inputs, and
reproduce.sh. A program in MLIR shows what a pipeline does to it: fail, or change its results on
inputs drawn at random; the pipeline may be that of a reproducer. Exit code 1 when there is nothing
to show.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tool on `argv` (the process's arguments by default); returns the exit code."""
    return run_tool(lambda: _run(_parser().parse_args(argv)))


def _run(flags: argparse.Namespace) -> int:
    if Path(flags.model).suffix in PROGRAMS:
        return _reduce_program(flags)
    found = _reduce(flags)
    script = found.save(flags.output, _arguments(flags), _comparison(flags), flags.predicate or "")
    print(found)
    print(f"to reproduce: {shlex.quote(str(script))}")
    return OK


def _reduce(flags: argparse.Namespace) -> Any:
    from ..debugging import reduce

    return reduce(**search_arguments(flags), command=command_of(flags))


def _reduce_program(flags: argparse.Namespace) -> int:
    """Reduce an MLIR program; the problem is defined by a pipeline or a predicate command."""
    from ..debugging.program_reduction import PipelineCheck, pipeline_command, reduce_program
    from ..passes.infra.pipeline import Pipeline
    from ..passes.infra.reproducer import pipeline_of
    from . import program_files

    load_plugins(flags)
    data = program_files.read_input(flags.model)
    source = (
        data
        if data.startswith(program_files.BYTECODE_MAGIC)
        else program_files.decode(data, flags.model)
    )
    module = program_files.parse(source, flags.model, program_files.new_context())
    pipeline = flags.pipeline
    if pipeline is None and isinstance(source, str):
        pipeline = pipeline_of(source)
    if flags.predicate is not None:
        command = flags.predicate
        check: Any = command_of(flags)
    elif pipeline is not None:
        Pipeline.parse(pipeline)
        check = PipelineCheck(pipeline, flags.tolerance)
        command = pipeline_command(pipeline, [_absolute(each) for each in flags.load_plugin])
    else:
        raise UsageError("a program shows something with --pass-pipeline, or by a --predicate")
    found = reduce_program(module, check, log_of(flags))
    script = found.save(flags.output, command)
    print(found)
    print(f"to reproduce: {shlex.quote(str(script))}")
    return OK


def _arguments(flags: argparse.Namespace) -> list[str]:
    """The flags that determine the compilation, for the command of the reproducer."""
    plugins = [f"--load-plugin={_absolute(plugin)}" for plugin in flags.load_plugin]
    return repeated_flags(flags) + plugins


def _comparison(flags: argparse.Namespace) -> list[str]:
    given = {"--tolerance": flags.tolerance, "--reference": flags.reference}
    return [f"{name}={value}" for name, value in given.items() if value is not None]


def _absolute(plugin: str) -> str:
    return str(Path(plugin).absolute()) if plugin.endswith(".py") else plugin


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gc-reduce",
        description="Make a model as small as it can be and still show what is wrong with it.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_explain_option(parser)
    parser.add_argument("model", help="an .onnx model, or a program of graph ops in MLIR")
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="DIR", help="the folder"
    )
    parser.add_argument("--quiet", action="store_true", help="print the result alone")
    add_comparison_options(parser)
    add_input_options(parser)
    add_compile_options(parser)
    return parser


if __name__ == "__main__":
    exit_with(main)
