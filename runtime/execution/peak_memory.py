"""Measurement of peak memory, from the statistics of the runtime's allocator."""

from collections.abc import Sequence
from typing import Any

from ..device.device import Device
from ..files.module_file import ModuleFile
from .execution_context import CallSpec
from .session import Session


def peak_memory(
    file: ModuleFile, device: Device, inputs: Sequence[Any], call_spec: CallSpec
) -> int:
    """The peak of allocated bytes during a run of `file` on `device`, an `accounting_device`.

    Memory allocated by loading does not count. Raises as `Session.invoke` does.
    """
    allocator = device.hal.allocator
    session = Session(file, device)
    try:
        loaded = allocator.statistics
        session.invoke(inputs, call_spec)
        peak = allocator.statistics["device_bytes_peak"]
    finally:
        session.close()
    return peak - (loaded["device_bytes_allocated"] - loaded["device_bytes_freed"])
