import os
import subprocess
import sys

import pytest

from graphc.runtime.threads.affinity import own_cpus, placed_workers

CPUS = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()

pytestmark = pytest.mark.skipif(not CPUS, reason="needs an affinity mask")

SCRIPT = """
import os
from pathlib import Path

from graphc.runtime.device.device import open_device

usable = os.sched_getaffinity(0)
device = open_device("local-task", {threads})
tasks = [task for task in Path("/proc/self/task").iterdir()]
workers = [int(task.name) for task in tasks if "iree-worker" in (task / "comm").read_text()]
assert len(workers) == {threads}, workers
cpu_sets = [os.sched_getaffinity(worker) for worker in workers]
"""


def run(script, threads, cpus=None):
    preset = None if cpus is None else lambda: os.sched_setaffinity(0, cpus)
    code = SCRIPT.format(threads=threads) + script
    subprocess.run([sys.executable, "-c", code], check=True, preexec_fn=preset)


@pytest.mark.skipif(len(CPUS) < 2, reason="needs two CPUs")
def test_each_processor_has_its_worker():
    run(
        "assert sorted(map(sorted, cpu_sets)) == [[cpu] for cpu in sorted(usable)], cpu_sets",
        threads=len(CPUS),
    )


def test_workers_of_another_number_may_run_on_all_of_them():
    run(
        "assert all(cpus == usable for cpus in cpu_sets), cpu_sets",
        threads=len(CPUS) + 1,
    )


def test_workers_stay_where_the_process_may_run():
    cpu = min(CPUS)
    run(f"assert cpu_sets == [{{{cpu}}}] * 3, cpu_sets", threads=3, cpus={cpu})


def test_where_threads_cannot_be_seen_nothing_is_placed(monkeypatch, tmp_path):
    monkeypatch.setattr("graphc.runtime.threads.affinity._TASKS", tmp_path / "nothing")
    with placed_workers(2):
        pass


def test_cpus_are_for_as_many_workers():
    assert own_cpus(len(CPUS)) == sorted(CPUS)
    assert own_cpus(len(CPUS) + 1) == []


def test_without_affinity_masks_nobody_has_a_processor(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity")
    assert own_cpus(2) == []
