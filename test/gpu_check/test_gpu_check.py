"""Tests of the archive, and of the half that executes it."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import iree.runtime
import ml_dtypes
import numpy as np
import pytest
import worker_substitutes
from conformance_cases import CASES, forks
from onnx.backend.test.runner import Runner
from tool_models import dense, unsupported, write

from conformance import known, matrix, rates, suite_results
from conformance.case_outcome import CaseOutcome, CaseStatus
from conformance.suite_results import CaseInfo
from gpu_check import device_results, prepare
from gpu_check import run as running
from gpu_check import worker as working
from gpu_check.__main__ import main
from gpu_check.array_comparison import assert_similar
from gpu_check.check_archive import Archive, Manifest, pack_arrays, unpack_arrays
from gpu_check.worker import Worker, plan_for, run_case
from graphc.errors import DeviceError, OutputError, UsageError

pytestmark = forks


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """An archive of cases and a model for the CPU."""
    folder = tmp_path_factory.mktemp("gpu-check")
    model = write(dense(), folder / "dense.onnx")
    path = folder / "check.pyz"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prepare, "load_cases", lambda: CASES)
        patch.setattr(known, "FOLDER", folder)
        arguments = ["--target", "cpu", "-o", path, "-j1", "--models", model]
        assert main([str(argument) for argument in arguments]) == 0
    return path


@pytest.fixture
def bare_python(tmp_path):
    """A function ``bare_python(path, ...)`` that runs Python with only numpy and the runtime."""
    site = tmp_path / "site"
    (site / "iree").mkdir(parents=True)
    for package in (np, ml_dtypes):
        source = Path(package.__file__).parent
        (site / source.name).symlink_to(source)
        for libraries in source.parent.glob(f"{source.name}.libs"):
            (site / libraries.name).symlink_to(libraries)
    for source in Path(iree.runtime.__file__).parents[1].glob("*runtime*"):
        (site / "iree" / source.name).symlink_to(source)

    def run(*arguments):
        return subprocess.run(
            [sys.executable, "-S", *map(str, arguments)],
            env={**os.environ, "PYTHONPATH": str(site)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )

    return run


def test_the_archive_runs_where_nothing_is_but_the_runtime(
    archive, bare_python, tmp_path, monkeypatch
):
    missing = bare_python("-c", "import numpy, iree.runtime, onnx")
    assert "No module named 'onnx'" in missing.stderr
    ran = bare_python(archive, "--rounds", "1")
    assert (ran.returncode, ran.stderr) == (1, "")
    (path,) = tmp_path.glob("*.json")
    assert path.name.startswith("cpu-")
    found = device_results.read_report(path)
    assert found.file_name() == path.name
    assert not found.matching
    assert list(found.results.not_passing) == ["test_abs"]
    assert found.results.not_passing["test_abs"].status is CaseStatus.WRONG
    assert (found.results.passed, found.results.total) == (2, 3)
    assert found.results.operators["Relu"].types == ["float"]
    model = found.models["dense"]
    assert model["status"] == "pass"
    assert model["difference"] == 0  # the same code on the same CPU
    assert model["onnxruntime_difference"] < 1e-5
    assert model["milliseconds"]["best"] <= model["milliseconds"]["median"]
    line = list(rates.rates([], [found]))[-1]
    assert line.endswith("| 2 of 3 (66.7 %) | 2 of 3 (66.7 %) | 1 of 1 (100.0 %) |")
    monkeypatch.setattr(device_results, "FOLDER", tmp_path)
    monkeypatch.setattr(suite_results, "FOLDER", tmp_path / "none")
    assert "| Relu | 1 | float | 1 |  |" in matrix.support_matrix()


def test_a_run_is_resumed(archive, tmp_path, monkeypatch):
    asked = []

    def end(worker, name, timeout):
        asked.append(name)
        if len(asked) == 2:
            raise KeyboardInterrupt
        return CaseOutcome(name, CaseStatus.PASS)

    monkeypatch.setattr(working, "run_case", end)
    arguments = ["-o", str(tmp_path), "--models", "none"]
    assert running.main(archive, arguments) == 130
    assert running.main(archive, arguments) == 2  # an existing file is not overwritten
    assert running.main(archive, [*arguments, "--resume"]) == 0
    assert asked == ["test_relu", "test_neg", "test_neg", "test_abs"]
    (path,) = tmp_path.iterdir()
    assert device_results.read_report(path).results.passed == 3


def test_several_processes_share_the_cases(archive, tmp_path):
    arguments = ["-o", str(tmp_path), "--models", "none", "-j", "2"]
    assert running.main(archive, arguments) == 1
    (path,) = tmp_path.iterdir()
    found = device_results.read_report(path)
    assert list(found.results.not_passing) == ["test_abs"]
    assert (found.results.passed, found.results.total) == (2, 3)


def test_a_model_is_checked_in_every_precision_that_is_named(tmp_path):
    model = write(dense(), tmp_path / "dense.onnx")
    path = tmp_path / "a.pyz"
    options = ["--target", "cpu:x86-64-v3", "--no-suite", "--precisions", "f32,bf16"]
    assert main([*options, "-o", str(path), "--models", str(model)]) == 0
    models = {each.name: each for each in Archive(path).manifest.models}
    assert models.keys() == {"dense", "dense bf16"}
    assert models["dense"].tolerance < models["dense bf16"].tolerance
    assert models["dense"].data == models["dense bf16"].data


def test_weights_that_repeat_shrink_however_long_they_are(tmp_path):
    rng = np.random.default_rng(0)
    repeated = np.resize(rng.standard_normal(4093, np.float32), 5 << 20).tobytes()
    plain = rng.bytes(20 << 20)
    writer = prepare.ArchiveWriter(tmp_path / "a.pyz")
    digests = [writer.add(each) for each in (repeated, plain)]
    writer.close(Manifest("cpu", "cpu", {}, ""))
    assert (tmp_path / "a.pyz").stat().st_size < 21 << 20
    assert [Archive(tmp_path / "a.pyz").read(each) for each in digests] == [repeated, plain]


def test_a_model_that_does_not_compile_is_said_to(tmp_path):
    model = write(unsupported(), tmp_path / "strange.onnx")
    path = tmp_path / "a.pyz"
    assert main(["--target", "cpu", "--no-suite", "-o", str(path), "--models", str(model)]) == 0
    manifest = Archive(path).manifest
    assert manifest.models == manifest.cases == []
    assert "Frobnicate" in manifest.models_not_compiled["strange"]


def test_models_that_are_not_right(archive, tmp_path, capsys):
    read = Archive(archive)
    (model,) = read.manifest.models
    path = tmp_path / "models.pyz"
    writer = prepare.ArchiveWriter(path)
    for digest in (model.module, model.data):
        writer.add(read.read(digest))
    damaged = replace(model, name="damaged", module=writer.add(b"no module"))
    wrong = replace(model, name="wrong", tolerance=-1)  # not even equal results are close enough
    refused = {"refused": "the backend's reason"}
    writer.close(
        replace(read.manifest, cases=[], models=[wrong, damaged], models_not_compiled=refused)
    )
    assert running.main(path, ["-o", str(tmp_path), "--rounds", "1"]) == 1
    assert "0 of 3 models" in capsys.readouterr().out
    file = next(tmp_path.glob("*.json"))
    assert statuses(file) == {"wrong": "wrong answer", "damaged": "error", "refused": "error"}
    assert device_results.read_report(file).models["wrong"]["milliseconds"]["median"] > 0
    assert (
        running.main(
            path, ["-o", str(tmp_path), "--model-timeout", "0", "--models", "wr", "-k", "^$"]
        )
        == 1
    )
    assert "HANG         wrong: not done after 0 s" in capsys.readouterr().out
    assert statuses(file) == {"wrong": "hang", "damaged": "error", "refused": "error"}


def statuses(path):
    """The statuses of the models in a report."""
    return {name: each["status"] for name, each in device_results.read_report(path).models.items()}


def test_a_run_of_models_keeps_what_the_cases_showed(archive):
    run, machine = running.describe(Archive(archive))
    cases = suite_results.sum_up(
        run, [CaseInfo("a", True, [], [])], {"a": CaseOutcome("a", CaseStatus.PASS)}
    )
    whole = device_results.DeviceReport(cases, "", 3, machine, {"a": {"status": "pass"}})
    models = replace(whole, results=suite_results.sum_up(run, [], {}), on_host=0, models={"b": {}})
    assert models.over(whole) == replace(whole, models={"a": {"status": "pass"}, "b": {}})
    some = replace(whole, matching="relu")
    assert some.file_name() == whole.file_name().replace(".json", "-some.json")


@pytest.mark.parametrize(
    ("inputs", "outputs", "tolerance"),
    [
        (["float32"], ["float32"], 1e-3),
        (["int64"], ["float16"], 2e-2),
        (["bfloat16", "float32"], ["float32"], 2e-2),
    ],
)
def test_half_precision_may_differ_more(inputs, outputs, tolerance):
    specs = ([SimpleNamespace(dtype=each) for each in names] for names in (inputs, outputs))
    model: Any = SimpleNamespace(**dict(zip(("inputs", "outputs"), specs, strict=True)))
    assert prepare.tolerance_of(model) == tolerance


def test_slow_models_get_fewer_bursts():
    assert [plan_for(10, seconds).rounds for seconds in (0.01, 5, 100)] == [10, 3, 1]


def test_a_fault_ends_its_own_case_alone(tmp_path):
    asked = tmp_path / "asked"
    worker = Worker(asked, worker_substitutes.serve)
    ends = {"pass": "pass", "crash": "crash", "hang": "hang", "error": "error"}
    try:
        for name in ("pass", "crash", "pass", "hang", "error", "pass", "pass"):
            assert run_case(worker, name, timeout=1).status == ends[name]
    finally:
        worker.stop()
    names, processes = zip(*map(str.split, asked.read_text().splitlines()), strict=True)
    # A case that fails after another one runs again in a new process.
    assert names == ("pass", "crash", "crash", "pass", "hang", "hang", "error", "pass", "pass")
    assert [processes.index(each) for each in processes] == [0, 0, 2, 3, 3, 5, 6, 7, 7]


def test_a_device_that_does_not_open_ends_the_run(tmp_path):
    with pytest.raises(DeviceError, match="no device"):
        run_case(Worker(tmp_path, worker_substitutes.refuse), "pass", timeout=1)


def test_arrays_come_back():
    arrays = [
        np.arange(6, dtype=np.float32).reshape(2, 3).T,
        np.array(1.5, ml_dtypes.bfloat16),
        np.array([1, -2], ml_dtypes.int4),
        np.zeros((0, 3), np.int64),
        np.array([True, False]),
        np.array([1 + 2j], np.complex64),
    ]
    specs, data = pack_arrays(arrays)
    read, end = unpack_arrays(json.loads(json.dumps(specs)), b"--" + data, 2)
    assert end == 2 + len(data)
    for ours, theirs in zip(read, arrays, strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs, strict=True)


COMPARED = [
    (np.float32([1, np.nan, np.inf]), np.float32([1.0009, np.nan, np.inf])),
    (np.float32([1]), np.float32([1.002])),
    (np.float32([1]), np.float64([1])),
    (np.float32([1]), np.float32([[1]])),
    (np.array([1], ml_dtypes.bfloat16), np.array([1.0078125], ml_dtypes.bfloat16)),
    (np.array([1], ml_dtypes.bfloat16), np.array([1.03], ml_dtypes.bfloat16)),
    (np.int8([3]), np.int8([3])),
    (np.int8([3]), np.int8([4])),
    (np.bool_([True]), np.bool_([False])),
]


@pytest.mark.parametrize(("expected", "given"), COMPARED)
def test_arrays_are_compared_as_onnx_does(expected, given):
    def differs(compare):
        try:
            compare([expected], [given], 1e-3, 1e-7)
        except AssertionError:
            return True
        return False

    assert differs(assert_similar) == differs(Runner.assert_similar_outputs)


def test_files_that_are_no_archive(tmp_path):
    path = tmp_path / "check.pyz"
    with pytest.raises(UsageError, match=r"is no archive of gpu_check: .*No such file"):
        Archive(path)
    path.write_text("text")
    with pytest.raises(UsageError, match=r"is no archive of gpu_check: .*not a zip"):
        Archive(path)


def test_an_archive_is_whole_or_not_there(tmp_path, monkeypatch):
    monkeypatch.setattr(prepare, "load_cases", lambda: pytest.fail("before the models were read"))
    path, text = tmp_path / "a.pyz", tmp_path / "text.onnx"
    text.write_text("no model")
    assert main(["--target", "cpu", "-o", str(path), "--models", str(text)]) == 2
    monkeypatch.setattr(prepare, "load_cases", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        main(["--target", "cpu", "-o", str(path)])
    assert not path.exists()
    with pytest.raises(OutputError, match="cannot write"):
        prepare.ArchiveWriter(tmp_path)
