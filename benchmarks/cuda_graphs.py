"""Runs of compiled models on CUDA as one graph, against IREE's runtime, in turns in one process.

::

    python -m graphc.benchmarks.cuda_graphs bert.vmfb resnet50.vmfb

Inputs are drawn by the types in each file. Times are in ms, from arrays to arrays, and with
inputs and outputs that stay on the device. Both ways run the same kernels, so the results must be
equal bit for bit.
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from ..debugging.random_feeds import make_feeds
from ..runtime import CompiledModel, load
from ..runtime.execution.cuda_graph_session import SWITCH
from ..runtime.metadata import TensorSpec
from .measure import MeasurementPlan, in_turns
from .table import format_table

WAYS = {"iree": "0", "graph": "1"}
"""Values of the environment variable `SWITCH`."""
HEADER = ("model", "arrays: iree", "graph", "device: iree", "graph", "equal")


def open_both(path: Path, stack: ExitStack) -> dict[str, CompiledModel]:
    """The model of a file, loaded to run in each way."""
    models: dict[str, CompiledModel] = {}
    for way, value in WAYS.items():
        os.environ[SWITCH] = value
        models[way] = stack.enter_context(load(path, target="cuda"))
    del os.environ[SWITCH]
    return models


def measure(path: Path, plan: MeasurementPlan) -> tuple[str, ...]:
    """The row of a file."""
    with ExitStack() as stack:
        models = open_both(path, stack)
        specs = [s for s in models["graph"].inputs if isinstance(s, TensorSpec)]
        feeds = make_feeds(specs, {}, {}, 0)
        arrays = in_turns(dict(_calls(models, feeds, on_device=False)), plan)
        there = in_turns(dict(_calls(models, feeds, on_device=True)), plan)
        equal = all(_are_equal(*pair) for pair in _results(models, feeds))
        times = [timing[way].median for timing in (arrays, there) for way in WAYS]
        return (path.stem, *(f"{time:.3f}" for time in times), str(equal))


def _calls(
    models: Mapping[str, CompiledModel], feeds: Mapping[str, np.ndarray], *, on_device: bool
) -> Iterator[tuple[str, Callable[[], object]]]:
    for way, model in models.items():
        given = {n: model.to_device(v) if on_device else v for n, v in feeds.items()}
        yield way, lambda m=model, g=given: m.run(None, g, on_device=on_device)


def _results(
    models: Mapping[str, CompiledModel], feeds: Mapping[str, np.ndarray]
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Pairs of results that must be equal: from arrays, from tensors, and from a mixture."""
    expected = models["iree"].run(None, feeds)
    there = {name: models["graph"].to_device(value) for name, value in feeds.items()}
    other = {name: np.flip(value, 0).copy() for name, value in feeds.items()}
    for given, on_device in ((feeds, False), (there, True), (there, False), (feeds, True)):
        kept = models["graph"].run(None, given, on_device=on_device)
        models["graph"].run(None, other, on_device=on_device)
        yield from zip(expected, map(np.asarray, kept), strict=True)


def _are_equal(first: np.ndarray, second: np.ndarray) -> bool:
    return first.dtype == second.dtype and first.tobytes() == second.tobytes()


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Time CUDA graphs against IREE's runtime.")
    parser.add_argument("models", nargs="+", type=Path, metavar="FILE.vmfb")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--burst", type=float, default=0.1, metavar="SECONDS")
    options = parser.parse_args(arguments)
    plan = MeasurementPlan(options.rounds, options.burst)
    rows: list[tuple[str, ...]] = []
    for path in options.models:
        rows.append(measure(path, plan))
        print(" ".join(rows[-1]), file=sys.stderr, flush=True)
    print(format_table(HEADER, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
