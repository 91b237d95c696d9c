"""Measurement of one model at one size: all runtimes in turns, each in a process of its own."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from ..contestant import Contestant
from ..measure import MeasurementPlan, Timing, interleave, largest_difference
from ..peers import Feed, PeerError, Terms
from .entry import Shapes, ZooModel, size_label
from .open_sizes import open_sizes
from .outcome import FIXED, MEASUREMENT, NAMED, RuntimeFigures, ZooOutcome

REFERENCE = "onnxruntime-unoptimized"
PEERS = ("onnxruntime", "openvino")
ONCE = MeasurementPlan(rounds=0, warmup_runs=0)


@dataclass(frozen=True)
class ZooSetting:
    """Settings that are the same for all models."""

    threads: int
    plan: MeasurementPlan = field(default_factory=MeasurementPlan)
    peers: Sequence[str] = PEERS
    patience: float = 900.0
    """Seconds after which a runtime that does not answer is ended."""


def measure(model: ZooModel, path: Path, shapes: Shapes, setting: ZooSetting) -> ZooOutcome:
    """Time `model`, whose file is at `path`, with inputs of these `shapes`.

    A runtime that fails is named with its message; the others are measured all the same.
    """
    feed, size = model.make(shapes), size_label(shapes)
    failures: dict[str, str] = {}
    reference = _reference(path, feed, setting, failures)
    with ExitStack() as stack:
        contestants: dict[str, Contestant] = {}
        for name, runtime, terms in _entrants(path, shapes, setting):
            try:
                contestant = _enter(runtime, path, terms, feed, setting)
            except PeerError as error:
                failures[name] = _message(error, runtime)
                continue
            stack.callback(contestant.close)
            contestants[name] = contestant
        try:
            timings = interleave(_bursts(contestants), setting.plan.rounds)
        except PeerError as error:
            return ZooOutcome(model.name, size, failures={**failures, MEASUREMENT: str(error)})
    figures = {
        name: _figures(contestant, timings[name], reference)
        for name, contestant in contestants.items()
    }
    return ZooOutcome(model.name, size, figures, _ratios(timings, setting.peers), failures)


def _entrants(path: Path, shapes: Shapes, setting: ZooSetting) -> Sequence[tuple[str, str, Terms]]:
    """Names, runtimes and terms of all that take part."""
    terms, sizes = Terms(setting.threads), open_sizes(path, shapes)
    fixed = [(FIXED, "graphc", replace(terms, dims=sizes))] if sizes else []
    return [(NAMED, "graphc", terms), *fixed, *((peer, peer, terms) for peer in setting.peers)]


def _enter(runtime: str, path: Path, terms: Terms, feed: Feed, setting: ZooSetting) -> Contestant:
    return Contestant(runtime, path, terms, feed, setting.plan, setting.patience)


def _message(error: PeerError, runtime: str) -> str:
    """The message of `error` without the name of the runtime, which stands beside it."""
    return str(error).removeprefix(f"{runtime}: ").rstrip(" ;")


def _bursts(contestants: Mapping[str, Contestant]) -> dict[str, Callable[[], tuple[float, ...]]]:
    return {name: contestant.burst for name, contestant in contestants.items()}


def _reference(
    path: Path, feed: Feed, setting: ZooSetting, failures: dict[str, str]
) -> list[np.ndarray] | None:
    """The results of ONNX Runtime without optimisations; None if it fails."""
    once = replace(setting, plan=ONCE)
    try:
        contestant = _enter(REFERENCE, path, Terms(setting.threads), feed, once)
    except PeerError as error:
        failures[REFERENCE] = _message(error, REFERENCE)
        return None
    contestant.close()
    return contestant.loaded.results


def _figures(
    contestant: Contestant, timing: Timing, reference: Sequence[np.ndarray] | None
) -> RuntimeFigures:
    loaded = contestant.loaded
    return RuntimeFigures(
        timing.median,
        loaded.compile_seconds + loaded.first_run_seconds,
        loaded.run_peak_bytes,
        *differences(loaded.results, reference),
        loaded.host_nodes,
    )


def differences(
    results: Sequence[np.ndarray], reference: Sequence[np.ndarray] | None
) -> tuple[float | None, float | None]:
    """The largest relative difference over outputs of floats, and the largest share of elements
    that differ over the other outputs."""
    if reference is None:
        return None, None
    pairs = list(zip(results, reference, strict=True))
    floats = [largest_difference(ours, right) for ours, right in pairs if right.dtype.kind in "fc"]
    others = [_unequal(ours, right) for ours, right in pairs if right.dtype.kind not in "fc"]
    return max(floats, default=None), max(others, default=None)


def _unequal(result: np.ndarray, reference: np.ndarray) -> float:
    if result.shape != reference.shape:
        return 1.0
    return float(np.mean(result != reference)) if reference.size else 0.0


def _ratios(timings: Mapping[str, Timing], peers: Sequence[str]) -> dict[str, float]:
    """Time of the best peer over that of graphc, for each way in which it was compiled."""
    theirs = [timings[peer] for peer in peers if peer in timings]
    best = min(theirs, key=lambda timing: timing.median, default=None)
    if best is None:
        return {}
    return {name: best.ratio(timings[name]) for name in (NAMED, FIXED) if name in timings}
