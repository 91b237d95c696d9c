"""Child processes: how they end, with what the system offers for waiting and without."""

import os
import sys

import pytest

from graphc.runtime.iree_compile.child_process import Child, run_child, run_children


@pytest.fixture(params=["noticed", "forbidden", "absent"])
def waiting(request, monkeypatch):
    """Vary whether the system reports the end of a process at once."""

    def forbidden(pid):
        raise PermissionError(f"no handle of {pid}")

    if request.param == "forbidden":
        monkeypatch.setattr(os, "pidfd_open", forbidden, raising=False)
    elif request.param == "absent":
        monkeypatch.delattr(os, "pidfd_open", raising=False)


@pytest.mark.usefixtures("waiting")
def test_the_exit_code_is_answered(tmp_path):
    log = tmp_path / "log"
    program = "import time; print('said'); time.sleep(0.3); raise SystemExit(3)"
    assert run_child([sys.executable, "-c", program], log, stage="backend") == 3
    assert log.read_text() == "said\n"


@pytest.mark.usefixtures("waiting")
def test_a_process_that_takes_too_long_is_ended(tmp_path):
    program = "import time; time.sleep(600)"
    command = [sys.executable, "-c", program]
    assert run_child(command, tmp_path / "log", stage="backend", timeout=0.3) is None


def children(tmp_path, *programs):
    return [
        Child([sys.executable, "-c", program], tmp_path / f"log{number}")
        for number, program in enumerate(programs)
    ]


@pytest.mark.usefixtures("waiting")
def test_children_run_at_the_same_time_and_those_that_succeed_are_named(tmp_path):
    """The second one waits for the first."""
    flag, done = tmp_path / "flag", []
    waits = f"import os, time\nwhile not os.path.exists({str(flag)!r}): time.sleep(0.01)"
    both = children(tmp_path, waits, f"open({str(flag)!r}, 'w')")
    assert run_children(both, stage="backend", succeeded=done.append) == [0, 0]
    assert sorted(done) == [0, 1]


@pytest.mark.usefixtures("waiting")
def test_a_child_that_fails_ends_the_others(tmp_path):
    both = children(tmp_path, "import time; time.sleep(600)", "raise SystemExit(3)")
    assert run_children(both, stage="backend") == [None, 3]
