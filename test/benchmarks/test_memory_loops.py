"""Loops that read or copy memory, which are timed in turns with runtimes."""

from pathlib import Path

from graphc.benchmarks import memory_loops
from graphc.benchmarks.loaders import LOOPS
from graphc.benchmarks.memory_loops import COPYING, LOOP_BYTES, READING
from graphc.benchmarks.peers import Terms


def test_each_thread_has_a_part(monkeypatch):
    """The parts are all of what is read, or read and written."""
    monkeypatch.setattr(memory_loops, "_ARRAY_BYTES", 8000)
    seen = []
    monkeypatch.setattr(memory_loops.np, "sum", lambda *arrays: seen.append(arrays))
    monkeypatch.setattr(memory_loops.np, "copyto", lambda *arrays: seen.append(arrays))
    for name, arrays in ((READING, 1), (COPYING, 2)):
        seen.clear()
        assert LOOPS[name](Path("none.onnx"), Terms(2)).run({}) == []
        assert [len(part) for part in seen] == [arrays] * 2
        assert sum(each.nbytes for part in seen for each in part) == 8000 * arrays
        assert LOOP_BYTES[name] == arrays * (512 << 20)
