"""gc-cache: what it shows of a cache, and what it removes."""

import os
import subprocess
import sys
import time

import pytest

from graphc.runtime.cache.compile_cache import CompileCache
from graphc.tools.gc_cache import main


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache that the environment names, with two models, of which one was used last year."""
    made = CompileCache(tmp_path / "cache")
    for number, name in enumerate(("bert", "resnet50")):
        contents = bytes([number]) * 3_000_000
        made.put(f"{number:064x}", contents, kind="model", name=name, target="cpu:host")
        made.put(f"{number + 8:064x}", contents, kind="program", name=name, target="cpu:host")
        made.put(f"{number + 4:064x}", b"", kind="files", name=name, target="cpu:host")
    for age, number in enumerate((0, 8, 4)):
        moment = time.mktime((2020, 1, 2, 3, 4, 5, 0, 0, -1)) - age
        os.utime(made.folder / "entries" / f"{number:064x}", (moment, moment))
    monkeypatch.setenv("GRAPHC_CACHE", str(made.folder))
    return made


def test_list(cache, capsys):
    assert main(["list"]) == 0
    head, *rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert head == ["model", "target", "kept", "size", "last", "use"]
    assert sorted(row[:5] for row in rows[:2]) == [
        ["resnet50", "cpu:host", "model", "2.9", "MiB"],
        ["resnet50", "cpu:host", "program", "2.9", "MiB"],
    ]
    assert [row[-2:] for row in rows[2:]] == [["2020-01-02", "03:04"]] * 2
    assert len(rows) == 4


def test_info(cache, capsys, monkeypatch):
    monkeypatch.setenv("GRAPHC_CACHE_SIZE", "1G")
    assert main(["info"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"folder: {cache.folder}",
        "kept:   2 models, 2 programs, 0 kernels",
        "size:   5.7 MiB of at most 1.0 GiB",
    ]


def test_kernels_of_an_object_file_are_one_row(cache, capsys):
    keys = [f"{number:064x}" for number in (32, 33, 34)]
    cache.put_all(keys, b"object", kind="kernel", name="vit", target="cpu:host")
    cache.put("f" * 64, b"another", kind="kernel", name="gpt2", target="cpu:host")
    assert main(["list"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [row[1:6] for row in rows if row[0] == "vit"] == [["cpu:host", "3", "kernels", "6", "B"]]
    assert [row[1:6] for row in rows if row[0] == "gpt2"] == [["cpu:host", "1", "kernel", "7", "B"]]
    assert main(["info"]) == 0
    assert "2 programs, 4 kernels" in capsys.readouterr().out


def test_prune(cache, capsys):
    assert main(["prune"]) == 0
    assert capsys.readouterr().out == "removed 0 entries, 0 B\n"
    assert main(["prune", "--size", "4M"]) == 0
    assert capsys.readouterr().out == "removed 3 entries, 2.9 MiB\n"
    assert {each.entry.name for each in cache.entries()} == {"resnet50"}
    assert main(["prune", "--size", "0"]) == 0
    assert cache.entries() == []


def test_clear(cache, capsys):
    assert main(["clear"]) == 0
    assert capsys.readouterr().out == "removed 6 entries, 5.7 MiB\n"
    assert (cache.entries(), cache.bytes_held()) == ([], 0)
    assert main(["list"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_another_folder(cache, tmp_path, capsys):
    assert main(["--cache", str(tmp_path / "none"), "clear"]) == 0
    assert "removed 0 entries" in capsys.readouterr().out
    assert not (tmp_path / "none").exists()
    assert len(cache.entries()) == 6


def test_what_is_refused(refused, monkeypatch, cache):
    refused(main, ["prune", "--size", "much"], 2, "'much' is no size")
    monkeypatch.setenv("GRAPHC_CACHE", "off")
    refused(main, ["list"], 2, "there is no cache: GRAPHC_CACHE is off")


def test_the_command(cache):
    command = [sys.executable, "-m", "graphc.tools.gc_cache"]
    done = subprocess.run([*command, "list"], capture_output=True, text=True, check=True)
    assert "resnet50" in done.stdout
    assert subprocess.run(command, capture_output=True, check=False).returncode == 2
