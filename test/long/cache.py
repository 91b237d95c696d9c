"""``make cache``: compilations that share a cache are killed at any moment, and it stays sound."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from tool_models import dense, dense_result, model, write

import graphc
from graphc.runtime.cache.compile_cache import CompileCache

SEEDS, ROUNDS, AT_ONCE = 8, 12, 3

COMPILE = """
import sys
import graphc
print(flush=True)
graphc.compile(sys.argv[1], target="cpu", threads=1, cache=sys.argv[2])
print("done", flush=True)
"""


def products(seed: int) -> onnx.ModelProto:
    """A model whose two products are one kernel of graphc's own, with weights drawn for `seed`."""
    drawn = np.random.default_rng(seed)
    weights = [
        numpy_helper.from_array(drawn.standard_normal((256, 256), np.float32), name)
        for name in ("v", "w")
    ]
    nodes = [
        onnx.helper.make_node("MatMul", ["x", "v"], ["xv"], name="first"),
        onnx.helper.make_node("MatMul", ["xv", "w"], ["y"], name="second"),
    ]
    return model(nodes, {"x": [64, 256]}, {"y": [64, 256]}, weights)


def start(paths: list[Path], folder: Path) -> list[subprocess.Popen]:
    """A process that compiles each of `paths`; all have imported graphc."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", COMPILE, str(path), str(folder)], stdout=subprocess.PIPE
        )
        for path in paths
    ]
    for process in processes:
        process.stdout.readline()
    return processes


def seconds_of(paths: list[Path], folder: Path) -> float:
    """Return the seconds that concurrent compilations of `paths` take with an empty cache."""
    processes, began = start(paths, folder), time.monotonic()
    for process in processes:
        assert process.communicate()[0] == b"done\n"
    return time.monotonic() - began


@pytest.mark.parametrize("seed", range(SEEDS))
def test_killed_compilations_leave_a_sound_cache(seed, tmp_path, record_property):
    drawn, folder = random.Random(seed), tmp_path / "cache"
    paths = [write(dense(), tmp_path / "dense.onnx")]
    paths += [write(products(n), tmp_path / f"products{n}.onnx") for n in range(AT_ONCE - 1)]
    longest = seconds_of(paths, tmp_path / "first")
    killed = ended = entries = 0
    for _ in range(ROUNDS):
        processes = start(paths, folder)
        time.sleep(longest * drawn.uniform(0.3, 1.1))
        done = 0
        for process in processes:
            process.send_signal(signal.SIGKILL)
            done += b"done" in process.communicate()[0]
        ended += done
        killed += AT_ONCE - done
        longest *= 0.9 if done else 1.1  # how busy the machine is changes; the end is what matters
        cache = CompileCache(folder)
        for stored in cache.entries():
            entries += 1
            assert cache.read(stored.key) is not None
        if drawn.random() < 0.5:
            cache.clear()
    record_property("killed", killed)
    record_property("ended before", ended)
    record_property("entries read", entries)
    assert killed > 0
    assert entries > 0
    x = np.linspace(-2, 2, 8, dtype=np.float32).reshape(2, 4)
    (y,) = graphc.compile(paths[0], threads=1, cache=folder).run(None, {"x": x})
    np.testing.assert_allclose(y, dense_result(x), rtol=1e-5, atol=1e-6)
    x = np.random.default_rng(seed).standard_normal((64, 256), np.float32)
    for path in paths[1:]:
        ys = [
            graphc.compile(path, threads=1, cache=each).run(None, {"x": x})
            for each in (folder, False)
        ]
        np.testing.assert_array_equal(*ys)
