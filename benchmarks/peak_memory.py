"""Peak memory of a run, predicted and measured, for several execution orders.

    python -m graphc.benchmarks.peak_memory models/bert.onnx --dim batch=1 --dim seq=128
    python -m graphc.benchmarks.peak_memory --branches 8

A row is a model in the order of the passes or of ``graph-minimize-peak-memory``, and with a setting
of the backend: ``concurrency`` is its default, ``memory`` and ``order`` are
``--iree-stream-partitioning-favor=min-peak-memory`` and ``debug``, which runs dispatches one after
the other in program order.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from onnx import helper, numpy_helper

from ..compiler.driver import begin, main_function, make_options
from ..debugging.random_feeds import make_feeds
from ..passes.analysis.arena import allocation
from ..passes.analysis.liveness import liveness
from ..runtime import load
from .table import add_dim_option, dims_of, format_table

FAVOURS = {"concurrency": "max-concurrency", "memory": "min-peak-memory", "order": "debug"}
ROWS, GROWN = 256, 4096


def branches(count: int) -> Any:
    """A model with independent branches, each of which grows 256 KiB to 4 MiB and shrinks it."""
    rng = np.random.default_rng(0)
    grow, shrink, weights = [], [], []
    for i in range(count):
        for name, shape in ((f"u{i}", (ROWS, GROWN)), (f"d{i}", (GROWN, 8))):
            values = rng.standard_normal(shape).astype(np.float32)
            weights.append(numpy_helper.from_array(values, name))
        grow.append(helper.make_node("MatMul", ["x", f"u{i}"], [f"a{i}"], name=f"grow{i}"))
        shrink.append(helper.make_node("MatMul", [f"a{i}", f"d{i}"], [f"s{i}"], name=f"shrink{i}"))
    shrunk = [f"s{i}" for i in range(count)]
    join = helper.make_node("Concat", shrunk, ["y"], name="join", axis=1)
    ends = (("x", [ROWS, ROWS]), ("y", [ROWS, 8 * count]))
    infos = [[helper.make_tensor_value_info(name, 1, shape)] for name, shape in ends]
    graph = helper.make_graph([*grow, *shrink, join], "branches", *infos, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)


def measure(
    name: str, model: Any, dims: Mapping[str, int], favours: Sequence[str]
) -> Iterator[tuple[str, ...]]:
    """A row for each order and backend setting: the largest live set, the predicted allocation and
    the measured one, in MiB, and the ratio of the latter two."""
    for scheduled in (False, True):
        for favour in favours:
            alive, predicted, measured = peaks(model, dims, scheduled, FAVOURS[favour])
            yield (
                name,
                "graph-minimize-peak-memory" if scheduled else "as it is",
                favour,
                *(f"{peak / 2**20:.2f}" for peak in (alive, predicted, measured)),
                f"{predicted / measured:.2f}",
            )


def peaks(
    model: Any, dims: Mapping[str, int], scheduled: bool, favour: str
) -> tuple[int, int, int]:
    """Bytes of a run of `model`: largest live set, predicted allocation, measured allocation."""
    flags = (f"--iree-stream-partitioning-favor={favour}",)
    options = make_options("cpu", dims=dims, threads=1, extra_flags=flags)
    if scheduled:
        pipeline = f"{options.pipeline},graph-minimize-peak-memory"
        options = make_options("cpu", dims=dims, threads=1, pipeline=pipeline, extra_flags=flags)
    compilation = begin(model, options)
    compilation.graph_passes()
    function = main_function(compilation.module)
    found = liveness(function, dims, cpu=options.target.cpu)
    predicted = allocation(function, found, side_by_side=favour != FAVOURS["order"])
    compilation.lower()
    with load(compilation.backend(), threads=1) as compiled:
        feeds = make_feeds(compiled.inputs, {}, dims, 0)
        return found.peak, predicted, compiled.peak_memory(feeds)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Predict and measure the memory of runs.")
    parser.add_argument("models", nargs="*", type=Path, metavar="MODEL.onnx")
    parser.add_argument("--branches", type=int, metavar="N", help="a model of N wide branches, too")
    add_dim_option(parser)
    parser.add_argument("--favour", choices=FAVOURS, action="append", help="by default all")
    options = parser.parse_args(arguments)
    rows = []
    models = [(path.stem, str(path)) for path in options.models]
    if options.branches:
        models.append((f"{options.branches} branches", branches(options.branches)))
    for name, model in models:
        rows += measure(name, model, dims_of(options), options.favour or [*FAVOURS])
    headings = (
        "model",
        "order",
        "backend favours",
        "alive MiB",
        "predicted MiB",
        "measured MiB",
        "ratio",
    )
    print(format_table(headings, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
