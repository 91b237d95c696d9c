"""The default pipelines, one per target, each a list read from top to bottom.

A line is a pass and the reason it stands where it stands.
"""

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
        "graph-layout",  # channels last: vector loads along channels, no packing
        "graph-simplify",  # transposes that met
        "graph-fold-constants",  # weights in their new layout
        *_CLEAN,
        "graph-fuse-epilogue",  # last: it hides ops inside groups
        *_CLEAN,
    ),
}

LOWERING = (
    "convert-graph-to-linalg",
    "canonicalize",  # sizes computed twice, casts between equal types
    "cse",
)
"""From the `graph` dialect to what the backend takes."""


def graph_pipeline(name: str) -> str:
    """The text of the default pipeline called `name`. KeyError when there is none."""
    return ",".join(PIPELINES[name])


def lowering_pipeline() -> str:
    """The text of the pipeline that follows every graph pipeline."""
    return ",".join(LOWERING)
