"""The manifest: what it survives and what it refuses."""

import pytest

from graphc.distributed.manifest import FILE_NAME, ArtifactRecord, BlockRecord, MapManifest
from graphc.errors import ManifestError, OutputError

REQUEST = {"model": "abc", "batch_size": 8}


@pytest.fixture
def folder(tmp_path):
    """A folder with the results of two blocks."""
    with MapManifest(tmp_path, REQUEST) as manifest:
        manifest.add(ArtifactRecord("digest", "_model-digest"))
        for key in ("one", "two"):
            (tmp_path / f"{key}.npz").write_bytes(b"1234")
            manifest.add(BlockRecord(key, f"{key}.npz", 2, 4))
    return tmp_path


def test_records_are_read_again(folder):
    with MapManifest(folder, REQUEST) as manifest:
        assert manifest.has("one")
        assert manifest.has("two")
        assert not manifest.has("three")
        assert manifest.artifact == ArtifactRecord("digest", "_model-digest")


def test_results_that_are_missing_do_not_count(folder):
    (folder / "one.npz").unlink()
    (folder / "two.npz").write_bytes(b"123")
    with MapManifest(folder, REQUEST) as manifest:
        assert not manifest.has("one")
        assert not manifest.has("two")


def test_what_does_not_belong_to_the_job_is_removed(folder):
    (folder / ".three.npz.123.tmp").write_bytes(b"12")
    with MapManifest(folder, REQUEST) as manifest:
        manifest.complete(["two"])
    assert {path.name for path in folder.iterdir()} == {FILE_NAME, "two.npz"}
    with MapManifest(folder, REQUEST) as manifest:
        assert list(manifest.records) == ["two"]


def test_every_cut_of_the_last_line_is_survived(folder):
    contents = (folder / FILE_NAME).read_bytes()
    begin = contents.rstrip(b"\n").rfind(b"\n") + 1
    for end in range(begin, len(contents)):
        (folder / FILE_NAME).write_bytes(contents[:end])
        with MapManifest(folder, REQUEST) as manifest:
            assert list(manifest.records) == ["one"]
            manifest.add(BlockRecord("two", "two.npz", 2, 4))
        assert (folder / FILE_NAME).read_bytes() == contents


@pytest.mark.parametrize(
    "line",
    [b"", b"{", b"[1]", b"\xff", b'{"block": "one"}',
     b'{"block": 1, "file": "a", "rows": 1, "bytes": 1}',
     b'{"block": "one", "file": "../a", "rows": 1, "bytes": 1}',
     b'{"block": "one", "file": "a", "rows": true, "bytes": 1}',
     b'{"artifact": "digest", "file": 3}'],
)  # fmt: skip
def test_damage_is_refused_by_line(folder, line):
    lines = (folder / FILE_NAME).read_bytes().splitlines()
    lines[2] = line
    (folder / FILE_NAME).write_bytes(b"\n".join([*lines, b""]))
    with pytest.raises(ManifestError, match=r"_manifest\.jsonl' is damaged in line 3"):
        MapManifest(folder, REQUEST)


def test_another_format_is_refused(folder):
    text = (folder / FILE_NAME).read_text()
    (folder / FILE_NAME).write_text(text.replace('"format": 1', '"format": 2'))
    with pytest.raises(ManifestError, match="no manifest of format 1"):
        MapManifest(folder, REQUEST)


def test_another_job_is_refused_with_the_difference(folder):
    with pytest.raises(ManifestError, match="another job: batch_size was 8, is 16"):
        MapManifest(folder, {**REQUEST, "batch_size": 16})


def test_another_job_may_begin_where_there_are_no_results(tmp_path):
    MapManifest(tmp_path, REQUEST).close()
    MapManifest(tmp_path, {**REQUEST, "batch_size": 16}).close()
    with MapManifest(tmp_path, {**REQUEST, "batch_size": 16}) as manifest:
        manifest.add(BlockRecord("one", "one.npz", 2, 4))
    with pytest.raises(ManifestError, match="batch_size was 16, is 8"):
        MapManifest(tmp_path, REQUEST)


def test_one_process_at_a_time(folder):
    with MapManifest(folder, REQUEST), pytest.raises(ManifestError, match="in use"):
        MapManifest(folder, REQUEST)
    MapManifest(folder, REQUEST).close()


def test_a_folder_that_is_a_file(tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(OutputError, match="cannot write"):
        MapManifest(tmp_path / "out", REQUEST)
