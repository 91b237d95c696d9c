"""The benchmark of kernels for tensor cores: what it compiles, and how its parent reads workers."""

import json
import zipfile
from types import SimpleNamespace

import pytest

from graphc.benchmarks import mma_device
from graphc.benchmarks.mma_archive import main as make_archive
from graphc.benchmarks.mma_problems import kind_of, problems
from graphc.benchmarks.mma_regression import report
from graphc.passes.kernels.mma_tiles import TileCost

KINDS = ["mma", "wgmma", "wgmma-ab", "wgmma-b"]
WORKER = """\
import json, os, sys, time
print("device a GPU", flush=True)
results = {}
for each in sys.argv[2:]:
    print("start", each, flush=True)
    if each == "p:1":
        os.abort()
    if each == "p:2":
        time.sleep(60)
    print("checked", json.dumps([each, {"error": 0.5 if each == "q:1" else 0, "same": True}]))
    results.setdefault(each[0], {})[each[2:]] = 10 + int(each[2:])
    name, *following = sys.argv[sys.argv.index(each):]
    if not following or following[0][0] != each[0]:
        print("timed", json.dumps([each[0], 9, results[each[0]]]), flush=True)
"""


def test_all_kinds_of_kernels_are_compiled(tmp_path):
    archive = tmp_path / "a.pyz"
    assert make_archive([str(archive), "--only", "1000x520", "--kernels", "4"]) == 0
    with zipfile.ZipFile(archive) as file:
        (problem,) = json.loads(file.read("problems.json"))
        code = file.read(f"{problem['name']}.vmfb")
        assert b"def work" in file.read("__main__.py")
    assert sorted(each["label"].split()[0] for each in problem["kernels"]) == KINDS
    for part in (b".target sm_90a", b"mma.sync", b"wgmma.mma_async", b"cp.async.bulk.tensor"):
        assert part in code


def test_windows_are_not_brought_by_the_copy_engine():
    by_name = {problem.name: problem for problem in problems()}
    kernels = by_name["b8-14-256-256-3x3"].kernels(8)
    assert len(kernels) == 8
    assert {kind_of(each) for each in kernels} == {"mma", "wgmma", "wgmma-b"}


@pytest.fixture
def progress():
    """Kernels of two problems, none of which has run."""
    kernels = [{"label": f"{kind} 64x64/3", "tile": kind, "parts": 1} for kind in KINDS]
    return mma_device.Progress([dict(name=name, m=8, n=8, k=8, kernels=kernels) for name in "pq"])


def test_a_kernel_that_fails_costs_no_other_its_result(progress, tmp_path, monkeypatch):
    """One crashes, one has no end, and one is wrong."""
    (tmp_path / "__main__.py").write_text(WORKER)
    monkeypatch.setattr(mma_device, "KERNEL_SECONDS", 2.0)
    mma_device.run(tmp_path, progress, 60)
    failed = {
        name: each["failed"][:10] for name, each in progress.results.items() if "time" not in each
    }
    assert failed == {"p:1": "it crashed", "p:2": "no end: "}
    assert progress.todo() == []
    lines = list(mma_device.table(progress))
    assert lines[0].startswith("a GPU")
    assert lines[1].startswith("p: torch 9.0 (0), mma 64x64/3 10.0 (0), wgmma-b")
    assert sum("WRONG" in line for line in lines) == 3


def test_kinds_without_an_end_are_left_out(progress):
    progress.hangs["wgmma"] = mma_device.MOST_HANGS
    assert "p:1" not in progress.todo()
    assert "p:0" in progress.todo()


def test_times_of_kernels_are_told_from_others():
    events = [
        SimpleNamespace(name=name, device_type="DeviceType.CUDA", device_time=time)
        for name, time in [("k_f0", 1), ("k_f0", 9), ("k_f0", 2), ("gemm", 12.0), ("Memset", 5)]
    ]
    assert mma_device.times_of(events, [0]) == (12 / mma_device.RUNS, {0: 2})


def test_costs_are_found_from_times():
    cost = TileCost(3.0, 0.5, 0.4, 2)
    kernels = [
        dict(tile="T()", parts=1, workgroups=groups, steps=steps)
        for groups in (20, 132, 200, 400, 1000, 3000)
        for steps in (2, 8, 30)
    ]
    times = {
        f"p:{number}": {"time": cost.time(each["workgroups"], each["steps"])}
        for number, each in enumerate(kernels)
    }
    lines = list(report({"problems": [{"name": "p", "kernels": kernels}], "results": times}))
    assert lines[0].startswith("T(): TileCost(3.0, 0.50, 0.40, 2),  # 18 kernels, 0 %")
    assert lines[1] == "the chosen tile is 0.0 % slower than the best one"
