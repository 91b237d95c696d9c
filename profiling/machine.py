"""The machine that times were measured on."""

import platform
from pathlib import Path
from typing import Any

from ..compiler.driver import package_versions
from ..runtime import resolve_target
from ..runtime.device.discovery import on_this_machine
from ..runtime.threads.usable_cpus import usable_cpus

_FIELDS = ("vendor_id", "cpu family", "model", "CPU implementer", "CPU part")
"""Fields of ``/proc/cpuinfo`` that name a microarchitecture, on x86 and on Arm."""


def this_machine(threads: int | None = None) -> dict[str, Any]:
    """Facts that measured times depend on: the CPU, the number of threads, and the versions."""
    target = on_this_machine(resolve_target("cpu"))
    return {
        "cpu": repr(target.cpu),
        "processor": processor(),
        "threads": threads or usable_cpus(),
        "versions": package_versions(),
    }


def processor(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """The microarchitecture of this CPU, such as ``AuthenticAMD 25 1``."""
    try:
        lines = [line.partition(":") for line in cpuinfo.read_text().splitlines()]
    except OSError:
        lines = []
    named = {name.strip(): value.strip() for name, _, value in reversed(lines)}
    return " ".join(named[name] for name in _FIELDS if name in named) or platform.processor()
