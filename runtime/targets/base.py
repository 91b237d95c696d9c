"""What a target is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ...cpu_model import CpuModel

Flags = tuple[str, ...]

COMMON_FLAGS: Flags = (
    # Sizes that only the run knows are checked; code relies on them.
    "--iree-opt-strip-assertions=false",
    # float64 models stay float64.
    "--iree-input-demote-f64-to-f32=false",
)
"""What every target is compiled with."""

SPIRV_FLAGS: Flags = (
    # With it, a layer normalisation of 2x3x4x5 would be refused: vectors of eight.
    "--iree-dispatch-creation-enable-aggressive-fusion=false",
    # Cooperative matrices refuse operands that were transposed; our own passes place transposes.
    "--iree-global-opt-propagate-transposes=false",
)
"""What is compiled to SPIR-V is compiled with beside them."""

WITHOUT_SHARED_ROWS: Flags = (
    # Rows that several threads reduce together: the backend fails at some of those that are
    # computed on the way, by products with one number and in i64.
    "--iree-codegen-llvmgpu-use-reduction-vector-distribution=false",
)
"""With them each thread reduces rows of its own, which takes longer, and compiles."""

SPIRV_NARROW_FLOATS = ("f16",)
"""The backend computes bf16 as f32 there, and then confuses their bits."""


@dataclass(frozen=True)
class Target:
    """Where a module runs, and what the backend compiler must be told to make it.

    `pipeline` names the pass pipeline, `driver` the HAL driver that runs the module (empty where
    nothing is compiled), `variant` the row of `variants` in use. The first variant is the default.
    """

    name: str
    pipeline: str
    driver: str
    backend_flags: Flags
    variants: Mapping[str, Flags] = field(repr=False, compare=False)
    variant: str
    threads_flag: str | None = None
    """The flag that tells the backend how many workers will share the work; ``None`` if none do."""
    find_cpu_model: Callable[[str], CpuModel] | None = field(
        default=None, repr=False, compare=False
    )
    """Gives the model of the CPU that a variant names; ``None`` where kernels are not ours."""
    find_bf16_unit: Callable[[str], str] | None = field(default=None, repr=False, compare=False)
    """Gives the unit of the processor that a variant means which multiplies bf16."""
    asks_processor: Callable[[str], bool] | None = field(default=None, repr=False, compare=False)
    """Says whether code for a variant can ask which processor it is on."""
    family_of: Callable[[str], str | None] | None = field(default=None, repr=False, compare=False)
    """Gives the variant for the device that calls itself so, None where the name says nothing."""
    narrow_floats: tuple[str, ...] = ("f16", "bf16")
    """The floats of 16 bits that the backend compiles products of."""
    fallback: Flags = ()
    """What the backend is told beside all that where it fails without."""
    shares_kernels: bool = False
    """Whether its code is linked, so that kernels can be which were compiled for other programs."""

    def __str__(self) -> str:
        return self.name if self.variant == next(iter(self.variants)) else self.spelling

    @property
    def spelling(self) -> str:
        """The full spelling, ``cpu:host``."""
        return f"{self.name}:{self.variant}"

    @property
    def is_compiled(self) -> bool:
        """Whether there is code to compile; what is not compiled is interpreted."""
        return bool(self.driver)

    @property
    def cpu(self) -> CpuModel:
        """The CPU that kernels are planned for; one without vectors where that means nothing."""
        return CpuModel() if self.find_cpu_model is None else self.find_cpu_model(self.variant)

    @property
    def bf16_unit(self) -> str:
        """What multiplies bf16 on the processor, ``none`` where that means nothing."""
        return "none" if self.find_bf16_unit is None else self.find_bf16_unit(self.variant)

    @property
    def knows_its_processor(self) -> bool:
        """Whether compiled code can ask which processor it is on."""
        return self.asks_processor is not None and self.asks_processor(self.variant)

    def flags(self, *, threads: int, opt_level: int, data_tiling: bool) -> list[str]:
        """The flags of the backend compiler, in order; a later flag overrides an earlier one."""
        flags = [*COMMON_FLAGS, *self.backend_flags, *self.variants[self.variant]]
        flags.append(f"--iree-opt-level=O{opt_level}")
        flags.append(f"--iree-opt-data-tiling={'true' if data_tiling else 'false'}")
        if self.threads_flag is not None:
            flags.append(f"{self.threads_flag}={threads}")
        return flags
