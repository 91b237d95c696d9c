"""AMD GPUs through HIP."""

from types import MappingProxyType

from .base import SIMPLE_LOOPS, Target, without_plugins

_ARCHITECTURES = ("gfx1100", "gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1201")

ROCM = Target(
    name="rocm",
    pipeline="gpu",
    driver="hip",
    backend_flags=(*without_plugins("rocm"), "--iree-hal-target-device=hip"),
    variants=MappingProxyType({name: (f"--iree-rocm-target={name}",) for name in _ARCHITECTURES}),
    variant="gfx1100",
    fallback=SIMPLE_LOOPS,
)
