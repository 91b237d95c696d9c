"""Durations of the kernels of compiled models on a CUDA device, and of whole runs.

::

    python -m graphc.benchmarks.cuda_kernels bert.vmfb resnet50.vmfb

The inputs are drawn by the types in each file and stay on the device, as do the outputs. CUPTI
records the kernels of the process, through ``torch.profiler``; their names are those of the
dispatches. What a run takes beyond the sum of its kernels passes between them.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..debugging.random_feeds import make_feeds
from ..runtime import CompiledModel, load
from ..runtime.metadata import TensorSpec
from .measure import MeasurementPlan, burst, warm_up

RECORDED_RUNS = 5


@dataclass(frozen=True)
class CudaKernel:
    """Launches of one kernel in a run: how many, and microseconds of all."""

    name: str
    count: float
    microseconds: float


def kernels_of(events: Iterable[Any], runs: int) -> list[CudaKernel]:
    """The kernels among `events` of ``torch.profiler``, recorded over `runs`, longest first."""
    totals: dict[str, tuple[int, float]] = {}
    for event in events:
        if "cuda" in str(event.device_type).lower():
            count, time = totals.get(event.name, (0, 0.0))
            totals[event.name] = count + 1, time + event.device_time
    found = [CudaKernel(name, count / runs, time / runs) for name, (count, time) in totals.items()]
    return sorted(found, key=lambda kernel: -kernel.microseconds)


def record(run: Callable[[], object], runs: int = RECORDED_RUNS) -> list[CudaKernel]:
    """The kernels of one call of `run`, on average over `runs`."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    torch.zeros(1).cuda()  # or the profiler finds no device
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        for _ in range(runs):
            run()
        torch.cuda.synchronize()
    return kernels_of(profiler.events(), runs)


def run_on_device(model: CompiledModel) -> Callable[[], object]:
    """A call of `model` with random inputs on its device, which leaves the outputs there."""
    specs = [spec for spec in model.inputs if isinstance(spec, TensorSpec)]
    feeds = make_feeds(specs, {}, {}, 0)
    there = {name: model.to_device(value) for name, value in feeds.items()}
    return lambda: model.run(None, there, on_device=True)


def table(milliseconds: float, kernels: Sequence[CudaKernel], longest: int) -> Iterator[str]:
    """Lines about a run and its `longest` kernels."""
    total, count = sum(k.microseconds for k in kernels) / 1e3, sum(k.count for k in kernels)
    yield f"{milliseconds:.3f} ms a run, {total:.3f} ms in {count:g} kernels"
    for kernel in kernels[:longest]:
        each = kernel.microseconds / kernel.count
        yield f"  {kernel.microseconds:9.1f} us  {kernel.count:5g} x {each:7.1f}  {kernel.name}"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Time the kernels of compiled models on CUDA.")
    parser.add_argument("models", nargs="+", type=Path, metavar="FILE.vmfb")
    parser.add_argument("--longest", type=int, default=20, metavar="N", help="kernels shown (20)")
    options = parser.parse_args(arguments)
    plan = MeasurementPlan()
    for path in options.models:
        with load(path, target="cuda") as model:
            run = run_on_device(model)
            warm_up(run, plan)
            times = sorted(burst(run, plan))
            print(path.name, *table(times[len(times) // 2], record(run), options.longest), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
