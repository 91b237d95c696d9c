"""The default pipelines, one for each kind of target, each a list read from top to bottom.

A line is a pass and the reason for its position. ``{cpu}``, ``{bf16x3}`` and units are filled in
with features of the target, ``{threads}`` with the number of threads, ``{sharing}`` with the number
of those that claim work themselves, the others with options of the precision.
"""

from collections.abc import Mapping

from ..cpu_model import CpuModel
from .infra import options

_CLEAN = ("canonicalize", "cse")

_COMPOSITES = (
    "canonicalize",  # drop what nothing uses: shape computations above all
    "cse",  # exporters repeat constants and shape arithmetic
    "graph-refine-shapes",  # the passes below want sizes that are numbers
    "graph-fold-constants{{"  # weights and shapes
    "keep-quantized={keep_quantized} keep-blocks={keep_blocks}}}",
    "graph-simplify",  # the forms below expect normalised spellings
    "graph-recognize",  # composites from what exporters write, before anything moves apart
    "graph-share-cache-buffer",  # for attention, where the model has a cache that grows
)
_MERGED = (
    "graph-fold-batch-norm",  # while convolution and normalisation are still neighbours
    "graph-fold-loop-arguments",  # what copies of variables have become equal
    "graph-loop-invariant-code-motion",  # before patterns that end at what a loop computes
    "graph-hoist-loop-matmuls",  # matmuls that need not wait for one another
    "graph-merge-matmuls",  # Q, K and V in one contraction
    "graph-simplify",
    *_CLEAN,
)


def _for_gpus(*matmul_passes: str) -> tuple[str, ...]:
    """The pipeline of GPUs that compute matmuls by the passes `matmul_passes`."""
    return (
        "graph-expand-dft",  # first: the others know matmuls
        "graph-expand-dynamic-quantize",  # likewise
        "graph-expand-linear-attention",  # likewise
        "graph-expand-mixture",  # likewise
        *_COMPOSITES,
        "graph-expand-cached-attention",  # the others know attention with a mask
        *_MERGED,
        "graph-convert-precision{{to={compute}}}",  # composites keep their sums in f32
        "graph-convert-layout",  # channels last: adjacent threads read adjacent elements
        "graph-split-pools{{exact={exact_sums}}}",  # of which reshapes merge the axes in front
        "graph-simplify",  # transposes that met
        "graph-fold-constants",  # weights in their new layout
        *_CLEAN,
        *matmul_passes,  # in the layout that windows are read in
        "graph-fuse-epilogue",  # last: it hides ops inside groups
        *_CLEAN,
    )


_CUDA = _for_gpus(
    "graph-conv-to-matmul{{narrow=few pointwise=true implicit=true tf32={tf32}}}",  # our tiles
    "graph-transpose-weights{{tf32={tf32}}}",  # after all that folds transposes
)


PIPELINES: Mapping[str, tuple[str, ...]] = {
    "cpu": (
        "cpu-list-boxes",  # as they are imported
        "graph-expand-dft{{kernels=true}}",  # first: the others know matmuls
        "graph-expand-dynamic-quantize{{kernels=true}}",  # likewise
        "graph-expand-linear-attention{{kernels=true}}",  # likewise
        *_COMPOSITES,
        "cpu-select-mixture-kernels{{{cpu} exact={exact}}}",  # on weights, which are constants now
        "graph-expand-mixture",  # others, before passes that know matmuls
        "graph-expand-cached-attention{{kernels=true}}",  # the others know attention with a mask
        "graph-widen-floats{{ops={widen}}}",  # composites too; before weights are computed
        *_MERGED,
        "cpu-byte-tables{{unit={byte_unit}}}",  # of composites, in the types of the model
        "graph-convert-precision{{to={convert}}}",  # composites keep their sums in f32
        "cpu-integer-contractions{{unit={int8_unit} exact={exact_sums}}}",  # of quantized tensors
        "cpu-fake-quantize",  # what no integers are needed for
        "cpu-select-nbits-kernels{{{cpu} "  # others
        "bf16x3={bf16x3} exact={exact} unit={int8_unit}}}",
        "graph-convert-layout{{norms=true}}",  # channels last: vector loads along channels
        "graph-plane-pools",  # unless they alone would be transposed
        # on such images, while what pads them is beside them
        "graph-split-pools{{wide=true rows=true exact={exact_sums}}}",
        "graph-expand-conv-transpose",  # behind it, elementwise ops read channels-last images
        "graph-channels-first-matmul",  # of what these have become, too
        "graph-simplify",  # transposes that met
        "graph-fold-constants{{min-bits=2}}",  # weights in their new layout
        *_CLEAN,
        "cpu-select-tree-kernels{{{cpu}}}",  # on tables, which are constants
        "cpu-select-int8-kernels{{{cpu} unit={int8_unit}}}",  # on weights as they finally are
        "int8-matmul-to-f32",  # the other int8 matmuls
        "graph-fused-attention{{{cpu}}}",  # many queries fill vectors
        "cpu-few-query-attention{{{cpu}}}",  # what stays is decomposed
        "graph-winograd{{{cpu} tile={winograd_tile}}}",  # before others do
        "graph-direct-conv{{{cpu}}}",  # before they become matmuls
        "cpu-select-matmul-kernels{{"  # on weights as they finally are
        "{cpu} bf16={bf16_unit} bf16x3={bf16x3} allow-f24={allow_reduced_precision} "
        "allow-strassen={allow_reduced_precision} threads={threads}}}",
        "graph-fuse-epilogue",  # it hides ops inside groups
        "cpu-fuse-depthwise{{{cpu} threads={threads}}}",  # groups with others
        "graph-fuse-broadcasts",  # elementwise ops that are in no group
        *_CLEAN,
        "graph-hoist-sizes",  # which have their last operands
    ),
    "cuda": _CUDA,
    "hopper": _CUDA,
    "gpu": _for_gpus(
        "graph-conv-to-matmul{{narrow=none}}",  # tensor cores read windows as they are
    ),
    "vulkan": _for_gpus(
        "graph-conv-to-matmul",  # matmuls alone have tiles
    ),
    "interpret": (),  # the program as it was imported
}

_LOWERED = (
    "host-scalars",  # leaves dead code
    *_CLEAN,
    "hoist-checks",  # conditions that are computed twice are one value by now
    "workaround-strided-slices",  # what reads them is known once nothing can vanish between
    "workaround-reordered-reductions",  # likewise
    "workaround-collapsed-broadcasts",  # likewise
    "workaround-reduced-splats",  # what all values have in common is a constant by now
    "linalg-varying-starts",  # of slices that are still there
)
"""The passes that end every lowering, before those of a target."""

_FINALLY = (
    "workaround-many-results",  # others look for what computes a result
    "workaround-many-checks",  # of functions that others have added, too
)
"""The last passes of all."""

_MERGES = "merge-dispatches"

LOWERINGS: Mapping[str, tuple[str, ...]] = {
    "cpu": (
        "convert-graph-to-linalg{{{cpu} threads={threads}}}",
        "expand-round-even",  # few vector operations
        "expand-remainder",  # the backend has a loop over bits
        *_LOWERED,
        "linalg-fuse-siblings",  # of ops that nothing else fuses with
        "workaround-repeated-reductions",  # what is computed twice is one value by now
        "workaround-broadcast-windows",  # likewise
        "linalg-long-chains",  # of ops as they finally are
        "linalg-vectorize-narrow{{{cpu}}}",  # of ops that nothing else fuses with
        "linalg-varying-scalars",  # of ops as they finally are
        f"{_MERGES}{{{{threads={{threads}} sharing={{sharing}}}}}}",  # while they claim nothing
        "work-stealing-dispatch{{threads={sharing}}}",  # kernels as they finally are
        "transient-size-classes",  # of kernels as they finally are
        "externalize-transients{{bytes={transients}}}",  # of which the next one has none
        "dps-entry{{sized-by-shapes={sized_by_shapes}}}",  # with all that has become
        # of the first one
        *_FINALLY,
    ),
    "cuda": (
        "convert-graph-to-linalg{{gpu=true row-tile=64 mma-sync=true tf32={tf32}}}",  # our tiles
        *_LOWERED,
        "workaround-shared-rows",  # what is computed twice is one value by now
        *_FINALLY,
    ),
    "hopper": (
        "convert-graph-to-linalg{{"  # our tiles, and those of warpgroups
        "gpu=true row-tile=64 mma-sync=true warpgroups=true tf32={tf32}}}",
        *_LOWERED,
        "workaround-shared-rows",  # what is computed twice is one value by now
        *_FINALLY,
    ),
    "gpu": (
        "convert-graph-to-linalg{{gpu=true row-tile=64}}",  # without kernels for vectors
        *_LOWERED,
        "workaround-shared-rows",  # what is computed twice is one value by now
        *_FINALLY,
    ),
    "vulkan": (
        "convert-graph-to-linalg{{gpu=true}}",
        "expand-double-math",  # SPIR-V lacks f64 exponentials
        *_LOWERED,
        "workaround-index-reductions",  # of type index, which SPIR-V has nowhere in memory
        *_FINALLY,
    ),
}
"""From the `graph` dialect to the backend's input, by pipeline."""


PRECISIONS: Mapping[str, Mapping[str, int | str]] = {
    "f32": {
        "allow_reduced_precision": "true",
        "exact": "false",
        "winograd_tile": 4,
        "compute": "f32",
        "widen": "all",
        "convert": "f32",
        "tf32": 3,
    },
    "tf32": {
        "allow_reduced_precision": "true",
        "exact": "false",
        "winograd_tile": 4,
        "compute": "f32",
        "widen": "all",
        "convert": "f32",
        "tf32": 1,
    },
    "strict": {
        "allow_reduced_precision": "false",
        "exact": "true",
        "winograd_tile": 0,
        "compute": "f32",
        "widen": "contractions",
        "convert": "f32",
        "tf32": 0,
    },
    "f16": {
        "allow_reduced_precision": "false",
        "exact": "true",
        "winograd_tile": 0,
        "compute": "f16",
        "widen": "none",
        "convert": "f16",
        "tf32": 3,
    },
    "bf16": {
        "allow_reduced_precision": "true",
        "exact": "false",
        "winograd_tile": 4,
        "compute": "bf16",
        "widen": "all",
        "convert": "f32",
        "tf32": 3,
    },
}
"""Pass options by precision: the rounding that may differ from the model's. In ``f32``,
convolutions and matmuls may use algorithms with fewer multiplications (errors of some 1e-6 of the
largest element), three matmuls in bf16 (some 5e-6) or TF32 (1e-6) for one, or weights of 24 bits
(2e-6), and CPUs do not round what the model computes in f16 or bf16 between ops; activations have 8
bits where the model itself allows it (`accuracy_level` 4 of MatMulNBits). In ``strict``,
only the order of sums changes. In ``f16`` and ``bf16``, f32 values of the model are computed in
these types. CPUs convert only the operands of matmuls to bf16, and only if
they have a unit that multiplies it. In ``tf32``, which GPUs of NVIDIA have, operands of matmuls and
convolutions are rounded to 10 bits of fraction; elsewhere it is ``f32``."""


_BYTE_UNITS = {256: "avx2", 512: "avx512bw"}
"""The units that look up vectors of bytes, by the width of vectors in bits."""


def graph_pipeline(
    name: str,
    cpu: CpuModel,
    precision: str = "f32",
    bf16_unit: str = "none",
    int8_unit: str = "none",
    threads: int = 1,
) -> str:
    """The text of the default pipeline called `name`, for `cpu`, the units that multiply bf16 and
    8-bit integers, and a number of threads.

    KeyError when there is none of that name, or no such precision.
    """
    allowed = PRECISIONS[precision]
    filled_in = {
        "int8_unit": int8_unit,
        "exact_sums": str(precision == "strict").lower(),
        "byte_unit": _BYTE_UNITS.get(cpu.vector_bits, "none"),
        "keep_quantized": str(int8_unit != "none").lower(),
        "keep_blocks": str(name == "cpu" and cpu.has_vectors).lower(),
        "cpu": options.render(cpu),
        "threads": threads,
        "bf16_unit": bf16_unit if allowed["compute"] == "bf16" else "none",
        "bf16x3": "amx" if bf16_unit == "amx" and precision in ("f32", "tf32") else "none",
    }
    return ",".join(PIPELINES[name]).format(**filled_in, **allowed)


def lowering_pipeline(
    name: str,
    cpu: CpuModel,
    threads: int = 1,
    *,
    pinned: bool = False,
    transients: int = 0,
    sized_by_shapes: bool = False,
    precision: str = "f32",
    merges: bool = True,
) -> str:
    """The text of the pipeline that follows the graph pipeline called `name`, for `threads` threads
    of `cpu`, in `precision`. `pinned` threads are pinned to cores, and choose their share of the
    work by the core. Intermediate results take `transients` bytes at their peak, 0 if that is not
    known. `sized_by_shapes` says that the shapes of the inputs determine the sizes of all outputs.
    Without `merges`, each kernel has a dispatch of its own.

    At its end, duplicate size computations and casts between equal types are removed.
    """
    sharing = threads if pinned else 1
    steps = [each for each in LOWERINGS[name] if merges or not each.startswith(_MERGES)]
    return ",".join(steps).format(
        cpu=options.render(cpu),
        threads=threads,
        sharing=sharing,
        transients=transients,
        sized_by_shapes=str(sized_by_shapes).lower(),
        tf32=PRECISIONS[precision]["tf32"],
    )
