"""Settings of the tests of placement."""

from dataclasses import replace

import pytest

from graphc.benchmarks import measure
from graphc.placement import confirmation, measurement


@pytest.fixture(autouse=True)
def measure_briefly(monkeypatch):
    """Measure in few rounds without pauses: no test depends on how exact a time is."""
    monkeypatch.setattr(measure, "PAUSE_SECONDS", 0.0)
    for module in (measurement, confirmation):
        brief = replace(module.PLAN, rounds=2, burst_seconds=0.0, warmup_runs=1)
        monkeypatch.setattr(module, "PLAN", brief)
