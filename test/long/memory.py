"""``make memory``: what a run allocates, predicted before it, and less of it by scheduling."""

import pytest
from benchmark_models import each_benchmark_model, load

from graphc.benchmarks.peak_memory import FAVOURS, branches, peaks


@pytest.mark.parametrize("favour", FAVOURS)
@each_benchmark_model
def test_a_run_allocates_what_is_predicted(path, favour, record_property):
    _, predicted, measured = peaks(load(path), {}, False, FAVOURS[favour])
    record_property("predictions", 1)
    record_property("% off at most", 100 * abs(predicted / measured - 1))
    assert predicted == pytest.approx(measured, rel=0.02)


@pytest.mark.parametrize("count", [4, 8, 16])
def test_wide_branches_take_less_when_they_are_scheduled(count, record_property):
    as_they_are, scheduled = (
        peaks(branches(count), {}, order, FAVOURS["order"]) for order in (False, True)
    )
    record_property(f"MiB of {count} branches", as_they_are[2] / 2**20)
    record_property(f"MiB of {count} branches scheduled", scheduled[2] / 2**20)
    for _, predicted, measured in (as_they_are, scheduled):
        assert predicted == pytest.approx(measured, rel=0.02)
    assert scheduled[2] < as_they_are[2] / 2
