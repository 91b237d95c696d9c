"""Loaders of the runtimes, by name."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from .decoder_peers import load_graphc_in_place, load_onnxruntime_in_place
from .jax_peers import load_jax
from .memory_loops import COPYING, READING, load_copying_loop, load_reading_loop
from .peers import Peer, Terms, load_graphc, load_iree, load_onnxruntime, load_openvino
from .torch_peers import load_torch_compiled, load_torch_eager

LOADERS: dict[str, Callable[[Path, Terms], Peer]] = {
    "graphc": load_graphc,
    "graphc-in-place": load_graphc_in_place,
    "onnxruntime": load_onnxruntime,
    "onnxruntime-in-place": load_onnxruntime_in_place,
    "onnxruntime-unoptimized": partial(load_onnxruntime, optimized=False),
    "openvino": load_openvino,
    "iree": load_iree,
    "torch": load_torch_compiled,
    "torch-eager": load_torch_eager,
    "jax": load_jax,
}

LOOPS: dict[str, Callable[[Path, Terms], Peer]] = {
    READING: load_reading_loop,
    COPYING: load_copying_loop,
}
"""Loaders of what runs no model."""
