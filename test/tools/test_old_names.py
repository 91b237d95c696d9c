"""Deprecated names given to a tool: one line on standard error names the new one."""

import subprocess
import sys

import pytest

PROGRAM = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
"""
OLD_PASS = "the pass 'graph-schedule' is now called 'graph-minimize-peak-memory'"
OLD_OPTION = "the option of cpu-select-matmul-kernels 'compact' is now called 'allow-f24'"


def _run(tool, *arguments, python=(), text=PROGRAM):
    command = [sys.executable, *python, "-m", f"graphc.tools.{tool}", *map(str, arguments)]
    return subprocess.run(command, input=text, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("--graph-schedule", OLD_PASS),
        ("--pass-pipeline=func.func(graph-schedule,cse,graph-schedule)", OLD_PASS),
        ("--cpu-select-matmul-kernels=compact=true", OLD_OPTION),
    ],
)
def test_an_old_name_is_one_line(argument, message):
    done = _run("gc_opt", argument)
    assert done.returncode == 0
    assert done.stderr == f"warning: {message}\n"
    assert "return" in done.stdout


def test_the_passes_of_a_compilation(onnx_file, tmp_path):
    arguments = ["--pass-pipeline=graph-schedule", "--emit=graph", "-o", tmp_path / "y.mlir"]
    done = _run("gc_compile", onnx_file, *arguments)
    assert (done.returncode, done.stderr) == (0, f"warning: {OLD_PASS}\n")


def test_a_plugin_that_imports_old_names(tmp_path):
    plugin = tmp_path / "plugin.py"
    plugin.write_text("import graphc.passes.report\nfrom graphc.passes.report import Report\n")
    done = _run("gc_opt", f"--load-plugin={plugin}", "--cse")
    message = "graphc.passes.report is now called graphc.passes.infra.report"
    assert (done.returncode, done.stderr) == (0, f"warning: {message}\n")


def test_python_is_told_what_to_show():
    assert _run("gc_opt", "--graph-schedule", python=["-W", "ignore"]).stderr == ""
    failed = _run("gc_opt", "--graph-schedule", python=["-W", "error"])
    assert failed.returncode == 1
    assert "OldNameWarning" in failed.stderr
