"""The target ``interpret``: programs evaluated in numpy, op by op, without code or device."""

from types import MappingProxyType

from .base import Target

INTERPRET = Target(
    name="interpret",
    pipeline="interpret",
    driver="",
    backend_flags=(),
    variants=MappingProxyType({"numpy": ()}),
    variant="numpy",
)
