"""Backends that can run a part of a model: graphc's targets, ONNX Runtime, and the host."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import onnx

from ..compiler.compile import compile
from ..compiler.driver import make_options
from ..errors import (
    ExecutionError,
    GraphcError,
    MissingPackageError,
    PlacementError,
    UsageError,
)
from ..runtime.execution.hybrid import Runnable, open_host_part
from ..runtime.model import NativePart
from ..runtime.threads.usable_cpus import usable_cpus
from .region_graph import HOST

ONNXRUNTIME = "onnxruntime"


class PartBackend(Protocol):
    """A way to run a part of a model, given as a model with its constants."""

    name: str
    memory: str
    """The memory that it computes in: `HOST`, or its own name."""
    compiles: bool
    """True if graphc compiles the parts."""

    def open(self, part: onnx.ModelProto) -> Runnable:
        """Prepare `part`. Raises `PlacementError`."""
        ...


class TargetBackend:
    """Compiles parts for a target of graphc."""

    compiles = True

    def __init__(self, target: str, threads: int | None = None):
        options = make_options(target, threads=threads)
        self.name = target
        self.memory = HOST if options.target.name == "cpu" else target
        self._threads = threads

    def open(self, part: onnx.ModelProto) -> Runnable:
        """Compile `part`. Raises `PlacementError`."""
        try:
            return NativePart(compile(part, self.name, threads=self._threads, host=False))
        except GraphcError as error:
            raise PlacementError(f"{self.name}: {error}") from error


class _OnnxRuntimePart:
    def __init__(self, contents: bytes, threads: int | None):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads or usable_cpus()
        options.log_severity_level = 4
        # Two pools of spinning workers would take turns on the same cores.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            self._session = onnxruntime.InferenceSession(
                contents, options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # its exceptions have no common base
            raise PlacementError(f"{ONNXRUNTIME}: {error}") from error
        self._outputs = [output.name for output in self._session.get_outputs()]

    def run(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        """Outputs by name. Raises `ExecutionError`."""
        try:
            results = self._session.run(None, dict(feeds))
        except Exception as error:  # its exceptions have no common base
            raise ExecutionError(f"{ONNXRUNTIME}: {error}") from error
        return dict(zip(self._outputs, results, strict=True))

    def close(self) -> None:
        """Free the session."""
        del self._session


class OnnxRuntimeBackend:
    """Runs parts by ONNX Runtime, on the CPU."""

    name = ONNXRUNTIME
    memory = HOST
    compiles = False

    def __init__(self, threads: int | None = None):
        try:
            import onnxruntime  # noqa: F401
        except ImportError as error:
            raise MissingPackageError("the device onnxruntime", "onnxruntime", "place") from error
        self._threads = threads

    def open(self, part: onnx.ModelProto) -> Runnable:
        """Make a session for `part`. Raises `PlacementError`."""
        return _OnnxRuntimePart(part.SerializeToString(), self._threads)


class HostBackend:
    """Runs parts node by node in numpy, as hybrid models do."""

    name = HOST
    memory = HOST
    compiles = False

    def open(self, part: onnx.ModelProto) -> Runnable:
        """Load `part`. Raises `PlacementError`."""
        try:
            return open_host_part(part.SerializeToString())
        except GraphcError as error:
            raise PlacementError(f"{HOST}: {error}") from error


def open_backends(devices: Sequence[str], threads: int | None = None) -> dict[str, PartBackend]:
    """The backends by name, in the order of `devices`. Raises `UsageError` for unknown ones."""
    if not devices or len(set(devices)) != len(devices):
        raise UsageError(f"devices must be one or more different ones, not {list(devices)}")
    return {name: _open_backend(name, threads) for name in devices}


def _open_backend(name: str, threads: int | None) -> PartBackend:
    if name == ONNXRUNTIME:
        return OnnxRuntimeBackend(threads)
    return HostBackend() if name == HOST else TargetBackend(name, threads)
