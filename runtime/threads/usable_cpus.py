"""The number of CPUs that this process may use."""

import math
import os
from pathlib import Path

_CGROUP_ROOT = Path("/sys/fs/cgroup")


def usable_cpus() -> int:
    """Number of logical CPUs that this process may use, at least 1.

    The minimum of the number in the machine, of those in the affinity mask (``taskset``), and of
    the quota of the control groups (``docker run --cpus=2``), rounded up.
    """
    if hasattr(os, "sched_getaffinity"):
        count = len(os.sched_getaffinity(0))
    else:
        count = os.cpu_count() or 1
    quota = cgroup_cpus()
    return max(1, count if quota is None else min(count, math.ceil(quota)))


def cgroup_cpus(
    root: Path = _CGROUP_ROOT, membership: Path = Path("/proc/self/cgroup")
) -> float | None:
    """CPU quota of the control groups of this process, in CPUs, or ``None`` if unlimited.

    A group is bound by its ancestors too, so the smallest quota on the way up counts. Inside a
    container the path in `membership` may not exist below `root`; the walk then begins at `root`.
    """
    quotas = []
    for line in _read(membership).splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":  # version 2: one hierarchy
            base, read_quota = root, _quota_v2
        elif "cpu" in controllers.split(","):
            base, read_quota = root / "cpu", _quota_v1
        else:
            continue
        group = base / path.lstrip("/")
        for folder in (group, *group.parents):
            if (quota := read_quota(folder)) is not None:
                quotas.append(quota)
            if folder == base:
                break
    return min(quotas, default=None)


def _quota_v2(folder: Path) -> float | None:
    quota, _, period = _read(folder / "cpu.max").strip().partition(" ")
    return int(quota) / int(period) if quota.isdigit() and period.isdigit() else None


def _quota_v1(folder: Path) -> float | None:
    quota = _read(folder / "cpu.cfs_quota_us").strip()  # -1 where unlimited
    period = _read(folder / "cpu.cfs_period_us").strip()
    return int(quota) / int(period) if quota.isdigit() and period.isdigit() else None


def _read(path: Path) -> str:
    # These files are absent on other systems and in many containers: there is then no limit.
    try:
        return path.read_text()
    except OSError:
        return ""
