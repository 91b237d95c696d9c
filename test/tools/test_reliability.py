"""What long runs leave behind, and the page that is made of it."""

import os

import pytest

from graphc.errors import OutputError
from graphc.tools import reliability
from graphc.tools.reliability import finished, long_runs, read_runs, write_run


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
