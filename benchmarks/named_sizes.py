"""Time models with named sizes: graphc, the peers, and graphc with the sizes fixed, in turns.

::

    python -m graphc.benchmarks.named_sizes                 # all cases
    python -m graphc.benchmarks.named_sizes resnet50 bert

A case is an exported model whose inputs get names for some of their sizes, such as the batch; every
runtime but the last compiles it with the names. Ratios are time over time; below 1, graphc with
named sizes is faster. The geometric means come last.
"""

import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx

from ..errors import UsageError
from .feeds import example_inputs
from .measure import MeasurementPlan, largest_difference
from .models import model_path
from .peers import Terms
from .turns import optional, parser_of, report, take_turns

HEADER = (
    "model",
    "sizes",
    "/best peer",
    "/fixed",
    "graphc ms",
    "fixed ms",
    "peers ms",
    "difference",
)
PEERS = ("onnxruntime", "openvino")
NAMED, FIXED = "graphc", "fixed"


@dataclass(frozen=True)
class NamedCase:
    """A model, the axes of its inputs that get a name, and the sizes to time."""

    model: str
    axes: Mapping[int, str]
    sizes: Sequence[Mapping[str, int]]


def _images(*sizes: tuple[int, int, int]) -> list[dict[str, int]]:
    return [{"batch": n, "height": h, "width": w} for n, h, w in sizes]


BATCHES = [{"batch": n} for n in (1, 3, 8)]
IMAGES = _images((1, 224, 224), (1, 320, 256), (2, 160, 192))
PAGES = _images((1, 640, 640), (1, 384, 640), (2, 320, 416))
LINES = [{"batch": n, "width": width} for n, width in ((1, 320), (1, 160), (6, 480))]
TEXTS = [{"batch": n, "seq": length} for n, length in ((1, 128), (1, 37), (4, 64))]

CASES = (
    NamedCase("resnet50", {0: "batch"}, BATCHES),
    NamedCase("resnet50", {0: "batch", 2: "height", 3: "width"}, IMAGES),
    NamedCase("mobilenetv2", {0: "batch"}, BATCHES),
    NamedCase("mobilenetv2", {0: "batch", 2: "height", 3: "width"}, IMAGES),
    NamedCase("efficientnet-b0", {0: "batch"}, BATCHES),
    NamedCase("efficientnet-b0", {0: "batch", 2: "height", 3: "width"}, IMAGES),
    NamedCase("detector-dynamic", {}, PAGES),
    NamedCase("text-detector-dynamic", {}, PAGES),
    NamedCase("text-recognizer-dynamic", {}, LINES),
    NamedCase("vit-dynamic", {}, BATCHES),
    NamedCase("bert-dynamic", {}, TEXTS),
    NamedCase("gpt2-dynamic", {}, TEXTS),
)


@dataclass(frozen=True)
class NamedRow:
    """The times of a case at some sizes, in milliseconds."""

    model: str
    sizes: str
    named: float
    fixed: float | None
    peers: Mapping[str, float]
    to_best_peer: float | None
    to_fixed: float | None
    difference: float | None

    def cells(self) -> tuple[str, ...]:
        """The cells of the row, in the order of `HEADER`."""
        peers = " ".join(f"{self.peers[name]:.4g}" for name in PEERS if name in self.peers)
        return (
            self.model, self.sizes,
            optional(self.to_best_peer, ".2f"), optional(self.to_fixed, ".2f"),
            f"{self.named:.4g}", optional(self.fixed, ".4g"), peers,
            optional(self.difference, ".1e"),
        )  # fmt: skip


def with_sizes(model: onnx.ModelProto, axes: Mapping[int, str | int]) -> onnx.ModelProto:
    """A copy of `model` whose inputs have these names or sizes along `axes`; names that its inputs
    have already are those of `axes` that are numbers."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    initial = {tensor.name for tensor in model.graph.initializer}
    for value in changed.graph.input:
        if value.name in initial:
            continue
        for axis, size in axes.items():
            dim = value.type.tensor_type.shape.dim[axis]
            if isinstance(size, int):
                dim.dim_value = size
            else:
                dim.dim_param = size
    del changed.graph.value_info[:]
    for output in changed.graph.output:
        for dim in output.type.tensor_type.shape.dim:
            dim.Clear()
    return changed


def fixed(model: onnx.ModelProto, sizes: Mapping[str, int]) -> onnx.ModelProto:
    """A copy of `model` with `sizes` in place of the names."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    for value in (*changed.graph.input, *changed.graph.output):
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param in sizes:
                dim.dim_value = sizes[dim.dim_param]
    return changed


def _check_names(case: NamedCase, model: onnx.ModelProto) -> None:
    """Raise `UsageError` if the inputs of `model` lack a name of the sizes of `case`."""
    names = {dim.dim_param for each in model.graph.input for dim in each.type.tensor_type.shape.dim}
    for name in case.sizes[0]:
        if name not in names:
            raise UsageError(f"{case.model}: no axis of an input is named '{name}'")


def measure(
    case: NamedCase, threads: int, plan: MeasurementPlan, folder: Path
) -> Iterator[NamedRow]:
    """Measure a case: a row for each of its sizes."""
    source = onnx.load(model_path(case.model))
    named = with_sizes(source, case.axes) if case.axes else source
    _check_names(case, named)
    path = folder / "named.onnx"
    onnx.save(named, path)
    for sizes in case.sizes:
        static = folder / "fixed.onnx"
        onnx.save(fixed(named, sizes), static)
        feed = example_inputs(path, dims=sizes)
        files = {NAMED: ("graphc", path), FIXED: ("graphc", static)}
        files |= {peer: (peer, path) for peer in PEERS}
        yield _row(case, sizes, files, feed, Terms(threads), plan)


def _row(
    case: NamedCase,
    sizes: Mapping[str, int],
    files: Mapping[str, tuple[str, Path]],
    feed: Mapping[str, np.ndarray],
    terms: Terms,
    plan: MeasurementPlan,
) -> NamedRow:
    turns = take_turns(files, feed, terms, plan, required=NAMED)
    timings, best = turns.timings, turns.best(PEERS)
    mine, reference = timings[NAMED], turns.results.get(PEERS[0])
    return NamedRow(
        case.model,
        " ".join(f"{name}={size}" for name, size in sizes.items()),
        mine.median,
        timings[FIXED].median if FIXED in timings else None,
        {name: timings[name].median for name in PEERS if name in timings},
        mine.ratio(timings[best]) if best else None,
        mine.ratio(timings[FIXED]) if FIXED in timings else None,
        None
        if reference is None
        else max(map(largest_difference, turns.results[NAMED], reference)),
    )


def _rows(chosen: Sequence[str], threads: int, plan: MeasurementPlan) -> Iterator[NamedRow]:
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            if not chosen or any(part in case.model for part in chosen):
                yield from measure(case, threads, plan, Path(folder))


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    options = parser_of("Time models with named sizes.").parse_args(arguments)
    plan = MeasurementPlan(rounds=options.rounds, burst_seconds=options.burst)
    rows = _rows(options.cases, options.threads, plan)
    report(HEADER, rows, {"best peer": "to_best_peer", "sizes fixed": "to_fixed"}, options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
