"""Command-line options that the tools which compile have in common."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import InvalidDimError


def add_graph_options(parser: argparse.ArgumentParser) -> Any:
    """Add the options that say what happens to the graph; the result is their group."""
    group = parser.add_argument_group("compilation")
    group.add_argument(
        "--target",
        default="cpu",
        help="where it runs: cpu, cpu:x86-64-v3, vulkan, ...; several with commas (cpu)",
    )
    group.add_argument(
        "--dim", action="append", default=[], metavar="NAME=SIZE", help="fix a symbolic dimension"
    )
    group.add_argument(
        "--pass-pipeline", metavar="PIPELINE", help="graph passes instead of the default ones"
    )
    group.add_argument(
        "--precision",
        default="f32",
        help="f32; strict: nothing but the order of sums differs from the model; f16 or bf16: "
        "computed in these, sums in f32 (f32)",
    )
    group.add_argument(
        "--no-host",
        dest="host",
        action="store_false",
        help="refuse models with nodes that cannot be compiled",
    )
    group.add_argument(
        "--check-rewrites",
        action="store_true",
        help="evaluate each rewrite that fires, before and after, on drawn inputs",
    )
    group.add_argument(
        "--load-plugin",
        metavar="PLUGIN",
        action="append",
        default=[],
        help="a Python file or module that registers passes",
    )
    return group


def add_compile_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that `compile_arguments` reads."""
    group = add_graph_options(parser)
    group.add_argument("--threads", type=int, help="workers (default: the usable processors)")
    group.add_argument(
        "--opt-level", type=int, choices=range(4), default=3, help="backend effort (3)"
    )
    group.add_argument(
        "--data-tiling",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="repack matrix operands into tiles (default: decided per model)",
    )
    group.add_argument(
        "--backend-flag",
        action="append",
        default=[],
        metavar="FLAG",
        help="hand FLAG to the backend compiler as it is",
    )
    group.add_argument("--timeout", type=float, metavar="SECONDS", help="give the backend up after")
    group.add_argument(
        "--save-temps", type=Path, metavar="DIR", help="keep the program after every stage"
    )
    group.add_argument(
        "--cache",
        type=Path,
        metavar="DIR",
        help="keep what is compiled in DIR (default: $GRAPHC_CACHE or the user's cache folder)",
    )
    group.add_argument(
        "--no-cache",
        dest="cache",
        action="store_const",
        const=False,
        help="compile anew, and keep nothing",
    )


def add_comparison_options(parser: argparse.ArgumentParser) -> None:
    """Add what says how results are compared, or what is asked instead."""
    add_reference_options(parser)
    parser.add_argument(
        "--predicate",
        metavar="COMMAND",
        help="a shell command that exits with 0 where the file {} shows what is wrong",
    )
    parser.add_argument(
        "--predicate-timeout",
        type=float,
        metavar="SECONDS",
        help="what takes longer does not show it",
    )


def add_reference_options(parser: argparse.ArgumentParser) -> None:
    """Add what says what results are compared with, and how far they may lie apart."""
    parser.add_argument(
        "--reference",
        choices=("onnxruntime", "onnx", "nodes"),
        help="ONNX Runtime without its optimisations, ONNX's evaluator, or node by node the first "
        "of these that can (default: the first that is installed)",
    )
    parser.add_argument(
        "--tolerance",
        type=float,
        help="allowed difference, relative to the largest magnitude (1e-4 for float32, ...)",
    )


def compile_arguments(flags: argparse.Namespace) -> dict[str, Any]:
    """Keyword arguments of `graphc.compile` from parsed options; plugins are loaded."""
    load_plugins(flags)
    return {
        "target": (flags.target or "cpu").split(","),
        "dims": parse_dims(flags.dim),
        "threads": flags.threads,
        "pipeline": flags.pass_pipeline,
        "precision": flags.precision,
        "opt_level": flags.opt_level,
        "data_tiling": flags.data_tiling,
        "extra_flags": tuple(flags.backend_flag),
        "timeout": flags.timeout,
        "save_temps": flags.save_temps,
        "cache": flags.cache,
        "host": flags.host,
        "check_rewrites": flags.check_rewrites,
    }


def load_plugins(flags: argparse.Namespace) -> None:
    """Load what ``--load-plugin`` names."""
    if flags.load_plugin:
        from ..passes.registry import load_plugin

        for plugin in flags.load_plugin:
            load_plugin(plugin)


def parse_dims(texts: Sequence[str], flag: str = "--dim") -> dict[str, int]:
    """``["batch=4"]`` as ``{"batch": 4}``; `flag` had them. Raises InvalidDimError."""
    dims: dict[str, int] = {}
    for text in texts:
        name, _, number = text.partition("=")
        try:
            size = int(number)
        except ValueError:
            size = -1
        if not name or size < 0:
            raise InvalidDimError(f"{flag} {text}: write NAME=SIZE with a whole number from 0 on")
        if dims.setdefault(name, size) != size:
            raise InvalidDimError(f"{flag} {text}: {name} is given as {dims[name]}, too")
    return dims
