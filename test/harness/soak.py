"""Load test over hours: threads run, load and compile models at once, fail, cancel, and go on.

::

    python -m harness.soak --minutes 60 --json soak.json
    nice -n 19 python -m harness.soak    # on a shared machine

Sixteen threads share one model. Sixteen others repeatedly load one each, of different sizes.
Further threads compile it, with and without the cache and with too short a timeout, and cancel
compilations. Every result is compared with the first. Each minute a line shows the counts and the
resources of the process. The exit status is 1 if a result was wrong, an error was of an unexpected
kind, memory, threads or open files grew, or temporary files are left.
"""

import argparse
import contextlib
import os
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

import graphc
from graphc.errors import BackendTimeoutError, CompilationCancelledError, UsageError
from harness.reliability import LongRun, finished, write_run

MODEL = Path(__file__).resolve().parents[2] / "examples" / "digits.onnx"
THREADS = 16
TOLERANCE = 1e-4
DONE = ("runs", "loads", "compiles", "cached", "found", "timeouts", "cancelled")
ALLOWED_GROWTH = {"MiB": 30, "threads": 2, "files": 8}
"""Largest allowed growth from the second to the last quarter of the run."""


class Load:
    """The load of the threads, and its results."""

    def __init__(self, folder: Path):
        self.counts: Counter[str] = Counter()
        self.problems: list[str] = []
        self.stop = threading.Event()
        self._lock = threading.Lock()
        self._folder = folder
        self._images = np.random.default_rng(0).random((THREADS, 1, 8, 8), np.float32)
        self._shared = graphc.compile(MODEL, cache=False)
        self._expected = self._shared(self._images)
        for batch in range(1, THREADS + 1):
            with graphc.compile(MODEL, cache=False, dims={"batch": batch}) as model:
                model.save(self._file(batch))

    def _file(self, batch: int) -> Path:
        return self._folder / f"digits-{batch}.vmfb"

    def threads(self) -> list[threading.Thread]:
        """All threads, not yet started."""
        bodies: list[Callable[[], None]] = [self.share] * THREADS
        bodies += [partial(self.own, batch) for batch in range(1, THREADS + 1)]
        bodies += [self.compile, self.compile_cached, self.time_out, self.cancel]
        return [threading.Thread(target=self._repeat, args=(body,)) for body in bodies]

    def share(self) -> None:
        """Run the shared model."""
        for _ in range(100):
            self._check(self._shared)
        self._count("runs", 100)

    def own(self, batch: int) -> None:
        """Load the model for `batch` images, run it, close it, and check that it then refuses to
        run."""
        with graphc.load(self._file(batch), threads=2) as model:
            for _ in range(20):
                self._check(model, batch)
        self._count("runs", 20)
        try:
            model(self._images[:batch])
        except UsageError:
            self._count("loads")
        else:
            raise AssertionError("a closed model ran")

    def compile(self) -> None:
        """Compile the model."""
        with graphc.compile(MODEL, cache=False) as model:
            self._check(model)
        self._count("compiles")

    def compile_cached(self) -> None:
        """Compile the model with a cache that has room for only some of the variants."""
        level, strict = divmod(self.counts["cached"] // 2 % 8, 2)
        cache, precision = self._folder / "cache", "strict" if strict else "f32"
        with graphc.compile(MODEL, cache=cache, opt_level=level, precision=precision) as model:
            self._check(model)
            self._count("found", bool(model.report.cached))
        self._count("cached")

    def time_out(self) -> None:
        """Compile with too short a timeout.

        With so many threads, the backend may finish before this thread gets to check the timeout.
        """
        try:
            graphc.compile(MODEL, cache=False, timeout=0.01).close()
        except BackendTimeoutError:
            self._count("timeouts")
        else:
            self._count("done before the timeout was seen")

    def cancel(self) -> None:
        """Cancel a compilation, each time a little later."""
        left = 1 + self.counts["cancelled"] % 7

        def progress(event: object) -> None:
            nonlocal left
            left -= 1
            if left <= 0:
                raise CompilationCancelledError("as asked")

        with contextlib.suppress(CompilationCancelledError):
            graphc.compile(MODEL, cache=False, progress=progress).close()
        self._count("cancelled")

    def _check(self, model: graphc.CompiledModel, batch: int = THREADS) -> None:
        difference = np.abs(model(self._images[:batch]) - self._expected[:batch]).max()
        if not difference <= TOLERANCE:
            raise AssertionError(f"a result lies {difference} off")

    def _count(self, what: str, times: int = 1) -> None:
        with self._lock:
            self.counts[what] += times

    def _repeat(self, body: Callable[[], None]) -> None:
        name = getattr(body, "__name__", "own")
        while not self.stop.is_set():
            try:
                body()
            except Exception as error:
                with self._lock:
                    self.problems.append(f"{name}: {type(error).__name__}: {error}")
                self.stop.set()


def held(temporary: Path) -> dict[str, int]:
    """Memory, threads and open files of this process (Linux), and the number of temporary files."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return {
        "MiB": pages * os.sysconf("SC_PAGE_SIZE") >> 20,
        "threads": len(os.listdir("/proc/self/task")),
        "files": len(os.listdir("/proc/self/fd")),
        "temporary": sum(len(files) for _, _, files in os.walk(temporary)),  # some go meanwhile
    }


@dataclass(frozen=True)
class Soaked:
    """The duration and counts of a run, samples of the resources held, and problems."""

    seconds: float
    counts: Mapping[str, int]
    samples: Sequence[Mapping[str, int]]
    problems: Sequence[str]

    def run(self) -> LongRun:
        """The stored summary."""
        counts: dict[str, float] = {"threads": 2 * THREADS + 4, **self.counts}
        counts |= {f"MiB after {s['s'] // 60} min": s["MiB"] for s in quarters(self.samples)}
        counts["MiB more per hour"] = round(slope(self.samples), 2)
        counts["most threads of the process"] = max(s["threads"] for s in self.samples)
        counts["most open files"] = max(s["files"] for s in self.samples)
        return finished(
            f"{THREADS} threads share a model, {THREADS} load one each, others compile, "
            "use the cache, run out of time, and cancel",
            "make soak", counts, violations=len(self.problems), seconds=self.seconds,
        )  # fmt: skip


def quarters(samples: Sequence[Mapping[str, int]]) -> list[Mapping[str, int]]:
    """The first sample and the last of each quarter."""
    return [samples[(len(samples) - 1) * each // 4] for each in range(5)]


def slope(samples: Sequence[Mapping[str, int]]) -> float:
    """Growth of memory in MiB per hour: the slope of a line fitted to all but the first quarter."""
    settled = samples[len(samples) // 4 :]
    if len(settled) < 2:
        return 0.0
    hours = [s["s"] / 3600 for s in settled]
    return float(
        np.polynomial.Polynomial.fit(hours, [s["MiB"] for s in settled], 1).convert().coef[1]
    )


def growth(samples: Sequence[Mapping[str, int]]) -> dict[str, int]:
    """Growth of the median from the second quarter to the last, where it exceeds the allowed
    growth."""
    quarter = max(1, len(samples) // 4)
    second, last = samples[quarter : 2 * quarter] or samples, samples[-quarter:]
    grown = {
        name: int(np.median([s[name] for s in last]) - np.median([s[name] for s in second]))
        for name in ALLOWED_GROWTH
    }
    return {name: by for name, by in grown.items() if by > ALLOWED_GROWTH[name]}


def soak(seconds: float, interval: float, folder: Path) -> Soaked:
    """Run the load for `seconds`, with a sample every `interval` seconds."""
    temporary = folder / "temporary"
    temporary.mkdir()
    tempfile.tempdir = str(temporary)
    os.environ["GRAPHC_CACHE_SIZE"] = "1M"
    os.environ["XDG_CACHE_HOME"] = str(folder)  # for reproducers of compilations that time out
    load = Load(folder)
    workers, samples = load.threads(), [{"s": 0, **held(temporary)}]
    start = time.monotonic()
    for worker in workers:
        worker.start()
    try:
        while not load.stop.wait(min(interval, max(0.0, start + seconds - time.monotonic()))):
            samples.append({"s": int(time.monotonic() - start), **held(temporary)})
            show(samples[-1] | load.counts)
            if time.monotonic() - start >= seconds:
                load.stop.set()
    finally:
        load.stop.set()
        for worker in workers:
            worker.join()
    problems = load.problems + [f"never done: {name}" for name in DONE if not load.counts[name]]
    problems += [f"{name} grew by {by}" for name, by in growth(samples).items()]
    left = held(temporary)["temporary"]
    problems += [f"{left} files are left in the temporary folder"] if left else []
    return Soaked(time.monotonic() - start, load.counts, samples, problems)


def show(values: Mapping[str, int]) -> None:
    """Print one line and flush it."""
    print("  ".join(f"{name} {value:,}" for name, value in values.items()), flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Run, load and compile models for hours.")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--interval", type=float, default=60, metavar="SECONDS")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was counted")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="graphc-soak-") as folder:
        soaked = soak(60 * options.minutes, options.interval, Path(folder))
    print("\n".join(soaked.problems) or "nothing went wrong")
    if options.json is not None:
        write_run(soaked.run(), options.json)
    return 1 if soaked.problems else 0


if __name__ == "__main__":
    sys.exit(main())
