"""Fixtures and settings that all tests need."""

import gc
import logging
import os
import signal
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

from graphc.benchmarks import measure
from graphc.placement import confirmation, measurement
from graphc.runtime.device import device
from graphc.runtime.iree_compile import compiler, kernel_groups
from graphc.tuning import trials
from harness import compiled_together
from harness.compile_once import CompileOnce, prune
from harness.early_tests import EarlyTests
from harness.kept_suite import kept_cases

# A shell that starts a job in the background has it ignore Ctrl-C, and children inherit that; the
# tests that interrupt something need what Python does otherwise.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The programs of this folder are packages in it, for the processes that tests start, too.
os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, [str(Path(__file__).parent), os.environ.get("PYTHONPATH")])
)

# What graphc cached in an earlier run is no result of this one; calls of the backend are kept, see
# `share_compiles`.
os.environ["GRAPHC_CACHE"] = "off"

# The duration of an example depends on the load of the machine, not on the code.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")

HERE = Path(__file__).parent
LONGEST = tuple(
    HERE / name
    for name in (
        "test_gpu_targets.py",
        "passes/cpu/test_int8_kernels.py",
        "test_vulkan.py",
        "conformance/test_cuda_suite.py",
        "frontend/onnx/operators/test_attention.py",
        "passes/cpu/test_direct_convolution.py",
        "frontend/onnx/operators/test_resize.py",
        "frontend/onnx/operators/test_recurrent.py",
        "fuzz/test_batches.py",
        "generation/test_decoder_forms.py",
        "generation/test_shared_cache.py",
        "tuning/test_farm.py",
        "frontend/onnx/operators/test_convolution.py",
        "passes/cpu/test_fused_attention.py",
        "passes/cpu/test_nbits_matmul.py",
        "frontend/onnx/operators/test_detection.py",
        "test_shared_kernels.py",
        "debugging/test_reduction.py",
        "passes/cpu/test_fused_depthwise.py",
        "fuzz/test_fuzz.py",
        "passes/cpu/test_winograd.py",
        "generation/test_generator.py",
        "generation/test_shared_weights.py",
        "serving/test_scheduler.py",
        "frontend/onnx/operators/test_indexing.py",
        "passes/linalg/workarounds/test_faults.py",
    )
)
"""The files that take longest, 12 s of CPU time and more, in that order. Those that make what
others find, the suite of ONNX or a language model, are not beside these."""


def pytest_collection_modifyitems(items):
    """Run the longest files first, or one process would end with one of them alone."""
    missing = [path for path in (*LONGEST, *NOT_SHARING) if not path.exists()]
    assert not missing, f"conftest.py names files that are gone: {missing}"
    places = {path: place for place, path in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path, len(LONGEST)))


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Let the tests of a file share calls of the backend: see `harness.early_tests`."""
    if not _may_begin_early(pyfuncitem):
        return None
    module = pyfuncitem.module
    if module not in _together:
        items = (each for each in pyfuncitem.session.items if each.module is module)
        calls = {
            each: partial(each.obj, **_parameters(each)) for each in filter(_may_begin_early, items)
        }
        _together.clear()
        _together[module] = EarlyTests(calls)
    _together[module].run(pyfuncitem)
    return True


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item, call):
    """Report the time of a test that ran early."""
    early = _together.get(getattr(item, "module", None)) if call.when == "call" else None
    call.duration = call.duration if early is None else early.seconds.get(item, call.duration)


SHARING = (
    *("frontend/onnx/", "passes/cpu/", "passes/graph_to_linalg/", "passes/kernels/"),
    "passes/linalg/test_vectorize_narrow.py",
    "test_data_dependent_sizes.py",
)
"""Where many tests compile small models."""
NOT_SHARING = tuple(
    HERE / "passes" / name
    for name in (
        "cpu/test_bf16_matmul.py",
        "cpu/test_byte_tables.py",
        "cpu/test_int8_units.py",
        "kernels/test_reduction.py",
    )
)
"""Files of tests that look into compiled code."""
_together = {}
"""The tests of the current file that share calls of the backend."""


def _may_begin_early(item):
    """Return whether a test is one of many that compile, and needs nothing but its parameters.

    A fixture with parameters is none of these: it may skip the test.
    """
    marks = {mark.name for mark in item.iter_markers()}
    return (
        item.path.relative_to(HERE).as_posix().startswith(SHARING)
        and item.path not in NOT_SHARING
        and set(item._fixtureinfo.argnames) == _parametrized(item)
        and marks <= {"parametrize", "long"}
        and not is_hypothesis_test(item.obj)
    )


def _parametrized(item):
    """The names that the marks of a test give values to."""
    named = [mark.args[0] for mark in item.iter_markers("parametrize")]
    lists = [each.split(",") if isinstance(each, str) else each for each in named]
    return {name.strip() for names in lists for name in names}


def _parameters(item):
    return item.callspec.params if hasattr(item, "callspec") else {}


@pytest.fixture(scope="module", autouse=True)
def freeze_what_is_there():
    """Exclude the tests themselves from garbage collection, which every compile does."""
    gc.collect()
    gc.freeze()


COMPILED = Path(os.environ.get("GRAPHC_TEST_COMPILES") or HERE.parent / "build" / "test-compiles")
"""The folder of compiled programs, for all processes of a run, and for later runs."""


@pytest.fixture(scope="session", autouse=True)
def share_compiles():
    """Compile equal programs once, by whichever process comes first, and programs of tests that
    began together by one call."""
    folder = COMPILED
    folder.mkdir(parents=True, exist_ok=True)
    with pytest.MonkeyPatch.context() as patch, compiled_together.in_place():
        own = str(compiler.find_compiler())
        patch.setattr(compiler, "run_child", CompileOnce(folder, compiler.run_child, own))
        # What several processes compile is not shared by tests, and each has one CPU.
        patch.setattr(kernel_groups, "_count_cpus", lambda: 0)
        yield


@pytest.fixture
def compiled_alone():
    """Nothing, for tests that look into compiled modules. They do not begin early, as none do that
    need a fixture, and so have no module with programs of others."""


@pytest.fixture(scope="module")
def suite():
    """ONNX's backend test suite. It is not loaded at collection time, because each process collects
    all tests."""
    cases = kept_cases(COMPILED)
    gc.freeze()  # or every compile would look for garbage among them
    return cases


@pytest.fixture(scope="module")
def by_name(suite):
    """All cases of the suite by name."""
    return {case.name.removeprefix("test_"): case for case in suite}


@pytest.fixture
def measure_briefly(monkeypatch):
    """Measure in few rounds without pauses, for tests in which no time matters."""
    monkeypatch.setattr(measure, "PAUSE_SECONDS", 0.0)
    for module in (measurement, confirmation, trials):
        brief = replace(module.PLAN, rounds=2, burst_seconds=0.0, warmup_runs=1)
        monkeypatch.setattr(module, "PLAN", brief)


def pytest_sessionfinish():
    """Unfreeze the garbage collector, because the bindings count unfreed objects at the end, and
    remove compiled programs that no recent run needed."""
    gc.unfreeze()
    if "PYTEST_XDIST_WORKER" not in os.environ and COMPILED.exists():
        prune(COMPILED)


_opened_in_software = []
"""Names of the software devices that the current test has opened."""


@pytest.fixture(scope="session", autouse=True)
def record_devices_in_software():
    """Record which software devices are opened: one may outlive the object that stands for it."""
    create = device._create

    def create_and_record(*args):
        created = create(*args)
        if created.in_software:
            _opened_in_software.append(str(created))
        return created

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device, "_create", create_and_record)
        yield


@pytest.fixture(autouse=True)
def close_devices_in_software():
    """Close software devices at the end. They keep cores busy, and stay open as long as an unclosed
    model, or a module of the runtime, is garbage."""
    yield
    if device._in_software or _opened_in_software:
        gc.collect()
        _opened_in_software.clear()


@pytest.fixture(autouse=True)
def restore_logging():
    """Tools that run many models silence the log of their processes, and tests call them here."""
    logger, disabled = logging.getLogger("graphc"), logging.root.manager.disable
    level = logger.level
    yield
    logger.setLevel(level)
    logging.disable(disabled)
