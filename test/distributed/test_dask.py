"""`map` on a local cluster of Dask with two worker processes."""

import socket

import numpy as np
import pytest
from faulty_blocks import DeadlyBlock
from tool_models import dense_result

import graphc.distributed
from graphc.distributed.dask_engine import run_on_dask
from graphc.errors import ClusterError, UsageError, WorkerError

pytest.importorskip("dask.array")
dask_distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="module")
def cluster():
    """The address of a scheduler with two workers."""
    with dask_distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as found:
        yield found.scheduler_address


def test_files_are_mapped(dense_file, cluster, tmp_path, rows, check):
    result = graphc.distributed.map(
        dense_file, rows, tmp_path / "out", engine="dask", cluster=cluster, block_rows=5
    )
    check(result, rows)


def test_the_blocks_of_a_killed_worker_go_to_another(cluster, lose_a_worker):
    lose_a_worker(lambda job, blocks: run_on_dask(job, blocks, cluster, 2))


def test_a_block_that_kills_every_worker_ends_the_job(job, tmp_path):
    with pytest.raises(ClusterError, match="lost too many workers"):
        list(run_on_dask(job, [DeadlyBlock(tmp_path, 0, kills=99)], None, 1))


def test_a_scheduler_that_is_not_there(dense_file, tmp_path, rows):
    with socket.socket() as taken:  # bound, but it does not listen
        taken.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ClusterError, match="no scheduler of Dask answers at 'tcp://127"):
            graphc.distributed.map(
                dense_file, rows, tmp_path / "out", engine="dask", cluster=address
            )


def test_arrays(dense_file, cluster, rows):
    from dask import array as da

    x = da.from_array(rows["x"], chunks=(20, 2))
    with dask_distributed.Client(cluster, set_as_default=False) as client:
        y = graphc.distributed.map(dense_file, x)
        assert y.chunks == ((20, 20, 10), (3,))
        np.testing.assert_allclose(
            client.compute(y).result(), dense_result(rows["x"]), rtol=1e-5, atol=1e-6
        )
        both = graphc.distributed.map(dense_file, {"v": x}, columns={"x": "v"})
        assert set(both) == {"v", "y"}


def test_bags(dense_file, cluster, rows):
    from dask import bag

    items = [{"id": i, "x": x} for i, x in zip(rows["id"], rows["x"], strict=True)]
    with dask_distributed.Client(cluster, set_as_default=False) as client:
        found = graphc.distributed.map(dense_file, bag.from_sequence(items, npartitions=4))
        results = client.compute(found).result()
    assert [each["id"] for each in results] == list(range(50))
    np.testing.assert_allclose(
        np.stack([each["y"] for each in results]), dense_result(rows["x"]), rtol=1e-5, atol=1e-6
    )


def test_partitions_of_bags_are_sent_to_other_workers(dense_file, rows):
    import pickle

    from dask import bag

    items = [{"x": x} for x in rows["x"]]
    found = graphc.distributed.map(dense_file, bag.from_sequence(items, npartitions=2))
    first, second = found.map_partitions(lambda rows: [pickle.dumps(rows)]).compute(
        scheduler="sync"
    )
    assert len(pickle.loads(first)) + len(pickle.loads(second)) == 50


def test_collections_are_not_written(dense_file, tmp_path, rows):
    from dask import array as da

    with pytest.raises(UsageError, match="is mapped lazily"):
        graphc.distributed.map(dense_file, da.from_array(rows["x"]), tmp_path / "out")


def test_a_worker_with_other_versions_is_refused(dense_file, cluster, tmp_path, rows, monkeypatch):
    from graphc.distributed import mapping

    forged = {**mapping.runtime_versions(), "graphc": "0.0.1"}
    monkeypatch.setattr(mapping, "runtime_versions", lambda: forged)
    with pytest.raises(WorkerError, match=r"graphc .* instead of 0\.0\.1"):
        graphc.distributed.map(dense_file, rows, tmp_path / "out", engine="dask", cluster=cluster)
