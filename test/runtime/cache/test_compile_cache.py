"""Tests of the cache folder: entries come back complete or not at all."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from graphc.runtime.cache.compile_cache import LEFT_OVER_SECONDS, CompileCache, Removed
from graphc.runtime.cache.digests import digest_of, digest_of_file
from graphc.runtime.cache.keys import is_self_contained, kernel_key, program_key

ABOUT = {"kind": "program", "name": "model", "target": "cpu:host"}
A, B, C = (letter * 64 for letter in "abc")


def put(cache, key, contents, **about):
    cache.put(key, contents, **{**ABOUT, **about})


def files(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def backdate(path, seconds):
    moment = time.time() - seconds
    os.utime(path, (moment, moment))


@pytest.fixture
def cache(tmp_path):
    return CompileCache(tmp_path / "cache")


@pytest.fixture
def contents_of(cache):
    """``contents_of(key)``: the file that the entry leads to."""
    return lambda key: cache.find(key).path


def test_what_was_put_is_there(cache):
    assert cache.read(A) is None
    put(cache, A, b"one", details={"told": ["with it"]})
    put(cache, B, b"two")
    assert (cache.read(A), cache.read(B)) == (b"one", b"two")
    assert cache.find(A).details == {"told": ["with it"]}
    put(cache, A, b"three")
    assert cache.read(A) == b"three"
    assert [(s.key, s.entry.name, s.entry.size) for s in cache.entries()] == [
        (A, "model", 5),
        (B, "model", 3),
    ]


def test_equal_contents_are_kept_once(cache, contents_of):
    put(cache, A, b"same" * 1000)
    put(cache, B, b"same" * 1000)
    assert contents_of(A) == contents_of(B)
    assert cache.bytes_held() < 2 * 4000


@pytest.mark.parametrize(
    "damage",
    [
        lambda old: old[:-1],
        lambda old: b"",
        lambda old: old[:-1] + bytes([old[-1] ^ 1]),
        lambda old: b"\0" * len(old),
        lambda old: old + b"more",
        None,
    ],
    ids=["truncated", "empty", "one bit", "zeros", "longer", "missing"],
)
@pytest.mark.parametrize("what", ["entry", "contents"])
def test_what_is_damaged_counts_as_none(cache, contents_of, what, damage):
    put(cache, A, b"contents " * 100, details={"report": 1})
    path = contents_of(A) if what == "contents" else cache.folder / "entries" / A
    if damage is None:
        path.unlink()
    else:
        path.write_bytes(damage(path.read_bytes()))
    assert cache.find(A) is None
    put(cache, A, b"contents " * 100, details={"report": 1})
    assert cache.read(A) == b"contents " * 100
    assert cache.find(A).details == {"report": 1}


def test_what_belongs_to_contents_is_checked_too(cache):
    put(cache, A, b"contents", details={"report": 1})
    path = cache.folder / "entries" / A
    path.write_bytes(path.read_bytes().replace(b'"report":1', b'"report":2'))
    assert cache.find(A) is None


def test_what_is_not_ours_counts_as_none(cache):
    put(cache, A, b"contents")
    entry = cache.folder / "entries" / A
    (entry.parent / B).write_bytes(entry.read_bytes())  # another's, under this name
    assert cache.find(B) is None
    for foreign in (b"{}\n{}\n", b"[]\n", b"\xff\xfe", b"[" * 100_000):
        (entry.parent / B).write_bytes(foreign)
        assert cache.find(B) is None
    entry.unlink()
    os.mkfifo(entry)  # would be waited for
    assert cache.find(A) is None
    entry.unlink()
    entry.mkdir()
    assert cache.find(A) is None
    assert cache.entries() == []


def test_the_least_recently_used_go_first(cache):
    for age, key in enumerate((C, B, A)):
        put(cache, key, key.encode() * 1000)
        backdate(cache.folder / "entries" / key, 100 - age)
    assert [stored.key for stored in cache.entries()] == [A, B, C]
    assert cache.read(C)  # a use
    small = CompileCache(cache.folder, limit=140_000)
    assert small.prune().entries == 1
    assert [stored.key for stored in cache.entries()] == [C, A]
    assert len(files(cache.folder / "contents")) == 2


def test_a_bound_is_kept_whatever_is_put(tmp_path):
    cache = CompileCache(tmp_path, limit=50_000)
    for number in range(10):
        put(cache, f"{number:064x}", bytes([number]) * 20_000)
        assert cache.bytes_held() <= 50_000 + 1000
    assert [int(stored.key, 16) for stored in cache.entries()] == [9, 8]
    put(cache, A, b"x" * 60_000)
    assert cache.find(A) is None
    assert len(cache.entries()) == 2


def test_contents_stay_while_an_entry_leads_to_them(cache):
    put(cache, A, b"same" * 1000)
    put(cache, B, b"same" * 1000)
    backdate(cache.folder / "entries" / A, 100)
    assert CompileCache(cache.folder, limit=4500).prune().entries == 1
    assert cache.find(A) is None
    assert cache.read(B) == b"same" * 1000


def test_only_what_is_ours_is_removed(cache, tmp_path):
    put(cache, A, b"contents")
    others = [cache.folder / "mine", cache.folder / "entries" / "notes.txt", tmp_path / "above"]
    for path in others:
        path.write_text("mine")
        backdate(path, 2 * LEFT_OVER_SECONDS)
    cache.prune()
    removed = cache.clear()
    assert removed.entries == 1
    assert all(path.exists() for path in others)
    assert cache.bytes_held() == 0
    assert CompileCache(tmp_path / "none").clear() == Removed()


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
def test_killed_at_any_moment_it_is_sound(cache):
    """Writers are killed again and again; what an entry leads to is always what was put."""
    code = """
import sys
from pathlib import Path
from graphc.runtime.cache import compile_cache
cache = compile_cache.CompileCache(Path(sys.argv[1]))
all_contents = [bytes([number]) * (8 << 20) for number in range(2)]
digests = list(map(compile_cache.digest_of, all_contents))
compile_cache.digest_of = lambda contents: digests[contents[0]]  # to be killed while it writes
while True:
    for number, contents in enumerate(all_contents):
        (cache.folder / "contents" / digests[number]).unlink(missing_ok=True)
        cache.put(f"{number:064x}", contents, kind="model", name="m", target="cpu")
        print(flush=True)
"""
    drawn = random.Random(0)
    for _ in range(8):
        command = [sys.executable, "-c", code, str(cache.folder)]
        writers = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2)]
        for writer in writers:
            writer.stdout.readline()
        time.sleep(drawn.uniform(0, 0.05))
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
            writer.communicate()
        for path in files(cache.folder / "contents"):
            assert path.name == digest_of_file(path)
    assert cache.entries()
    for stored in cache.entries():
        number = int(stored.key, 16)
        put(cache, stored.key, bytes([number]) * (8 << 20))
        assert cache.read(stored.key) == bytes([number]) * (8 << 20)
    for path in files(cache.folder / "partial"):
        backdate(path, 2 * LEFT_OVER_SECONDS)
    cache.prune()
    assert files(cache.folder / "partial") == []


def test_what_killed_processes_left_is_swept(cache, contents_of):
    put(cache, A, b"contents")
    backdate(contents_of(A), 3 * LEFT_OVER_SECONDS)
    backdate(cache.folder / "entries" / A, 3 * LEFT_OVER_SECONDS)
    left = [
        cache.folder / "partial" / B,
        cache.folder / "contents" / digest_of(b"nobody's"),
        cache.folder / "entries" / C,
    ]
    for path in left:
        path.write_bytes(b"nobody's")
    cache.prune()
    assert all(path.exists() for path in left)  # they may be about to be used
    for path in left:
        backdate(path, 2 * LEFT_OVER_SECONDS)
    assert cache.prune() == Removed(0, 24)
    assert not any(path.exists() for path in left)
    assert cache.read(A) == b"contents"


def test_writers_look_for_left_overs_once_in_an_hour(cache):
    put(cache, A, b"contents")
    left, tag = cache.folder / "partial" / C, cache.folder / "CACHEDIR.TAG"
    for key, is_swept in [(B, False), (C, True), (A, False)]:
        left.write_bytes(b"nobody's")
        backdate(left, 2 * LEFT_OVER_SECONDS)
        if is_swept:
            backdate(tag, 2 * LEFT_OVER_SECONDS)
        put(cache, key, key.encode())
        assert left.exists() != is_swept


def test_a_folder_that_cannot_be_written_to_is_a_warning(tmp_path, caplog):
    (tmp_path / "file").touch()
    cache = CompileCache(tmp_path / "file")
    put(cache, A, b"contents")
    put(cache, B, b"contents")
    (warning,) = caplog.records
    assert "cannot be kept in the cache" in warning.message
    assert "GRAPHC_CACHE" in warning.message
    assert cache.find(A) is None


def test_a_folder_that_is_only_read_is_read(cache, monkeypatch):
    put(cache, A, b"contents")

    def refuse(*_):
        raise PermissionError("read-only")

    monkeypatch.setattr(os, "utime", refuse)
    assert cache.read(A) == b"contents"


def test_a_full_disk_is_a_warning_and_leaves_nothing(tmp_path):
    code = """
import logging, resource, signal, sys
from pathlib import Path
from graphc.runtime.cache.compile_cache import CompileCache
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
CompileCache(Path(sys.argv[1])).put("a" * 64, bytes(200_000), kind="model", name="m", target="cpu")
"""
    command = [sys.executable, "-c", code, str(tmp_path / "cache")]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=True)
    assert "cannot be kept" in done.stderr
    assert "too large" in done.stderr
    assert [path.name for path in files(tmp_path)] == ["CACHEDIR.TAG"]


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs owners")
def test_the_users_own_folder_is_the_users_own(tmp_path, monkeypatch, caplog):
    folder = tmp_path / "deep" / "cache"
    cache = CompileCache(folder, private=True)
    put(cache, A, b"contents")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert cache.read(A) == b"contents"
    monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)
    assert cache.find(A) is None
    put(cache, B, b"contents")
    assert "another user" in caplog.text
    assert CompileCache(folder).read(A) == b"contents"  # one that was asked for may be shared


def test_program_and_flags_make_the_key(monkeypatch):
    key = program_key("digest", ["--a", "--b"])
    assert key == program_key("digest", ["--a", "--b"])
    others = [
        program_key("digest", ["--b", "--a"]),
        program_key("digest", ["--a--b"]),
        program_key("another", ["--a", "--b"]),
        kernel_key("digest", ["--a", "--b"]),
    ]
    assert len({key, *others}) == 5
    monkeypatch.setattr("graphc.runtime.cache.keys.surroundings", lambda: ("another CPU",))
    assert key != program_key("digest", ["--a", "--b"])


@pytest.mark.parametrize("size", [0, 1, 100, 101, 250])
def test_digests_are_the_same_of_files_and_memory(tmp_path, monkeypatch, size):
    monkeypatch.setattr("graphc.runtime.cache.digests._CHUNK", 100)
    contents = random.Random(size).randbytes(size)
    path = tmp_path / "file"
    path.write_bytes(contents)
    digest = digest_of_file(path)
    assert digest == digest_of(contents) == digest_of(memoryview(contents))
    for position in range(0, size, 50):
        changed = bytearray(contents)
        changed[position] ^= 1
        assert digest_of(bytes(changed)) != digest


@pytest.mark.parametrize(
    ("flag", "expected"),
    [
        ("--iree-opt-level=O2", True),
        ("--iree-llvmcpu-target-cpu=znver4", True),
        ("--iree-opt-data-tiling", True),
        ("--iree-hal-dump-executable-files-to=out", False),
        ("--iree-hal-substitute-executable-objects-from=objects", False),
        ("--iree-preprocessing-transform-spec-filename=spec.mlir", False),
        ("--mlir-print-ir-after-all", False),
        ("--mlir-timing", False),
        ("--save-temps", False),
        ("--some-flag=folder/file", False),
        ("@response.txt", False),
    ],
)
def test_flags_that_read_or_write_files(flag, expected):
    assert is_self_contained([flag]) is expected
    assert is_self_contained(["--iree-opt-level=O2", flag]) is expected
    assert is_self_contained(["--named=here"])


def test_a_flag_that_names_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("here").touch()
    assert not is_self_contained(["--named=here"])


@pytest.mark.parametrize("change", [{"size": -1}, {"created": 1e300}, {"created": float("nan")}])
def test_entries_with_odd_numbers_count_as_none(cache, change):
    put(cache, A, b"contents")
    path = cache.folder / "entries" / A
    head, _, body = path.read_bytes().partition(b"\n")
    path.write_bytes(json.dumps({**json.loads(head), **change}).encode() + b"\n" + body)
    assert cache.entries() == []
    assert cache.find(A) is None


def test_an_entry_larger_than_any_counts_as_none(cache):
    put(cache, A, b"contents")
    os.truncate(cache.folder / "entries" / A, 1 << 40)  # zeros that take no room
    assert cache.entries() == []
