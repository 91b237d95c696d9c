"""Workers and drivers that are killed lose no block and compute none twice."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from faulty_blocks import DeadlyBlock

import graphc.distributed
from graphc.distributed.executor_engine import run_on_processes
from graphc.distributed.manifest import FILE_NAME
from graphc.errors import ClusterError


def test_the_blocks_of_a_killed_worker_go_to_another(lose_a_worker):
    lose_a_worker(lambda job, blocks: run_on_processes(job, blocks, 2))


def test_a_block_that_kills_every_worker_ends_the_job(job, tmp_path):
    with pytest.raises(ClusterError, match="block deadly-0000: its worker was killed 3 times"):
        list(run_on_processes(job, [DeadlyBlock(tmp_path, 0, kills=9)], 1))
    assert len(list(tmp_path.glob("deadly-0000.*"))) == 3


def test_a_worker_loads_no_compiler():
    code = """
import sys, graphc.distributed.executor_engine
heavy = {"onnx", "torch_mlir", "iree.compiler", "graphc.compiler.compile"} & set(sys.modules)
assert not heavy, heavy
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(graphc.__file__).anchor)


def children(pid: int) -> list[int]:
    """The processes that the main thread of a process has started."""
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for processes in /proc")
def test_a_killed_driver_is_resumed(dense_file, tmp_path, check):
    x = np.random.default_rng(3).standard_normal((4000, 4), np.float32)
    np.save(tmp_path / "x.npy", x)
    out, arguments = tmp_path / "out", ["--workers", "1", "--threads", "1", "--block-rows", "40"]
    command = [sys.executable, "-m", "graphc.tools.gc_map", str(dense_file)]
    command += ["--input", str(tmp_path / "x.npy"), "--output", str(out), *arguments]
    driver = subprocess.Popen(command, cwd=tmp_path)
    try:
        while (lines := _lines(out / FILE_NAME)) < 5:  # the header, the model, three blocks
            assert driver.poll() is None
            time.sleep(0.005)
        workers = children(driver.pid)
    finally:
        driver.send_signal(signal.SIGKILL)
        driver.wait()
    assert lines < 102
    while any(Path(f"/proc/{pid}").exists() for pid in workers):  # they end by themselves
        time.sleep(0.01)
    result = graphc.distributed.map(
        dense_file, tmp_path / "x.npy", out, workers=1, threads=1, block_rows=40
    )
    check(result, {"x": x})
    assert 3 <= result.reused < 100


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0
