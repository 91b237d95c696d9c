"""The table of targets. To add a target, add a file with its row.

A target is written ``name`` or ``name:variant``; the first variant of a row is the default.
"""

import difflib
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from ...errors import UnknownTargetError
from .base import Target
from .cpu import CPU
from .cuda import CUDA
from .interpret import INTERPRET
from .metal import METAL
from .rocm import ROCM
from .vulkan import VULKAN

__all__ = ["TARGETS", "Target", "resolve_target"]

TARGETS: Mapping[str, Target] = MappingProxyType(
    {target.name: target for target in (CPU, VULKAN, CUDA, ROCM, METAL, INTERPRET)}
)


def resolve_target(target: str | Target) -> Target:
    """The row that `target` names. Raises `UnknownTargetError`, which lists the known names."""
    if isinstance(target, Target):
        return target
    name, colon, variant = target.partition(":")
    row = TARGETS.get(name)
    if row is None:
        raise UnknownTargetError(_unknown("target", name, list(TARGETS)))
    if not colon:
        return row
    if variant not in row.variants:
        raise UnknownTargetError(_unknown(f"variant of target '{name}'", variant, [*row.variants]))
    return replace(row, variant=variant, **row.overrides.get(variant, {}))


def _unknown(what: str, given: str, known: list[str]) -> str:
    near = difflib.get_close_matches(given.lower(), known, n=1)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    return f"no {what} is named '{given}'{hint} (known: {', '.join(known)})"
