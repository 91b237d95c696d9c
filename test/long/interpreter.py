"""``make interpreter``: ONNX's suite for backends, each case interpreted, again and again."""

import pytest

from conformance.known import load_known, surprises
from conformance.run_cases import run_case

PARTS = 16


@pytest.mark.filterwarnings("default")  # infinities and NaN in the examples are meant
@pytest.mark.parametrize("part", range(PARTS))
def test_the_suite_of_onnx(suite, part, record_property):
    outcomes = [run_case(case, 60, target="interpret", host=True) for case in suite[part::PARTS]]
    record_property("models", len(outcomes))
    record_property("pass", sum(outcome.passed for outcome in outcomes))
    assert surprises(outcomes, load_known("interpret")) == []
