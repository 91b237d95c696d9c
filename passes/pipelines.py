"""The default pipelines, one for each kind of target, each a list read from top to bottom.

A line is a pass and the reason it stands where it stands. ``{vector_bits}`` is filled in with what
the target has, ``{winograd_tile}`` with what the precision allows.
"""

from collections.abc import Mapping

_CLEAN = ("canonicalize", "cse")

GRAPH = (
    "canonicalize",  # drop what nothing uses: shape computations above all
    "cse",  # exporters repeat constants and shape arithmetic
    "graph-fold-constants",  # weights and shapes computed in the graph become constants
    "graph-simplify",  # the forms below expect normalised spellings
    "graph-recognize",  # composites from what exporters write, before anything moves apart
    "graph-fold-batch-norm",  # while convolution and normalisation are still neighbours
    "graph-merge-matmuls",  # Q, K and V in one contraction
    "graph-simplify",
    *_CLEAN,
)
"""What is good for every target."""

PIPELINES: dict[str, tuple[str, ...]] = {
    "cpu": (
        *GRAPH,
        "graph-float-products",  # products of bytes, before layout and panels are chosen
        "graph-layout",  # channels last: vector loads along channels, no packing
        "graph-simplify",  # transposes that met
        "graph-fold-constants",  # weights in their new layout
        *_CLEAN,
        "graph-direct-attention{{vector-bits={vector_bits}}}",  # what stays is decomposed
        "graph-winograd{{vector-bits={vector_bits} tile={winograd_tile}}}",  # before others do
        "graph-direct-conv{{vector-bits={vector_bits}}}",  # before they become products
        "graph-pack-weights{{vector-bits={vector_bits}}}",  # on weights as they finally are
        "graph-fuse-epilogue",  # last: it hides ops inside groups
        *_CLEAN,
    ),
    "gpu": (
        *GRAPH,
        "graph-layout",  # channels last: convolutions as products, neighbours read neighbours
        "graph-simplify",  # transposes that met
        "graph-fold-constants",  # weights in their new layout
        *_CLEAN,
        "graph-fuse-epilogue",  # last: it hides ops inside groups
        *_CLEAN,
    ),
}
PIPELINES["vulkan"] = PIPELINES["gpu"]
PIPELINES["interpret"] = ()  # the program as it was imported

LOWERINGS: Mapping[str, tuple[str, ...]] = {
    "cpu": (
        "convert-graph-to-linalg",
        "expand-round-even",  # few operations on vectors
        *_CLEAN,
    ),
    "gpu": (
        "convert-graph-to-linalg{gpu=true}",  # without kernels for vectors
        *_CLEAN,
    ),
    "vulkan": (
        "convert-graph-to-linalg{gpu=true}",
        "expand-double-math",  # which SPIR-V lacks
        *_CLEAN,
    ),
}
"""From the `graph` dialect to what the backend takes, by pipeline."""


PRECISIONS: Mapping[str, Mapping[str, int]] = {
    "f32": {"winograd_tile": 4},
    "strict": {"winograd_tile": 0},
}
"""What may be rounded otherwise than the model says: in ``f32``, convolutions may be computed with
fewer products, some 1e-6 of the largest element apart; in ``strict``, sums change their order
and nothing else."""


def graph_pipeline(name: str, vector_bits: int, precision: str = "f32") -> str:
    """The text of the default pipeline called `name`, for vectors of so many bits.

    KeyError when there is none of that name, or no such precision.
    """
    return ",".join(PIPELINES[name]).format(vector_bits=vector_bits, **PRECISIONS[precision])


def lowering_pipeline(name: str) -> str:
    """The text of the pipeline that follows the graph pipeline called `name`.

    At its end, sizes computed twice and casts between equal types vanish.
    """
    return ",".join(LOWERINGS[name])
