"""The environment of the backend's processes."""

import sys

import pytest

from graphc.runtime import compile_module, resolve_target
from graphc.runtime.iree_compile import backend_environment as environment
from graphc.runtime.iree_compile import compiler
from graphc.runtime.iree_compile.child_process import run_child

TBB = ("libtbbmalloc.so.2", "libtbbmalloc_proxy.so.2")

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="LD_PRELOAD is one of Linux")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder of libraries, with no variable set."""
    monkeypatch.setattr(environment, "FOLDERS", (tmp_path / "none", tmp_path))
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    return tmp_path


@pytest.mark.parametrize(
    ("there", "loaded"),
    [
        ((), ()),
        (("libjemalloc.so.1", TBB[1]), ()),
        (TBB, TBB),
        ((*TBB, "libmimalloc.so.2"), ("libmimalloc.so.2",)),
    ],
    ids=str,
)
def test_an_allocator_that_is_installed_is_preloaded(there, loaded, folder):
    for name in there:
        (folder / name).touch()
    variables = environment.backend_environment(folder)
    assert variables.pop("LD_PRELOAD", "") == ":".join(str(folder / name) for name in loaded)
    assert variables == dict.fromkeys(("TMPDIR", "TMP", "TEMP"), str(folder))


@pytest.mark.parametrize("name", ["with spaces", "with:colons"])
def test_a_path_that_cannot_be_preloaded_is_not(name, folder, monkeypatch):
    (folder / name).mkdir()
    (folder / name / "libjemalloc.so.2").touch()
    monkeypatch.setattr(environment, "FOLDERS", (folder / name,))
    assert "LD_PRELOAD" not in environment.backend_environment(folder)


def test_what_the_user_preloads_stays(folder, monkeypatch):
    (folder / "libjemalloc.so.2").touch()
    monkeypatch.setenv("LD_PRELOAD", "")
    assert "LD_PRELOAD" not in environment.backend_environment(folder)


def test_programs_are_the_same_with_it(source, tmp_path, monkeypatch):
    program, loaded = tmp_path / "add.mlir", []
    program.write_bytes(source("add"))

    def run(command, log, *, environment, **options):  # without what other tests have compiled
        loaded.append(environment.get("LD_PRELOAD"))
        return run_child(command, log, environment=environment, **options)

    monkeypatch.setattr(compiler, "run_child", run)
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    if not environment._find_allocator():
        pytest.skip("no allocator is installed")
    first = compile_module(program, target=resolve_target("cpu"), threads=1)
    monkeypatch.setattr(environment, "FOLDERS", ())
    assert compile_module(program, target=resolve_target("cpu"), threads=1) == first
    assert [libraries is not None for libraries in loaded] == [True, False]
