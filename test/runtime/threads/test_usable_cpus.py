import os

import pytest

from graphc.runtime.threads.usable_cpus import cgroup_cpus, usable_cpus


@pytest.fixture
def cgroup(tmp_path):
    """``cgroup({"a/cpu.max": "..."}, "0::/a/b")``: CPUs granted by a made-up hierarchy."""

    def read(files, membership):
        for name, text in files.items():
            path = tmp_path / "cgroup" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (tmp_path / "membership").write_text(membership)
        return cgroup_cpus(tmp_path / "cgroup", tmp_path / "membership")

    return read


def test_without_groups_nothing_is_limited(cgroup, tmp_path):
    assert cgroup_cpus(tmp_path / "nothing", tmp_path / "nothing") is None
    assert cgroup({"cpu.max": "max 100000\n"}, "0::/\n") is None


def test_version_2_takes_the_tightest_group(cgroup):
    files = {"a/cpu.max": "150000 100000\n", "a/b/cpu.max": "400000 100000\n", "a/b/c/x": ""}
    assert cgroup(files, "0::/a/b/c\n") == 1.5


def test_inside_a_container_the_path_may_not_exist(cgroup):
    assert cgroup({"cpu.max": "200000 100000\n"}, "0::/docker/123\n") == 2


def test_version_1(cgroup):
    files = {"cpu/a/cpu.cfs_quota_us": "50000\n", "cpu/a/cpu.cfs_period_us": "100000\n"}
    assert cgroup(files, "5:memory:/a\n4:cpu,cpuacct:/a\n") == 0.5
    files = {"cpu/b/cpu.cfs_quota_us": "-1\n", "cpu/b/cpu.cfs_period_us": "100000\n"}
    assert cgroup(files, "4:cpu,cpuacct:/b\n") is None


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs an affinity mask")
def test_the_affinity_mask_counts():
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        assert usable_cpus() == 1
    finally:
        os.sched_setaffinity(0, before)


@pytest.mark.parametrize(("quota", "cpus"), [(0.5, 1), (None, 64), (1.5, 2), (100, 64)])
def test_a_quota_is_rounded_up(monkeypatch, quota, cpus):
    monkeypatch.setattr("graphc.runtime.threads.usable_cpus.cgroup_cpus", lambda: quota)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: range(64), raising=False)
    assert usable_cpus() == cpus
