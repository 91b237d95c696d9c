"""The compiled model that most tests map, and data for it."""

import sys
from pathlib import Path

import numpy as np
import pytest
from faulty_blocks import DeadlyBlock
from tool_models import dense, dense_result

import graphc
from graphc.compiler.compile import compile_to_file
from graphc.distributed.batching import batching
from graphc.distributed.worker import Artifact, MapJob, runtime_versions
from graphc.runtime.cache.digests import digest_of_file

# ``python -m pytest`` puts the current folder first, in which Dask's package `distributed` would be
# taken for ours.
ROOT = Path(graphc.__file__).resolve().parent
sys.path[:] = [each for each in sys.path if Path(each or ".").resolve() != ROOT]


@pytest.fixture(scope="session")
def dense_file(tmp_path_factory):
    """The model `dense`, compiled for one thread."""
    path = tmp_path_factory.mktemp("dense") / "dense.vmfb"
    path.write_bytes(compile_to_file(dense(), "cpu", threads=1)[0])
    return path


@pytest.fixture(scope="session")
def fixed_file(tmp_path_factory):
    """The model `dense` for eight rows, compiled for one thread."""
    path = tmp_path_factory.mktemp("dense8") / "dense8.vmfb"
    path.write_bytes(compile_to_file(dense(8), "cpu", threads=1)[0])
    return path


@pytest.fixture
def rows():
    """Arrays of 50 rows: the input and a key."""
    x = np.random.default_rng(7).standard_normal((50, 4), np.float32)
    return {"x": x, "id": np.arange(50)}


@pytest.fixture
def check():
    """``check(result, rows)``: each row is there once, in order, with its result."""

    def compare(result, rows):
        found = [dict(np.load(path)) for path in result.files]
        columns = {name: np.concatenate([each[name] for each in found]) for name in found[0]}
        assert result.rows == len(columns["y"]) == len(rows["x"])
        np.testing.assert_array_equal(columns["x"], rows["x"])
        np.testing.assert_allclose(columns["y"], dense_result(rows["x"]), rtol=1e-5, atol=1e-6)
        blocks = {path for path in result.folder.iterdir() if not path.name.startswith("_")}
        assert blocks == set(result.files)
        return columns

    return compare


@pytest.fixture
def job(dense_file, tmp_path):
    """A job of `dense` that writes to ``out``."""
    (tmp_path / "out").mkdir()
    with graphc.load(dense_file) as model:
        plan = batching(model.inputs, model.outputs, 4)
    artifact = Artifact(dense_file, digest_of_file(dense_file))
    return MapJob(artifact, 1, plan, {"x": "x"}, None, tmp_path / "out", runtime_versions())


@pytest.fixture
def lose_a_worker(job, tmp_path):
    """``lose_a_worker(run)``: of `run(job, blocks)` one block kills its worker; none is lost."""

    def check(run):
        blocks = [DeadlyBlock(tmp_path, index, kills=int(index == 3)) for index in range(8)]
        records = {record.file: record for record in run(job, blocks)}
        assert (tmp_path / "deadly-0003.0").exists()
        files = sorted(path.name for path in job.folder.iterdir() if path.suffix == ".npz")
        assert files == sorted(records)
        for block, name in zip(blocks, files, strict=True):
            with np.load(job.folder / name) as arrays:
                np.testing.assert_allclose(arrays["y"], dense_result(block.x), rtol=1e-5)

    return check
