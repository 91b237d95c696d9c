"""JAX as a peer: the module that a file was exported from, traced by torchax, compiled by XLA.

torchax (https://google.github.io/torchax) runs torch modules on JAX arrays.
"""

import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from .modules import architecture_of, torch_dtype
from .peers import Feed, Peer, PeerError, Terms

_PLATFORMS = {"cpu": "cpu", "cuda": "cuda", "rocm": "rocm"}


def load_jax(path: Path, terms: Terms) -> Peer:
    """The module as one JAX function, with ``jax.jit`` and f32 matmuls in full precision."""
    _keep_to(terms.threads)  # before JAX counts the CPUs
    import jax
    import torchax
    from torchax.ops.mappings import t2j_dtype

    jax.config.update("jax_default_matmul_precision", "highest")  # f32 has 10 bits on CUDA else
    device = _require_device(jax, terms)
    architecture = architecture_of(path, "jax")
    dtype = torch_dtype(terms)
    start = time.perf_counter()
    weights, function = torchax.extract_jax(architecture.module.to(dtype))
    weights = jax.device_put(weights, device)
    compiled = jax.jit(function)

    def on_device(value: Any) -> Any:
        array = np.asarray(value)
        floating = np.issubdtype(array.dtype, np.floating)
        return jax.device_put(array.astype(t2j_dtype(dtype)) if floating else array, device)

    def run(feed: Feed) -> list[np.ndarray]:
        results = compiled(weights, tuple(map(on_device, feed.values())))
        several = results if isinstance(results, tuple | list) else (results,)
        return [_array(result) for result in several]

    run(architecture.inputs)
    seconds = time.perf_counter() - start
    options = {
        "version": jax.__version__,
        "device": str(device),
        "precision": terms.precision,
        "default_matmul_precision": jax.config.jax_default_matmul_precision,
        "threads": terms.threads,
    }
    return Peer("jax", options, seconds, run)


def _require_device(jax: Any, terms: Terms) -> Any:
    platform = _PLATFORMS.get(terms.device.partition(":")[0])
    try:
        return jax.devices(platform)[0]
    except RuntimeError as error:
        message = f"jax {jax.__version__} finds no device for {terms.device}"
        raise PeerError(message) from error


def _keep_to(cpus: int) -> None:
    """Restrict the process to so many CPUs: JAX uses a thread per usable CPU, without an option."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cpus])


def _array(result: Any) -> np.ndarray:
    """A result on the host, floats as f32."""
    array = np.asarray(result)
    return array if np.issubdtype(array.dtype, np.integer) else array.astype(np.float32)
