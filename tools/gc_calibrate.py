"""gc-calibrate: measure this machine's devices, for placements by predicted cost."""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ..errors import UsageError
from .cli import OK, exit_with, run_tool
from .explain_error import add_explain_option
from .progress import ProgressBar

EPILOG = """\
examples:
  gc-calibrate -o machine.json
  gc-calibrate --devices cpu,onnxruntime,vulkan --threads 1 -o machine.json
  gc-place model.onnx --calibration machine.json --predict
Measures models of each class of operators in several sizes, and transfers, which takes a minute or
two for each device. Other devices and times of regions that FILE has of this machine are kept.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tool on `argv` (the process's arguments by default); returns the exit code."""
    return run_tool(lambda: _run(_parser().parse_args(argv)))


def _run(flags: argparse.Namespace) -> int:
    from ..placement.calibrate import calibrate
    from ..placement.calibration import read_calibration, write_calibration

    if not flags.output.parent.is_dir():
        raise UsageError(f"cannot write '{flags.output}': there is no such folder")
    known = read_calibration(flags.output, flags.threads)
    with ProgressBar() as line:
        found = calibrate(
            flags.devices.split(","),
            flags.threads,
            lambda stage, done, total: line.show(
                SimpleNamespace(stage=stage, done=done, total=total)
            ),
        )
    found.regions = known.regions
    found.links = known.links | found.links
    found.costs = known.costs | found.costs
    write_calibration(found, flags.output)
    for name in flags.devices.split(","):
        print("\n".join(_listing(name, found.costs[name])))
    for (source, destination), link in found.links.items():
        rate = 1e-9 / link.seconds_per_byte if link.seconds_per_byte else float("inf")
        print(f"{source} to {destination}: {1e6 * link.latency:.1f} us and {rate:.1f} GB/s")
    print(f"wrote {flags.output}")
    return OK


def _listing(name: str, costs: Any) -> Iterator[str]:
    """Lines with the costs of a device."""
    yield f"{name}: {1e6 * costs.call:.1f} us a call"
    for each, (fixed, flop, near, far) in costs.classes.items():
        rates = [f"{1e6 * fixed:.1f} us"]
        rates += [f"{1e-9 / flop:.0f} Gop/s"] if flop else []
        rates += [f"{1e-9 / near:.0f} GB/s near"] if near else []
        rates += [f"{1e-9 / far:.0f} GB/s far"] if far else []
        yield f"  {each}: {', '.join(rates)}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gc-calibrate",
        description="Measure this machine's devices, for placements by predicted cost.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_explain_option(parser)
    parser.add_argument(
        "--devices",
        default="cpu,onnxruntime",
        metavar="NAME,NAME",
        help="targets of graphc, onnxruntime, or host (cpu,onnxruntime)",
    )
    parser.add_argument("--threads", type=int, default=None, help="workers of each device")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("machine.json"),
        metavar="FILE",
        help="the file to write (machine.json)",
    )
    return parser


if __name__ == "__main__":
    exit_with(main)
