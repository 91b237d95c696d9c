"""Tests of the suite that is kept in a file."""

import pytest
from conformance_cases import CASES

from harness.kept_suite import kept_cases


def test_the_suite_is_loaded_once(tmp_path):
    cases = CASES[:1]
    made = kept_cases(tmp_path, lambda: cases)
    assert made is cases
    (case,) = kept_cases(tmp_path, lambda: pytest.fail("loaded again"))
    assert (case.name, case.model()) == (cases[0].name, cases[0].model())
    ((given, expected),) = case.data_sets()
    assert [given[0].tolist(), expected[0].tolist()] == [[-1, 2], [0, 2]]
