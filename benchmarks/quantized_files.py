"""Time ONNX files in quantized forms against their f32 originals, ONNX Runtime and OpenVINO.

::

    python -m graphc.benchmarks.quantized_files a.onnx b.onnx --results rows.jsonl
    python -m graphc.benchmarks.quantized_files --results rows.jsonl    # the table alone

Each file is quantized in each of `FORMS` by ONNX Runtime's tools, on random inputs, or converted to
f16. All take turns in this process, on one thread, and their CPU time is compared: ratios of lower
quartiles, so that other work on the machine shows little. Below 1, graphc is faster.

Differences are those from ONNX Runtime without optimisations, in *steps*: 255ths of the range of an
output. With random weights a rounding in an early layer grows, so they stand beside those of ONNX
Runtime with its optimisations; a fault shows as many times that. Sizes that are names are 1, or as
``--dim`` says; with ``--batch`` values are also compared where all of them are that number.

Rows are appended to the file of JSON lines, one by one, and a case that has a row there is not
measured again. Forms that leave a file as it is have no row. A file that a tool or a runtime
refuses has the reason instead of a time.
"""

import argparse
import json
import logging
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import geometric_mean

import numpy as np
import onnx

from .feeds import example_inputs, load_structure
from .measure import cpu_seconds
from .peers import Feed, Peer, PeerError, Terms, load_graphc, load_onnxruntime, load_openvino
from .quantized import prepared
from .quantized_kinds import FORMS as QUANTIZERS
from .quantized_kinds import Calibrated, Quantizer, is_quantized, take_turns
from .table import add_dim_option, dims_of, format_table, one_line
from .turns import optional

HEADER = ("file", "form", "/best peer", "/f32", "graphc ms", "f32 ms", "ORT ms", "OV ms",
          "steps", "of ORT", "strict", "compile s")  # fmt: skip
STEPS = 255
GRAPHC, FLOAT, RUNTIME, OPENVINO = "graphc", "f32", "onnxruntime", "openvino"
LOADERS = {RUNTIME: load_onnxruntime, OPENVINO: load_openvino}


def _half(keeps_io: bool) -> Quantizer:
    """A conversion to f16, of inputs and outputs too unless `keeps_io`."""

    def convert(source: Path, path: Path, data: Calibrated) -> None:
        from onnxruntime.transformers.float16 import convert_float_to_float16

        del data
        onnx.save(convert_float_to_float16(onnx.load(source), keep_io_types=keeps_io), path)

    return convert


FORMS: Mapping[str, Quantizer] = {
    "qdq": QUANTIZERS["u8s8"],
    "qoperator": QUANTIZERS["qlinear"],
    "dynamic": QUANTIZERS["dynamic"],
    "nbits4": QUANTIZERS["nbits4"],
    "f16": _half(keeps_io=False),
    "f16-f32-io": _half(keeps_io=True),
}
"""The tools that make each form."""
HALVES = ("f16", "f16-f32-io")
"""Forms of 16 bits."""

PEERS: Mapping[str, tuple[str, ...]] = {"qdq": (RUNTIME, OPENVINO)}
"""The peers of a form; of the others ONNX Runtime alone, whose operators they are."""


@dataclass(frozen=True)
class FileRow:
    """A file in a form: milliseconds by runtime, differences in steps, CPU seconds to compile."""

    file: str
    form: str
    milliseconds: Mapping[str, float] = field(default_factory=dict)
    steps: Mapping[str, float] = field(default_factory=dict)
    """By runtime, and of graphc also with another batch and with ``precision="strict"``."""
    compile_seconds: float | None = None
    problems: Mapping[str, str] = field(default_factory=dict)
    """Why a tool or a runtime has no time."""

    @property
    def to_original(self) -> float | None:
        """The time of graphc over that of graphc for the f32 original."""
        return self._ratio([FLOAT])

    @property
    def to_best_peer(self) -> float | None:
        """The time of graphc over that of the faster peer."""
        return self._ratio([RUNTIME, OPENVINO])

    def _ratio(self, names: Sequence[str]) -> float | None:
        others = [self.milliseconds[name] for name in names if name in self.milliseconds]
        mine = self.milliseconds.get(GRAPHC)
        return mine / min(others) if mine and others else None

    def cells(self) -> tuple[str, ...]:
        """The cells of the row, in the order of `HEADER`."""
        times = [self.milliseconds.get(name) for name in (GRAPHC, FLOAT, RUNTIME, OPENVINO)]
        worst = max((v for k, v in self.steps.items() if k in (GRAPHC, "batch")), default=None)
        steps = [worst, self.steps.get(RUNTIME), self.steps.get("strict")]
        return (
            self.file, self.form,
            *(optional(ratio, ".2f") for ratio in (self.to_best_peer, self.to_original)),
            *(optional(each, ".4g") for each in times),
            *(optional(each, ".2g") for each in steps),
            optional(self.compile_seconds, ".1f"),
        )  # fmt: skip


class OnnxFile:
    """A file, what quantizers get of it, and graphc's program of it, which is made once."""

    def __init__(self, path: Path, dims: Mapping[str, int]):
        self.path, self.dims = path, dims
        self._original: Peer | None = None

    def feed(self, seed: int = 0) -> Feed:
        """A random input."""
        return example_inputs(self.path, seed, self.dims)

    def original(self) -> Peer:
        """The f32 model in graphc."""
        if self._original is None:
            self._original = load_graphc(self.path, Terms(1))
        return self._original


def steps_between(results: Sequence[np.ndarray], truth: Sequence[np.ndarray]) -> float:
    """The largest difference from `truth`, in 255ths of the range of each output.

    Infinite if a shape differs or a result is not finite where `truth` is.
    """
    return max(map(_steps, results, truth), default=0.0)


def _steps(result: np.ndarray, truth: np.ndarray) -> float:
    if result.shape != truth.shape:
        return float("inf")
    wanted, given = np.asarray(truth, np.float64), np.asarray(result, np.float64)
    finite = np.isfinite(wanted)
    if not np.isfinite(given[finite]).all():
        return float("inf")
    if not finite.any():
        return 0.0
    low, high = min(wanted[finite].min(), 0.0), max(wanted[finite].max(), 0.0)
    return float(np.abs(given - wanted)[finite].max() / ((high - low) or 1.0) * STEPS)


@dataclass(frozen=True)
class FileMeasurement:
    """Settings of a measurement: rounds, and the differences besides that of one input."""

    rounds: int = 7
    batch: int = 0
    strict: bool = False

    def row(self, file: OnnxFile, prepared_path: Path, form: str) -> FileRow | None:
        """The row of `file` in `form`; None if the tool of the form leaves it as it is."""
        name = file.path.stem
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, f"{name}-{form}.onnx")
            try:
                FORMS[form](prepared_path, path, file)
            except Exception as error:  # tools raise errors of any class
                return FileRow(name, form, problems={"tool": one_line(error)})
            is_changed = form in HALVES or is_quantized(load_structure(path))
            return self._measured(file, path, form) if is_changed else None

    def _measured(self, file: OnnxFile, path: Path, form: str) -> FileRow:
        problems, steps, name = dict[str, str](), dict[str, float](), file.path.stem
        feed = example_inputs(path, dims=file.dims)
        plain = load_onnxruntime(path, Terms(1), optimized=False)
        try:
            truth = plain.run(feed)
        except Exception as error:  # of a class of ONNX Runtime
            return FileRow(name, form, problems={"reference": one_line(error)})
        before = cpu_seconds()
        try:
            mine = load_graphc(path, Terms(1))
        except PeerError as error:
            return FileRow(name, form, problems={GRAPHC: one_line(error)})
        seconds, runs = cpu_seconds() - before, {GRAPHC: lambda: mine.run(feed)}
        steps[GRAPHC] = steps_between(mine.run(feed), truth)
        if mine.host_nodes:
            problems["host"] = f"{mine.host_nodes} nodes run on the host"
        for peer in PEERS.get(form, (RUNTIME,)):
            try:
                loaded = LOADERS[peer](path, Terms(1))
                steps[peer] = steps_between(loaded.run(feed), truth)
            except Exception as error:  # of a class of the peer
                problems[peer] = one_line(error)
                continue
            runs[peer] = lambda loaded=loaded: loaded.run(feed)
        original, given = file.original(), file.feed()
        runs[FLOAT] = lambda: original.run(given)
        if self.batch:
            several = example_inputs(path, dims=dict.fromkeys(names_of_sizes(path), self.batch))
            steps["batch"] = steps_between(mine.run(several), plain.run(several))
        if self.strict:
            strict = load_graphc(path, Terms(1, precision="strict"))
            steps["strict"] = steps_between(strict.run(feed), truth)
        times = take_turns(list(runs.values()), self.rounds, time.process_time)
        milliseconds = {name: us / 1e3 for name, us in zip(runs, times, strict=True)}
        return FileRow(name, form, milliseconds, steps, seconds, problems)


def names_of_sizes(path: Path) -> set[str]:
    """The names of the sizes of the inputs of the model at `path`."""
    inputs = load_structure(path).graph.input
    shapes = [each.type.tensor_type.shape.dim for each in inputs]
    return {dim.dim_param for shape in shapes for dim in shape if dim.dim_param}


def measure_files(
    paths: Sequence[Path],
    forms: Sequence[str],
    measurement: FileMeasurement,
    known: set[tuple[str, str]],
    dims: Mapping[str, int],
) -> Iterator[FileRow]:
    """The rows of `paths` in `forms`, but for those of which (file, form) is `known`; `dims` are
    sizes by their names."""
    for path in paths:
        todo = [form for form in forms if (path.stem, form) not in known]
        if not todo:
            continue
        file = OnnxFile(path, dims)
        with (
            tempfile.TemporaryDirectory() as folder,
            prepared(path, Path(folder, path.name)) as source,
        ):
            found = (measurement.row(file, source, form) for form in todo)
            yield from (row for row in found if row is not None)


def read_rows(path: Path) -> list[FileRow]:
    """The rows in a file of JSON lines, or none if there is no file. A last line that was not
    written whole is left out."""
    rows = []
    if path.exists():
        for line in path.read_text().splitlines():
            with suppress(json.JSONDecodeError):
                rows.append(FileRow(**json.loads(line)))
    return rows


RATIOS: Mapping[str, Callable[[FileRow], float | None]] = {
    "the f32 original": lambda row: row.to_original,
    "the best peer": lambda row: row.to_best_peer,
}


def summary(rows: Sequence[FileRow]) -> str:
    """A table, worst first, the ratios by form, and the problems."""
    ordered = sorted(rows, key=lambda row: -(row.to_original or float("inf")))
    lines = [format_table(HEADER, [row.cells() for row in ordered]), ""]
    for form in dict.fromkeys(row.form for row in rows):
        for text, ratio in RATIOS.items():
            found = [(r, row.file) for row in rows if row.form == form and (r := ratio(row))]
            if found:
                mean = geometric_mean([r for r, _ in found])
                worst = "{:.2f} ({})".format(*max(found))
                lines.append(f"{form} / {text}: {mean:.2f} of {len(found)} files, worst {worst}")
    lines += [
        f"{row.file} {row.form}: {part}: {text}"
        for row in rows
        for part, text in row.problems.items()
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Time ONNX files in quantized forms.")
    parser.add_argument("files", nargs="*", type=Path, help="f32 models")
    parser.add_argument("--results", type=Path, required=True, help="a file of JSON lines")
    parser.add_argument("--forms", nargs="+", default=list(FORMS), choices=list(FORMS))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--batch", type=int, default=0, help="also compare this many inputs")
    parser.add_argument("--strict", action="store_true", help="also compare in strict precision")
    add_dim_option(parser)
    options = parser.parse_args(arguments)
    logging.disable(logging.WARNING)  # of the quantizers, which tell of each node
    rows = read_rows(options.results)
    measurement = FileMeasurement(options.rounds, options.batch, options.strict)
    known = {(row.file, row.form) for row in rows}
    with options.results.open("a+") as file:
        if file.tell() and not options.results.read_text().endswith("\n"):
            file.write("\n")  # behind a line that was cut off
        for row in measure_files(
            options.files, options.forms, measurement, known, dims_of(options)
        ):
            file.write(json.dumps(asdict(row)) + "\n")
            file.flush()
            print(*row.cells(), *row.problems.values(), file=sys.stderr, flush=True)
            rows.append(row)
    print(summary(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
