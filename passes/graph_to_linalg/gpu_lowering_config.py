"""``compilation_info`` for NVIDIA GPUs: how the backend tiles an op, in place of its own choice.

Attributes of IREE's dialects, which the bindings do not know, are parsed from text.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...dialects import graph
from ...mlir import ir
from ..kernels.gpu_tiles import VECTOR_BYTES, WorkgroupTile
from ..kernels.mma_matmul import MMA
from ..kernels.mma_tiles import MMA_TYPES
from ..kernels.thread_emitter import SUBGROUP
from .tiles import parse_opaque

_NAMES = ("NV_MMA_SYNC_F32_16x8x16_F16", "NV_MMA_SYNC_F32_16x8x16_BF16")
INTRINSICS = dict(zip(MMA_TYPES, _NAMES, strict=True))
SHARED_STAGES = 2
"""Stages of the software pipeline: steps along K with operands in shared memory or in flight. The
backend ignores more on CUDA."""
COPY_THREADS = 256
"""Maximum threads of a workgroup that copies or pools."""


def tile_attribute(
    dtype: np.dtype, tile: WorkgroupTile, outer: int, sizes: Sequence[int], implicit: bool = False
) -> ir.Attribute:
    """``compilation_info`` of a contraction of `dtype` with `outer` loops before those of M, N and
    K, which have `sizes`. If `implicit`, its left operand is the windows of an image."""
    ones, zeros = [1] * outer, [0] * outer
    config: dict[str, Any] = {"workgroup": [*ones, tile.rows, tile.columns, 0]}
    config["promote_operands"] = [0, 1]  # to shared memory
    a, b = tile.across
    if dtype in INTRINSICS:
        threads = SUBGROUP * a * b
        whole = (tile.rows, tile.columns, tile.k)
        config["mma_kind"] = f"#iree_gpu.mma_layout<{INTRINSICS[dtype]}>"
        config["subgroup"] = [*ones, tile.rows // a // MMA[0], tile.columns // b // MMA[1], 0]
        config["reduction"] = [*zeros, 0, 0, tile.k // MMA[2]]
        if any(size % unit for size, unit in zip(sizes, whole, strict=True)):
            config["padding"] = [*ones, *whole]
        stages = f"prefetch_num_stages = {SHARED_STAGES}, "
    else:
        threads = tile.rows // a * (tile.columns // b)
        config["thread"] = [*ones, a, b, 0]
        config["reduction"] = [*zeros, 0, 0, tile.k]
        stages = ""
    options = (
        f", {{gpu_pipeline_options = #iree_gpu.pipeline_options<{stages}"
        "no_reduce_shared_memory_bank_conflicts = false, "
        f"use_igemm_convolution = {str(implicit).lower()}>}}"
    )
    return _compilation_info(config, threads, options)


def im2col_attribute(windows: graph.TensorType, spatial: int) -> ir.Attribute | None:
    """``compilation_info`` of the copy of `windows`, ``[N, out..., kernel..., C]`` or without N.

    A workgroup copies the last row of the kernel at neighbouring positions.
    """
    return _vector_rows(windows, len(windows.shape) - 2 - spatial)


def image_attribute(image: graph.TensorType, reduced: Sequence[int] = ()) -> ir.Attribute | None:
    """``compilation_info`` of an op that computes `image`, ``[N, spatial..., C]`` or without N.

    Loops of the sizes `reduced` follow those of the image. A workgroup computes neighbouring
    positions of the last spatial axis."""
    return _vector_rows(image, len(image.shape) - 2, reduced)


def _vector_rows(
    type_: graph.TensorType, at: int, reduced: Sequence[int] = ()
) -> ir.Attribute | None:
    """``compilation_info`` of an op whose threads compute vectors along the last axis, and whose
    workgroups positions of axis `at` with all of the last axis, and of the one before if it is
    after `at`.

    None if the last axis is no whole number of vectors, or a loop has one step, which the backend
    drops.
    """
    sizes, vector = type_.shape, VECTOR_BYTES // type_.dtype.itemsize
    if any(not isinstance(size, int) or size < 2 for size in sizes):
        return None
    whole = type_.static_shape[at + 1 :]
    row = math.prod(whole[-2:]) // vector
    if whole[-1] % vector or row > COPY_THREADS:
        return None
    fitting = [p for p in range(1, COPY_THREADS // row + 1) if p * row % SUBGROUP == 0]
    if not fitting:
        return None
    workgroup, thread = [1] * len(sizes), [1] * len(sizes)
    workgroup[at] = next((p for p in fitting if p >= type_.static_shape[at]), fitting[-1])
    workgroup[-len(whole[-2:]) :] = whole[-2:]
    thread[-1] = vector
    none = [0] * len(reduced)
    config: dict[str, Any] = {"thread": [*thread, *none], "workgroup": [*workgroup, *none]}
    if reduced:
        config["reduction"] = [*[0] * len(sizes), *reduced]
    return _compilation_info(config, workgroup[at] * row)


def _compilation_info(config: dict[str, Any], threads: int, options: str = "") -> ir.Attribute:
    listed = ", ".join(f"{name} = {value}" for name, value in config.items())
    return parse_opaque(
        f"#iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{{{listed}}}>,"
        " translation_info = #iree_codegen.translation_info<"
        f"pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [{threads}, 1, 1] "
        f"subgroup_size = {SUBGROUP}{options}>>"
    )
