"""Listings of targets and devices."""

import argparse
import textwrap
from collections.abc import Callable
from typing import Any

from ..errors import DeviceError
from ..runtime import find_devices
from ..runtime.targets import TARGETS, Target
from ..runtime.targets.cpu import CPU
from ..runtime.threads.usable_cpus import usable_cpus


class PrintAndStop(argparse.Action):
    """An option that prints the result of `text` and exits."""

    def __init__(self, *args: Any, text: Callable[[], str], **kwargs: Any):
        super().__init__(*args, nargs=0, **kwargs)
        self._text = text

    def __call__(self, parser: argparse.ArgumentParser, *_: Any, **__: Any) -> None:
        print(self._text(), flush=True)
        parser.exit()


def targets() -> str:
    """All targets with their variants, the default first."""
    return "\n".join(_target(row) for row in TARGETS.values())


def _target(row: Target) -> str:
    text = ", ".join(row.variants)
    return textwrap.fill(
        text,
        96,
        initial_indent=f"{row.name + ':':7} ",
        subsequent_indent=" " * 8,
        break_on_hyphens=False,
    )


def devices() -> str:
    """The devices of each target, or the reason why there are none."""
    compiled = (row for row in TARGETS.values() if row.is_compiled)
    return "\n".join(line for row in compiled for line in _devices(row))


def _devices(row: Target) -> list[str]:
    if row is CPU:
        return [f"{row.name + ':':8}{usable_cpus()} CPUs"]
    try:
        found = [device.name for device in find_devices(row.driver)]
    except DeviceError as error:
        found = [f"none ({error})"]
    return [f"{row.name + ':':8}{name}" for name in found or ["none"]]
