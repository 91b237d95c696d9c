"""Definition of targets: `Target`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...cpu_model import CpuModel

Flags = tuple[str, ...]

COMMON_FLAGS: Flags = (
    # Keep the checks of dynamic sizes; generated code relies on them.
    "--iree-opt-strip-assertions=false",
    # float64 models stay float64.
    "--iree-input-demote-f64-to-f32=false",
)
"""Backend flags of all targets."""

_INPUTS = ("input_stablehlo", "input_torch", "input_tosa")
_DEVICES = ("cuda", "metal_spirv", "rocm", "vmvx", "vulkan_spirv")


def without_plugins(device: str = "") -> Flags:
    """Flags that turn off plugins of the backend: those for input that graphc does not make, and
    those for other devices than `device`. The CPU's stay, as constants are evaluated on it.

    A plugin loads dialects, and the backend tries each set of patterns on all ops that are loaded,
    for each dispatch again: without them it takes a fifth less time, for the same code.
    """
    devices = [f"hal_target_{each}" for each in _DEVICES if each != device]
    return tuple(f"--iree-plugin=-{name}" for name in (*_INPUTS, *devices))


SPIRV_FLAGS: Flags = (
    # With it, layer normalizations that return statistics have vectors of 8 elements, which SPIR-V
    # has not.
    "--iree-dispatch-creation-enable-aggressive-fusion=false",
    # Transposes stay where our own passes have placed them.
    "--iree-global-opt-propagate-transposes=false",
)
"""Additional backend flags of targets with SPIR-V code."""

SIMPLE_LOOPS: Flags = (
    # Reductions of a row by several threads: the backend fails for some rows that are computed
    # in the same dispatch, by products with a scalar, and in i64. Now a thread reduces whole rows.
    "--iree-codegen-llvmgpu-use-reduction-vector-distribution=false",
    # Axes of a known divisor: the backend splits them in what follows a convolution or a pool
    # elementwise, but not there (`blocked_sizes.mlir`). Matmuls have no tensor cores for them then.
    "--iree-codegen-block-dynamic-dimensions-of-contractions=false",
)
"""Flags for GPUs with which it compiles: slower, but more programs."""

SPIRV_NARROW_FLOATS = ("f16",)
"""16-bit floats for SPIR-V, without bf16: the backend computes it as f32, and confuses the bits."""


@dataclass(frozen=True)
class Target:
    """A target: its pass pipeline, its backend flags, and the driver that runs its modules.

    `pipeline` names the pass pipeline, `driver` the HAL driver that runs the module (empty if
    nothing is compiled), `variant` the row of `variants` in use. The first variant is the default.
    """

    name: str
    pipeline: str
    driver: str
    backend_flags: Flags
    variants: Mapping[str, Flags] = field(repr=False, compare=False)
    variant: str
    overrides: Mapping[str, Mapping[str, Any]] = field(
        default_factory=dict[str, Mapping[str, Any]], repr=False, compare=False
    )
    """Fields of this class that have another value for a variant."""
    threads_flag: str | None = None
    """Flag for the number of workers that will share a call; ``None`` if the target has none."""
    find_cpu_model: Callable[[str], CpuModel] | None = field(
        default=None, repr=False, compare=False
    )
    """Function from a variant to its CPU model; ``None`` if graphc has no kernels of its own."""
    find_bf16_unit: Callable[[str], str] | None = field(default=None, repr=False, compare=False)
    """Function from a variant to the unit of its CPU that multiplies bf16."""
    find_int8_unit: Callable[[str], str] | None = field(default=None, repr=False, compare=False)
    """Function from a variant to the unit of its CPU that multiplies 8-bit integers."""
    asks_core: Callable[[str], bool] | None = field(default=None, repr=False, compare=False)
    """Function that tells whether code for a variant can query the CPU it runs on."""
    family_of: Callable[[str], str | None] | None = field(default=None, repr=False, compare=False)
    """Function from a device name to its variant, None if the family is unknown."""
    family_property: str = ""
    """The property that the driver reports of a device that `family_of` receives instead of its
    name."""
    of_family: frozenset[str] = field(default=frozenset(), repr=False, compare=False)
    """Variants whose code may compute wrong results, or fail, on devices of other families."""
    narrow_floats: tuple[str, ...] = ("f16", "bf16")
    """16-bit float types whose matmuls the backend can compile."""
    fallback: Flags = ()
    """Additional flags to retry with if the backend fails."""
    has_launch_plans: bool = False
    """True if a module carries its launch plan, where it has one."""
    shares_kernels: bool = False
    """True if code is linked, so that kernels compiled for other programs can be reused."""

    def __str__(self) -> str:
        return self.name if self.variant == next(iter(self.variants)) else self.spelling

    @property
    def spelling(self) -> str:
        """Full spelling, such as ``cpu:host``."""
        return f"{self.name}:{self.variant}"

    @property
    def is_compiled(self) -> bool:
        """True if programs are compiled; otherwise they are interpreted."""
        return bool(self.driver)

    @property
    def cpu(self) -> CpuModel:
        """The CPU that kernels are planned for; one without vectors for targets without a CPU
        model."""
        return CpuModel() if self.find_cpu_model is None else self.find_cpu_model(self.variant)

    @property
    def bf16_unit(self) -> str:
        """The unit of the CPU that multiplies bf16; ``none`` for targets without one."""
        return "none" if self.find_bf16_unit is None else self.find_bf16_unit(self.variant)

    @property
    def int8_unit(self) -> str:
        """The unit of the CPU that multiplies 8-bit integers; ``none`` for targets without one."""
        return "none" if self.find_int8_unit is None else self.find_int8_unit(self.variant)

    @property
    def knows_its_core(self) -> bool:
        """True if compiled code can query the CPU it runs on."""
        return self.asks_core is not None and self.asks_core(self.variant)

    def flags(self, *, threads: int, opt_level: int, data_tiling: bool) -> list[str]:
        """The flags of the backend compiler, in order; a later flag overrides an earlier one."""
        flags = [*COMMON_FLAGS, *self.backend_flags, *self.variants[self.variant]]
        flags.append(f"--iree-opt-level=O{opt_level}")
        flags.append(f"--iree-opt-data-tiling={'true' if data_tiling else 'false'}")
        if self.threads_flag is not None:
            flags.append(f"{self.threads_flag}={threads}")
        return flags
