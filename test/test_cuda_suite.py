"""Everything compiles for CUDA: ONNX's suite for backends, and the models of ``make bench``.

These lie in ``weightless/``, as PyTorch's older exporter writes them, with weights drawn here:
``python -m graphc.benchmarks.models`` and ``graphc.benchmarks.weightless`` make them.
"""

import gc
from pathlib import Path

import onnx
import pytest

from graphc.benchmarks.weightless import filled
from graphc.driver import make_options, to_module
from graphc.tools.conformance.cases import load_cases
from graphc.tools.conformance.known import load_known, surprises
from graphc.tools.conformance.together import compile_together

PARTS = 50
MODELS = sorted(Path(__file__).with_name("weightless").glob("*.onnx"))
PTX = b".target sm_80"


@pytest.fixture(scope="module")
def suite():
    """All cases. Not when the file is collected: every process collects all tests."""
    cases = load_cases()
    gc.freeze()  # or every compile would look for garbage among them
    return cases


@pytest.mark.parametrize("part", range(PARTS))
def test_cuda_compiles_the_suite_of_onnx(suite, part, tmp_path):
    first, end = (len(suite) * each // PARTS for each in (part, part + 1))
    outcomes = compile_together(suite[first:end], 300, target="cuda", host=True, keep=tmp_path)
    assert surprises(outcomes, load_known("cuda", executed=False)) == []
    files = list(tmp_path.iterdir())
    assert files
    assert all(PTX in path.read_bytes() for path in files)


def test_the_models_are_here():
    assert len(MODELS) == 6


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_cuda_compiles_the_models_of_the_benchmark(path, caplog):
    model = filled(onnx.load(path))
    contents, _ = to_module(model, make_options("cuda", None, None, None), host=False)
    assert PTX in contents
    assert "as the backend failed without" not in caplog.text
