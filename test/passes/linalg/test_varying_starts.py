"""Kernels and values of recurrences that an exporter has unrolled."""

import re

import numpy as np
import pytest
from node_list import NodeList
from numerics import build_model

import graphc

WIDTH = 24


def _model(steps, length, indexed):
    """The scan ``h = a[:, t] * h + b[:, t]``, whose steps are read by index or sliced."""
    net = NodeList()

    def step(x, time):
        if indexed:
            return net.node("Gather", [x, net.constant(np.int64(time))], axis=1)
        bounds = [net.constant(np.array([bound])) for bound in (time, time + 1, 1)]
        one = net.node("Slice", [x, *bounds[:2], bounds[2]])
        return net.node("Squeeze", [one, bounds[2]])

    state, results = step("b", 0), []
    for time in range(1, steps):
        decayed = net.node("Mul", [step("a", time), state])
        state = net.node("Add", [decayed, step("b", time)])
        results.append(net.node("ReduceSum", [state], keepdims=0))
    shape = (np.float32, [3, length, WIDTH])
    return build_model(net.nodes, {"a": shape, "b": shape}, [state, *results], net.constants)


def _kernels(model, folder):
    folder.mkdir()
    graphc.compile(model, save_temps=folder)
    return set(re.findall(rb"main_dispatch_\d+_", (folder / "module.vmfb").read_bytes()))


@pytest.mark.parametrize("indexed", [True, False])
def test_each_step_has_the_same_kernels(indexed, tmp_path):
    few, many = (
        _kernels(_model(steps, "n" if indexed else 20, indexed), tmp_path / f"{steps}")
        for steps in (6, 18)
    )
    assert len(few) == len(many) < 6


@pytest.mark.parametrize(("indexed", "length"), [(True, 6), (True, 4), (False, 6)])
def test_values(indexed, length):
    model = _model(6, "n" if indexed else length, indexed)
    random = np.random.default_rng(0)
    feeds = {name: random.standard_normal((3, length, WIDTH), np.float32) for name in "ab"}
    expected = graphc.compile(model, target="interpret").run(None, feeds)
    for actual, wanted in zip(graphc.compile(model).run(None, feeds), expected, strict=True):
        np.testing.assert_allclose(actual, wanted, rtol=1e-5, atol=1e-5)
