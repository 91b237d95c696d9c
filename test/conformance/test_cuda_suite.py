"""Tests that every operator of ONNX's backend test suite compiles for CUDA, and a network of
convolutions of ``make bench``."""

import pytest
from benchmark_models import PATHS, load_shortened

from conformance.batched import compile_batched
from conformance.cases import case_info
from conformance.known import load_known, surprises
from graphc.compiler.driver import make_options, to_module

PARTS = 6
PTX = b".target sm_80"


@pytest.fixture(scope="module")
def chosen(suite):
    """The last case of each operator, without expanded function bodies.

    ``make conformance DEVICE=cuda FLAGS=--compile-only`` compiles all cases.
    """
    by_operator = {}
    for case in suite:
        if "_expanded" not in case.name:
            by_operator[tuple(case_info(case).operators[:1])] = case
    return list(by_operator.values())


@pytest.mark.parametrize("part", range(PARTS))
def test_cuda_compiles_every_operator_of_onnx(chosen, part, tmp_path):
    first, end = (len(chosen) * each // PARTS for each in (part, part + 1))
    outcomes = compile_batched(chosen[first:end], 300, target="cuda", host=True, keep=tmp_path)
    assert surprises(outcomes, load_known("cuda", executed=False)) == []
    files = list(tmp_path.iterdir())
    assert files
    assert all(PTX in path.read_bytes() for path in files)


def test_the_models_are_here():
    assert len(PATHS) == 6


def test_cuda_compiles_a_model_of_the_benchmark(caplog):
    """``make gpu-check`` compiles the others, too; for a transformer, see `test_gpu_targets`."""
    (path,) = (path for path in PATHS if path.stem == "mobilenetv2")
    contents, _ = to_module(load_shortened(path), make_options("cuda", host=False))
    assert PTX in contents
    assert "as the backend failed without" not in caplog.text
