"""Check graphc's results against ONNX Runtime's.

::

    python -m graphc.benchmarks.check_accuracy models/*.onnx
    python -m graphc.benchmarks.check_accuracy --all

``--all`` checks all models in ``models/`` (see `graphc.benchmarks.models`), the models of the onnx
package, as they are and with random weights, and the digits model of the examples.

The figure is the largest difference over the largest value of the output. A half-precision model is
compared with the single-precision model next to it, if there is one: the next column has ONNX
Runtime's difference from that, and twice that is allowed.

Models with symbolic sizes are compiled once and run with several sizes; masks are also tested with
the last third hidden. The exit status is 1 if a difference is above the tolerance. Each model runs
in a process of its own, so that memory does not accumulate.
"""

import argparse
import gc
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .feeds import example_inputs
from .light import light_file, light_names, write_light_model
from .measure import largest_difference
from .models import DEFAULT_FOLDER
from .peers import Feed, PeerError, Terms, load_graphc, load_onnxruntime
from .table import add_dim_option, dims_of, format_table

TOLERANCE = 1e-4
HALF_TOLERANCE = 2e-2
HALF_SUFFIX = "-f16"
SIZES = ((1, 128), (2, 7), (3, 65), (1, 1))
"""Sizes of ``batch`` and ``seq``, for models in which they are symbolic."""


@dataclass(frozen=True)
class AccuracyCase:
    """One feed, and its name in the table."""

    name: str
    feed: Feed


@dataclass(frozen=True)
class AccuracyFinding:
    """The difference for one model and feed, over all outputs; or a note why there is none."""

    model: str
    case: str
    difference: float
    tolerance: float
    reference: str = "ONNX Runtime"
    theirs: float | None = None
    """Difference of ONNX Runtime from the reference, if that is another model."""
    note: str = ""

    @property
    def is_good(self) -> bool:
        return self.difference <= max(self.tolerance, 2 * (self.theirs or 0.0))


def cases(path: Path, seed: int, dims: Mapping[str, int]) -> Iterator[AccuracyCase]:
    """The feeds for the model at `path`."""
    sizes = [{**dict(zip(("batch", "seq"), pair, strict=True)), **dims} for pair in SIZES]
    seen = set()
    for given in sizes if _has_symbols(path) else [dict(dims)]:
        feed = example_inputs(path, seed, given)
        shapes = ", ".join("x".join(map(str, array.shape)) for array in feed.values())
        if shapes in seen:
            continue
        seen.add(shapes)
        yield AccuracyCase(shapes, feed)
        if any("mask" in name for name in feed):
            yield AccuracyCase(
                f"{shapes}, masked", {n: _hidden(n, array) for n, array in feed.items()}
            )


def _hidden(name: str, array: np.ndarray) -> np.ndarray:
    if "mask" not in name:
        return array
    seen = array.copy()
    seen[..., 2 * array.shape[-1] // 3 + 1 :] = 0
    return seen


def _has_symbols(path: Path) -> bool:
    import onnx

    inputs = onnx.load(path, load_external_data=False).graph.input
    return any(dim.dim_param for i in inputs for dim in i.type.tensor_type.shape.dim)


def check(path: Path, threads: int, seed: int, dims: Mapping[str, int]) -> list[AccuracyFinding]:
    """Run the model at `path` in both and compare every output, for every feed."""
    tried = list(cases(path, seed, dims))
    expected = _results(load_onnxruntime(path, Terms(threads)).run, tried)
    exact = _single_precision(path)
    wide = None
    if exact is not None:
        widened = [AccuracyCase(case.name, _widened(case.feed)) for case in tried]
        wide = _results(load_onnxruntime(exact, Terms(threads)).run, widened)
    gc.collect()
    tolerance = HALF_TOLERANCE if any(y.dtype == np.float16 for y in expected[0]) else TOLERANCE
    try:
        results = _results(load_graphc(path, Terms(threads)).run, tried)
    except PeerError as error:
        return [
            AccuracyFinding(
                path.name, "-", float("inf"), tolerance, note=str(error).splitlines()[0]
            )
        ]
    if wide is None:
        return [
            AccuracyFinding(path.name, case.name, _largest(mine, theirs), tolerance)
            for case, mine, theirs in zip(tried, results, expected, strict=True)
        ]
    return [
        AccuracyFinding(
            path.name, case.name, _largest(mine, right), tolerance,
            "the same in f32", _largest(theirs, right),
        )
        for case, mine, theirs, right in zip(tried, results, expected, wide, strict=True)
    ]  # fmt: skip


def _results(run, tried: Sequence[AccuracyCase]) -> list[list[np.ndarray]]:
    return [[np.array(y) for y in run(case.feed)] for case in tried]


def _single_precision(path: Path) -> Path | None:
    if not path.stem.endswith(HALF_SUFFIX):
        return None
    single = path.with_name(path.stem.removesuffix(HALF_SUFFIX) + path.suffix)
    return single if single.exists() else None


def _widened(feed: Feed) -> Feed:
    return {n: x.astype(np.float32) if x.dtype == np.float16 else x for n, x in feed.items()}


def _largest(results: Sequence[np.ndarray], references: Sequence[np.ndarray]) -> float:
    pairs = zip(results, references, strict=True)
    return max(largest_difference(mine, reference) for mine, reference in pairs)


def all_models(folder: Path) -> Iterator[Path]:
    """All models to check, small ones first; generated ones are written to `folder`."""
    yield DEFAULT_FOLDER.parent / "examples" / "digits.onnx"
    for name in light_names():
        yield light_file(name)
        yield write_light_model(name, folder / f"{name}-random.onnx")
    exported = (p for p in DEFAULT_FOLDER.glob("*.onnx") if not p.name.startswith("light_"))
    yield from sorted(exported, key=lambda path: path.stat().st_size)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Check results against ONNX Runtime's.")
    parser.add_argument("models", nargs="*", type=Path, metavar="MODEL.onnx")
    parser.add_argument("--all", action="store_true", help="check every model there is")
    parser.add_argument("--tolerance", type=float, metavar="T")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), metavar="N")
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    add_dim_option(parser)
    options = parser.parse_args(arguments)
    if options.all == bool(options.models):
        parser.error("name models, or use --all")
    findings: list[AccuracyFinding] = []
    with tempfile.TemporaryDirectory() as folder:
        for path in all_models(Path(folder)) if options.all else options.models:
            found = _apart(path, options.threads, options.seed, dims_of(options))
            worst = max(found, key=lambda finding: finding.difference / finding.tolerance)
            print(f"{path.name}: {worst.difference:.2e} {worst.note}", file=sys.stderr, flush=True)
            findings += found
    bound = options.tolerance
    if bound is not None:
        findings = [AccuracyFinding(**{**vars(f), "tolerance": bound}) for f in findings]
    print(_table(findings))
    return 0 if all(finding.is_good for finding in findings) else 1


def _apart(path: Path, threads: int, seed: int, dims: Mapping[str, int]) -> list[AccuracyFinding]:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(check, (path, threads, seed, dims))


def _table(findings: Sequence[AccuracyFinding]) -> str:
    rows = [
        (
            f.model,
            f.case,
            f"{f.difference:.2e}",
            "ok" if f.is_good else "TOO FAR",
            f.reference,
            "" if f.theirs is None else f"{f.theirs:.2e}",
            f.note,
        )
        for f in findings
    ]
    header = ("model", "inputs", "difference", "verdict", "from", "ONNX Runtime's", "note")
    return format_table(header, rows)


if __name__ == "__main__":
    sys.exit(main())
