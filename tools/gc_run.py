"""gc-run: run a model, compiled or not, on given or random inputs."""

import argparse
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import GraphcError, UsageError
from . import target_listings
from .cli import FAILED, OK, exit_with, print_note, run_tool
from .cli_options import (
    add_compile_options,
    add_tuning_options,
    compile_arguments,
    tuning_arguments,
)
from .explain_error import add_explain_option
from .feeds import add_input_options, binding, feeds_for, feeds_of
from .progress import ProgressLine
from .target_listings import PrintAndStop
from .value_files import apart, show_value, value_bytes

EPILOG = """\
examples:
  gc-run model.onnx --compare=onnxruntime
  gc-run model.vmfb --input x=@x.npy --output y=@y.npy
  gc-run model.vmfb --dim batch=8 --repeat 100
Inputs that are not given are drawn at random (see --seed); --dim also sizes these.
"""


COMPILED = (".vmfb", ".gcm")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tool on `argv` (the process's arguments by default); returns the exit code."""
    return run_tool(lambda: _run(_parser().parse_args(argv)))


def _run(flags: argparse.Namespace) -> int:
    targets = dict(map(binding, flags.output))
    if flags.repeat < 1:
        raise UsageError("--repeat takes a positive number")
    if flags.compare is not None and Path(flags.model).suffix in COMPILED:
        raise UsageError("--compare needs the .onnx model, not a compiled one")
    with _open(flags) as model:
        if not model.target.startswith("cpu"):
            print_note(f"runs on {model.target}")
        feeds = feeds_for(model, flags)
        names = [spec.name for spec in model.outputs]
        unknown = sorted(set(targets) - set(names))
        if unknown:
            raise UsageError(f"no output {', '.join(unknown)} (outputs: {', '.join(names)})")
        results = dict(zip(names, model.run(None, feeds), strict=True))
        for name, value in results.items():
            print(show_value(name, value))
        for name, path in targets.items():
            _write(path, name, results[name])
        if flags.repeat > 1:
            print(_timing(lambda: model.run(None, feeds), flags.repeat))
    if flags.compare is None:
        return OK
    return _compare(flags, feeds, results)


def _open(flags: argparse.Namespace) -> Any:
    if Path(flags.model).suffix in COMPILED:
        from ..runtime import load

        return load(flags.model, target=flags.target, threads=flags.threads, host=flags.host)
    from ..compile_model import compile

    arguments = {**compile_arguments(flags), **tuning_arguments(flags)}
    if flags.tune is not False:
        arguments["feeds"] = partial(feeds_of, flags=flags, fixed=arguments["dims"])
    with ProgressLine() as line:
        return compile(flags.model, progress=line.show, **arguments)


def _write(path: Path, name: str, value: Any) -> None:
    from ..runtime.files.output_file import write_atomically

    write_atomically(path, memoryview(value_bytes(name, value, path)))


def _timing(call: Any, repeat: int) -> str:
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    low, middle, high = (1000 * float(np.quantile(times, q)) for q in (0, 0.5, 1))
    return f"{repeat} runs: median {middle:.3f} ms (min {low:.3f}, max {high:.3f})"


def _compare(
    flags: argparse.Namespace, feeds: Mapping[str, Any], results: Mapping[str, Any]
) -> int:
    """Print the largest differences from ONNX Runtime; return FAILED if beyond the tolerance."""
    try:
        import onnxruntime
    except ImportError as error:
        raise GraphcError("--compare=onnxruntime needs the package onnxruntime") from error
    session = onnxruntime.InferenceSession(flags.model, providers=["CPUExecutionProvider"])
    expected = session.run(list(results), dict(feeds))
    code = OK
    for (name, ours), theirs in zip(results.items(), expected, strict=True):
        difference = apart(ours, theirs)
        within = difference <= flags.tolerance
        code = code if within else FAILED
        verdict = "" if within else f"  > {flags.tolerance:g}"
        print(f"{name}: largest difference from ONNX Runtime {difference:.2e}{verdict}")
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gc-run",
        description="Run a model.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_explain_option(parser)
    parser.add_argument("model", help="an .onnx model, or a .vmfb or .gcm that gc-compile wrote")
    add_input_options(parser)
    parser.add_argument(
        "--output",
        action="append",
        default=[],
        metavar="NAME=@FILE.npy",
        help="keep an output; sequences and maps in a .json file",
    )
    parser.add_argument(
        "--repeat", type=int, default=1, metavar="N", help="run N times and time it"
    )
    parser.add_argument(
        "--compare", choices=("onnxruntime",), help="compare results; exit code 1 when they differ"
    )
    parser.add_argument(
        "--tolerance", type=float, default=1e-4, help="for --compare, relative (1e-4)"
    )
    parser.add_argument(
        "--list-devices",
        action=PrintAndStop,
        text=target_listings.devices,
        help="show the devices of this machine, and stop",
    )
    add_compile_options(parser)
    add_tuning_options(parser)
    return parser


if __name__ == "__main__":
    exit_with(main)
