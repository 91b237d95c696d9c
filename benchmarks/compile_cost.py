"""Cost of compilation: time up to the backend, and peak memory of the whole.

::

    python -m graphc.benchmarks.compile_cost models/gpt2.onnx

Every figure comes from a fresh process. Memory is the peak of the process and its backend together,
as a multiple of the weights in the file.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

import numpy as np
import onnx
from onnx import helper

from .memory import Usage, measure
from .table import add_dim_option, dims_of, format_table

STAGES = ("import", "graph passes", "lowering", "bytecode", "total")

LOWER = """
import json, sys, tempfile, time
from pathlib import Path
from graphc.compiler import driver
from graphc.compiler.bytecode import write_bytecode
path, dims = sys.argv[1], json.loads(sys.argv[2])
options = driver.make_options("cpu", dims=dims)
moments = [time.perf_counter()]
compilation = driver.begin(path, options)
moments.append(time.perf_counter())
compilation.graph_passes()
moments.append(time.perf_counter())
compilation.lower()
moments.append(time.perf_counter())
with tempfile.TemporaryDirectory() as folder:
    bytecode = Path(folder, "module.mlir")
    size = write_bytecode(compilation.module, bytecode)
moments.append(time.perf_counter())
seconds = [end - start for start, end in zip(moments, moments[1:])]
print(json.dumps({"bytes": size, "seconds": [*seconds, moments[-1] - moments[0]]}))
"""
COMPILE = """
import json, sys
import graphc
graphc.compile(sys.argv[1], target="cpu", dims=json.loads(sys.argv[2]), cache=False)
"""


def weight_bytes(path: Path) -> int:
    """Total size in bytes of the initialisers of the model at `path`."""
    initializers = onnx.load(path, load_external_data=False).graph.initializer
    return sum(
        int(np.prod(tensor.dims)) * helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize
        for tensor in initializers
    )


def run(program: str, path: Path, dims: Mapping[str, int]) -> Usage:
    """Run one of the programs above on `path` in a fresh interpreter."""
    return measure([sys.executable, "-c", program, str(path), json.dumps(dict(dims))])


def report(path: Path, runs: int, dims: Mapping[str, int]) -> str:
    """Measure `path` `runs` times; return the report."""
    weights = weight_bytes(path)
    lowered, compiled = [], []
    for _ in range(runs):
        lowered.append(run(LOWER, path, dims))
        compiled.append(run(COMPILE, path, dims))
    outcomes = [json.loads(usage.stdout) for usage in lowered]
    stages = zip(STAGES, zip(*(o["seconds"] for o in outcomes), strict=True), strict=True)
    rows = [(stage, f"{median(s):.2f}", f"{min(s):.2f}", f"{max(s):.2f}") for stage, s in stages]
    seconds = [usage.seconds for usage in compiled]
    rows.append(
        ("whole compile", f"{median(seconds):.2f}", f"{min(seconds):.2f}", f"{max(seconds):.2f}")
    )
    lines = [
        f"{path.name}: {weights / 2**20:.0f} MiB of weights, "
        f"{outcomes[0]['bytes'] / 2**20:.0f} MiB of bytecode",
        "",
        format_table(("stage", "median s", "best", "worst"), rows),
        "",
        f"peak memory until bytecode: {_peak(lowered, weights)}",
        f"peak memory, whole compile: {_peak(compiled, weights)}",
    ]
    return "\n".join(lines)


def _peak(usages: Sequence[Usage], weights: int) -> str:
    peak = max(usage.peak_bytes for usage in usages)
    relative = f", {peak / weights:.2f} times the weights" if weights else ""
    return f"{peak / 2**20:.0f} MiB{relative}"


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Measure what compiling costs.")
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL.onnx")
    parser.add_argument("--runs", type=int, default=3, metavar="N")
    add_dim_option(parser)
    options = parser.parse_args(arguments)
    for path in options.models:
        print(report(path, options.runs, dims_of(options)), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
