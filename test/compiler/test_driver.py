"""The public API: from a model to numbers, its options, its report, and its errors."""

import json
import os
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass

import numpy as np
import onnx
import pytest
from numerics import Cases, const
from onnx import helper
from tool_models import dense, dense_result, model, unsupported, write

import graphc
from graphc.compiler.driver import begin, describe, make_options
from graphc.errors import (
    BackendError,
    BackendTimeoutError,
    CompilationCancelledError,
    InvalidDimError,
    InvalidModelError,
    OutputError,
    PassError,
    PipelineError,
    UnknownTargetError,
    UnsupportedModelError,
    UsageError,
)
from graphc.passes.infra import registry
from graphc.passes.infra.base import FUNCTION, Pass
from graphc.runtime.metadata import LOOPS_KEY

X = np.linspace(-2, 2, 8, dtype=np.float32).reshape(2, 4)


@pytest.fixture(scope="module")
def compiled():
    """The dense model with its defaults, compiled once."""
    with graphc.compile(dense()) as made:
        yield made


@pytest.fixture
def clean(tmp_path, monkeypatch):
    """A folder for temporary files, which must be empty in the end, and a cache."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    yield tmp_path
    assert list(folder.iterdir()) == []


def test_models_come_as_proto_path_and_bytes(compiled, tmp_path):
    np.testing.assert_allclose(compiled(X), dense_result(X), rtol=1e-6)
    path = write(dense(), tmp_path / "dense.onnx")
    from_path = graphc.compile(path)
    from_bytes = graphc.compile(path.read_bytes(), target="cpu", threads=1)
    for made in (from_path, from_bytes):
        np.testing.assert_allclose(made(X), dense_result(X), rtol=1e-6)
    assert from_path.metadata.name == "dense"
    assert from_bytes.metadata.options["threads"] == 1


def test_run_takes_and_gives_what_onnx_runtime_does(compiled):
    (y,) = compiled.run(None, {"x": X})
    (same,) = compiled.run(["y"], {"x": X})
    np.testing.assert_array_equal(y, compiled(x=X))
    np.testing.assert_array_equal(y, same)


def test_inputs_and_outputs_keep_their_names(compiled):
    (x,), (y,) = compiled.inputs, compiled.outputs
    assert (x.name, x.shape, x.dtype) == ("x", ("batch", 4), "float32")
    assert (y.name, y.shape, y.dtype) == ("y", ("batch", 3), "float32")
    assert compiled(X[:1]).shape == (1, 3)


def test_dims_fix_sizes():
    made = graphc.compile(dense(), dims={"batch": 2})
    assert made.inputs[0].shape == (2, 4)
    assert made.metadata.dims == {"batch": 2}
    np.testing.assert_allclose(made(X), dense_result(X), rtol=1e-6)
    with pytest.raises(graphc.GraphcError, match="x"):
        made(X[:1])


def test_saved_models_load(compiled, tmp_path):
    path = tmp_path / "dense.vmfb"
    compiled.save(path)
    loaded = graphc.load(path)
    assert loaded.inputs == compiled.inputs
    assert loaded.report is None
    np.testing.assert_array_equal(loaded(X), compiled(X))


def test_the_report_says_what_happened(compiled):
    report = compiled.report
    assert report.rewrites["fuse-epilogue"].count == 1
    assert report.rewrites["fuse-epilogue"].nodes == ["product"]
    stages = [record.name for record in report.passes]
    assert stages[0] == "import"
    assert stages[-1] == "backend"
    assert "convert-graph-to-linalg" in stages
    assert report.sizes["module bytes"] > report.sizes["bytecode bytes"] > 0
    assert json.loads(json.dumps(report.to_dict()))["rewrites"]["fuse-epilogue"]["count"] == 1
    assert "1 x fuse-epilogue: product" in str(report)


def test_another_pipeline(clean):
    made = graphc.compile(dense(), pipeline="canonicalize")
    names = [
        "computed-matmul", "vectorize-narrow", "merge-dispatches", "transient-size-classes",
        "dps-entry",
    ]  # fmt: skip
    assert [*made.report.rewrites] == names
    np.testing.assert_allclose(made(X), dense_result(X), rtol=1e-6)


def test_strict_precision_takes_no_short_cuts():
    cases = Cases()
    image = np.random.default_rng(0).standard_normal((1, 32, 20, 20), np.float32)
    cases.add("Conv", image, const(np.ones((32, 32, 3, 3))))
    results = []
    for precision, count in (("f32", 1), ("strict", 0)):
        with graphc.compile(cases.model(), precision=precision) as made:
            fired = made.report.rewrites.get("winograd-conv")
            assert (fired.count if fired else 0) == count
            assert made.metadata.options["precision"] == precision
            results += made.run(None, cases.feeds)
    difference = np.abs(results[0] - results[1]).max()
    assert 0 < difference <= 1e-5 * np.abs(results[1]).max()


def test_the_module_can_be_looked_at_and_changed(tmp_path):
    module = graphc.import_onnx(write(dense(), tmp_path / "dense.onnx"))
    assert "graph.matmul" in str(module)
    changed = graphc.run_pipeline(module, "graph-fuse-epilogue,canonicalize")
    assert "graph.fused" in str(changed)


def test_threads_compile_at_once(clean):
    """Some to the end, some are stopped on the way."""
    results, problems = [], []

    def work(number):
        stages = ("import", "graph", "linalg")

        def progress(event):
            if number % 2 and event.stage == stages[number % 3]:
                raise CompilationCancelledError(event.stage)

        try:
            made = graphc.compile(dense(), pipeline="canonicalize", progress=progress)
            results.append(made(X))
        except CompilationCancelledError:
            results.append(None)
        except Exception as error:
            problems.append(error)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert problems == []
    made = [result for result in results if result is not None]
    assert len(made) == 4
    for result in made:
        np.testing.assert_allclose(result, dense_result(X), rtol=1e-6)


def test_save_temps_keeps_every_stage(tmp_path):
    path = write(dense(), tmp_path / "dense.onnx")
    folder = tmp_path / "temps" / "deep"
    graphc.compile(path, save_temps=folder)
    text = {stage: (folder / f"dense.{stage}.mlir").read_text() for stage in
            ("imported", "graph", "linalg")}  # fmt: skip
    assert "graph.relu" in text["imported"]
    assert "graph.fused" in text["graph"]
    assert "linalg.matmul" in text["linalg"]
    assert 'loc("product")' in text["linalg"]
    assert list(folder.glob("*.vmfb"))


def test_a_missing_folder_for_temporary_files(clean, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(clean / "none"))
        with pytest.raises(OutputError, match="cannot make a temporary folder"):
            graphc.compile(dense())


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of processes")
def test_a_full_disk_is_an_error_and_not_the_end_of_the_process(clean):
    """MLIR, left to write its bytecode by itself, would end it."""
    code = """
import resource, signal, sys
import graphc
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    graphc.compile(sys.argv[1])
except graphc.GraphcError as error:
    print(type(error).__name__, error)
"""
    cases = Cases()
    x = np.ones((1, 300), np.float32)
    cases.add("MatMul", x, const(np.ones((300, 300))))
    path = write(cases.model(), clean / "large.onnx")
    environment = {**os.environ, "TMPDIR": str(clean / "tmp")}
    command = [sys.executable, "-c", code, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("OutputError cannot write the program to")
    assert "File too large" in done.stdout


def test_save_temps_that_cannot_be_written(clean):
    (clean / "file").write_text("")
    with pytest.raises(OutputError, match="file"):
        graphc.compile(dense(), save_temps=clean / "file")


def test_a_program_that_was_compiled_before_is_not_compiled_again(clean, monkeypatch):
    """The same program may come from another model: here, one with other bytes."""
    first = graphc.compile(dense(), cache=clean / "kept")
    assert [record.name for record in first.report.passes][-1] == "backend"

    def not_wanted(*_, **__):
        raise BackendError("the backend compiler was asked for")

    monkeypatch.setattr("graphc.compiler.lowered_module.write_bytecode", not_wanted)
    other = dense()
    other.doc_string = "other bytes"
    again = graphc.compile(other, cache=clean / "kept")
    assert [record.name for record in again.report.passes][-1] == "backend (from the cache)"
    assert again.report.cached == ""
    np.testing.assert_array_equal(again(X), first(X))
    with pytest.raises(BackendError, match="was asked for"):
        graphc.compile(other, cache=clean / "kept", opt_level=1)


def test_progress_names_the_stages(clean):
    events = []
    graphc.compile(dense(), progress=events.append)
    stages = list(dict.fromkeys(event.stage for event in events))
    assert stages == ["import", "graph", "linalg", "backend"]
    assert all(event.elapsed >= 0 for event in events)


@pytest.mark.parametrize("stage", ["import", "graph", "backend"])
def test_progress_cancels(clean, stage):
    def cancel(event):
        if event.stage == stage:
            raise CompilationCancelledError(f"stopped in {stage}")

    with pytest.raises(CompilationCancelledError, match=stage):
        graphc.compile(dense(), progress=cancel)
    assert not (clean / "cache").exists()


def test_a_backend_that_takes_too_long(clean):
    with pytest.raises(BackendTimeoutError, match=r"did not finish within 0.001 s") as caught:
        graphc.compile(dense(), timeout=0.001)
    assert "iree-compile" in caught.value.command


@dataclass(frozen=True)
class Raising(Pass):
    """Raise an exception of its own."""

    name = "test-raising"
    anchor = FUNCTION

    def run(self, op, state):
        raise ZeroDivisionError("the pass itself")


def test_a_pass_that_raises(monkeypatch, clean):
    registry.known_passes()  # ours are loaded before the table is changed
    monkeypatch.setitem(registry._passes, Raising.name, Raising)
    with pytest.raises(PassError, match="test-raising") as caught:
        graphc.compile(dense(), pipeline="canonicalize,test-raising,cse")
    error = caught.value
    assert isinstance(error.__cause__, ZeroDivisionError)
    assert error.pass_name == "test-raising"
    assert "graph.matmul" in str(error.reproducer)
    assert "test-raising" in str(error.reproducer)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"target": "gpu"}, UnknownTargetError, "no target is named 'gpu'"),
        ({"target": "cpu:x86-64-v9"}, UnknownTargetError, "x86-64-v9"),
        ({"dims": {"batsch": 2}}, InvalidDimError, "batsch"),
        ({"dims": {"batch": -1}}, InvalidDimError, "batch"),
        ({"dims": {"batch": 2**62}}, InvalidDimError, "batch"),
        ({"dims": {"batch": 1.5}}, InvalidDimError, "batch"),
        ({"dims": {"batch": "two"}}, InvalidDimError, "batch"),
        ({"threads": 0}, UsageError, "threads"),
        ({"opt_level": 7}, UsageError, "opt_level"),
        ({"precision": "fast"}, UsageError, "f32, strict, f16, bf16"),
        ({"pipeline": "cse,graph-simplfy,nope"}, PipelineError, "graph-simplify"),
        ({"pipeline": "graph-convert-layout{conf=nhwc}"}, PipelineError, "conf"),
        ({"pipeline": "func.func(cse"}, PipelineError, "expected"),
    ],
)  # fmt: skip
def test_bad_options_are_named(clean, options, error, message):
    with pytest.raises(error, match=message):
        graphc.compile(dense(), **options)


def test_unknown_options_are_a_type_error():
    with pytest.raises(TypeError, match="optimise"):
        graphc.compile(dense(), optimise=True)


def test_all_unknown_passes_are_listed():
    with pytest.raises(PipelineError) as caught:
        graphc.compile(dense(), pipeline="cse,graph-simplfy,nope")
    assert "graph-simplfy" in str(caught.value)
    assert "nope" in str(caught.value)


def test_all_unsupported_nodes_are_listed():
    with pytest.raises(UnsupportedModelError) as caught:
        graphc.compile(unsupported())
    assert [node.name for node in caught.value.nodes] == ["first", "second"]
    assert "example.Frobnicate (opset 1) at node 'first'" in str(caught.value)


@pytest.mark.parametrize("contents", [b"", b"not a model", None], ids=["empty", "text", "half"])
def test_what_is_not_a_model(tmp_path, contents):
    path = tmp_path / "model.onnx"
    path.write_bytes(dense().SerializeToString()[:60] if contents is None else contents)
    with pytest.raises(InvalidModelError, match=r"model\.onnx"):
        graphc.compile(path)
    with pytest.raises(InvalidModelError, match="cannot read"):
        graphc.compile(tmp_path / "missing.onnx")


def test_a_model_that_contradicts_itself():
    node = helper.make_node("MatMul", ["x", "x"], ["y"], name="square")
    with pytest.raises(InvalidModelError, match="square"):
        graphc.compile(model([node], {"x": [2, 3]}, {"y": [2, 3]}))


def test_an_address_of_nothing():
    with pytest.raises(AttributeError, match="compyle"):
        _ = graphc.compyle
    assert {"compile", "load", "import_onnx", "run_pipeline"} <= set(dir(graphc))


def test_the_metadata_tell_of_loops():
    """Whose rounds are short calls: see `inline_execution`."""
    text = """<ir_version: 8, opset_import: ["" : 17]>
    agraph (float[4] x, int64 n) => (float[4] y) {{
        t = Constant <value = bool {{1}}> ()
        y = {node}
    }}"""
    loop = """Loop (n, t, x) <body = b (int64 i, bool c, float[4] h) => (bool d, float[4] s) {
        d = Identity (c)
        s = Tanh (h)
    }>"""
    for node, expected in ((loop, True), ("Tanh (x)", None)):
        options = make_options("cpu")
        compilation = begin(onnx.parser.parse_model(text.format(node=node)), options)
        with compilation.module.context:
            metadata = describe(compilation.module, "m", options)
        assert metadata.options.get(LOOPS_KEY) is expected
