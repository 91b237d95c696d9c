"""Recovery from a lost device.

Feeds on the host survive, so the call is repeated once on the reopened device; tensors in the
device's memory are gone. A call that loses its device twice fails.
"""

import logging
import threading
from collections.abc import Callable, Sequence

import numpy as np

from ...errors import DeviceLostError
from ..device.device import Device, open_device
from ..device.device_tensor import DeviceTensor
from ..files.module_file import ModuleFile
from .cuda_graph_session import CudaGraphSession, graph_plan
from .execution_context import CallSpec
from .session import Session

_LOGGER = logging.getLogger("graphc")


AnySession = Session | CudaGraphSession
"""A session on a device that can be lost."""


def open_session(file: ModuleFile, driver: str) -> AnySession:
    """Open a session for `file` on the device of `driver`; try again once if the device is lost.

    Raises `ModuleFileError`, `DeviceError` and its `DeviceLostError`, and `OutOfMemoryError`.
    """
    try:
        return _open(file, open_device(driver))
    except DeviceLostError as error:
        _LOGGER.warning("%s; it is opened anew", error)
    return _open(file, open_device(driver))


def _open(file: ModuleFile, device: Device) -> AnySession:
    """By CUDA graphs if the module has a launch plan, else by IREE's runtime."""
    if device.driver != "cuda":
        return Session(file, device)
    plan = graph_plan(file)
    if isinstance(plan, str):
        _LOGGER.info("%s does not run as a CUDA graph: %s", file.metadata.name, plan)
        return Session(file, device)
    return CudaGraphSession(file, plan, device)


class RecoveringSession:
    """Runs a module in the session that `open_` makes, and reopens it if its device is lost.

    A call with tensors on the lost device fails, as they are gone.
    """

    def __init__(self, open_: Callable[[], AnySession]):
        self._open = open_
        self._session = open_()
        self._lock = threading.Lock()
        self._closed = False

    @property
    def device(self) -> Device:
        """The device of the session; a lost one is reopened. Raises as `open_session` does."""
        return self._working().device

    def invoke(
        self, inputs: Sequence[np.ndarray | DeviceTensor], call_spec: CallSpec
    ) -> list[np.ndarray | DeviceTensor]:
        """As `Session.invoke`."""
        try:
            return self._session.invoke(inputs, call_spec)
        except DeviceLostError as error:
            if any(isinstance(given, DeviceTensor) for given in inputs):
                raise
            session = self._working(error)
        return session.invoke(inputs, call_spec)

    def close(self) -> None:
        """As `Session.close`."""
        with self._lock:
            self._closed = True
        self._session.close()

    def _working(self, loss: DeviceLostError | None = None) -> AnySession:
        if self._session.device.lost:
            with self._lock:  # of several calls that failed together, one reopens it for all
                # A closed session reports that itself.
                if self._session.device.lost and not self._closed:
                    what = loss or f"{self._session.device} was lost"
                    _LOGGER.warning("%s; it is opened anew", what)
                    self._session = self._open()
        return self._session
