"""The machine that times were measured on."""

from typing import Any

from ..compiler.driver import package_versions
from ..runtime import resolve_target
from ..runtime.device.discovery import on_this_machine
from ..runtime.threads.usable_cpus import usable_cpus


def this_machine(threads: int | None = None) -> dict[str, Any]:
    """Facts that measured times depend on: the CPU, the number of threads, and the versions."""
    target = on_this_machine(resolve_target("cpu"))
    return {
        "cpu": repr(target.cpu),
        "threads": threads or usable_cpus(),
        "versions": package_versions(),
    }
