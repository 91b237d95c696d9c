"""Caches of the CPU, by which passes and kernels plan."""

import numpy as np
import pytest
from numerics import build_model
from onnx import helper

import graphc
from graphc.compiler.model_signature import main_function
from graphc.cpu_model import CpuModel
from graphc.passes.analysis.liveness import liveness
from graphc.passes.kernels.packed_matmul import MatmulShape

LARGE, SMALL = CpuModel(512), CpuModel(512, l1_bytes=16 << 10, l2_bytes=256 << 10)
WINOGRAD = "graph-convert-layout,graph-fold-constants,canonicalize,graph-winograd{vector-bits=512}"


def test_blocks_of_a_product_fit_the_caches():
    def product(cpu):
        return MatmulShape(512, 1024, 1024, nr=64, lanes=16, mr=6, cpu=cpu)

    for cpu in (LARGE, SMALL):
        found = product(cpu)
        assert found.kc * found.nr * 4 <= cpu.l1_bytes
        assert found.mc * found.kc * 4 <= cpu.l2_bytes // 2
    assert product(SMALL).k_blocks == 2 * product(LARGE).k_blocks


@pytest.fixture
def convolved():
    """A program with a convolution of 56x56 pixels by Winograd's algorithm."""
    weights = np.ones((64, 64, 3, 3), np.float32)
    node = helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])
    model = build_model([node], {"x": (np.float32, (1, 64, 56, 56))}, ["y"], {"w": weights})
    module = graphc.run_pipeline(graphc.import_onnx(model), WINOGRAD)
    assert "graph.winograd_conv" in str(module)
    return module


def scratch(module, cpu):
    with module.context:
        return sum(step.scratch for step in liveness(main_function(module), cpu=cpu).steps)


def test_scratch_memory_is_predicted_as_it_is_lowered(convolved):
    """The kernel is handed as much as the same CPU was said to need."""
    large, small = scratch(convolved, LARGE), scratch(convolved, SMALL)
    assert small != large
    lowering = f"convert-graph-to-linalg{{vector-bits=512 l2-bytes={SMALL.l2_bytes}}}"
    text = str(graphc.run_pipeline(convolved, lowering))
    assert f"tensor<{small // 4}xf32>" in text
    assert f"tensor<{large // 4}xf32>" not in text
