"""The environment of a run: target, device, versions."""

import datetime
import platform

from graphc.compiler.driver import package_versions
from graphc.errors import DeviceError
from graphc.runtime import find_devices, resolve_target
from graphc.runtime.device.discovery import on_this_machine
from graphc.runtime.targets.cpu import CPU
from harness.isolation import in_child

from .suite_journal import SuiteRun


def describe_run(target: str, *, executed: bool, host: bool) -> SuiteRun:
    """A run for `target` on this machine that begins today.

    Raises `UnknownTargetError`, and `DeviceError` if the run is to be `executed` and the device is
    missing.
    """
    variant, device = in_child(_variant_and_device, target, executed)
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return SuiteRun(target, variant, device, executed, host, package_versions(), today)


def _variant_and_device(target: str, executed: bool) -> tuple[str, str]:
    row = on_this_machine(resolve_target(target))
    if not executed:
        return row.spelling, ""
    if row.name == CPU.name:
        return row.spelling, f"{platform.machine()} with vectors of {row.cpu.vector_bits} bits"
    devices = find_devices(row.driver)
    if not devices:
        raise DeviceError(f"the driver of '{row.spelling}' finds no device; try --compile-only")
    return row.spelling, devices[0].name
