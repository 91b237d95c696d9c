"""A model that was compiled before is not compiled again, and what it was made of decides that."""

import dataclasses
import logging
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import onnx
import pytest
from onnx import helper
from tool_models import WEIGHTS, dense, dense_result, model, write

import graphc
from graphc.compiler import driver, model_cache
from graphc.compiler.compile import compile_to_file
from graphc.compiler.extensions import extensions
from graphc.compiler.options import Effect, Options, option_of
from graphc.errors import CompilationCancelledError, InvalidModelError, ModuleFileError, UsageError
from graphc.passes.infra import registry
from graphc.passes.infra.base import FUNCTION, Pass
from graphc.passes.infra.report import PassRecord, Report
from graphc.runtime import PartSpec
from graphc.runtime.cache.compile_cache import CompileCache

X = np.linspace(-2, 2, 8, dtype=np.float32).reshape(2, 4)


real_compiler = driver.to_file


class Compiler:
    """Stands where the driver compiles: counts, and makes contents of its own."""

    def __init__(self):
        self.calls = 0
        self.report = Report(passes=[PassRecord("a pass", 0.5, True)], sizes={"bytes": 3})
        self.report.statistics("a-rewrite").record_fired("node")
        self.during = lambda: None

    def to_file(self, *_):
        self.calls += 1
        self.during()
        return f"contents {self.calls}".encode(), self.report


@pytest.fixture(autouse=True)
def unextended():
    """Hide the extensions of other tests, which keep models out of the cache."""
    before = extensions()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("graphc.compiler.model_cache.extensions", lambda: extensions() - before)
        yield


@pytest.fixture
def compiler(monkeypatch):
    made = Compiler()
    monkeypatch.setattr(driver, "to_file", made.to_file)
    return made


@pytest.fixture
def path(tmp_path):
    return write(dense(), tmp_path / "dense.onnx")


@pytest.fixture
def cache(tmp_path):
    return CompileCache(tmp_path / "cache")


@pytest.fixture
def build(cache):
    """``build(model, **options)``: the contents of its file, by way of one cache."""
    return lambda model, target="cpu", **options: compile_to_file(
        model, target, **{"cache": cache, **options}
    )[0]


def test_the_second_time_is_none(path, tmp_path, monkeypatch):
    first = graphc.compile(path, cache=tmp_path / "cache")
    monkeypatch.delattr(driver, "to_file")
    again = graphc.compile(path, cache=tmp_path / "cache")
    for each in (first, again):
        np.testing.assert_allclose(each(X), dense_result(X), rtol=1e-6)
    assert again.metadata == first.metadata
    told, before = again.report.to_dict(), first.report.to_dict()
    assert (before.pop("cached"), told.pop("cached") != "") == ("", True)
    assert told == before
    assert str(again.report) == f"from the cache: compiled {again.report.cached}\n{first.report}"


def test_what_is_found_is_found_without_a_compiler(path, tmp_path):
    code = """
import sys, graphc
model = graphc.compile(sys.argv[1], cache=sys.argv[2])
assert model.report.cached
heavy = {"onnx", "torch_mlir", "google.protobuf", "graphc.compiler.driver"} & set(sys.modules)
assert not heavy, heavy
"""
    graphc.compile(path, cache=tmp_path / "cache")
    command = [sys.executable, "-c", code, str(path), str(tmp_path / "cache")]
    subprocess.run(command, check=True, cwd=tmp_path)


def test_the_report_is_the_first_ones(compiler, path, tmp_path):
    compile_to_file(path, "cpu", cache=tmp_path)
    contents, report = compile_to_file(path, "cpu", cache=tmp_path)
    assert (contents, compiler.calls) == (b"contents 1", 1)
    assert report.passes == [PassRecord("a pass", 0.5, True)]
    assert report.rewrites["a-rewrite"].nodes == ["node"]
    assert report.sizes == {"bytes": 3}
    assert report._repr_html_().startswith("<pre>from the cache")
    with pytest.raises(UsageError, match="the programs between the passes over 'dense' were not"):
        report.html()


def test_models_are_told_apart_by_their_bytes(compiler, build, path, tmp_path):
    assert build(path) == b"contents 1"
    other = tmp_path / "elsewhere" / "dense.onnx"
    other.parent.mkdir()
    other.write_bytes(path.read_bytes())
    assert build(str(other)) == b"contents 1"
    changed = bytearray(path.read_bytes())
    changed[changed.index(WEIGHTS[0].tobytes())] ^= 1
    other.write_bytes(changed)
    assert build(other) == b"contents 2"
    named = path.rename(path.with_name("another.onnx"))  # a name that the module will contain
    assert build(named) == b"contents 3"
    assert build(named.read_bytes()) == build(named.read_bytes()) == b"contents 4"
    assert build(dense()) == build(dense())


DECISIVE = [
    {"dims": {"batch": 2}},
    {"outputs": ["y"]},
    {"threads": 7},
    {"pipeline": "canonicalize"},
    {"precision": "strict"},
    {"opt_level": 1},
    {"data_tiling": True},
    {"extra_flags": ["--iree-llvmcpu-target-cpu=x86-64"]},
    {"target": "cpu:x86-64-v3"},
    {"target": ["cpu", "cpu:x86-64-v3"]},
    {"assume": {"batch == 1": True}},
    {"overridden": ["w"]},
    {"independent_dims": ["batch"]},
    {"donate": ["x"]},
]
"""Another value of each option that the result depends on."""


@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize("options", DECISIVE, ids=lambda options: next(iter(options)))
def test_every_option_decides(build, path, options):
    build(path)
    assert build(path, **options) == b"contents 2"
    assert build(path, **options) == b"contents 2"
    assert build(path) == b"contents 1"


def test_every_option_is_tried():
    """So a new one says whether the result depends on it, and is in the key if it does."""
    fields = {each.name: option_of(each).effect for each in dataclasses.fields(Options)}
    tried = {name for options in DECISIVE for name in options}
    assert tried == {name for name, effect in fields.items() if effect is Effect.RESULT}


def test_what_does_not_change_the_result_does_not_decide(compiler, build, path):
    events = []
    build(path, timeout=100.0, progress=events.append)
    assert build(path, timeout=None, dims={}) == b"contents 1"
    assert [event.stage for event in events] == ["cache"]


@pytest.mark.parametrize(
    "options",
    [
        {"save_temps": "temps"},
        {"check_rewrites": True},
        {"pipeline": "print-ir,canonicalize"},
        {"extra_flags": ["--iree-hal-dump-executable-files-to=dump"]},
        {"cache": False},
    ],
    ids=lambda options: next(iter(options)),
)
def test_who_wants_to_see_the_compiler_at_work_does(compiler, build, path, options):
    build(path, **options)
    build(path, **options)
    assert compiler.calls == 2


def test_versions_sources_and_cpus_decide(compiler, build, path, monkeypatch):
    build(path)
    monkeypatch.setattr(model_cache, "surroundings", lambda: ("another version",))
    assert build(path) == b"contents 2"
    monkeypatch.setattr(model_cache, "digest_of_sources", lambda since: "other sources")
    assert build(path) == b"contents 3"
    monkeypatch.undo()


def test_code_that_is_not_that_of_the_sources_decides_nothing(compiler, build, path, monkeypatch):
    build(path)
    monkeypatch.setattr(graphc, "_IMPORTED", 0)  # all were written after that
    assert [build(path), build(path)] == [b"contents 2", b"contents 3"]
    monkeypatch.undo()
    assert build(path) == b"contents 1"


def test_sources_that_change_meanwhile_decide_nothing(compiler, build, path, monkeypatch):
    with monkeypatch.context() as patch:
        compiler.during = lambda: patch.setattr(graphc, "_IMPORTED", 0)
        build(path)
    compiler.during = lambda: None
    assert [build(path), build(path)] == [b"contents 2"] * 2


def test_a_plugin_decides_nothing(compiler, build, path, monkeypatch):
    @dataclass(frozen=True)
    class Plugin(Pass):
        """Somebody's."""

        name = "plugin"
        anchor = FUNCTION

    build(path)
    monkeypatch.setitem(registry._passes, "plugin", Plugin)
    assert [build(path), build(path)] == [b"contents 2", b"contents 3"]


def external(folder, weights=WEIGHTS):
    """The dense model with its weights in ``weights/w.bin``."""
    made = dense()
    tensor = made.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="weights/w.bin")
    (folder / "weights").mkdir(parents=True, exist_ok=True)
    (folder / "weights" / "w.bin").write_bytes(weights.tobytes())
    return write(made, folder / "dense.onnx")


def test_files_beside_the_model_decide(compiler, build, tmp_path):
    one, two = external(tmp_path / "one"), external(tmp_path / "two", 2 * WEIGHTS)
    assert one.read_bytes() == two.read_bytes()
    assert [build(each) for each in (one, two, one, two)] == [
        *(b"contents 1", b"contents 2"),
        *(b"contents 1", b"contents 2"),
    ]
    external(tmp_path / "one", 3 * WEIGHTS)
    assert build(one) == b"contents 3"
    external(tmp_path / "one")
    assert build(one) == b"contents 1"
    (tmp_path / "one" / "weights" / "w.bin").unlink()
    assert build(one) == b"contents 4"  # the import would have refused it
    assert build(one) == b"contents 5"
    assert build(one.read_bytes()) == b"contents 6"


def test_weights_in_subgraphs_lie_beside_the_model_too(compiler, build, tmp_path):
    tensor = onnx.TensorProto(data_type=1, dims=[2], data_location=onnx.TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="c.bin")
    node = helper.make_node("Constant", [], ["z"], value=tensor)
    branch = helper.make_graph([node], "branch", [], [helper.make_tensor_value_info("z", 1, [2])])
    choice = helper.make_node("If", ["p"], ["y"], then_branch=branch, else_branch=branch)
    path = write(model([choice], {"p": []}, {"y": [2]}), tmp_path / "choice.onnx")
    (tmp_path / "c.bin").write_bytes(bytes(8))
    assert [build(path), build(path)] == [b"contents 1"] * 2
    (tmp_path / "c.bin").write_bytes(bytes(7) + b"1")
    assert build(path) == b"contents 2"


@pytest.mark.parametrize("changed", ["dense.onnx", "weights/w.bin"])
def test_what_was_changed_meanwhile_is_not_kept(compiler, build, tmp_path, changed):
    path = external(tmp_path)

    def change():
        (tmp_path / changed).write_bytes((tmp_path / changed).read_bytes() + b"\0")

    compiler.during = change
    build(path)
    compiler.during = lambda: None
    external(tmp_path)
    assert build(path) == b"contents 2"
    assert build(path) == b"contents 2"


def test_damaged_contents_are_compiled_anew(compiler, build, path, tmp_path):
    build(path)
    for contents in (tmp_path / "cache" / "contents").iterdir():
        contents.write_bytes(contents.read_bytes()[::-1])
    assert [build(path), build(path)] == [b"contents 2"] * 2


@pytest.mark.parametrize("details", [{}, {"report": 5}, {"report": {"parts": [5]}}])
def test_details_that_graphc_did_not_write_count_as_none(compiler, cache, build, path, details):
    """Though their digests are right."""
    build(path)
    (stored,) = cache.entries()
    cache.put(stored.key, b"else", kind="model", name="m", target="cpu", details=details)
    assert build(path) == b"contents 2"


def test_contents_that_do_not_load_are_compiled_anew(compiler, cache, path):
    """A module that another process removes at the last moment, or the runtime does not take."""
    compiled, _ = real_compiler(dense(), [driver.make_options("cpu")])

    def to_file(*_):
        compiler.calls += 1
        return (b"no module" if compiler.calls == 1 else compiled), compiler.report

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver, "to_file", to_file)
        with pytest.raises(ModuleFileError):
            graphc.compile(path, cache=cache)
        made = graphc.compile(path, cache=cache)
        np.testing.assert_allclose(made(X), dense_result(X), rtol=1e-6)
        assert made.report.cached == ""
        assert graphc.compile(path, cache=cache).report.cached


def test_a_cache_that_cannot_be_written_is_no_reason_to_fail(compiler, path, tmp_path, caplog):
    (tmp_path / "file").touch()
    for count in (1, 2):
        contents, _ = compile_to_file(path, "cpu", cache=tmp_path / "file" / "cache")
        assert contents == f"contents {count}".encode()
    (warning,) = [each for each in caplog.records if each.levelno == logging.WARNING]
    assert "cannot be kept in the cache" in warning.message


def test_what_runs_on_the_host_is_said_every_time(compiler, build, cache, path, caplog):
    compiler.report.parts = [
        PartSpec(True, ("a", "b"), ("x",), ("y",)),
        PartSpec(False, ("c",), ("y",), ("z",), {"c": "strings"}),
    ]
    build(path)
    contents, report = compile_to_file(path, "cpu", cache=cache)
    assert (contents, compiler.calls) == (b"contents 1", 1)
    assert report.parts == compiler.report.parts
    assert "model 'dense': 1 of 3 nodes run on the host: 'c' (strings)" in caplog.text
    assert build(path, host=False) == b"contents 2"  # the driver would refuse it


def test_looking_into_the_cache_can_be_cancelled(build, path):
    def cancel(event):
        raise CompilationCancelledError(event.stage)

    with pytest.raises(CompilationCancelledError, match="cache"):
        build(path, progress=cancel)


@pytest.mark.parametrize("source", [None, "none.onnx", ".", b"", b"no model", 5])
def test_what_is_no_model_is_told_by_the_import(build, source):
    with pytest.raises((InvalidModelError, TypeError)) as caught:
        build(source)
    with pytest.raises(type(caught.value)) as without:
        build(source, cache=False)
    assert str(caught.value) == str(without.value)


def test_impossible_options_are_refused_as_without_a_cache(build, path):
    for options in ({"threads": 0}, {"precision": "none"}, {"dims": 3}, {"target": []}):
        with pytest.raises((UsageError, TypeError)) as caught:
            build(path, **options)
        with pytest.raises(type(caught.value)) as without:
            build(path, cache=False, **options)
        assert str(caught.value) == str(without.value)
