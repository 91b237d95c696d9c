"""Apple GPUs through Metal."""

from types import MappingProxyType

from .base import SPIRV_FLAGS, SPIRV_NARROW_FLOATS, Target, without_plugins

METAL = Target(
    name="metal",
    pipeline="vulkan",
    driver="metal",
    backend_flags=(
        *without_plugins("metal_spirv"),
        *SPIRV_FLAGS,
        "--iree-hal-target-device=metal",
        # Apple's compiler, which exists only on its own systems, runs when the module is loaded.
        "--iree-metal-compile-to-metallib=false",
    ),
    variants=MappingProxyType({"apple": ()}),
    variant="apple",
    narrow_floats=SPIRV_NARROW_FLOATS,
)
