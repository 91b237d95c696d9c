"""Times and rates of a generation."""

from types import SimpleNamespace

from graphc.generation import statistics


def test_bytes_of_a_loop_that_reads(monkeypatch):
    """By a clock that counts its readings, so that each loop takes one second."""
    monkeypatch.setattr(statistics, "_PROBE_BYTES", 8000)
    ticks = iter(range(100))
    clock = SimpleNamespace(perf_counter=lambda: float(next(ticks)))
    monkeypatch.setattr(statistics, "time", clock)
    assert statistics.read_bandwidth(2) == 8000
