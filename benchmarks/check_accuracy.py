"""Check graphc's results against ONNX Runtime's.

::

    python -m graphc.benchmarks.check_accuracy models/*.onnx

The figure is the largest difference over the largest value of the output. The exit status is 1
when one of them is above the tolerance.
"""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .feeds import example_inputs
from .measure import largest_difference
from .peers import PeerError, load_graphc, load_onnxruntime
from .table import add_dim_option, dims_of, format_table

TOLERANCE = 1e-4


@dataclass(frozen=True)
class Finding:
    """How far one output is off, or why there is nothing to compare."""

    model: str
    output: str
    difference: float
    note: str = ""


def check(path: Path, threads: int, seed: int, dims: Mapping[str, int]) -> list[Finding]:
    """Run the model at `path` in both and compare every output."""
    import onnx

    feed = example_inputs(path, seed, dims)
    names = [output.name for output in onnx.load(path, load_external_data=False).graph.output]
    expected = load_onnxruntime(path, threads).run(feed)
    try:
        results = load_graphc(path, threads).run(feed)
    except PeerError as error:
        return [Finding(path.name, "-", float("inf"), str(error).splitlines()[0])]
    return [
        Finding(path.name, name, largest_difference(result, reference))
        for name, result, reference in zip(names, results, expected, strict=True)
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Check results against ONNX Runtime's.")
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL.onnx")
    parser.add_argument("--tolerance", type=float, default=TOLERANCE, metavar="T")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), metavar="N")
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    add_dim_option(parser)
    options = parser.parse_args(arguments)
    findings: list[Finding] = []
    for path in options.models:
        findings += check(path, options.threads, options.seed, dims_of(options))
    rows = [
        (f.model, f.output, f"{f.difference:.2e}", _verdict(f, options.tolerance), f.note)
        for f in findings
    ]
    print(format_table(("model", "output", "difference", "verdict", "note"), rows))
    return 1 if any(finding.difference > options.tolerance for finding in findings) else 0


def _verdict(finding: Finding, tolerance: float) -> str:
    return "ok" if finding.difference <= tolerance else "TOO FAR"


if __name__ == "__main__":
    sys.exit(main())
