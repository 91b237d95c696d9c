"""Old names of modules: each gives the module of today, and says so once."""

import importlib
import subprocess
import sys
import warnings

import pytest

from graphc.aliases import MODULES


@pytest.mark.parametrize("old", MODULES)
def test_an_old_name_is_the_module_of_today(old):
    sys.modules.pop(f"graphc.{old}", None)
    with pytest.warns(
        DeprecationWarning, match=f"graphc.{old} is now called graphc.{MODULES[old]}"
    ):
        found = importlib.import_module(f"graphc.{old}")
    today = importlib.import_module(f"graphc.{MODULES[old]}")
    assert found is today
    assert today.__spec__ is not None
    assert today.__spec__.name == f"graphc.{MODULES[old]}"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert importlib.import_module(f"graphc.{old}") is today


def test_the_warning_names_the_line_that_imports():
    code = "import graphc.passes.report\nassert graphc.passes.report.Report is graphc.Report"
    command = [sys.executable, "-W", "always", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr.startswith("<string>:1: DeprecationWarning: graphc.passes.report is now")
    assert done.stderr.count("DeprecationWarning") == 1
