"""NVIDIA's graphics processors by way of CUDA.

The code is PTX, which the driver finishes: a variant runs on its own architecture and on all that
came later. The backend knows no sm_90, so that one takes PTX for sm_89.
"""

from types import MappingProxyType

from .base import WITHOUT_SHARED_ROWS, Target

_ARCHITECTURES = {
    "sm_80": "sm_80", "sm_75": "sm_75", "sm_86": "sm_86", "sm_89": "sm_89", "sm_90": "sm_89",
    "sm_120": "sm_120",
}  # fmt: skip
"""What the backend is told, by what the processor is."""

CUDA = Target(
    name="cuda",
    pipeline="cuda",
    driver="cuda",
    backend_flags=("--iree-hal-target-device=cuda",),
    variants=MappingProxyType(
        {name: (f"--iree-cuda-target={told}",) for name, told in _ARCHITECTURES.items()}
    ),
    variant="sm_80",
    fallback=WITHOUT_SHARED_ROWS,
)
