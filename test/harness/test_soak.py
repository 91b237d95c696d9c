"""Tests of the growth check of the load test, and of its stored summary."""

from harness.soak import Soaked, growth, slope


def samples(mib, threads=40, files=30):
    return [
        {"s": 60 * minute, "MiB": mib(minute), "threads": threads, "files": files + minute % 3}
        for minute in range(61)
    ]


def test_what_settles_does_not_grow():
    settled = samples(lambda minute: 170 if minute < 10 else 200)
    assert growth(settled) == {}
    assert abs(slope(settled)) < 1e-6


def test_what_leaks_does():
    leak = samples(lambda minute: 170 + 2 * minute)
    assert growth(leak) == {"MiB": 62}
    assert round(slope(leak)) == 120


def test_what_is_kept():
    held = samples(lambda minute: 170 + minute)
    run = Soaked(3601.0, {"runs": 12}, held, ["a result lies 2 off"]).run()
    assert (run.violations, run.minutes, run.command) == (1, 60.0, "make soak")
    assert run.counts["runs"] == 12
    assert [run.counts[f"MiB after {m} min"] for m in (0, 15, 30, 45, 60)] == [
        170, 185, 200, 215, 230,
    ]  # fmt: skip
    assert run.counts["MiB more per hour"] == 60
    assert run.counts["most open files"] == 32
