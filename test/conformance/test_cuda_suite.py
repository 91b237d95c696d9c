"""Tests that everything compiles for CUDA: ONNX's backend test suite and the models of ``make
bench``."""

import pytest
from benchmark_models import PATHS, each_benchmark_model, load

from conformance.batched import compile_batched
from conformance.known import load_known, surprises
from graphc.compiler.driver import make_options, to_module

PARTS = 40
PTX = b".target sm_80"


@pytest.mark.parametrize("part", range(PARTS))
def test_cuda_compiles_the_suite_of_onnx(suite, part, tmp_path):
    """Compile all cases except expanded function bodies.

    These are a quarter of all cases; ``make conformance DEVICE=cuda FLAGS=--compile-only`` compiles
    them, too.
    """
    cases = [case for case in suite if "_expanded" not in case.name]
    first, end = (len(cases) * each // PARTS for each in (part, part + 1))
    outcomes = compile_batched(cases[first:end], 300, target="cuda", host=True, keep=tmp_path)
    assert surprises(outcomes, load_known("cuda", executed=False)) == []
    files = list(tmp_path.iterdir())
    assert files
    assert all(PTX in path.read_bytes() for path in files)


def test_the_models_are_here():
    assert len(PATHS) == 6


@each_benchmark_model
def test_cuda_compiles_the_models_of_the_benchmark(path, caplog):
    contents, _ = to_module(load(path), make_options("cuda", host=False))
    assert PTX in contents
    assert "as the backend failed without" not in caplog.text
