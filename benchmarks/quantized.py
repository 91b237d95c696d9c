"""Time quantized models: graphc, the peers, and graphc on the f32 original, in turns.

::

    python -m graphc.benchmarks.quantized                 # all cases
    python -m graphc.benchmarks.quantized resnet50 bert

The models are exported, and quantized by ONNX Runtime's quantizer on random inputs: ``qdq`` with
static ranges, u8 activations and i8 weights with a scale for each feature, ``dynamic`` with ranges
that are computed in each call. Ratios are time over time; below 1, graphc is faster. The
differences are those from ONNX Runtime without optimisation, relative to the largest element, for
graphc and for ONNX Runtime with all optimisations: weights and inputs are random, so they tell
where rounding differs, and nothing of accuracy. The geometric means come last.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .feeds import example_inputs
from .measure import MeasurementPlan, largest_difference
from .models import DEFAULT_FOLDER, model_path
from .peers import Terms
from .turns import optional, parser_of, report, take_turns

HEADER = (
    "model",
    "form",
    "/best peer",
    "/f32",
    "graphc ms",
    "f32 ms",
    "peers ms",
    "difference",
    "of ONNX Runtime",
)
PEERS = ("onnxruntime", "openvino")
QUANTIZED, FLOAT = "graphc", "f32"
CALIBRATION_FEEDS = 4

CASES = (
    ("resnet50", "qdq"),
    ("resnet50-b8", "qdq"),
    ("mobilenetv2", "qdq"),
    ("efficientnet-b0", "qdq"),
    ("bert", "qdq"),
    ("vit", "qdq"),
    ("bert", "dynamic"),
    ("gpt2", "dynamic"),
)


@dataclass(frozen=True)
class QuantizedRow:
    """The times of a quantized model in milliseconds, and its differences."""

    model: str
    form: str
    quantized: float
    original: float | None
    peers: Mapping[str, float]
    to_best_peer: float | None
    to_original: float | None
    difference: float
    difference_of_peer: float | None

    def cells(self) -> tuple[str, ...]:
        """The cells of the row, in the order of `HEADER`."""
        peers = " ".join(f"{self.peers[name]:.4g}" for name in PEERS if name in self.peers)
        return (
            self.model, self.form,
            optional(self.to_best_peer, ".2f"), optional(self.to_original, ".2f"),
            f"{self.quantized:.4g}", optional(self.original, ".4g"), peers,
            optional(self.difference, ".1e"), optional(self.difference_of_peer, ".1e"),
        )  # fmt: skip


def quantized_path(name: str, form: str, folder: Path = DEFAULT_FOLDER) -> Path:
    """The path of model `name` quantized in `form`; it is made if the file is missing.

    ``bert-dynamic`` is an architecture, with dynamic sizes.
    """
    path = folder / f"{name}-int8-{form}.onnx"
    if not path.exists():
        source = model_path(name, folder=folder)
        _FORMS[form](source, path)
    return path


def _quantize_static(source: Path, path: Path) -> None:
    from onnxruntime import quantization

    class Feeds(quantization.CalibrationDataReader):
        """Random inputs, one after the other."""

        def __init__(self) -> None:
            self._left = iter(range(CALIBRATION_FEEDS))

        def get_next(self) -> Any:
            seed = next(self._left, None)
            return None if seed is None else example_inputs(source, seed)

    with prepared(source, path) as ready:
        quantization.quantize_static(
            ready, path, Feeds(), quant_format=quantization.QuantFormat.QDQ, per_channel=True,
            activation_type=quantization.QuantType.QUInt8,
            weight_type=quantization.QuantType.QInt8,
        )  # fmt: skip


def _quantize_dynamic(source: Path, path: Path) -> None:
    from onnxruntime import quantization

    with prepared(source, path) as ready:
        quantization.quantize_dynamic(
            ready, path, weight_type=quantization.QuantType.QInt8, per_channel=True
        )


@contextmanager
def prepared(source: Path, path: Path) -> Iterator[Path]:
    """A file beside `path` with the shapes that quantizers want, while the context lasts."""
    from onnxruntime.quantization.shape_inference import quant_pre_process

    ready = path.with_suffix(".prepared.onnx")
    try:
        quant_pre_process(source, ready, skip_symbolic_shape=True)
        yield ready
    finally:
        ready.unlink(missing_ok=True)


_FORMS: Mapping[str, Callable[[Path, Path], None]] = {
    "qdq": _quantize_static,
    "dynamic": _quantize_dynamic,
}


def _unoptimised(path: Path, feed: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """The outputs of ONNX Runtime without optimisation."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return [np.asarray(y) for y in session.run(None, dict(feed))]


def measure(name: str, form: str, threads: int, plan: MeasurementPlan) -> QuantizedRow:
    """Measure one model."""
    path = quantized_path(name, form)
    feed = example_inputs(path)
    entrants = {QUANTIZED: ("graphc", path), FLOAT: ("graphc", model_path(name))}
    entrants |= {peer: (peer, path) for peer in PEERS}
    turns = take_turns(entrants, feed, Terms(threads), plan, required=QUANTIZED)
    timings, best, truth = turns.timings, turns.best(PEERS), _unoptimised(path, feed)
    mine = timings[QUANTIZED]

    def difference(name: str) -> float | None:
        results = turns.results.get(name)
        return None if results is None else max(map(largest_difference, results, truth))

    return QuantizedRow(
        name,
        form,
        mine.median,
        timings[FLOAT].median if FLOAT in timings else None,
        {name: timings[name].median for name in PEERS if name in timings},
        mine.ratio(timings[best]) if best else None,
        mine.ratio(timings[FLOAT]) if FLOAT in timings else None,
        difference(QUANTIZED) or 0.0,
        difference(PEERS[0]),
    )


def _rows(chosen: Sequence[str], threads: int, plan: MeasurementPlan) -> Iterator[QuantizedRow]:
    for name, form in CASES:
        if not chosen or any(part in f"{name}-{form}" for part in chosen):
            yield measure(name, form, threads, plan)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    options = parser_of("Time quantized models.").parse_args(arguments)
    plan = MeasurementPlan(rounds=options.rounds, burst_seconds=options.burst)
    rows = _rows(options.cases, options.threads, plan)
    report(HEADER, rows, {"best peer": "to_best_peer", "f32 original": "to_original"}, options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
