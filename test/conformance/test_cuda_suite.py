"""Tests that the operators of ONNX's backend test suite compile for CUDA, and a network of
convolutions of ``make bench``."""

import onnx
import pytest
from benchmark_models import PATHS, load_shortened

from conformance.batched import compile_batched
from conformance.cases import case_info
from conformance.known import load_known, surprises
from graphc.compiler.driver import make_options, to_module
from graphc.frontend.onnx.importing.registry import find_converter
from harness.marks import long

PARTS = 4  # half of them in long runs
PTX = b".target sm_80"


@pytest.fixture(scope="module")
def chosen(suite):
    """The last case of each operator, without expanded function bodies, and of every sixth of the
    elementwise ones, which have one lowering.

    ``make conformance DEVICE=cuda FLAGS=--compile-only`` compiles all cases.
    """
    by_operator = {}
    for case in suite:
        if "_expanded" not in case.name:
            by_operator["".join(case_info(case).operators[:1])] = case
    elementwise = sorted(name for name in by_operator if _is_elementwise(name))
    left_out = set(elementwise) - set(elementwise[::6])
    return [case for name, case in by_operator.items() if name not in left_out]


def _is_elementwise(operator):
    converter = find_converter("", operator, onnx.defs.onnx_opset_version())
    return converter is not None and converter.function.__module__.endswith(".elementwise")


@pytest.mark.parametrize("part", [0, long(1), long(2), long(3)])
def test_cuda_compiles_the_operators_of_onnx(chosen, part, tmp_path):
    first, end = (len(chosen) * each // PARTS for each in (part, part + 1))
    outcomes = compile_batched(chosen[first:end], 300, target="cuda", host=True, keep=tmp_path)
    assert surprises(outcomes, load_known("cuda", executed=False)) == []
    files = list(tmp_path.iterdir())
    assert files
    assert all(PTX in path.read_bytes() for path in files)


def test_the_models_are_here():
    assert len(PATHS) == 6


@pytest.mark.long
def test_cuda_compiles_a_model_of_the_benchmark(caplog):
    """``make gpu-check`` compiles the others, too; for smaller ones, see `test_gpu_targets`."""
    (path,) = (path for path in PATHS if path.stem == "mobilenetv2")
    contents, _ = to_module(load_shortened(path), make_options("cuda", host=False))
    assert PTX in contents
    assert "as the backend failed without" not in caplog.text
