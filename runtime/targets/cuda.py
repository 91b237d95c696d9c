"""NVIDIA GPUs through CUDA.

The code is PTX, which the driver compiles further: a variant runs on its own architecture and on
all later ones. ``cuda:sm_90a`` runs on GPUs of compute capability 9.0 alone, of which it has the
instructions for warpgroups. The backend does not support sm_90: that variant uses PTX for sm_89,
and ``sm_90a`` a description of the GPU in full. For sm_75 it multiplies 16-bit floats by an
instruction of sm_80, and fails.
"""

from types import MappingProxyType

from .base import SIMPLE_LOOPS, Target, without_plugins

_ARCHITECTURES = {
    "sm_80": "sm_80", "sm_75": "sm_75", "sm_86": "sm_86", "sm_89": "sm_89", "sm_90": "sm_89",
    "sm_120": "sm_120",
}  # fmt: skip
"""Value of the backend's target flag, by GPU architecture."""

_MMA = (
    "NV_MMA_SYNC_F32_16x8x16_F16", "NV_MMA_SYNC_F16_16x8x16_F16", "NV_MMA_SYNC_F32_16x8x16_BF16",
    "NV_MMA_SYNC_F32_16x8x32_F8E4M3FN", "NV_MMA_SYNC_F32_16x8x32_F8E5M2",
    "NV_WMMA_F32_16x16x16_F16", "NV_WMMA_F16_16x16x16_F16",
)  # fmt: skip
"""Instructions of the backend's own tiles, as it lists them for sm_89."""
_HOPPER = (
    '#hal.device.target<"cuda", [#hal.executable.target<"cuda", "cuda-nvptx-fb", '
    '{iree_codegen.target_info = #iree_gpu.target<arch = "sm_90a", features = "+ptx84", wgp = <'
    "compute = fp64|fp32|fp16|int64|int32|int16|int8, storage = b64|b32|b16|b8, "
    "subgroup = shuffle|arithmetic, dot = dp4xi8toi32, "
    f"mma = [{', '.join(f'<{name}>' for name in _MMA)}], "
    "subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 1024], "
    "max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 232448, "
    "max_workgroup_counts = [2147483647, 65535, 65535]>>}>]>"
)
"""The backend's description of a GPU of capability 9.0: it is that of sm_89, but for the
architecture, the version of PTX, and the shared memory."""

_EXACT = {"9.0": "sm_90a"}
"""Variants for one compute capability alone."""


def family_of(capability: str) -> str:
    """A variant for devices of a compute capability."""
    return _EXACT.get(capability, "sm_80")


CUDA = Target(
    name="cuda",
    pipeline="cuda",
    driver="cuda",
    backend_flags=(*without_plugins("cuda"), "--iree-hal-target-device=cuda"),
    variants=MappingProxyType(
        {name: (f"--iree-cuda-target={told}",) for name, told in _ARCHITECTURES.items()}
        | {"sm_90a": ()}
    ),
    variant="sm_80",
    family_of=family_of,
    family_property="gpu-compute-capability",
    of_family=frozenset(_EXACT.values()),
    overrides=MappingProxyType(
        {
            "sm_75": {"pipeline": "gpu", "narrow_floats": ()},
            "sm_90a": {
                "pipeline": "hopper",
                "backend_flags": (f"--iree-hal-target-device={_HOPPER}",),
            },
        }
    ),
    fallback=SIMPLE_LOOPS,
    has_launch_plans=True,
)
