"""NVIDIA GPUs through CUDA.

The code is PTX, which the driver compiles further: a variant runs on its own architecture and on
all later ones. The backend does not support sm_90, so that variant uses PTX for sm_89. For sm_75 it
multiplies 16-bit floats by an instruction of sm_80, and fails.
"""

from types import MappingProxyType

from .base import WITHOUT_SHARED_ROWS, Target

_ARCHITECTURES = {
    "sm_80": "sm_80", "sm_75": "sm_75", "sm_86": "sm_86", "sm_89": "sm_89", "sm_90": "sm_89",
    "sm_120": "sm_120",
}  # fmt: skip
"""Value of the backend's target flag, by GPU architecture."""

CUDA = Target(
    name="cuda",
    pipeline="cuda",
    driver="cuda",
    backend_flags=("--iree-hal-target-device=cuda",),
    variants=MappingProxyType(
        {name: (f"--iree-cuda-target={told}",) for name, told in _ARCHITECTURES.items()}
    ),
    variant="sm_80",
    overrides=MappingProxyType({"sm_75": {"pipeline": "gpu", "narrow_floats": ()}}),
    fallback=WITHOUT_SHARED_ROWS,
    has_launch_plans=True,
)
