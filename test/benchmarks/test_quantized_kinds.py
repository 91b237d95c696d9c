"""The nets that are timed in quantized forms."""

import onnx

from graphc.benchmarks.quantized_kind_nets import NAMED_BATCH, NETS
from graphc.benchmarks.quantized_kinds import cases


def test_nets_are_valid():
    for kind in NETS.values():
        model = kind.model(named_batch=True)
        onnx.checker.check_model(model)
        assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_param == NAMED_BATCH


def test_cases_are_chosen_by_parts_of_names():
    assert set(cases(["matmul-one-row", "u16"])) == {
        ("matmul-one-row", "u16s8", False),
        ("matmul-one-row", "u16s8", True),
    }
