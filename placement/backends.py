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
from ..runtime.host.engine_choice import PYTHON
from ..runtime.host.onnxruntime_session import OnnxRuntimeSession, is_installed
from ..runtime.host.registry import HostError
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

    def open(self, part: onnx.ModelProto, staying: Sequence[str] = ()) -> Runnable:
        """Prepare `part`, whose outputs `staying` parts of the same backend alone read. Raises
        `PlacementError`."""
        ...


class TargetBackend:
    """Compiles parts for a target of graphc."""

    compiles = True

    def __init__(self, target: str, threads: int | None = None):
        options = make_options(target, threads=threads)
        self.name = target
        self.memory = HOST if options.target.name == "cpu" else target
        self._threads = threads

    def open(self, part: onnx.ModelProto, staying: Sequence[str] = ()) -> Runnable:
        """Compile `part`; in memory of its own, values stay there. Raises `PlacementError`."""
        staying = () if self.memory == HOST else staying
        try:
            return NativePart(compile(part, self.name, threads=self._threads, host=False), staying)
        except GraphcError as error:
            raise PlacementError(f"{self.name}: {error}") from error


class _OnnxRuntimePart:
    engines: Mapping[str, str] = {}
    owns_results = True

    def __init__(self, session: OnnxRuntimeSession):
        self._session = session

    def run(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        """Outputs by name. Raises `ExecutionError`."""
        try:
            return self._session.run(feeds)
        except HostError as error:
            raise ExecutionError(f"{ONNXRUNTIME}: {error}") from error

    def close(self) -> None:
        """Free the session."""
        self._session.close()


class OnnxRuntimeBackend:
    """Runs parts by ONNX Runtime, on the CPU."""

    name = ONNXRUNTIME
    memory = HOST
    compiles = False

    def __init__(self, threads: int | None = None):
        if not is_installed():
            raise MissingPackageError("the device onnxruntime", "onnxruntime", "place")
        self._threads = threads or usable_cpus()

    def open(self, part: onnx.ModelProto, staying: Sequence[str] = ()) -> Runnable:
        """Make a session for `part`. Raises `PlacementError`."""
        del staying  # all results are on the host
        try:
            return _OnnxRuntimePart(OnnxRuntimeSession(part.SerializeToString(), self._threads))
        except HostError as error:
            raise PlacementError(f"{ONNXRUNTIME}: {error}") from error


class HostBackend:
    """Runs parts node by node in numpy, as hybrid models do."""

    name = HOST
    memory = HOST
    compiles = False

    def open(self, part: onnx.ModelProto, staying: Sequence[str] = ()) -> Runnable:
        """Load `part`. Raises `PlacementError`."""
        del staying
        try:
            return open_host_part(part.SerializeToString(), PYTHON)
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
