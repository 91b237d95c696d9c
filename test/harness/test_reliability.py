"""Tests of the results of long runs, and of the page that is generated from them."""

import json
import os
import subprocess
import sys

import pytest

from graphc.errors import OutputError
from harness import reliability
from harness.reliability import finished, long_runs, read_runs, write_run


def test_a_run_is_told_as_it_was_written(tmp_path):
    counts = {"models": 12000, "MiB per hour": 0.1234}
    run = finished("models drawn", "make fuzz", counts, violations=3, seconds=90)
    write_run(run, tmp_path / "new" / "fuzz.json")
    assert read_runs(tmp_path / "new") == {"fuzz": run}
    assert run.versions["graphc"]
    assert run.machine.endswith(f"{os.cpu_count()} threads")
    _, _, *lines = long_runs({"fuzz": run})
    (line,) = (each for each in lines if "make fuzz" in each)
    assert line.startswith(
        "| `make fuzz` | models drawn | models: 12,000, MiB per hour: 0.123 | 3 | 1.5 | 20"
    )


def test_a_run_that_was_not_made_is_named():
    _, _, *lines = long_runs({})
    assert len(lines) == len(reliability.COMMANDS)
    assert all("not run yet" in line for line in lines)


def test_what_was_run_can_be_run_again():
    makefile = (reliability.PAGE.parent.parent / "Makefile").read_text()
    for name, run in read_runs().items():
        assert run.command == reliability.COMMANDS[name]
        assert f"\n{run.command.removeprefix('make ')}: " in makefile


def test_a_folder_that_cannot_be_written_to(tmp_path):
    (tmp_path / "file").touch()
    run = finished("", "", {}, violations=0, seconds=0)
    with pytest.raises(OutputError, match="cannot write"):
        write_run(run, tmp_path / "file" / "fuzz.json")


TESTS = """
import time
import pytest

@pytest.mark.parametrize("name", ["bert", "resnet50"])
def test_hunt(name):
    time.sleep(0.6)
    assert name == "bert"
"""


def test_long_tests_are_counted(tmp_path):
    (tmp_path / "long.py").write_text(TESTS)
    command = [sys.executable, "-m", "harness.long_tests", "hunts", "make faults", "out.json"]
    command += ["-q", "-p", "no:cacheprovider", "long.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    written = json.loads((tmp_path / "out.json").read_text())
    assert (written["what"], written["violations"]) == ("hunts", 1)
    assert written["counts"] == {"cases": 2, "min hunt[bert]": 0.01, "min hunt[resnet50]": 0.01}


RECORDING = """
import pytest

@pytest.mark.parametrize("milliseconds", [1.25, 3.5, 2.0])
def test_pages(milliseconds, record_property):
    record_property("pages", 2)
    record_property("ms at most", milliseconds)
"""


def test_what_long_tests_record_is_summed_up(tmp_path):
    (tmp_path / "long.py").write_text(RECORDING)
    command = [sys.executable, "-m", "harness.long_tests", "pages", "make pages", "out.json"]
    command += ["-q", "-p", "no:cacheprovider", "--numprocesses=2", "long.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    written = json.loads((tmp_path / "out.json").read_text())
    assert written["counts"] == {"cases": 3, "pages": 6, "ms at most": 3.5}
