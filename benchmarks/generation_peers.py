"""A runtime of language models that answers requests for measurements, line by line.

::

    python benchmarks/generation_peers.py onnxruntime-genai FOLDER 1

It stands alone, for the Python of a peer. A request is a line with the tokens of a prompt and those
to generate; the answer has the seconds of both and the seconds of CPU time, and ``peaks``, the peak
of resident bytes: of the packages, of the loaded model, behind the prompt, and at the end. The
first line says that the model is loaded.
"""

import importlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

Start = Callable[[list[int], int], Iterator[Any]]
"""The steps of a generation behind a prompt, the first of which computes that. One that gives the
times of its end was timed by the runtime."""


def graphc(path: str, threads: int, precision: str) -> Start:
    """graphc in a precision."""
    from graphc.generation import Generator, load

    model = load(path, threads=threads, precision=precision)
    model.entry_points.prepare(1)

    def start(prompt: list[int], count: int) -> Iterator[None]:
        length = len(prompt) + count
        generator = Generator(model, max_length=length, min_length=length)
        generator.append_tokens(prompt)
        for _ in range(count):
            yield generator.generate_next_token()

    return start


def onnxruntime_genai(path: str, threads: int) -> Start:
    """onnxruntime-genai on the same folder."""
    import onnxruntime_genai as og

    config = og.Config(path)
    session = {"intra_op_num_threads": threads}
    config.overlay(json.dumps({"model": {"decoder": {"session_options": session}}}))
    model = og.Model(config)

    def start(prompt: list[int], count: int) -> Iterator[None]:
        parameters = og.GeneratorParams(model)
        length = len(prompt) + count
        parameters.set_search_options(max_length=length, min_length=length, do_sample=False)
        generator = og.Generator(model, parameters)
        generator.append_tokens(prompt)
        for _ in range(count):
            yield generator.generate_next_token()

    return start


def openvino_genai(path: str, threads: int) -> Start:
    """OpenVINO GenAI on the GGUF file."""
    import numpy as np
    import openvino
    import openvino_genai as genai

    options = {"INFERENCE_NUM_THREADS": threads}
    pipeline = genai.LLMPipeline(path, "CPU", **options)

    def start(prompt: list[int], count: int) -> Iterator[Any]:
        config = genai.GenerationConfig(
            max_new_tokens=count, min_new_tokens=count, ignore_eos=True, do_sample=False
        )
        times: list[tuple[float, float]] = []

        def streamer(token: object) -> Any:
            del token
            times.append(_now())
            return genai.StreamingStatus.RUNNING

        pipeline.generate(openvino.Tensor(np.array([prompt])), config, streamer)
        yield from times

    return start


def llama_cpp(path: str, threads: int) -> Start:
    """llama.cpp on the GGUF file, by the package xllamacpp. It has no steps: a token is generated
    behind the prompt, and then again with the others."""
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path, parameters.n_ctx, parameters.n_parallel = path, 4096, 1
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = threads
    parameters.verbosity = -1
    server = xllamacpp.Server(parameters)
    print(xllamacpp.get_system_info(), file=sys.stderr)

    def start(prompt: list[int], count: int) -> Iterator[tuple[float, float]]:
        request = {"prompt": prompt, "cache_prompt": False, "ignore_eos": True, "temperature": 0}
        times = [_now()]
        for tokens in (1, count):
            server.handle_completions({**request, "n_predict": tokens})
            times.append(_now())
        begin, first, end = times
        yield first
        yield (end[0] - first[0] + begin[0], end[1] - first[1] + begin[1])

    return start


RUNTIMES: dict[str, Callable[..., Start]] = {
    "graphc": graphc,
    "onnxruntime-genai": onnxruntime_genai,
    "openvino-genai": openvino_genai,
    "llama.cpp": llama_cpp,
}


PACKAGES: dict[str, tuple[str, ...]] = {
    "graphc": ("graphc.generation",),
    "onnxruntime-genai": ("onnxruntime_genai",),
    "openvino-genai": ("numpy", "openvino", "openvino_genai"),
    "llama.cpp": ("xllamacpp",),
}
"""The packages that each of them imports."""


def _peak_bytes() -> int:
    """The peak of this process's resident memory (Linux); `resource` knows that of the process that
    started it, too, and takes the larger."""
    with open("/proc/self/status") as status:
        (line,) = (each for each in status if each.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def _now() -> tuple[float, float]:
    """The wall clock and the CPU time, in seconds."""
    return time.perf_counter(), time.process_time()


def timed(start: Start, prompt: list[int], count: int) -> dict[str, Any]:
    """Seconds, and seconds of CPU time, until the first token, and for the others; the peaks of
    memory behind both."""
    at, peaks = [_now()], list[int]()
    for known in start(prompt, count):
        at.append(_now() if known is None else known)
        if not peaks:
            peaks.append(_peak_bytes())
    begin, first, end = at[0], at[1], at[-1]
    return {
        "peaks": [*peaks, _peak_bytes()],
        "prefill": (first[0] - begin[0], first[1] - begin[1]),
        "decode": (end[0] - first[0], end[1] - first[1]),
    }


def main() -> None:
    """Answer requests until there are no more."""
    runtime, path, threads, *more = sys.argv[1:]
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: int(threads)])
    for package in PACKAGES[runtime]:
        importlib.import_module(package)
    peaks = [_peak_bytes()]
    start = RUNTIMES[runtime](path, int(threads), *more)
    peaks.append(_peak_bytes())
    print(json.dumps("ready"), flush=True)
    for number, line in enumerate(sys.stdin):
        context, count = map(int, line.split())
        prompt = [100 + 7919 * (n + number) % 30000 for n in range(context)]  # in no cache
        found = timed(start, prompt, count)
        print(json.dumps({**found, "peaks": peaks + found["peaks"]}), flush=True)


if __name__ == "__main__":
    main()
