"""Ablation study: the gain from each optimisation, from models compiled with and without it.

::

    python -m graphc.benchmarks.ablation models/resnet50.onnx models/bert.onnx

A cell is the time without the pass over the time with it, measured in turns, as the median over
rounds: 1.3 means that the model takes 1.3 times as long without. Passes that change nothing are
skipped (-), and so is ``bf16x3=amx`` if the CPU lacks AMX. Rows such as that are options of
`cpu-select-matmul-kernels`.
"""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from unittest.mock import patch

import graphc
from graphc.compiler.compile import compile_to_file
from graphc.compiler.driver import make_options
from graphc.errors import GraphcError
from graphc.passes.infra.report import Report
from graphc.passes.pipelines import LOWERINGS

from .feeds import example_inputs
from .measure import MeasurementPlan, in_turns
from .table import add_dim_option, dims_of, format_table

OPTIMISATIONS = (
    "graph-recognize",
    "graph-fold-batch-norm",
    "graph-merge-matmuls",
    "graph-convert-layout",
    "graph-fused-attention",
    "graph-winograd",
    "graph-direct-conv",
    "cpu-select-matmul-kernels",
    "graph-fuse-epilogue",
    "cpu-fuse-depthwise",
    "graph-fuse-broadcasts",
    "bf16x3=amx",
    "allow-strassen=true",
    "work-stealing-dispatch",
)
"""Optional passes of the default pipelines, and options of one of them."""
OFF = {"amx": "none", "true": "false"}
"""Value of an option that switches it off, by the value that switches it on."""


def without(pipeline: str, name: str) -> str:
    """The text of `pipeline` without the pass `name`, or with that option off."""
    option, given, value = name.partition("=")
    if given:
        return pipeline.replace(name, f"{option}={OFF[value]}")
    kept = [step for step in pipeline.split(",") if step.partition("{")[0] != name]
    return ",".join(kept)


def ablate(
    path: Path, threads: int, plan: MeasurementPlan, dims: Mapping[str, int], names: Sequence[str]
) -> dict[str, str]:
    """The ratio for each of the optimisations `names`, as text."""
    feed = example_inputs(path, dims=dims)
    pipeline = make_options("cpu", threads=threads).pipeline
    compile_ = partial(compile_to_file, str(path), "cpu", threads=threads, cache=False)
    whole, report = compile_()
    programs, cells = {}, {}
    for name in names:
        if not (name in pipeline if "=" in name else _may_change(report, name)):
            cells[name] = "-"
            continue
        print(f"{path.name}: without {name}", file=sys.stderr, flush=True)
        lowering = without(",".join(LOWERINGS["cpu"]), name).split(",")
        try:
            with patch.dict(LOWERINGS, {"cpu": lowering}):
                programs[name], _ = compile_(pipeline=without(pipeline, name))
        except GraphcError as error:
            cells[name] = f"fails: {type(error).__name__}"
            continue
        if programs[name] == whole:  # a pass for which no changes were recorded
            cells[name] = "-"
            del programs[name]
    with ExitStack() as stack:
        runs = {}
        for name, contents in {"": whole, **programs}.items():
            model = stack.enter_context(graphc.load(contents, threads=threads))
            runs[name] = partial(model.run, None, feed)
        timings = in_turns(runs, plan)
    return cells | {name: f"{timings[name].ratio(timings['']):.2f}" for name in programs}


def _may_change(report: Report, name: str) -> bool:
    """Return whether the pass `name` changed the program, or this was not recorded."""
    return any(record.name == name and record.changed is not False for record in report.passes)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Time models without each optimisation.")
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL.onnx")
    parser.add_argument(
        "--only", nargs="+", choices=OPTIMISATIONS, default=OPTIMISATIONS, metavar="NAME",
        help="rows of the table",
    )  # fmt: skip
    parser.add_argument("--threads", type=int, default=os.cpu_count(), metavar="N")
    parser.add_argument("--rounds", type=int, default=MeasurementPlan.rounds, metavar="N")
    parser.add_argument(
        "--burst", type=float, default=MeasurementPlan.burst_seconds, metavar="SECONDS"
    )
    add_dim_option(parser)
    options = parser.parse_args(arguments)
    plan = MeasurementPlan(rounds=options.rounds, burst_seconds=options.burst)
    columns = {
        path.stem: ablate(path, options.threads, plan, dims_of(options), options.only)
        for path in options.models
    }
    rows = [(name, *(cells[name] for cells in columns.values())) for name in options.only]
    print(format_table(("without", *columns), rows))


if __name__ == "__main__":
    main()
