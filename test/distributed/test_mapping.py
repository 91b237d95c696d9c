"""`map` on files and arrays: results, resumption, and what users get wrong."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tool_models import dense

import graphc.distributed
from graphc.distributed import mapping
from graphc.errors import FeedError, UsageError, WorkerError


@pytest.fixture
def run():
    """`map` on two threads."""

    def call(*args, **kwargs):
        with ThreadPoolExecutor(2) as executor:
            return graphc.distributed.map(*args, executor=executor, **kwargs)

    return call


def write_npz(folder, rows, size=20):
    """Files of `size` rows each."""
    folder.mkdir(exist_ok=True)
    for start in range(0, len(rows["x"]), size):
        part = {name: array[start : start + size] for name, array in rows.items()}
        np.savez(folder / f"part-{start:03}.npz", **part)
    return folder


def test_processes_map_a_folder(dense_file, tmp_path, rows, check):
    folder = write_npz(tmp_path / "in", rows)
    result = graphc.distributed.map(dense_file, folder, tmp_path / "out", workers=2, batch_size=16)
    columns = check(result, rows)
    np.testing.assert_array_equal(columns["id"], rows["id"])
    assert [path.name.partition("-")[0] for path in result.files] == ["part"] * 3


def test_a_model_is_compiled_for_the_batch_size(run, tmp_path, rows, check):
    result = run(dense(), rows, tmp_path / "out", batch_size=8, threads=1)
    check(result, rows)
    (artifact,) = tmp_path.glob("out/_model-*")
    with graphc.load(artifact) as model:
        assert model.inputs[0].shape == (8, 4)


def test_arrays_and_iterables(run, dense_file, tmp_path, rows, check):
    check(run(dense_file, rows, tmp_path / "arrays", block_rows=7), rows)
    feeds = ({name: a[start : start + 9] for name, a in rows.items()} for start in range(0, 50, 9))
    check(run(dense_file, feeds, tmp_path / "iterable"), rows)


def test_npy_files_are_read_by_rows(run, dense_file, tmp_path, rows, check):
    np.save(tmp_path / "x.npy", rows["x"])
    result = run(dense_file, tmp_path / "x.npy", tmp_path / "out", block_rows=20)
    check(result, rows)
    assert len(result.files) == 3


def test_the_last_batch_of_a_fixed_size_is_padded_and_cut(run, fixed_file, tmp_path, rows, check):
    check(run(fixed_file, rows, tmp_path / "out", block_rows=20), rows)


def test_columns_by_other_names(run, dense_file, tmp_path, rows):
    data = {"features": rows["x"], "id": rows["id"]}
    result = run(dense_file, data, tmp_path / "out", columns={"x": "features"}, keep=["id"])
    with np.load(result.files[0]) as arrays:
        assert set(arrays) == {"id", "y"}


def test_the_same_call_computes_nothing_again(run, dense_file, tmp_path, rows, check):
    folder = write_npz(tmp_path / "in", rows)
    first = run(dense_file, folder, tmp_path / "out")
    times = [path.stat().st_mtime_ns for path in first.files]
    again = run(dense_file, folder, tmp_path / "out")
    check(again, rows)
    assert (first.reused, again.reused) == (0, 3)
    assert [path.stat().st_mtime_ns for path in again.files] == times


def test_results_follow_changes_of_the_data(run, dense_file, tmp_path, rows, check):
    folder = write_npz(tmp_path / "in", rows)
    run(dense_file, folder, tmp_path / "out")
    rows["x"] = rows["x"][::-1].copy()
    np.savez(folder / "part-000.npz", x=rows["x"][:20], id=rows["id"][:20])
    (folder / "part-020.npz").unlink()
    rows["x"][20:30] = np.load(folder / "part-040.npz")["x"]
    result = run(dense_file, folder, tmp_path / "out")
    check(result, {"x": rows["x"][:30]})
    assert result.reused == 1


def test_results_that_are_gone_or_cut_are_computed_again(run, dense_file, tmp_path, rows, check):
    folder = write_npz(tmp_path / "in", rows)
    first = run(dense_file, folder, tmp_path / "out")
    first.files[0].unlink()
    first.files[2].write_bytes(first.files[2].read_bytes()[:-9])
    again = run(dense_file, folder, tmp_path / "out")
    check(again, rows)
    assert again.reused == 1


def test_blocks_are_taken_as_they_are_needed(dense_file, tmp_path, rows):
    taken = 0

    def feeds():
        nonlocal taken
        for _ in range(40):
            taken += 1
            yield {"x": rows["x"]}

    ahead = []
    with ThreadPoolExecutor(1) as executor:
        graphc.distributed.map(
            dense_file, feeds(), tmp_path / "out", executor=executor, workers=1,
            progress=lambda event: ahead.append(taken - int(event.stage.split()[0])),
        )  # fmt: skip
    assert len(ahead) == 40
    assert max(ahead) <= 2


def test_a_worker_with_other_versions_is_refused(dense_file, tmp_path, rows, monkeypatch):
    forged = {**mapping.runtime_versions(), "iree-base-runtime": "3.12.0"}
    monkeypatch.setattr(mapping, "runtime_versions", lambda: forged)
    with pytest.raises(WorkerError, match=r"worker \d+ on .* iree-base-runtime .* of 3\.12\.0"):
        graphc.distributed.map(dense_file, rows, tmp_path / "out", workers=1)


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        (lambda d: d.pop("x"), FeedError, "block rows-000000000000: there is no column 'x'"),
        (lambda d: d.update(x=d["x"].astype(float)), FeedError, "take a column of float64"),
        (lambda d: d.update(x=d["x"][:, :3]), FeedError, r"must be float32\[batch, 4\]"),
        (lambda d: d.update(y=d["id"]), FeedError, "output 'y' is a column of the data set, too"),
        (lambda d: d.update(id=d["id"][:5]), FeedError, r"numbers of rows \(x: 50, id: 5\)"),
        (lambda d: d.update(id=np.int64(3)), FeedError, "no axis of rows"),
    ],
)
def test_data_that_does_not_fit(run, dense_file, tmp_path, rows, change, error, text):
    change(rows)
    with pytest.raises(error, match=text):
        run(dense_file, rows, tmp_path / "out")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"columns": {"z": "x"}}, "no input 'z'"),
        ({"engine": "spark"}, "no engine is named 'spark'"),
        ({"workers": 0}, "workers must be a positive number"),
        ({"block_rows": 0}, "block_rows must be positive"),
        ({"batch_size": -1}, "batch_size must be positive"),
        ({"cluster": "tcp://x:1"}, "has no cluster"),
    ],
)
def test_calls_that_are_refused(run, dense_file, tmp_path, rows, arguments, text):
    with pytest.raises(UsageError, match=text):
        run(dense_file, rows, tmp_path / "out", **arguments)


def test_an_output_folder_is_needed(run, dense_file, tmp_path, rows):
    with pytest.raises(UsageError, match="name the folder"):
        run(dense_file, rows)
    with pytest.raises(UsageError, match="not a ndarray"):
        run(dense_file, rows["x"], tmp_path / "out")


@pytest.mark.parametrize(
    ("files", "text"),
    [
        ({}, "the data set is empty"),
        ({"a.npz": b"", "b.parquet": b""}, "both Parquet files and arrays"),
        ({"a.npz": b"no archive"}, "block a.npz: it is not a .npz file"),
        ({"a.npy": b"no array"}, "is not a .npy file"),
    ],
)
def test_files_that_are_no_data(run, dense_file, tmp_path, files, text):
    folder = tmp_path / "in"
    folder.mkdir()
    for name, contents in files.items():
        (folder / name).write_bytes(contents)
    with pytest.raises(FeedError, match=text):
        run(dense_file, folder, tmp_path / "out")


def test_a_missing_data_set(run, dense_file, tmp_path):
    with pytest.raises(FeedError, match="there is no data set at"):
        run(dense_file, tmp_path / "none", tmp_path / "out")


def test_a_mistake_does_not_claim_the_folder(run, dense_file, tmp_path, rows, check):
    with pytest.raises(UsageError):
        run(dense_file, rows, tmp_path / "out", columns={"z": "x"})
    check(run(dense_file, rows, tmp_path / "out"), rows)
