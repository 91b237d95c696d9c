"""The passes that lead to the kernels for 8-bit integers of a unit, alone."""

PIPELINE = (
    "graph-fold-constants{{keep-quantized=true}},graph-simplify,"
    "cpu-integer-contractions{{unit={0}}},graph-convert-layout,graph-simplify,graph-fold-constants,"
    "canonicalize,cse,cpu-select-int8-kernels{{vector-bits={1} unit={0}}},int8-matmul-to-f32,"
    "graph-fuse-epilogue,canonicalize"
)


def pipeline_of(unit: str) -> str:
    """The text of the pipeline."""
    return PIPELINE.format(unit, 256 if unit in ("avxvnni", "avx2") else 512)
