"""Sweep over architectures of ``timm`` and ``transformers``, or any files, beside ONNX Runtime.

::

    python -m graphc.benchmarks.architecture_sweep timm resnet18 convnextv2_atto
    python -m graphc.benchmarks.architecture_sweep transformers bert whisper --exporter dynamo
    python -m graphc.benchmarks.architecture_sweep files exported/*.onnx --size height=96

An architecture is exported with named sizes in a process of its own (`library_architectures`). Each
model is compiled once, and compared with ONNX Runtime without optimisations at three sizes: those
of the example, a batch of one, and a batch of one with all lengths halved. Both then run a batch of
one in turns, with one thread, by CPU time, so that other work on the machine matters little. A row
says who failed, if anyone: the exporter, ONNX Runtime, or graphc. ``--lines FILE`` appends a line
of JSON for each. The exit status is 1 if graphc fails or differs by more than 1e-4 where ONNX
Runtime does not.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np

from .feeds import example_inputs, load_structure
from .measure import MeasurementPlan, cpu_seconds, in_turns, largest_difference
from .models import EXPORTERS
from .peers import Peer, PeerError, Terms, load_graphc, load_onnxruntime
from .table import one_line
from .turns import optional, report

FILES = "files"
SOURCES = ("timm", "transformers", FILES)
BATCH, LENGTH = 2, 64
"""Sizes of the named axes of files, of first axes and of others."""
TOLERANCE = 1e-4
ILL_CONDITIONED = 10
"""Factor by which graphc may be further off than ONNX Runtime with its optimisations is."""
TERMS = Terms(threads=1)
PLAN = MeasurementPlan(rounds=6, burst_seconds=0.2, warmup_runs=1, clock=time.process_time)
PATIENCE_SECONDS = 600
"""Longest time of an export."""
HEADER = (
    "model", "/onnxruntime", "graphc ms", "onnxruntime ms", "nodes", "on the host", "compile, s",
    "difference", "onnxruntime's", "",
)  # fmt: skip
EXPORTER, ONNXRUNTIME, GRAPHC = "exporter", "onnxruntime", "graphc"


class SweepFailure(Exception):
    """A step that failed, and the program that failed in it."""

    def __init__(self, failed_in: str, reason: str):
        super().__init__(reason)
        self.failed_in = failed_in


@dataclass(frozen=True)
class SweepRow:
    """One architecture. Times are the least CPU times of a call, in milliseconds; compiling is CPU
    time, in seconds; differences are relative to the largest element, the largest of all sizes."""

    source: str
    name: str
    exporter: str
    nodes: int = 0
    host_nodes: int = 0
    compile_seconds: float | None = None
    ours: float | None = None
    theirs: float | None = None
    difference: float | None = None
    their_difference: float | None = None
    sizes: Sequence[Mapping[str, int]] = field(default_factory=tuple)
    """Sizes that ONNX Runtime took: exporters fix some."""
    failed_in: str = ""
    fault: str = ""

    @property
    def ratio(self) -> float | None:
        """Time over that of ONNX Runtime."""
        return None if self.ours is None or self.theirs is None else self.ours / self.theirs

    @property
    def is_good(self) -> bool:
        """If graphc ran the model like ONNX Runtime, or the others are to blame."""
        if self.difference is None or self.their_difference is None:
            return self.failed_in != GRAPHC
        return self.difference <= max(TOLERANCE, ILL_CONDITIONED * self.their_difference)

    def cells(self) -> tuple[str, ...]:
        """The cells of the row, in the order of `HEADER`."""
        return (
            self.name, optional(self.ratio, ".2f"), optional(self.ours, ".4g"),
            optional(self.theirs, ".4g"), str(self.nodes), str(self.host_nodes),
            optional(self.compile_seconds, ".1f"), optional(self.difference, ".1e"),
            optional(self.their_difference, ".1e"),
            f"{self.failed_in}: {self.fault}"[:100] if self.failed_in else "",
        )  # fmt: skip


def export(source: str, name: str, exporter: str, path: Path) -> dict[str, dict[str, int]]:
    """Write an architecture to `path`; return its named sizes, by kind. Raises SweepFailure."""
    module = "graphc.benchmarks.library_architectures"
    command = [sys.executable, "-m", module, source, name, str(path), "--exporter", exporter]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS
        )
    except subprocess.TimeoutExpired as error:
        raise SweepFailure(EXPORTER, f"no model after {PATIENCE_SECONDS} s") from error
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip() and line[0] != " "]
        raise SweepFailure(EXPORTER, (lines or [f"exit status {done.returncode}"])[-1])
    return json.loads(path.with_suffix(".json").read_text())


def named_sizes(path: Path, given: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """Sizes for the named axes of a file's inputs, by kind: those `given`, or else 2 for the first
    axis of a tensor of several, and 64."""
    graph = load_structure(path).graph
    initialized = {each.name for each in graph.initializer}
    sizes: dict[str, dict[str, int]] = {"n": {}, "length": {}}
    for value in graph.input:
        axes = value.type.tensor_type.shape.dim
        for axis, dim in enumerate(axes):
            if dim.dim_param and value.name not in initialized:
                is_batch = axis == 0 and len(axes) > 1
                usual = BATCH if is_batch else LENGTH
                sizes["n" if is_batch else "length"][dim.dim_param] = given.get(
                    dim.dim_param, usual
                )
    return sizes


def cases_of(sizes: Mapping[str, Mapping[str, int]]) -> list[dict[str, int]]:
    """The sizes to compare: the example, a batch of one, and that with halved lengths."""
    batches, lengths = sizes["n"], sizes["length"]
    one = dict.fromkeys(batches, 1)
    halved = {name: max(1, size // 2) for name, size in lengths.items()}
    cases = [{**batches, **lengths}, {**one, **lengths}, {**one, **halved}]
    return [case for number, case in enumerate(cases) if case not in cases[:number]]


def measure(row: SweepRow, path: Path, cases: Sequence[Mapping[str, int]]) -> SweepRow:
    """Compile the model at `path`, compare it at all sizes, and time it at the second one, if
    there is one. A failure is noted in the row."""
    row = replace(row, nodes=len(load_structure(path).graph.node))
    try:
        reference = _onnxruntime(path, optimized=False)
        feeds = [example_inputs(path, dims=case) for case in cases]
        expected = _expected(reference, feeds)
        known = [case for case, result in zip(cases, expected, strict=True) if result is not None]
        row = replace(row, sizes=tuple(known))
        row, ours = _compiled(row, path)
        theirs = _onnxruntime(path, optimized=True)
        row = _compared(row, ours, theirs, feeds, expected)
        return _timed(row, ours, theirs, example_inputs(path, dims=known[min(1, len(known) - 1)]))
    except SweepFailure as failure:
        return replace(row, failed_in=failure.failed_in, fault=str(failure))


def _onnxruntime(path: Path, optimized: bool) -> Peer:
    try:
        return load_onnxruntime(path, TERMS, optimized=optimized)
    except Exception as error:  # onnxruntime's exceptions have no common class
        raise SweepFailure(ONNXRUNTIME, one_line(error)) from error


def _expected(
    reference: Peer, feeds: Sequence[Mapping[str, np.ndarray]]
) -> list[list[np.ndarray] | None]:
    """The results for all feeds: None for sizes that an exporter has excluded, but the first."""
    results: list[list[np.ndarray] | None] = []
    for feed in feeds:
        try:
            results.append(reference.run(feed))
        except Exception as error:  # onnxruntime's exceptions have no common class
            if not results:
                raise SweepFailure(ONNXRUNTIME, one_line(error)) from error
            results.append(None)
    return results


def _compiled(row: SweepRow, path: Path) -> tuple[SweepRow, Peer]:
    start = cpu_seconds()
    try:
        peer = load_graphc(path, TERMS)
    except PeerError as error:
        raise SweepFailure(GRAPHC, one_line(error)) from error
    seconds = cpu_seconds() - start
    return replace(row, compile_seconds=seconds, host_nodes=peer.host_nodes), peer


def _compared(
    row: SweepRow,
    ours: Peer,
    theirs: Peer,
    feeds: Sequence[Mapping[str, np.ndarray]],
    expected: Sequence[list[np.ndarray] | None],
) -> SweepRow:
    found: dict[str, float] = {GRAPHC: 0.0, ONNXRUNTIME: 0.0}
    for feed, wanted in zip(feeds, expected, strict=True):
        if wanted is None:
            continue
        for name, peer in ((GRAPHC, ours), (ONNXRUNTIME, theirs)):
            try:
                results = peer.run(feed)
            except Exception as error:  # onnxruntime's exceptions have no common class
                raise SweepFailure(name, one_line(error)) from error
            pairs = zip(results, wanted, strict=True)
            found[name] = max(found[name], *(largest_difference(*pair) for pair in pairs))
    return replace(row, difference=found[GRAPHC], their_difference=found[ONNXRUNTIME])


def _timed(row: SweepRow, ours: Peer, theirs: Peer, feed: Mapping[str, np.ndarray]) -> SweepRow:
    timings = in_turns({peer.name: partial(peer.run, feed) for peer in (ours, theirs)}, PLAN)
    return replace(row, ours=timings[ours.name].best, theirs=timings[theirs.name].best)


def _rows(options: argparse.Namespace, folder: Path) -> Iterator[SweepRow]:
    for name in options.names:
        row = _row(options, name, folder)
        if options.lines is not None:
            with options.lines.open("a") as lines:
                lines.write(json.dumps({**asdict(row), "ratio": row.ratio}) + "\n")
        yield row


def _row(options: argparse.Namespace, name: str, folder: Path) -> SweepRow:
    if options.source == FILES:
        path = Path(name)
        sizes = named_sizes(path, dict(options.size))
        return measure(SweepRow(FILES, path.stem, ""), path, cases_of(sizes))
    row, path = SweepRow(options.source, name, options.exporter), folder / f"{name}.onnx"
    try:
        sizes = export(options.source, name, options.exporter, path)
    except SweepFailure as failure:
        return replace(row, failed_in=failure.failed_in, fault=str(failure))
    row = measure(row, path, cases_of(sizes))
    if options.keep is None:
        _delete(path)
    return row


def _delete(path: Path) -> None:
    for each in path.parent.glob(f"{path.stem}.*"):
        each.unlink()


def _size(text: str) -> tuple[str, int]:
    name, _, number = text.rpartition("=")
    if not name or not number.isdecimal() or not int(number):
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form NAME=N")
    return name, int(number)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Sweep over architectures.")
    parser.add_argument("source", choices=SOURCES)
    parser.add_argument("names", nargs="+", metavar="NAME", help="architectures, or files")
    parser.add_argument("--exporter", choices=EXPORTERS, default=EXPORTERS[0])
    parser.add_argument(
        "--size",
        type=_size,
        action="append",
        default=[],
        metavar="NAME=N",
        help=f"a named axis of files (first axes {BATCH}, others {LENGTH})",
    )
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the exported files")
    parser.add_argument("--lines", type=Path, metavar="FILE", help="append a line of JSON for each")
    options = parser.parse_args(arguments)
    rows: list[SweepRow] = []

    def noted() -> Iterator[SweepRow]:
        for row in _rows(options, folder):
            rows.append(row)
            yield row

    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        report(HEADER, noted(), {"ONNX Runtime": "ratio"}, None)
    if slowest := max(
        (row for row in rows if row.ratio), key=lambda row: row.ratio or 0, default=None
    ):
        print(f"the largest ratio: {slowest.ratio:.2f}, {slowest.name}")
    return 0 if all(row.is_good for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
