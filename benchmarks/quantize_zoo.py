"""Quantise real models and measure their accuracy: ``make quantize-zoo``.

::

    python -m graphc.benchmarks.quantize_zoo -k magika

The models come from packages (`zoo`). Each is quantised twice by `graphc.quantize`, as a whole and
with `max_drop`, on inputs that are made here, and judged on others (`quantized_tasks`) as ONNX
Runtime computes them without its optimisations. Then graphc compiles the model and is judged, too.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import graphc
from graphc.debugging.onnx.evaluators import open_runtime, read_model
from graphc.errors import GraphcError
from graphc.quantization import QuantizationResult

from .quantized_tasks import CALIBRATION, TASKS, TEST, QuantizationTask
from .zoo.fetch import fetch


@dataclass(frozen=True)
class QuantizedModelRow:
    """The accuracy of a real model in f32, in 8 bits, and with the fewest nodes in f32."""

    model: str
    meaning: str
    max_drop: float
    score: float
    score_whole: float
    score_kept: float
    error_whole: float
    """Relative RMS error of the outputs."""
    error_kept: float
    kept: Sequence[str]
    candidates: int
    """Number of matmuls and convolutions that can be quantised."""
    worst: Sequence[str]
    """The least accurate nodes of the whole, with their SQNR in dB."""
    megabytes: Sequence[float]
    """In f32, in 8 bits, and with `max_drop`."""
    score_compiled: float
    """Score of the model with `max_drop`, compiled by graphc."""


def measure(task: QuantizationTask, path: Path) -> QuantizedModelRow:
    """Quantise the model of `task`, whose file is at `path`, and judge it."""
    model = read_model(path)
    outputs = [info.name for info in model.graph.output]
    original = open_runtime(model, outputs)
    judge, tune = (task.scorer(model, numbers, original) for numbers in (TEST, CALIBRATION))
    data = list(task.feeds(CALIBRATION))
    whole = graphc.quantize(path, data, progress=_show)
    kept = graphc.quantize(path, data, metric=tune, max_drop=task.max_drop, progress=_show)
    compiled = graphc.compile(kept.model)
    by_graphc = judge(lambda feed: dict(zip(outputs, compiled.run(None, feed), strict=True)))
    by_runtime = [judge(open_runtime(each.model, outputs)) for each in (whole, kept)]
    return QuantizedModelRow(
        task.zoo.name, task.meaning, task.max_drop, judge(original), *by_runtime,
        whole.error or 0.0, kept.error or 0.0, kept.kept, _candidates(whole), _worst(whole),
        [size / 1e6 for size in (whole.bytes_before, whole.bytes_after, kept.bytes_after)],
        by_graphc,
    )  # fmt: skip


def _candidates(result: QuantizationResult) -> int:
    kinds = ("Conv", "ConvTranspose", "Gemm", "MatMul")
    return sum(layer.quantized and layer.op_type.split()[0] in kinds for layer in result.layers)


def _worst(result: QuantizationResult) -> list[str]:
    return [f"{layer.node} ({layer.sqnr:.1f})" for layer in result.worst_first()[:3]]


def _show(event: Any) -> None:
    if event.done == event.total:
        print(f"  {event.stage}: {event.total}", file=sys.stderr, flush=True)


def page_lines(rows: Sequence[QuantizedModelRow]) -> Iterator[str]:
    """The table of docs/quantization.md."""
    yield (
        "| model | score | f32 | 8 bits | with `max_drop` | compiled by graphc | in f32 | "
        "error of the outputs | MB |"
    )
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for row in rows:
        kept = f"{len(row.kept)} of {row.candidates}"
        scores = (row.score, row.score_whole, row.score_kept, row.score_compiled)
        cells = (
            row.model, f"{row.meaning} (max_drop {row.max_drop:g})", *(f"{s:.1%}" for s in scores),
            kept, f"{row.error_whole:.1%}, {row.error_kept:.1%}",
            ", ".join(f"{size:.2f}" for size in row.megabytes),
        )  # fmt: skip
        yield f"| {' | '.join(cells)} |"
    for row in rows:
        yield from ("", f"**{row.model}**: least accurate in 8 bits: {', '.join(row.worst)}.")
        if row.kept:
            yield f"Kept in f32: {', '.join(row.kept)}."


def read_rows(path: Path) -> list[QuantizedModelRow]:
    """The rows of an earlier run."""
    return [QuantizedModelRow(**row) for row in json.loads(path.read_text(encoding="utf-8"))]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the chosen models and write what was found."""
    options = _parser().parse_args(arguments)
    rows = (
        {row.model: row for row in read_rows(options.summary)} if options.summary.exists() else {}
    )
    try:
        for task in TASKS:
            if re.search(options.matching, task.zoo.name):
                path = fetch(task.zoo.package, options.cache).path(task.zoo)
                row = measure(task, path)
                rows[row.model] = row
                print(*page_lines([row]), sep="\n", flush=True)
                _write(options.summary, rows.values())
    except GraphcError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _write(path: Path, rows: Iterable[QuantizedModelRow]) -> None:
    """Write `rows` in the order of the tasks."""
    order = [task.zoo.name for task in TASKS]
    listed = sorted(rows, key=lambda row: order.index(row.model))
    path.write_text(json.dumps([asdict(row) for row in listed], indent=1) + "\n", encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m graphc.benchmarks.quantize_zoo",
        description="Quantise real models, as packages ship them, and measure their accuracy.",
    )
    parser.add_argument("-k", dest="matching", default="", metavar="REGEX", help="only such models")
    parser.add_argument("--cache", type=Path, default=Path("build/zoo"), metavar="FOLDER")
    parser.add_argument(
        "--summary", type=Path, default=Path("docs/quantization.json"), metavar="FILE"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
