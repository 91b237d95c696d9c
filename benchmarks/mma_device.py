"""The half of `mma_archive` that runs on the GPU: it checks and times the kernels of an archive.

A worker process runs them, so that a kernel that crashes or never ends costs no other its result:
the next worker goes on behind it. Results are compared with torch's in f32. CUPTI times kernels,
through ``torch.profiler``; the operands are random, and stay on the device.

This file stands alone: it is the ``__main__`` of the archive.
"""

import argparse
import json
import os
import selectors
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

RUNS = 6
WRONG = 2e-3
"""Norm of the error of a wrong result, relative to that of the result."""
START_SECONDS = 40.0
"""Time for a worker to find the device."""
KERNEL_SECONDS = 10.0
MOST_HANGS = 3
"""Kernels of a kind without an end, after which others of it are left out."""

Problem = Mapping[str, Any]
Result = dict[str, Any]


def read_problems(archive: Path) -> list[dict[str, Any]]:
    with zipfile.ZipFile(archive) as file:
        return json.loads(file.read("problems.json"))


# The worker


class DeviceProblem:
    """Operands of a problem on the device, and what torch computes from them."""

    def __init__(self, problem: Problem, config: Any, contents: bytes):
        import iree.runtime as runtime
        import torch

        self.torch, self.problem = torch, problem
        generator = torch.Generator(device="cuda").manual_seed(1)
        m, n, k = (problem[name] for name in "mnk")
        windows = problem.get("windows")
        sizes = [(m, k), (n, k)]
        if windows is not None:
            sizes = [windows["image"], (n, *windows["kernel"], windows["image"][-1])]
        a, b = (torch.randn(*s, device="cuda", generator=generator).half() for s in sizes)
        self.compute = self._torch_product(a, b, windows)
        self.expected = self._torch_product(a.float(), b.float(), windows)().reshape(m, n)
        host = [each.flatten().cpu().numpy() for each in (a, b)]
        self.operands = [runtime.asdevicearray(config.device, each) for each in host]
        context = runtime.SystemContext(config=config)
        module = runtime.VmModule.copy_buffer(context.instance, contents)
        context.add_vm_module(module)
        self.functions = context.modules[module.name]

    def _torch_product(
        self, a: Any, b: Any, windows: Mapping[str, Any] | None
    ) -> Callable[[], Any]:
        if windows is None:
            return lambda: a @ b.t()
        x, w = (each.permute(0, 3, 1, 2) for each in (a, b))
        conv, given = self.torch.nn.functional.conv2d, (None, windows["stride"], windows["low"])
        return lambda: conv(x, w, *given).permute(0, 2, 3, 1)

    def run(self, number: int) -> Any:
        return self.functions[f"f{number}"](*self.operands)

    def check(self, number: int) -> Result:
        """The error of a kernel, where it is wrong, and whether its results vary."""
        first, second = (self._result(number) for _ in range(2))
        error = (first - self.expected).norm() / self.expected.norm()
        found: Result = {"error": float(error), "same": bool((first == second).all())}
        if not float(error) <= WRONG:
            wrong = ~((first - self.expected).abs() <= 0.02 * self.expected.abs().max())
            found["wrong"] = float(wrong.float().mean())
            found["rows"], found["columns"] = (
                wrong.any(axis).nonzero().flatten()[:8].tolist() for axis in (1, 0)
            )
        return found

    def _result(self, number: int) -> Any:
        y = self.torch.from_numpy(self.run(number).to_host().copy()).cuda().float()
        parts = self.problem["kernels"][number]["parts"]
        return y.reshape(parts, *self.expected.shape).sum(0)

    def times(self, numbers: Sequence[int]) -> tuple[float, dict[int, float]]:
        """Microseconds of torch, and of each of the kernels."""
        from torch.profiler import ProfilerActivity, profile

        self.compute()
        for number in numbers:
            self.run(number)
        self.torch.cuda.synchronize()
        with profile(activities=[ProfilerActivity.CUDA]) as profiler:
            for _ in range(RUNS):
                self.compute()
                for number in numbers:
                    self.run(number)
            self.torch.cuda.synchronize()
        return times_of(profiler.events(), numbers)


def times_of(events: Sequence[Any], numbers: Sequence[int]) -> tuple[float, dict[int, float]]:
    """The median time of each kernel ``k_f<number>``, and the time that others take in a run."""
    launches: dict[str, list[float]] = {}
    for event in events:
        if "cuda" in str(event.device_type).lower() and not event.name.startswith("Mem"):
            launches.setdefault(event.name, []).append(event.device_time)
    medians = {name: sorted(each)[len(each) // 2] for name, each in launches.items()}
    own = {f"k_f{number}": number for number in numbers}
    others = sum(medians[name] * len(launches[name]) for name in medians if name not in own)
    return others / RUNS, {own[name]: time for name, time in medians.items() if name in own}


def work(archive: Path, wanted: Sequence[str]) -> None:
    """Check and time the kernels ``<problem>:<number>``, and print a line before and after each."""
    import iree.runtime as runtime
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    config = runtime.Config("cuda")
    torch.zeros(1).cuda()
    print("device", torch.cuda.get_device_name(), flush=True)
    numbers: dict[str, list[int]] = {}
    for each in wanted:
        name, _, number = each.rpartition(":")
        numbers.setdefault(name, []).append(int(number))
    by_name = {problem["name"]: problem for problem in read_problems(archive)}
    for name, own in numbers.items():
        print("start", f"{name}:{own[0]}", flush=True)
        with zipfile.ZipFile(archive) as file:
            there = DeviceProblem(by_name[name], config, file.read(f"{name}.vmfb"))
        results: dict[int, Result] = {}
        for number in own:
            print("start", f"{name}:{number}", flush=True)
            results[number] = there.check(number)
            print("checked", json.dumps([f"{name}:{number}", results[number]]), flush=True)
        theirs, times = there.times(own)
        print("timed", json.dumps([name, theirs, times]), flush=True)
        del there
        torch.cuda.empty_cache()


# The parent


@dataclass
class Progress:
    """Kernels still to be run, and the results, by ``<problem>:<number>``."""

    problems: Sequence[Problem]
    results: dict[str, Result] = field(default_factory=dict[str, Result])
    torch: dict[str, float] = field(default_factory=dict[str, float])
    device: str = ""
    current: str | None = None
    hangs: dict[str, int] = field(default_factory=dict[str, int])

    def todo(self) -> list[str]:
        """Kernels that have not been timed and did not fail, but for kinds that hang."""
        return [
            name
            for name, kernel in self._kernels()
            if not self.results.get(name, {}).keys() & {"time", "failed"}
            and self.hangs.get(_kind(kernel), 0) < MOST_HANGS
        ]

    def _kernels(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        for problem in self.problems:
            for number, kernel in enumerate(problem["kernels"]):
                yield f"{problem['name']}:{number}", kernel

    def read(self, line: str) -> None:
        """Take up a line of a worker."""
        word, _, rest = line.strip().partition(" ")
        if word == "device":
            self.device = rest
        elif word == "start":
            self.current = rest
        elif word == "checked":
            name, result = json.loads(rest)
            self.results[name] = result
        elif word == "timed":
            name, theirs, times = json.loads(rest)
            self.torch[name], self.current = theirs, None
            for number, microseconds in times.items():
                self.results[f"{name}:{number}"]["time"] = microseconds

    def fail(self, reason: str, *, hung: bool) -> None:
        """Note that the worker has ended, in the kernel that it had started."""
        if self.current is None:
            return
        self.results.setdefault(self.current, {})["failed"] = reason
        if hung:
            kind = _kind(dict(self._kernels())[self.current])
            self.hangs[kind] = self.hangs.get(kind, 0) + 1
        self.current = None


def _kind(kernel: Mapping[str, Any]) -> str:
    return kernel["label"].partition(" ")[0]


def run(archive: Path, progress: Progress, seconds: float) -> None:
    """Run workers until everything is done, or for so many seconds."""
    end = time.monotonic() + seconds
    while (todo := progress.todo()) and time.monotonic() < end:
        command = [sys.executable, str(archive), "--worker", *todo]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as worker:
            hung = _follow(worker, progress, end)
            worker.kill()
            _, errors = worker.communicate()
        told = " ".join(errors.split())[-160:]
        progress.fail(f"{'no end' if hung else 'it crashed'}: {told}", hung=hung)
        if len(progress.todo()) == len(todo):
            print(f"the worker does nothing: {errors[-500:]}")
            return


def _follow(worker: "subprocess.Popen[str]", progress: Progress, end: float) -> bool:
    """Read the lines of a worker until it ends, and return True if it does not."""
    assert worker.stdout is not None
    output = worker.stdout.fileno()
    os.set_blocking(output, False)
    selector = selectors.DefaultSelector()
    selector.register(output, selectors.EVENT_READ)
    unread, last, limit = "", time.monotonic(), START_SECONDS
    while time.monotonic() < end:
        if selector.select(timeout=0.5):
            data = os.read(output, 1 << 16)
            if not data:
                return False
            *lines, unread = (unread + data.decode()).split("\n")
            for line in lines:
                progress.read(line)
            last, limit = time.monotonic(), KERNEL_SECONDS
        elif time.monotonic() - last > limit:
            return True
    progress.current = None  # the time is over, which is not the kernel's fault
    return False


def table(progress: Progress) -> Iterator[str]:
    """A line for each problem: torch, the fastest kernel of each kind, and what is wrong."""
    yield f"{progress.device}; microseconds (TFLOP/s)"
    for problem in progress.problems:
        name, flops = problem["name"], 2 * problem["m"] * problem["n"] * problem["k"]
        best: dict[str, tuple[float, str]] = {}
        wrong: list[str] = []
        for number, kernel in enumerate(problem["kernels"]):
            result = progress.results.get(f"{name}:{number}", {})
            if "time" in result:
                kind, _, tile = kernel["label"].partition(" ")
                best[kind] = min(best.get(kind, (1e9, "")), (result["time"], tile))
            if "failed" in result or not result.get("error", 0) <= WRONG:
                wrong.append(f"{kernel['label']}: {result.get('failed') or result['error']}")
            elif not result.get("same", True):
                wrong.append(f"{kernel['label']} varies")
        if best:
            theirs = _rate("torch", flops, progress.torch[name])
            own = (_rate(f"{kind} {tile}", flops, t) for kind, (t, tile) in sorted(best.items()))
            yield f"{name}: {theirs}, {', '.join(own)}"
        for each in wrong:
            yield f"  WRONG {name} {each}"


def _rate(name: str, flops: int, microseconds: float) -> str:
    return f"{name} {microseconds:.1f} ({flops / max(microseconds, 1e-3) / 1e6:.0f})"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    archive = Path(__file__).parent
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["--worker"]:
        work(archive, given[1:])
        return 0
    parser = argparse.ArgumentParser(description="Check and time the kernels of this archive.")
    parser.add_argument("--seconds", type=float, default=300, help="for all (300)")
    parser.add_argument("-o", "--output", type=Path, help="a JSON file for the results")
    parser.add_argument("--only", default="", metavar="TEXT", help="matmuls with it in their name")
    options = parser.parse_args(given)
    problems = [each for each in read_problems(archive) if options.only in each["name"]]
    progress = Progress(problems)
    run(archive, progress, options.seconds)
    if options.output is not None:
        found = {"device": progress.device, "torch": progress.torch, "results": progress.results}
        options.output.write_text(json.dumps({"problems": problems, **found}))
    print(*table(progress), f"{len(progress.todo())} kernels not run", sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
