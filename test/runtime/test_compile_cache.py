"""Compiled programs in a folder."""

import pytest

from graphc.errors import OutputError
from graphc.runtime.compile_cache import CompileCache, cache_key


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "module.mlir"
    path.write_bytes(b"module {}")
    return path


def test_what_was_put_is_there(tmp_path):
    cache = CompileCache(tmp_path / "cache")
    assert cache.get("ab12") is None
    cache.put("ab12", b"one")
    cache.put("ab34", b"two")
    assert (cache.get("ab12"), cache.get("ab34")) == (b"one", b"two")
    cache.put("ab12", b"three")
    assert cache.get("ab12") == b"three"


@pytest.mark.parametrize("damage", [lambda e: e[:-1], lambda e: e[:10], lambda e: e[:-1] + b"x"])
def test_a_damaged_entry_is_none(tmp_path, damage):
    cache = CompileCache(tmp_path)
    cache.put("ab12", b"contents")
    entry = tmp_path / "ab" / "ab12"
    entry.write_bytes(damage(entry.read_bytes()))
    assert cache.get("ab12") is None
    cache.put("ab12", b"contents")
    assert cache.get("ab12") == b"contents"


def test_nothing_but_entries_is_left(tmp_path):
    CompileCache(tmp_path).put("ab12", b"contents")
    assert [path.name for path in tmp_path.rglob("*")] == ["ab", "ab12"]


def test_a_folder_that_cannot_be_written_to(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="cannot write to the cache"):
        CompileCache(tmp_path / "file").put("ab12", b"contents")


def test_program_and_flags_make_the_key(source):
    key = cache_key(source, ["--a", "--b"])
    assert key == cache_key(source, ["--a", "--b"])
    assert key != cache_key(source, ["--b", "--a"])
    source.write_bytes(b"module { }")
    assert key != cache_key(source, ["--a", "--b"])
