"""The runtimes to compare: each loads a model and runs a feed, all on the same `Terms`.

Feeds and results are numpy arrays in the order of the model's inputs and outputs, so on a GPU the
time includes transfers. Every peer is configured as its documentation recommends for low latency.
"""

import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from graphc.errors import GraphcError
from graphc.runtime.threads.affinity import placed_workers

Feed = Mapping[str, np.ndarray]


class PeerError(GraphcError):
    """A runtime that cannot run a model. The message has the runtime and the reason."""


@dataclass(frozen=True)
class Peer:
    """A model loaded in one runtime."""

    name: str
    options: Mapping[str, object]
    compile_seconds: float
    run: Callable[[Feed], list[np.ndarray]]
    host_nodes: int = 0
    """Number of nodes that are not compiled; known of graphc alone."""


@dataclass(frozen=True)
class Terms:
    """Settings shared by all runtimes: workers, device, and precision (``f32``, ``f16``)."""

    threads: int
    device: str = "cpu"
    precision: str = "f32"
    dims: Mapping[str, int] = field(default_factory=dict)
    """Sizes that graphc fixes when it compiles; the others see each call's."""

    def require_plain(self, runtime: str) -> None:
        """Raise PeerError unless the terms are single precision on the CPU, as `runtime` needs."""
        if (self.device, self.precision) != ("cpu", "f32"):
            raise PeerError(f"{runtime} is compared on the CPU in f32 alone")


def load_graphc(path: Path, terms: Terms) -> Peer:
    """graphc itself, with its defaults."""
    import graphc

    start = time.perf_counter()
    try:
        model = graphc.compile(
            str(path),
            target=terms.device,
            dims=terms.dims,
            threads=terms.threads,
            precision=terms.precision,
            cache=False,
        )
    except graphc.GraphcError as error:
        raise PeerError(f"graphc cannot compile {path.name}: {error}") from error
    seconds = time.perf_counter() - start

    def run(feed: Feed) -> list[np.ndarray]:
        return [np.asarray(output) for output in model.run(None, dict(feed))]

    shown = {"version": model.metadata.versions["graphc"], **model.metadata.options}
    host_nodes = sum(len(part.nodes) for part in model.parts if not part.native)
    return Peer("graphc", shown, seconds, run, host_nodes)


def load_onnxruntime(path: Path, terms: Terms, *, optimized: bool = True) -> Peer:
    """ONNX Runtime with its provider for the device and all graph optimisations, or none."""
    import onnxruntime

    provider = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}.get(terms.device)
    if provider not in onnxruntime.get_available_providers() or terms.precision != "f32":
        raise PeerError(
            f"onnxruntime {onnxruntime.__version__} has no provider for {terms.device} in "
            f"{terms.precision}"
        )
    options = onnxruntime_options(terms)
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = (
        levels.ORT_ENABLE_ALL if optimized else levels.ORT_DISABLE_ALL
    )
    start = time.perf_counter()
    session = onnxruntime.InferenceSession(str(path), options, providers=[provider])
    seconds = time.perf_counter() - start
    effective = session.get_session_options()
    shown = {
        "version": onnxruntime.__version__,
        "providers": ",".join(session.get_providers()),
        "intra_op_num_threads": effective.intra_op_num_threads,
        "graph_optimization_level": effective.graph_optimization_level.name,
        "execution_mode": effective.execution_mode.name,
    }
    return Peer("onnxruntime", shown, seconds, lambda feed: session.run(None, dict(feed)))


def onnxruntime_options(terms: Terms) -> Any:
    """Options of a session with the workers of `terms`, that logs errors alone."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = terms.threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return options


def load_openvino(path: Path, terms: Terms) -> Peer:
    """OpenVINO's CPU plugin, tuned for latency; the precision is fixed, as it may choose bf16."""
    import openvino

    if terms.device != "cpu" or terms.precision not in ("f32", "bf16"):
        raise PeerError("openvino is compared on the CPU in f32 and bf16 alone")
    core = openvino.Core()
    asked = {
        "INFERENCE_PRECISION_HINT": terms.precision,
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_NUM_THREADS": terms.threads,
        "NUM_STREAMS": 1,
    }
    start = time.perf_counter()
    try:
        compiled = core.compile_model(core.read_model(str(path)), "CPU", asked)
    except RuntimeError as error:  # its first lines are places in OpenVINO's sources
        last = [line for line in str(error).splitlines() if line.strip()][-1]
        raise PeerError(f"openvino: {last.removeprefix('-- ')}") from error
    seconds = time.perf_counter() - start
    request = compiled.create_infer_request()
    # The arrays are views of the plugin's memory: the fastest option that it offers.
    sharing = {"share_inputs": True, "share_outputs": True}

    def run(feed: Feed) -> list[np.ndarray]:
        results = request.infer(dict(feed), **sharing)
        return [results[port] for port in compiled.outputs]

    shown = {"version": openvino.__version__.partition("-")[0]}
    shown |= {key: _plain(compiled.get_property(key)) for key in asked}
    return Peer("openvino", shown | sharing, seconds, run)


def load_iree(path: Path, terms: Terms) -> Peer:
    """IREE itself: its own ONNX importer, and the flags that its CPU guide recommends."""
    import iree.runtime

    terms.require_plain("iree")
    flags = [
        "--iree-hal-target-device=local",
        "--iree-hal-local-target-device-backends=llvm-cpu",
        "--iree-llvmcpu-target-cpu=host",
        "--iree-opt-level=O2",
        "--iree-opt-data-tiling",
    ]
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        mlir, vmfb = Path(folder, "model.mlir"), Path(folder, "model.vmfb")
        importer = "iree.compiler.tools.import_onnx"
        _call("iree", [sys.executable, "-m", importer, str(path), "-o", str(mlir)])
        compiler = "iree.compiler.tools.scripts.iree_compile"
        _call("iree", [sys.executable, "-m", compiler, *flags, str(mlir), "-o", str(vmfb)])
        binary = vmfb.read_bytes()
    seconds = time.perf_counter() - start
    iree.runtime.flags.parse_flags(f"--task_topology_group_count={terms.threads}")
    with placed_workers(terms.threads):
        config = iree.runtime.Config("local-task")
    module = iree.runtime.VmModule.copy_buffer(config.vm_instance, binary)
    function = iree.runtime.load_vm_module(module, config)
    names = function.vm_module.function_names
    # Each function also has an asynchronous form; the importer adds an initialiser.
    entry = next(n for n in names if not n.startswith("__") and not n.endswith("$async"))

    def run(feed: Feed) -> list[np.ndarray]:
        results = function[entry](*feed.values())
        several = results if isinstance(results, tuple | list) else (results,)
        return [result.to_host() for result in several]

    shown = {
        "version": metadata.version("iree-base-compiler"),
        "flags": " ".join(flags),
        "task_topology_group_count": terms.threads,
    }
    return Peer("iree", shown, seconds, run)


def processor() -> str:
    """The name of the CPU, as the system reports it."""
    listing = Path("/proc/cpuinfo")
    if listing.exists():
        for line in listing.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _plain(value: object) -> str:
    """A property of OpenVINO as text, without the decoration of its type objects."""
    return getattr(value, "type_name", None) or getattr(value, "name", None) or str(value)


def _call(peer: str, command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        errors = [line for line in lines if "error" in line.lower()]
        raise PeerError(f"{peer}: {(errors or lines)[0]}")
