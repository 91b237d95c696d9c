"""Runtimes that keep a cache of keys and values where it is, from call to call.

The cache of the first call stays: later calls feed what the call before returned, whatever caches
they are given. An input ``past...`` belongs to the output ``present...``.
"""

import time
from pathlib import Path
from typing import Any

import numpy as np

from .peers import Feed, Peer, PeerError, Terms, onnxruntime_options

_PAST, _PRESENT = "past", "present"


def load_graphc_in_place(path: Path, terms: Terms) -> Peer:
    """graphc with donated caches."""
    import graphc

    start = time.perf_counter()
    try:
        model = graphc.compile(
            str(path), threads=terms.threads, cache=False, donate=[f"*{_PAST}_*"]
        )
    except graphc.GraphcError as error:
        raise PeerError(f"graphc cannot compile {path.name}: {error}") from error
    seconds = time.perf_counter() - start
    names = [output.name for output in model.metadata.outputs]
    kept = [name for name in names if _PRESENT in name]
    caches: dict[str, Any] = {}

    def run(feed: Feed) -> list[np.ndarray]:
        for name, value in feed.items():
            if _PAST in name and name not in caches:
                caches[name] = model.to_device(value)
        results = dict(zip(names, model.run(None, {**feed, **caches}, on_device=kept), strict=True))
        caches.update({name.replace(_PRESENT, _PAST): results.pop(name) for name in kept})
        return [np.asarray(result) for result in results.values()]

    shown = {"version": model.metadata.versions["graphc"], **model.metadata.options}
    return Peer("graphc", shown, seconds, run)


def load_onnxruntime_in_place(path: Path, terms: Terms) -> Peer:
    """ONNX Runtime with past and present in one buffer, as onnxruntime-genai has them."""
    import onnxruntime

    options = onnxruntime_options(terms)
    start = time.perf_counter()
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    seconds = time.perf_counter() - start
    names = [output.name for output in session.get_outputs()]
    caches: dict[str, Any] = {}

    def run(feed: Feed) -> list[np.ndarray]:
        binding = session.io_binding()
        for name, value in feed.items():
            if _PAST not in name:
                binding.bind_cpu_input(name, value)
                continue
            if name not in caches:
                caches[name] = onnxruntime.OrtValue.ortvalue_from_numpy(value)
            binding.bind_ortvalue_input(name, caches[name])
        for name in names:  # in this order, results are returned
            if _PRESENT in name:
                binding.bind_ortvalue_output(name, caches[name.replace(_PRESENT, _PAST)])
            else:
                binding.bind_output(name)
        session.run_with_iobinding(binding)
        return [
            value.numpy()
            for name, value in zip(names, binding.get_outputs(), strict=True)
            if _PRESENT not in name
        ]

    return Peer("onnxruntime", {"version": onnxruntime.__version__}, seconds, run)
