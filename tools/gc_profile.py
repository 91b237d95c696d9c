"""gc-profile: profile the runs of a model by node of the ONNX model."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..runtime.files.output_file import write_atomically
from .cli import OK, exit_with, run_tool
from .cli_options import add_compile_options, compile_arguments, parse_dims, take_target
from .explain_error import add_explain_option
from .feeds import add_input_options, feeds_for
from .progress import ProgressLine

EPILOG = """\
examples:
  gc-profile model.onnx
  gc-profile model.onnx --threads 1 --rows 10 --json profile.json --trace trace.json
  gc-profile model.onnx --by-node
  gc-profile model.vmfb --dim batch=8
  gc-profile model.onnx --calibration machine.json --recalibrate
A trace opens in https://ui.perfetto.dev. A .vmfb has the kernels' names alone; the .onnx model has
those of its nodes, too. Operations are additions and multiplications; Winograd's are its own.
With the file of gc-calibrate, predicted times of the model's parts stand beside the measured ones.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tool on `argv` (the process's arguments by default); returns the exit code."""
    flags = _parser().parse_args(argv)
    return run_tool(lambda: _run(flags))


def _run(flags: argparse.Namespace) -> int:
    if flags.runs < 1 or flags.rows < 0:
        raise UsageError("--runs takes a number from 1 on, --rows one from 0 on")
    _check_calibration_flags(flags)
    comparer = None if flags.calibration is None else _Comparer(flags)
    found = _profile(flags, comparer)
    contents: dict[str, Any] = found.to_dict()
    if comparer is not None:
        comparison = comparer.compare(found)
        contents["predicted"] = comparison.to_dict()
    for path, content in ((flags.json, lambda: contents), (flags.trace, found.trace)):
        if path is not None:
            write_atomically(path, memoryview(json.dumps(content(), indent=1).encode()))
    print(found.table(flags.rows or None))
    if comparer is not None:
        print(f"\n{comparison}")
        if flags.recalibrate:
            print(comparer.recalibrate(comparison))
    return OK


def _check_calibration_flags(flags: argparse.Namespace) -> None:
    if flags.recalibrate and flags.calibration is None:
        raise UsageError("--recalibrate needs --calibration FILE, which it writes")
    if flags.calibration is not None and Path(flags.model).suffix != ".onnx":
        raise UsageError("times are predicted for nodes: --calibration takes the .onnx model")


class _Comparer:
    """Compares a profile with the predictions of a calibration."""

    def __init__(self, flags: argparse.Namespace):
        from ..placement.calibration import read_calibration

        self._flags = flags
        self._known = read_calibration(flags.calibration, flags.threads)
        if "cpu" not in self._known.costs or not self._known.reference_seconds:
            raise UsageError(
                f"'{flags.calibration}' has no costs of this machine's cpu with these threads: "
                f"gc-calibrate -o {flags.calibration}"
            )
        self._feeds: dict[str, Any] = {}
        self._slowdowns: list[float] = []

    def begin(self, feeds: dict[str, Any]) -> None:
        """Note that the runs on `feeds` begin."""
        self._feeds = feeds
        self._measure_slowdown()

    def _measure_slowdown(self) -> None:
        from ..placement.profile_comparison import slowdown_now

        reference = self._known.reference_seconds
        self._slowdowns.append(slowdown_now(reference, self._flags.threads))

    def compare(self, found: Any) -> Any:
        """The comparison with the profile `found`."""
        from ..placement.profile_comparison import compare_profile

        self._measure_slowdown()
        slowdown = sum(self._slowdowns) / len(self._slowdowns)
        dims, costs = parse_dims(self._flags.dims), self._known.costs["cpu"]
        return compare_profile(found, self._flags.model, dims, self._feeds, costs, slowdown)

    def recalibrate(self, comparison: Any) -> str:
        """Fit the costs to what was measured, too, and write them; returns a line about it."""
        from ..placement.calibration import write_calibration
        from ..placement.profile_comparison import repeated

        costs, origin = self._known.costs["cpu"], Path(self._flags.model).name
        costs.record(comparison.samples(costs.near_bytes, origin), origin)
        write_calibration(self._known, self._flags.calibration)
        after = repeated(comparison, costs)
        return (
            f"recalibrated: {after.within:.0%} of the parts and {after.time_within:.0%} of the time"
        )


def _profile(flags: argparse.Namespace, comparer: _Comparer | None) -> Any:
    from ..profiling import profile, profile_compiled
    from ..runtime.threads.usable_cpus import usable_cpus

    def feeds(model: Any) -> dict[str, Any]:
        given = feeds_for(model, flags)
        if comparer is not None:
            comparer.begin(given)
        return given

    if Path(flags.model).suffix == ".gcm":
        raise UsageError(
            "only compiled code can be profiled: a .gcm has nodes that run on the host"
        )
    if Path(flags.model).suffix == ".vmfb":
        if flags.by_node:
            raise UsageError("--by-node takes the .onnx model, which it compiles")
        contents = Path(flags.model).read_bytes()
        threads = flags.threads or usable_cpus()
        return profile_compiled(contents, feeds, threads=threads, runs=flags.runs)
    arguments = compile_arguments(flags)
    target = take_target(arguments, "profiled")
    with ProgressLine() as line:
        options = {"runs": flags.runs, "by_node": flags.by_node, "progress": line.show}
        return profile(flags.model, feeds, target, **options, **arguments)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gc-profile",
        description="Measure each dispatch of a model.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_explain_option(parser)
    parser.add_argument("model", help="an .onnx model, or a .vmfb that gc-compile wrote")
    parser.add_argument("--runs", type=int, default=20, metavar="N", help="runs to measure (20)")
    parser.add_argument(
        "--rows", type=int, default=30, metavar="N", help="slowest dispatches to show; 0: all (30)"
    )
    parser.add_argument(
        "--by-node",
        action="store_true",
        help="run each kernel in a dispatch of its own, which takes longer in all",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all of it as JSON")
    parser.add_argument(
        "--trace", type=Path, metavar="FILE", help="write a trace, which Perfetto opens"
    )
    parser.add_argument(
        "--calibration",
        type=Path,
        metavar="FILE",
        help="compare with the times that the file of gc-calibrate predicts",
    )
    parser.add_argument(
        "--recalibrate",
        action="store_true",
        help="fit the costs in that file to what was measured, too",
    )
    add_input_options(parser)
    add_compile_options(parser)
    return parser


if __name__ == "__main__":
    exit_with(main)
