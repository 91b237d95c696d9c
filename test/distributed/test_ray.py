"""`map` on a local cluster of Ray with two worker processes."""

import numpy as np
import pytest
from tool_models import dense_result

import graphc.distributed
from graphc.distributed.ray_engine import run_on_ray
from graphc.errors import ClusterError, FeedError

ray = pytest.importorskip("ray")
pytest.importorskip("ray.data")

pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="module")
def cluster():
    """A local cluster with two CPUs."""
    ray.init(num_cpus=2, log_to_driver=False, include_dashboard=False)
    yield
    ray.shutdown()


@pytest.mark.usefixtures("cluster")
def test_files_are_mapped(dense_file, tmp_path, rows, check):
    out = tmp_path / "out"
    check(graphc.distributed.map(dense_file, rows, out, engine="ray", block_rows=5), rows)
    again = graphc.distributed.map(dense_file, rows, out, engine="ray", block_rows=5)
    assert again.reused == 10


@pytest.mark.usefixtures("cluster")
def test_the_blocks_of_a_killed_worker_go_to_another(lose_a_worker):
    lose_a_worker(lambda job, blocks: run_on_ray(job, blocks, None, 2))


@pytest.mark.usefixtures("cluster")
def test_errors_are_those_of_graphc(dense_file, tmp_path, rows):
    with pytest.raises(FeedError, match="block rows-000000000000: there is no column 'x'"):
        graphc.distributed.map(dense_file, {"z": rows["x"]}, tmp_path / "out", engine="ray")


@pytest.mark.usefixtures("cluster")
def test_data_sets(dense_file, rows):
    items = [{"id": int(i), "x": x} for i, x in zip(rows["id"], rows["x"], strict=True)]
    dataset = graphc.distributed.map(dense_file, ray.data.from_items(items), batch_size=16)
    found = sorted(dataset.take_all(), key=lambda row: row["id"])
    assert [row["id"] for row in found] == list(range(50))
    np.testing.assert_allclose(
        np.stack([row["y"] for row in found]), dense_result(rows["x"]), rtol=1e-5, atol=1e-6
    )


def test_a_scheduler_that_is_not_there(dense_file, tmp_path, rows):
    with pytest.raises(ClusterError, match=r"no cluster of Ray at '127\.0\.0\.1:1'"):
        graphc.distributed.map(
            dense_file, rows, tmp_path / "out", engine="ray", cluster="127.0.0.1:1"
        )
