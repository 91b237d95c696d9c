"""Child processes: how they end, with what the system offers for waiting and without."""

import os
import sys

import pytest

from graphc.runtime.iree_compile.child_process import run_child


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
