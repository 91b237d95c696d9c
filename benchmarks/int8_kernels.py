"""Share of the peak of VPDPBUSD that the kernels of quantized models reach, each alone.

::

    python -m graphc.benchmarks.int8_kernels resnet50 bert --runs 40

One thread. The time of a dispatch is the least of all runs, which is that of an idle core. The peak
is measured before and after, and the better one counts. Dispatches of one kernel are one row, with
the name of the first node that multiplies.
"""

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from graphc.profiling.measure import profile
from graphc.profiling.peak import peak_int8_gops
from graphc.profiling.sites import Site

from .feeds import example_inputs
from .quantized import quantized_path
from .table import format_table

HEADER = ("kernel", "calls", "us", "Gop/s", "of peak", "of time", "node")
RUNS = 40


@dataclass(frozen=True)
class KernelTime:
    """A kernel of a model: its calls in a run, and the least seconds of one."""

    name: str
    node: str
    calls: int
    seconds: float
    operations: int

    @property
    def rate(self) -> float:
        """10^9 operations per second."""
        return self.operations / self.seconds / 1e9


def kernel_times(name: str, runs: int) -> tuple[list[KernelTime], float]:
    """The kernels of 8-bit integers of the QDQ form of model `name`, and the least seconds of all
    dispatches of a run."""
    path = quantized_path(name, "qdq")
    found = profile(path, example_inputs(path), runs=runs, threads=1)
    count, total = len(found.events) // runs, 0.0
    groups = defaultdict(list)
    for position in range(count):
        pairs = found.events[position::count]
        least = min(event.end - event.start for event, _ in pairs)
        total += least
        site = pairs[0][1]
        if site.kernel.startswith("int8") and site.cost.flops:
            groups[site.kernel].append((least, site))
    times = [_kernel_time(kernel, timed) for kernel, timed in groups.items()]
    return times, total


def _kernel_time(kernel: str, timed: Sequence[tuple[float, Site]]) -> KernelTime:
    """The least time of the dispatches of a `kernel`, each given with its seconds."""
    site = timed[0][1]
    seconds = min(seconds for seconds, _ in timed)
    return KernelTime(kernel, _node(site.nodes), len(timed), seconds, site.cost.flops)


def _node(names: Sequence[str]) -> str:
    """The first of `names` that multiplies, without the path that models share."""
    chosen = next((name for name in names if re.search("Conv$|MatMul|Gemm", name)), names[0])
    return "/".join(chosen.split("/")[-4:])


def rows(name: str, runs: int) -> Iterator[tuple[str, ...]]:
    """The rows of the table of model `name`, slowest first."""
    peaks = [peak_int8_gops(1)]
    times, total = kernel_times(name, runs)
    peak = max(*peaks, peak_int8_gops(1))
    for each in sorted(times, key=lambda each: -each.calls * each.seconds):
        yield (
            each.name, str(each.calls), f"{each.seconds * 1e6:.0f}", f"{each.rate:.0f}",
            f"{each.rate / peak:.2f}", f"{each.calls * each.seconds / total:.3f}", each.node,
        )  # fmt: skip
    busy = sum(each.calls * each.seconds for each in times)
    operations = sum(each.calls * each.operations for each in times)
    share = operations / busy / 1e9 / peak
    yield (
        f"all of {name}", "", f"{busy * 1e6:.0f}", f"{operations / busy / 1e9:.0f}",
        f"{share:.2f}", f"{busy / total:.3f}", f"peak {peak:.0f} Gop/s",
    )  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Compare int8 kernels with the peak.")
    parser.add_argument("models", nargs="*", default=["resnet50", "bert"], metavar="MODEL")
    parser.add_argument("--runs", type=int, default=RUNS, metavar="N")
    options = parser.parse_args(arguments)
    for name in options.models:
        print(format_table(HEADER, list(rows(name, options.runs))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
