"""gc-compile: what it writes, what it prints, and how it refuses."""

import subprocess
import sys

import numpy as np
import pytest
from tool_models import dense_result, unsupported, write

import graphc
from graphc.tools.gc_compile import main

X = np.linspace(-2, 2, 8, dtype=np.float32).reshape(2, 4)


def test_a_module_that_runs(onnx_file, tmp_path, capsys):
    path = tmp_path / "out.vmfb"
    assert main([str(onnx_file), "-o", str(path), "--target=cpu", "--threads=1"]) == 0
    assert capsys.readouterr() == ("", "")
    with graphc.load(path) as model:
        np.testing.assert_allclose(model(X), dense_result(X), rtol=1e-6)
        assert model.metadata.options["threads"] == 1


def test_one_file_for_several_targets(onnx_file, tmp_path, capsys):
    path = tmp_path / "out.vmfb"
    assert main([str(onnx_file), "-o", str(path), "--target=cpu:arm64,cpu"]) == 0
    with graphc.load(path) as model:
        assert model.target == "cpu:host"
        np.testing.assert_allclose(model(X), dense_result(X), rtol=1e-6)
    assert main([str(onnx_file), "--emit=linalg", "-o-", "--target=cpu,cpu:arm64"]) == 2
    assert "--emit=linalg shows the program for one target" in capsys.readouterr().err


def test_targets_are_listed(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["--list-targets"])
    out = capsys.readouterr().out
    assert "cpu:    host, x86-64," in out
    assert "\ncuda:   sm_80," in out


def test_a_model_is_compiled_once(onnx_file, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(
        "graphc.compiler.model_cache.extensions", set
    )  # other tests may have added some
    path, kept = tmp_path / "out.vmfb", tmp_path / "kept"
    arguments = [str(onnx_file), "-o", str(path), "--report"]
    assert main([*arguments, "--cache", str(kept)]) == 0
    first, report = path.read_bytes(), capsys.readouterr().out
    path.unlink()
    monkeypatch.setattr("graphc.compiler.driver.to_file", lambda *_: pytest.fail("compiled"))
    assert main([*arguments, "--cache", str(kept)]) == 0
    assert path.read_bytes() == first
    told, _, rest = capsys.readouterr().out.partition("\n")
    assert told.startswith("from the cache: compiled 20")
    assert rest == report
    monkeypatch.setenv("GRAPHC_CACHE", str(kept))
    assert main(arguments) == 0
    with pytest.raises(pytest.fail.Exception, match="compiled"):
        main([*arguments, "--no-cache"])


def test_the_output_is_named_after_the_model(onnx_file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["dense.onnx", "--emit=graph"]) == 0
    assert "graph.fused" in (tmp_path / "dense.graph.mlir").read_text()


def test_stages_on_standard_output(onnx_file, capsys):
    assert main([str(onnx_file), "--emit=graph", "-o", "-"]) == 0
    graph = capsys.readouterr().out
    assert "graph.matmul" in graph
    assert 'loc("product")' in graph
    assert main([str(onnx_file), "--emit=linalg", "-o-", "--dim", "batch=5"]) == 0
    linalg = capsys.readouterr().out
    assert "linalg.matmul" in linalg
    assert "tensor<5x4xf32>" in linalg
    assert "graph." not in linalg.replace("graph.name", "")


def test_report_goes_where_the_program_does_not(onnx_file, tmp_path, capsys):
    arguments = [str(onnx_file), "--emit=graph", "--report", "-o"]
    assert main([*arguments, str(tmp_path / "out.mlir")]) == 0
    out, err = capsys.readouterr()
    assert "1 x fuse-epilogue: product" in out
    assert err == ""
    assert main([*arguments, "-"]) == 0
    out, err = capsys.readouterr()
    assert "graph.fused" in out
    assert "1 x fuse-epilogue: product" in err


def test_save_temps(onnx_file, tmp_path):
    folder = tmp_path / "temps"
    assert main([str(onnx_file), "-o", str(tmp_path / "o.vmfb"), f"--save-temps={folder}"]) == 0
    names = {path.name for path in folder.iterdir()}
    assert {"dense.imported.mlir", "dense.graph.mlir", "dense.linalg.mlir"} <= names


def test_another_pipeline(onnx_file, capsys):
    assert main([str(onnx_file), "--emit=graph", "-o-", "--pass-pipeline=canonicalize"]) == 0
    assert "graph.fused" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--target=gpu"], 2, "no target is named 'gpu'"),
        (["--pass-pipeline=cse,graph-simplfy"], 2, "did you mean 'graph-simplify'?"),
        (["--dim", "batch"], 2, "--dim batch: write NAME=SIZE"),
        (["--dim", "=3"], 2, "--dim =3: write NAME=SIZE"),
        (["--dim", "batch=two"], 2, "--dim batch=two"),
        (["--dim", "batch=-2"], 2, "--dim batch=-2: write"),
        (["--dim", "other=2"], 2, "no dimension named other"),
        (["--dim", "batch=2", "--dim", "batch=3"], 2, "batch"),
        (["--threads=0"], 2, "threads must be a positive integer"),
        (["--timeout=0.001"], 1, "did not finish within 0.001 s"),
        (["--backend-flag=--no-such-flag"], 1, "no-such-flag"),
    ],
)
def test_bad_options(onnx_file, tmp_path, monkeypatch, refused, arguments, code, message):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    output = tmp_path / "out.vmfb"
    output.write_text("what was there before")
    refused(main, [onnx_file, "-o", output, *arguments], code, message)
    assert output.read_text() == "what was there before"
    assert [path.name for path in tmp_path.glob("*out.vmfb*")] == ["out.vmfb"]


@pytest.mark.parametrize("arguments", [[], ["m.onnx", "--emit=vmbf"], ["m.onnx", "--opt-level=9"]])
def test_usage(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage: gc-compile" in capsys.readouterr().err


def test_files_that_cannot_be_read(tmp_path, refused):
    refused(main, [tmp_path / "missing.onnx"], 1, "missing.onnx': No such file or directory")
    (tmp_path / "empty.onnx").write_bytes(b"")
    refused(main, [tmp_path / "empty.onnx"], 1, "is empty")
    (tmp_path / "text.onnx").write_text("not a model")
    refused(main, [tmp_path / "text.onnx"], 1, "is not an ONNX model")
    refused(main, [tmp_path], 1, "Is a directory")


def test_files_that_cannot_be_written(onnx_file, tmp_path, refused):
    refused(main, [onnx_file, "-o", tmp_path / "no" / "out.vmfb"], 1, "cannot write")
    refused(main, [onnx_file, "-o", tmp_path, "--emit=graph"], 1, "not a regular file")
    refused(main, [onnx_file, "-o", "-"], 1, "name a file with -o")
    (tmp_path / "file").write_text("")
    refused(main, [onnx_file, "-o-", "--emit=graph", f"--save-temps={tmp_path}/file"], 1, "file")
    assert not list(tmp_path.glob("*.vmfb"))


def test_unsupported_nodes_are_all_listed(tmp_path, capsys):
    path = write(unsupported(), tmp_path / "unsupported.onnx")
    assert main([str(path), "-o", str(tmp_path / "out.vmfb")]) == 1
    err = capsys.readouterr().err
    assert err.startswith("error: 2 unsupported node(s):")
    assert "'first'" in err
    assert "'second'" in err


def test_the_command(onnx_file, tmp_path):
    command = [sys.executable, "-m", "graphc.tools.gc_compile"]
    done = subprocess.run(
        [*command, str(onnx_file), "--emit=graph", "-o-"], capture_output=True, text=True
    )
    assert done.returncode == 0
    assert "graph.fused" in done.stdout
    assert done.stderr == ""
    done = subprocess.run([*command, str(tmp_path / "missing")], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
