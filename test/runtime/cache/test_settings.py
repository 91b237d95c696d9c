"""Tests of the cache folder and its size limit."""

import sys
from pathlib import Path

import pytest

from graphc.errors import UsageError
from graphc.runtime.cache.compile_cache import CompileCache
from graphc.runtime.cache.settings import cache_limit, find_cache, format_size, parse_size
from graphc.runtime.cache.user_folders import user_cache_folder


@pytest.fixture(autouse=True)
def settings(monkeypatch, tmp_path):
    """No settings but a home."""
    for name in ("GRAPHC_CACHE", "GRAPHC_CACHE_SIZE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


def test_by_default_it_is_in_the_users_cache_folder(tmp_path, monkeypatch):
    cache = find_cache()
    assert cache.folder == user_cache_folder() / "compiled"
    assert cache.folder.is_relative_to(tmp_path)
    assert cache.limit == 5 << 30
    assert not cache.folder.exists()
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert find_cache().folder == Path("/somewhere/graphc/compiled")


@pytest.mark.parametrize(
    ("system", "folder"),
    [
        ("linux", ".cache/graphc"),
        ("darwin", "Library/Caches/graphc"),
        ("win32", "AppData/Local/graphc/Cache"),
    ],
)
def test_each_system_has_its_place(tmp_path, monkeypatch, system, folder):
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setenv("XDG_CACHE_HOME", "relative, and so to be ignored")
    assert user_cache_folder() == tmp_path / folder


def test_who_has_no_home_has_no_cache(monkeypatch):
    def homeless():
        raise RuntimeError("no home")

    monkeypatch.setattr(Path, "home", homeless)
    assert find_cache() is None
    assert find_cache(True) is None


@pytest.mark.parametrize("text", ["off", "0", "OFF", "no", "false"])
def test_the_environment_can_switch_it_off(monkeypatch, text, tmp_path):
    monkeypatch.setenv("GRAPHC_CACHE", text)
    assert find_cache() is None
    assert find_cache(True).folder == user_cache_folder() / "compiled"
    assert find_cache(tmp_path).folder == tmp_path


def test_the_environment_can_name_it(monkeypatch, tmp_path):
    monkeypatch.setenv("GRAPHC_CACHE", str(tmp_path / "named"))
    monkeypatch.setenv("GRAPHC_CACHE_SIZE", "10M")
    cache = find_cache()
    assert (cache.folder, cache.limit) == (tmp_path / "named", 10 << 20)
    assert find_cache(False) is None
    monkeypatch.setenv("GRAPHC_CACHE", "")
    assert find_cache().folder == user_cache_folder() / "compiled"


def test_what_is_given_is_taken(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert find_cache("relative").folder == tmp_path / "relative"
    assert find_cache("~/kept").folder == tmp_path / "kept"
    cache = CompileCache(tmp_path)
    assert find_cache(cache) is cache
    with pytest.raises(UsageError, match="empty name"):
        find_cache("")


@pytest.mark.parametrize(
    ("text", "size"),
    [("1048576", 1 << 20), ("500M", 500 << 20), ("2.5 GiB", 5 << 29), ("1kb", 1024), ("0", 0)],
)
def test_sizes(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "much", "-1", "5X", "1 2"])
def test_what_is_no_size(text, monkeypatch, caplog):
    with pytest.raises(UsageError, match="is no size"):
        parse_size(text)
    monkeypatch.setenv("GRAPHC_CACHE_SIZE", text)
    assert cache_limit() == 5 << 30
    assert ("GRAPHC_CACHE_SIZE" in caplog.text) == bool(text)


def test_sizes_are_shown():
    shown = [format_size(size) for size in (0, 1023, 1536, 5 << 30, 1 << 50)]
    assert shown == ["0 B", "1023 B", "1.5 KiB", "5.0 GiB", "1024.0 TiB"]
