"""Compile time of a model after another one with the same kernels was compiled.

::

    python -m graphc.benchmarks.shared_kernels models/resnet50.onnx models/bert.onnx

Each model is modified at its end, and compiled in turns without a cache, with an empty one, and
with one that holds the results of the original. Seconds are CPU time, of this process and the
backend together.
"""

import argparse
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

import onnx
from onnx import helper

from ..compiler.compile import compile_to_file
from .measure import cpu_seconds
from .table import add_dim_option, dims_of, format_table

TARGET = "cpu"


def with_another_end(model: onnx.ModelProto) -> onnx.ModelProto:
    """`model` with a Relu of its first output as its only output; changed in place."""
    output = model.graph.output[0]
    node = helper.make_node("Relu", [output.name], ["other_end"], name="other_end")
    model.graph.node.append(node)
    output.name = "other_end"
    del model.graph.output[1:]
    return model


def report(path: Path, runs: int, threads: int, dims: Mapping[str, int]) -> str:
    """Measure `path` `runs` times; return the report."""
    with tempfile.TemporaryDirectory() as folder:
        kept, changed = Path(folder, "kept"), Path(folder, "changed.onnx")
        onnx.save(with_another_end(onnx.load(path)), changed)
        compile_to_file(path, TARGET, threads=threads, dims=dims, cache=kept)
        rows: dict[str, list[float]] = {}
        stages: dict[str, str] = {}
        for number in range(runs):
            warm = Path(folder, f"warm{number}")
            shutil.copytree(kept, warm)
            caches = {"none": False, "empty": Path(folder, f"cold{number}"), "of the other": warm}
            for name, cache in caches.items():
                seconds, stages[name] = _measure(changed, threads, dims, cache)
                rows.setdefault(name, []).append(seconds)
                if cache:
                    shutil.rmtree(cache)
    base = rows["none"]
    table = [
        (
            name,
            stages[name],
            " ".join(f"{each:.2f}" for each in seconds),
            f"{median(mine / theirs for mine, theirs in zip(seconds, base, strict=True)):.2f}",
        )
        for name, seconds in rows.items()
    ]
    return f"{path.name}\n\n{format_table(('cache', 'stage', 'CPU s', 'ratio'), table)}"


def _measure(
    path: Path, threads: int, dims: Mapping[str, int], cache: Path | bool
) -> tuple[float, str]:
    start = cpu_seconds()
    _, made = compile_to_file(path, TARGET, threads=threads, dims=dims, cache=cache)
    return cpu_seconds() - start, made.passes[-1].name


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Measure what sharing kernels saves.")
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL.onnx")
    parser.add_argument("--runs", type=int, default=3, metavar="N")
    parser.add_argument("--threads", type=int, default=1, metavar="N")
    add_dim_option(parser)
    options = parser.parse_args(arguments)
    for path in options.models:
        print(report(path, options.runs, options.threads, dims_of(options)), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
