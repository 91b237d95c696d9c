"""Fixtures and settings that all tests need."""

import gc
import logging
import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from conformance.cases import load_cases
from graphc.runtime.device import device

# A shell that starts a job in the background has it ignore Ctrl-C, and children inherit that; the
# tests that interrupt something need what Python does otherwise.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The programs of this folder are packages in it, for the processes that tests start, too.
os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, [str(Path(__file__).parent), os.environ.get("PYTHONPATH")])
)

# Files compiled by an earlier run are not results of this one.
os.environ["GRAPHC_CACHE"] = "off"

# The duration of an example depends on the load of the machine, not on the code.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")


@pytest.fixture(scope="module", autouse=True)
def freeze_what_is_there():
    """Exclude the tests themselves from garbage collection, which every compile does."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module")
def suite():
    """ONNX's backend test suite. It is not loaded at collection time, because each process collects
    all tests."""
    cases = load_cases()
    gc.freeze()  # or every compile would look for garbage among them
    return cases


def pytest_sessionfinish():
    """Unfreeze the garbage collector, because the bindings count unfreed objects at the end."""
    gc.unfreeze()


@pytest.fixture(autouse=True)
def close_devices_in_software():
    """Close software devices at the end. They keep cores busy, and stay open as long as an unclosed
    model is garbage."""
    yield
    if device._in_software:
        gc.collect()


@pytest.fixture(autouse=True)
def restore_logging():
    """Tools that run many models silence the log of their processes, and tests call them here."""
    logger, disabled = logging.getLogger("graphc"), logging.root.manager.disable
    level = logger.level
    yield
    logger.setLevel(level)
    logging.disable(disabled)
