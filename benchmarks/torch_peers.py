"""torch as a peer: the module that a file was exported from, if there is one."""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .modules import architecture_of, torch_dtype
from .peers import Feed, Peer, PeerError, Terms

_BACKENDS = {"cpu": "cpu", "cuda": "cuda", "rocm": "cuda", "metal": "mps"}
"""torch's names of devices."""


def load_torch(path: Path, terms: Terms, *, compiled: bool) -> Peer:
    """The module as it is, or `compiled` by torch.compile for low latency."""
    import torch

    architecture = architecture_of(path, "torch")
    torch_device = _require_device(torch, terms)
    torch.set_num_threads(terms.threads)
    torch.backends.fp32_precision = "ieee"  # convolutions have 10 bits on CUDA otherwise (TF32)
    dtype = torch_dtype(terms)

    def tensor(value: Any) -> Any:
        moved = torch.as_tensor(value).to(torch_device)
        return moved.to(dtype) if moved.is_floating_point() else moved

    start = time.perf_counter()
    module: Callable[..., Any] = architecture.module.to(torch_device).to(dtype)
    options: dict[str, object] = {"version": torch.__version__, "device": torch_device}
    if compiled:
        mode = "default" if torch_device == "cpu" else "reduce-overhead"
        module = torch.compile(module, mode=mode)
        options |= {"backend": "inductor", "mode": mode}
    with torch.inference_mode():
        module(*map(tensor, architecture.inputs.values()))
    seconds = time.perf_counter() - start

    def run(feed: Feed) -> list[np.ndarray]:
        with torch.inference_mode():
            results = module(*map(tensor, feed.values()))
        several = results if isinstance(results, tuple | list) else (results,)
        return [_array(result) for result in several]

    options |= {"precision": terms.precision, "threads": terms.threads}
    options |= {"fp32_precision": torch.backends.fp32_precision}
    return Peer("torch" if compiled else "torch-eager", options, seconds, run)


def _require_device(torch: Any, terms: Terms) -> str:
    torch_device = _BACKENDS.get(terms.device.partition(":")[0])
    there = torch_device == "cpu" or (torch_device and getattr(torch, torch_device).is_available())
    if torch_device is None or not there:
        raise PeerError(f"torch {torch.__version__} finds no device for {terms.device}")
    return torch_device


def _array(result: Any) -> np.ndarray:
    """A result on the host, floats as f32."""
    return (result.float() if result.is_floating_point() else result).cpu().numpy()


load_torch_compiled = partial(load_torch, compiled=True)
load_torch_eager = partial(load_torch, compiled=False)
