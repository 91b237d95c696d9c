"""Speed and error of a precision: models in f32 and in it, measured in turns.

::

    python -m graphc.benchmarks.precision models/bert.onnx models/vit.onnx --threads 1

The difference is the largest of all outputs, relative to the largest magnitude of each in f32.
"""

import argparse
import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

import graphc
from graphc.passes.pipelines import PRECISIONS

from .feeds import example_inputs
from .measure import MeasurementPlan, in_turns
from .table import add_dim_option, dims_of, format_table

COLUMNS = ("model", "f32 ms", "ms", "f32 / it", "difference")


def measure(
    path: Path, precision: str, threads: int, plan: MeasurementPlan, dims: Mapping[str, int]
) -> tuple[str, ...]:
    """A row of the table."""
    feed = example_inputs(path, dims=dims)
    models = {
        name: graphc.compile(str(path), threads=threads, precision=name)
        for name in ("f32", precision)
    }
    runs = {name: partial(model.run, None, feed) for name, model in models.items()}
    exact, rounded = (run() for run in runs.values())
    timings = in_turns(runs, plan)
    row = (
        path.stem,
        *(f"{timings[name].median:.1f}" for name in models),
        f"{timings['f32'].ratio(timings[precision]):.2f}",
        f"{max(map(difference, rounded, exact)):.1e}",
    )
    for model in models.values():
        model.close()
    return row


def difference(result: np.ndarray, truth: np.ndarray) -> float:
    """The largest difference, relative to the largest magnitude."""
    return float(np.abs(result - truth).max() / np.abs(truth).max())


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Time models in f32 and in another precision.")
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL.onnx")
    parser.add_argument("--precision", default="bf16", choices=[*PRECISIONS][1:])
    parser.add_argument("--threads", type=int, default=os.cpu_count(), metavar="N")
    parser.add_argument("--rounds", type=int, default=MeasurementPlan.rounds, metavar="N")
    add_dim_option(parser)
    options = parser.parse_args(arguments)
    plan, dims = MeasurementPlan(rounds=options.rounds), dims_of(options)
    rows = [
        measure(path, options.precision, options.threads, plan, dims) for path in options.models
    ]
    print(f"{options.precision}, {options.threads} threads")
    print(format_table(COLUMNS, rows))


if __name__ == "__main__":
    main()
