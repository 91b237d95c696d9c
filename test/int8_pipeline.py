"""The passes that lead to the kernels for 8-bit integers of a unit, alone."""

PIPELINE = (
    "graph-fold-constants{{keep-quantized=true}},graph-simplify,"
    "cpu-integer-contractions{{unit={0} exact={2}}},graph-convert-layout,graph-simplify,"
    "graph-fold-constants,canonicalize,cse,cpu-select-int8-kernels{{vector-bits={1} unit={0}}},"
    "int8-matmul-to-f32,graph-fuse-epilogue,canonicalize"
)


def pipeline_of(unit: str, exact: bool = False) -> str:
    """The text of the pipeline."""
    bits = 256 if unit in ("avxvnni", "avx2") else 512
    return PIPELINE.format(unit, bits, str(exact).lower())
