"""Runs of a compiled model under the runtime's profiler: start and end of each dispatch.

The profiler is part of the runtime's command-line tools, so the runs take place in a child process.
"""

import json
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...errors import DeviceError, ExecutionError
from ..device.device import STACK_BYTES, open_device
from ..elements import ELEMENT_TYPES
from ..files.module_file import open_file, read_module
from ..iree_compile.child_process import describe_exit, run_child
from ..iree_compile.executables import find_executable
from ..threads.affinity import own_cpus
from .session import Session

_PROFILING = ("--device_profiling_mode=host-execution,executable-metadata",)
_SHOWN = 2000  # characters of a failed tool's output


@dataclass(frozen=True)
class Event:
    """One execution of a dispatch. Times are in seconds; `start` and `end` since the first event.

    `busy` is the total time that all workers spent on its `pieces`: the runtime's units of work,
    each of which may be several workgroups of the kernel.
    """

    kernel: str
    command_buffer: int
    index: int
    start: float
    end: float
    busy: float
    pieces: int


def capture(
    contents: bytes | memoryview, inputs: Sequence[np.ndarray], threads: int, runs: int
) -> list[Event]:
    """The dispatches of `runs` runs of a ``.vmfb``, in order of their start.

    Raises `ExecutionError` if the runs fail, `DeviceError` if there is no profiler.
    """
    with tempfile.TemporaryDirectory(prefix="graphc-") as folder:
        module, bundle = Path(folder, "module.vmfb"), Path(folder, "runs.ireeprof")
        module.write_bytes(contents)
        command = [
            str(_tool("iree-benchmark-module")),
            f"--module={module}",
            "--function=main",
            *_device(threads),
            *(_input(array, Path(folder, f"input{i}.bin")) for i, array in enumerate(inputs)),
            *_transients(contents, inputs),
            f"--benchmark_min_time={runs}x",
            *_PROFILING,
            f"--device_profiling_output={bundle}",
        ]
        log = Path(folder, "log.txt")
        code = run_child(command, log, stage="profile")
        if code != 0 or not bundle.exists():
            said = log.read_text(errors="replace")[-_SHOWN:]
            how = "wrote nothing" if code == 0 else describe_exit(code or 0)
            raise ExecutionError(f"the runs under the profiler {how}: {said}")
        return _read(bundle)


def _device(threads: int) -> list[str]:
    if threads == 1:
        return ["--device=local-sync"]
    ids = ",".join(map(str, own_cpus(threads)))
    return [
        "--device=local-task",
        f"--task_topology_cpu_ids={ids}" if ids else f"--task_topology_group_count={threads}",
        f"--task_worker_stack_size={STACK_BYTES}",
    ]


def _input(array: np.ndarray, path: Path) -> str:
    array.astype(array.dtype.newbyteorder("="), copy=False).tofile(path)
    sizes = "".join(f"{size}x" for size in array.shape)
    return f"--input={sizes}{ELEMENT_TYPES[array.dtype.name].mlir[0]}=@{path}"


def _transients(contents: bytes | memoryview, inputs: Sequence[np.ndarray]) -> list[str]:
    """The argument for the buffer of intermediate results, if the module takes one."""
    file = read_module(open_file(bytes(contents)))
    if not file.transients.buffers:
        return []
    session = Session(file, open_device("local-sync", 1))
    try:
        return [f"--input=&{session.transient_bytes(inputs)}xi8"]
    finally:
        session.close()


def _read(bundle: Path) -> list[Event]:
    command = [str(_tool("iree-profile")), "dispatch", "--dispatch_events", "--format=jsonl"]
    done = subprocess.run([*command, str(bundle)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ExecutionError(f"the profile cannot be read: {done.stderr[-_SHOWN:]}")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    rows = [row for row in rows if row["type"] == "host_dispatch_event" and row["valid"]]
    rows.sort(key=lambda row: row["start_host_time_ns"])
    first = rows[0]["start_host_time_ns"] if rows else 0
    return [
        Event(
            kernel=row["key"],
            command_buffer=row["command_buffer_id"],
            index=row["command_index"],
            start=(row["start_host_time_ns"] - first) / 1e9,
            end=(row["end_host_time_ns"] - first) / 1e9,
            busy=row["tile_duration_sum_ns"] / 1e9,
            pieces=row["tile_count"],
        )
        for row in rows
    ]


def _tool(name: str) -> Path:
    path = find_executable("iree._runtime_libs", name)
    if path is None:
        raise DeviceError(f"profiling needs {name}, which comes with the package iree-base-runtime")
    return path
