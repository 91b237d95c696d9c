"""Calls of a compiled module on inputs behind which nothing can be read: each ends where a page
does, and the next page is protected. Large inputs are used where they lie (`host_visible.py`).

``python -m guarded_memory MODULE OUTPUT INPUT...`` does one in a process of its own, which is
killed if it reads behind an input.
"""

import ctypes
import mmap
import sys

import numpy as np

import graphc

LEAST_BYTES = 1 << 15
"""Inputs of fewer bytes are copied."""


def guarded(x: np.ndarray) -> np.ndarray:
    """A copy of `x`, of whole cache lines, whose last byte is the last one before a protected
    page."""
    assert x.nbytes >= LEAST_BYTES
    assert x.nbytes % 64 == 0
    used = -(-x.nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
    memory = mmap.mmap(-1, used + mmap.PAGESIZE)
    bytes_ = np.frombuffer(memory, np.uint8)
    libc, end = ctypes.CDLL(None, use_errno=True), bytes_.ctypes.data + used
    if libc.mprotect(ctypes.c_void_p(end), ctypes.c_size_t(mmap.PAGESIZE), 0):
        raise OSError(ctypes.get_errno(), "mprotect failed")
    copy = bytes_[used - x.nbytes : used].view(x.dtype).reshape(x.shape)
    copy[...] = x
    return copy


def main(module: str, output: str, *inputs: str) -> None:
    """Save the first result of `module` for the arrays in `inputs` to `output`."""
    model = graphc.load(module, threads=1)
    feeds = [guarded(np.load(path)) for path in inputs]
    names = [each.name for each in model.inputs]
    np.save(output, model.run(None, dict(zip(names, feeds, strict=True)))[0])


if __name__ == "__main__":
    main(*sys.argv[1:])
