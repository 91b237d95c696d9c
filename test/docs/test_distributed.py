"""The examples of docs/distributed.md run as they stand."""

import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import graphc
from graphc.tools import gc_map

ROOT = Path(graphc.__file__).parent
PAGE = (ROOT / "docs" / "distributed.md").read_text()


def block(kind):
    (text,) = re.findall(rf"^```{kind}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    return text


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with the model and its data."""
    for name in ("examples", "digits"):
        (tmp_path / name).mkdir()
    shutil.copy(ROOT / "examples" / "digits.onnx", tmp_path / "examples")
    with np.load(ROOT / "examples" / "digits_heldout.npz") as held_out:
        images = held_out["images"].astype(np.float32)
    for index, part in enumerate(np.split(images, 5)):
        np.savez(tmp_path / "digits" / f"{index}.npz", image=part)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_first_example_has_five_lines_and_runs(folder):
    lines = [line for line in block("python").splitlines() if line]
    assert len(lines) <= 5
    (folder / "example.py").write_text(block("python"))
    command = [sys.executable, "example.py"]
    said = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder)
    rows = sum(len(np.load(path)["image"]) for path in folder.glob("digits/*.npz"))
    assert said.stdout == f"{rows} rows in 5 files\n"


def test_the_example_of_dask(folder, capsys):
    pytest.importorskip("dask.array")
    (folder / "example.py").write_text(block("python dask"))
    runpy.run_path("example.py")
    assert len(re.findall(r"\d", capsys.readouterr().out)) == 100


def test_the_example_of_pipelines(folder):
    (folder / "example.py").write_text(block("python pipeline"))
    command = [sys.executable, "example.py"]
    said = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder)
    assert said.stdout == "(4, 10)\n" * 10


def test_the_example_of_a_divided_model(folder, capsys):
    (folder / "example.py").write_text(block("python shard"))
    found = runpy.run_path("example.py")
    said = capsys.readouterr().out
    assert "row-parallel" in said or "gather-columns" in said
    assert "bytes for each rank" in said
    assert found["logits"].shape == (4, 10)


def test_the_example_of_ranks(folder):
    pytest.importorskip("mpi4py")
    launcher = shutil.which("mpiexec", path=Path(sys.executable).parent) or shutil.which("mpiexec")
    if launcher is None:
        pytest.skip("there is no mpiexec")
    (folder / "example.py").write_text(block("python ranks"))
    command = [launcher, "-n", "2", sys.executable, "-m", "mpi4py", "example.py"]
    said = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder)
    assert said.stdout.count("(4, 10)") == 20, said.stdout  # lines of two ranks may mix


def test_the_commands_have_flags_that_exist():
    known = gc_map._parser().format_help()
    commands = re.findall(r"^    gc-map (.*)$", PAGE, re.MULTILINE)
    assert len(commands) == 3
    for word in " ".join(commands).split():
        assert not word.startswith("--") or word in known
