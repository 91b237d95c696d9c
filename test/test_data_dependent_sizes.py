"""Data-dependent result sizes: each call has those of its own values, whatever came before."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnxruntime
import pytest
from data_dependent_models import BODIES, data_dependent_model, feeds
from devices import needs_vulkan

import graphc
from graphc.compiler.compile import compile_to_file

SIZES = (4, 4, 4, 2, 6, 1, 12, 12, 12, 0, 0, 0, 3, 4)
"""Repeated, so that a call may have what it needs of the last one; growing, shrinking and empty."""


def expected(name, sizes):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        data_dependent_model(name).SerializeToString(), options, ["CPUExecutionProvider"]
    )
    return [session.run(None, feeds(size)) for size in sizes]


def assert_equal(got, wanted):
    for value, right in zip(got, wanted, strict=True):
        assert value.shape == right.shape
        assert value.dtype == right.dtype
        np.testing.assert_allclose(value, right, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", BODIES)
def test_each_call_has_the_sizes_of_its_own_values(name):
    with graphc.compile(data_dependent_model(name), cache=False, host=False) as model:
        for size, wanted in zip(SIZES, expected(name, SIZES), strict=True):
            assert_equal(model.run(None, feeds(size)), wanted)


def test_calls_of_several_threads():
    by_size = dict(zip(range(13), expected("several", range(13)), strict=True))
    with graphc.compile(data_dependent_model("several"), cache=False) as model:

        def call(thread):
            for size in np.random.default_rng(thread).integers(0, 13, 100):
                assert_equal(model.run(None, feeds(size)), by_size[size])

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(call, range(4)))


def test_results_on_the_device():
    with graphc.compile(data_dependent_model("several"), cache=False) as model:
        kept = []
        for size, wanted in zip(SIZES, expected("several", SIZES), strict=True):
            kept.append((model.run(None, feeds(size), on_device=True), wanted))
            assert_equal(model.run(None, feeds(size)), wanted)
        for got, wanted in kept:  # later calls have not written to them
            assert_equal([tensor.numpy() for tensor in got], wanted)


def test_files_for_several_targets(tmp_path):
    contents, _ = compile_to_file(
        data_dependent_model("several"), ["cuda:sm_80", "cpu:x86-64", "cpu"], cache=False
    )
    path = tmp_path / "several.vmfb"
    path.write_bytes(contents)
    for target in ("cpu:x86-64", "cpu"):
        with graphc.load(path, target=target) as model:
            for size, wanted in zip(SIZES, expected("several", SIZES), strict=True):
                assert_equal(model.run(None, feeds(size)), wanted)


@needs_vulkan
@pytest.mark.parametrize("name", ["several", "if_of_two_sizes", "loop_results"])
def test_vulkan(name):
    sizes = [size for size in SIZES if size]  # it computes nothing with tensors of no elements
    with graphc.compile(data_dependent_model(name), "vulkan", cache=False) as model:
        for size, wanted in zip(sizes, expected(name, sizes), strict=True):
            assert_equal(model.run(None, feeds(size)), wanted)
