"""Workers and drivers that are killed lose no block and compute none twice."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from faulty_blocks import DeadlyBlock
from tool_models import dense_result

import graphc.distributed
from graphc.distributed.batching import batching
from graphc.distributed.executor_engine import run_on_processes
from graphc.distributed.manifest import FILE_NAME
from graphc.distributed.worker import Artifact, MapJob, runtime_versions
from graphc.errors import ClusterError
from graphc.runtime.cache.digests import digest_of_file


@pytest.fixture
def job(dense_file, tmp_path):
    """A job of `dense` that writes to ``out``."""
    (tmp_path / "out").mkdir()
    with graphc.load(dense_file) as model:
        plan = batching(model.inputs, model.outputs, 4)
    artifact = Artifact(dense_file, digest_of_file(dense_file))
    return MapJob(artifact, 1, plan, {"x": "x"}, None, tmp_path / "out", runtime_versions())


def test_the_blocks_of_a_killed_worker_go_to_another(job, tmp_path):
    blocks = [DeadlyBlock(tmp_path, index, kills=int(index == 3)) for index in range(8)]
    records = {record.file: record for record in run_on_processes(job, blocks, 2)}
    assert (tmp_path / "deadly-0003.0").exists()
    files = sorted(path.name for path in job.folder.iterdir())
    assert files == sorted(records)
    for block, name in zip(blocks, files, strict=True):
        with np.load(job.folder / name) as arrays:
            np.testing.assert_allclose(arrays["y"], dense_result(block.x), rtol=1e-5)


def test_a_block_that_kills_every_worker_ends_the_job(job, tmp_path):
    with pytest.raises(ClusterError, match="block deadly-0000: its worker was killed 3 times"):
        list(run_on_processes(job, [DeadlyBlock(tmp_path, 0, kills=9)], 1))
    assert len(list(tmp_path.glob("deadly-0000.*"))) == 3


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
