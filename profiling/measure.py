"""Profile a model: compile it, run it under the profiler, and attribute the time to nodes."""

import os
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

import numpy as np

from ..compiler.driver import begin, make_options
from ..errors import UnsupportedModelError, UsageError
from ..passes.infra.report import Report
from ..runtime import CompiledModel, Target, load, resolve_target
from ..runtime.execution.profiler import capture
from .attribution import attribute
from .model_profile import Profile
from .peak import peak_gflops
from .rows import make_rows
from .sites import FLAGS, Site, dispatch_sites, node_names

RUNS = 20
Feeds = Mapping[str, Any] | Callable[[CompiledModel], Mapping[str, Any]]


def profile(
    model: "str | os.PathLike[str] | bytes | Any",
    feeds: Feeds,
    target: str = "cpu",
    *,
    runs: int = RUNS,
    by_node: bool = False,
    dims: Mapping[str, int] | None = None,
    threads: int | None = None,
    pipeline: str | None = None,
    **options: Any,
) -> Profile:
    """Compile an ONNX model and measure each dispatch of `runs` runs on `feeds`.

    `feeds` are arrays by input name, or a function that makes them for the compiled model. The
    other arguments are those of `graphc.compile`. The backend runs twice: once for the code, once
    to find the dispatch of each node. With `by_node`, kernels that would be merged have dispatches
    of their own, which take longer together.

    Raises `UsageError` for targets other than ``cpu`` and for hybrid models, and the errors of
    `graphc.compile` and `CompiledModel.run`.
    """
    if runs < 1:
        raise UsageError(f"runs must be a positive number, not {runs}")
    chosen = make_options(target, dims=dims, threads=threads, pipeline=pipeline, **options)
    _require_cpu(chosen.target)
    try:
        compilation = begin(model, chosen)
    except UnsupportedModelError as error:
        raise UsageError(f"only compiled code can be profiled: {error}") from error
    nodes = node_names(compilation.module)
    compilation.graph_passes()
    compilation.lower(merges=not by_node)
    with compilation.handed_over() as source:
        contents = compilation.compile_program(source)
        program = compilation.call_backend(source, FLAGS).decode()
    groups = dispatch_sites(program, nodes)
    with load(contents, threads=chosen.threads, report=compilation.report) as compiled:
        return _measure(compiled, contents, feeds, chosen.threads, runs, groups)


def profile_compiled(contents: bytes, feeds: Feeds, *, threads: int, runs: int = RUNS) -> Profile:
    """Profile a ``.vmfb``, which has no record of the nodes that a kernel computes."""
    with load(contents, threads=threads) as compiled:
        _require_cpu(resolve_target(compiled.target))
        return _measure(compiled, contents, feeds, threads, runs, [])


def _require_cpu(target: Target) -> None:
    if target.name != "cpu":
        raise UsageError(f"only what is compiled for cpu can be profiled, not for {target}")


def _measure(
    model: CompiledModel,
    contents: bytes,
    feeds: Feeds,
    threads: int,
    runs: int,
    groups: Sequence[Sequence[Site]],
) -> Profile:
    given = feeds(model) if callable(feeds) else feeds
    latency = _latency(model, given, runs)
    events = capture(contents, model.bind(given), threads, runs)
    placed = tuple(zip(events, attribute(events, groups), strict=True))
    return Profile(
        model=model.metadata.name,
        threads=threads,
        runs=runs,
        latency=latency,
        peak_gflops=peak_gflops(threads),
        peak_bytes=model.peak_memory(given),
        rows=make_rows(placed, runs, _rewrites(model.report)),
        events=placed,
    )


def _latency(model: CompiledModel, feeds: Mapping[str, np.ndarray], runs: int) -> float:
    times = []
    for _ in range(runs + 1):  # the first run is slower, and dropped
        start = time.perf_counter()
        model.run(None, feeds)
        times.append(time.perf_counter() - start)
    return median(times[1:])


def _rewrites(report: Report | None) -> dict[str, list[str]]:
    """The names of the rewrites that fired at each node."""
    fired: dict[str, list[str]] = defaultdict(list)
    for name, statistics in report.rewrites.items() if report else ():
        for located in dict.fromkeys(statistics.nodes):
            for node in located.split("+"):
                fired[node].append(name)
    return fired
