"""Data sets in Parquet files."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tool_models import dense_result

import graphc.distributed
from graphc.distributed.parquet_blocks import ArrowRows
from graphc.errors import FeedError

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def folder(tmp_path, rows):
    """A folder with two files of two row groups each; x are lists."""
    (tmp_path / "in").mkdir()
    for index, part in enumerate(np.split(np.arange(50), [30])):
        columns = {
            "x": list(rows["x"][part]),
            "id": rows["id"][part],
            "name": [f"n{i}" for i in part],
        }
        table = pyarrow.table(columns)
        parquet.write_table(table, tmp_path / "in" / f"part-{index}.parquet", row_group_size=16)
    return tmp_path / "in"


def run(*args, **kwargs):
    with ThreadPoolExecutor(2) as executor:
        return graphc.distributed.map(*args, executor=executor, **kwargs)


@pytest.mark.parametrize("as_uri", [False, True])
def test_row_groups_are_blocks(dense_file, folder, tmp_path, rows, as_uri):
    place = folder.as_uri() if as_uri else folder
    result = run(dense_file, place, tmp_path / "out", keep=["id", "name"])
    assert len(result.files) == 4
    table = parquet.read_table(tmp_path / "out")
    assert table.column_names == ["id", "name", "y"]
    assert table["id"].to_pylist() == list(range(50))
    y = ArrowRows(table).array("y")
    np.testing.assert_allclose(y, dense_result(rows["x"]), rtol=1e-5, atol=1e-6)
    assert run(dense_file, place, tmp_path / "out", keep=["id", "name"]).reused == 4


@pytest.mark.parametrize(
    ("column", "text"),
    [
        ([[1.0, 2, 3, 4], [1.0]], "lists of 1 to 4 elements"),
        ([[1.0, 2, 3, 4], None], "column 'x' has 1 null"),
        ([[1.0, 2, 3, None]] * 2, r"2 null\(s\) in its lists"),
        ([[1.0, 2, 3, 4]] * 2, "cannot take a column of float64"),
        (["a", "b"], "cannot take a column of object"),
    ],
)
def test_columns_that_do_not_fit(dense_file, tmp_path, column, text):
    parquet.write_table(pyarrow.table({"x": column}), tmp_path / "x.parquet")
    with pytest.raises(FeedError, match=text):
        run(dense_file, tmp_path / "x.parquet", tmp_path / "out")


def test_files_that_are_no_parquet(dense_file, tmp_path):
    (tmp_path / "x.parquet").write_bytes(b"PAR1 or not")
    with pytest.raises(FeedError, match=r"cannot read '.*x\.parquet'"):
        run(dense_file, tmp_path / "x.parquet", tmp_path / "out")
    with pytest.raises(FeedError, match="cannot read 'nothing://here'"):
        run(dense_file, "nothing://here", tmp_path / "out")
    with pytest.raises(FeedError, match="the data set is empty"):
        run(dense_file, (tmp_path / "none").as_uri(), tmp_path / "out")


@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
def test_arrays_survive_a_round_trip(shape):
    rows = ArrowRows(pyarrow.table({"id": [1, 2]}))
    y = np.arange(2 * np.prod(shape, dtype=int), dtype=np.float32).reshape(2, *shape)
    read = parquet.read_table(pyarrow.BufferReader(rows.encode({"y": y}, ["id"])))
    np.testing.assert_array_equal(ArrowRows(read).array("y"), y)
