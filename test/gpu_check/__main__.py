"""The command line of the compiling half; the archive itself is that of the other half."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from conformance.environment import describe_run
from graphc.tools.cli import OK, run_tool
from harness.isolation import default_jobs

from .prepare import describe, prepare


def main(arguments: Sequence[str] | None = None) -> int:
    """Write an archive."""
    options = _parser().parse_args(arguments)
    return run_tool(lambda: _prepare(options))


def _prepare(options: argparse.Namespace) -> int:
    if options.here:
        print(describe_run(options.target, executed=True, host=False).device, flush=True)
    path = options.output or Path(f"gpu-check-{options.target.replace(':', '-')}.pyz")
    manifest = prepare(
        path,
        options.target,
        matching=options.matching if options.suite else None,
        models=options.models,
        precisions=options.precisions.split(","),
        jobs=options.jobs,
        timeout=options.timeout,
        cache=options.cache,
    )
    print(*describe(manifest, path), sep="\n")
    return OK


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m gpu_check",
        description="Compile ONNX's test suite and models into one file, "
        "which Python runs where the device is.",
    )
    parser.add_argument("--target", required=True, help="what to compile for: cuda, vulkan:ampere")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="the archive (gpu-check-TARGET.pyz)"
    )
    parser.add_argument(
        "-k", dest="matching", default="", metavar="REGEX", help="only cases whose names match"
    )
    parser.add_argument("--no-suite", dest="suite", action="store_false", help="models alone")
    parser.add_argument(
        "--models",
        nargs="*",
        type=Path,
        default=[],
        metavar="FILE.onnx",
        help="models, with all their weights (see python -m graphc.benchmarks.models)",
    )
    parser.add_argument(
        "--precisions", default="f32", metavar="NAMES", help="of models: f32,f16,bf16 (f32)"
    )
    parser.add_argument("-j", "--jobs", type=int, default=default_jobs(), metavar="N")
    parser.add_argument("--timeout", type=float, default=120, metavar="SECONDS", help="per case")
    parser.add_argument("--cache", metavar="FOLDER", help="keep what was compiled")
    parser.add_argument(
        "--here", action="store_true", help="stop at once where the device is not on this machine"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
