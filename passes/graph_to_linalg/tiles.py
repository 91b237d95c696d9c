"""Tile sizes passed to the backend with an op."""

from collections.abc import Sequence

from ...mlir import ir


def tile_hint(
    pipeline: str, *, distribution: Sequence[int], parallel: Sequence[int], reduction: Sequence[int]
) -> ir.Attribute:
    """The attribute ``compilation_info`` of an op: its tile sizes for the backend.

    `pipeline` is one of IREE's CPU pipelines. The sizes, one per loop, are those of a workgroup, of
    the register tile, and of a step of the reduction; 0 leaves a loop untiled. The attribute
    belongs to dialects that the bindings do not know, so it is parsed as opaque; the backend reads
    it from the bytecode as its own, and reports entries that it does not understand.
    """
    levels = (
        ("distribution", distribution),
        ("vector_common_parallel", parallel),
        ("vector_reduction", reduction),
    )
    return _compilation_info(levels, pipeline)


def elementwise_hint(distribution: Sequence[int], vector: Sequence[int]) -> ir.Attribute:
    """The attribute ``compilation_info`` of an elementwise op: the tiles of a workgroup and of a
    vector. What is left of whole vectors is computed element by element."""
    levels = (("distribution", distribution), ("vector_common_parallel", vector))
    return _compilation_info(levels, "DoubleTilingExpert", ", {enable_loop_peeling}")


def _compilation_info(
    levels: Sequence[tuple[str, Sequence[int]]], pipeline: str, options: str = ""
) -> ir.Attribute:
    config = ", ".join(f"{name} = {list(sizes)}" for name, sizes in levels)
    return parse_opaque(
        f"#iree_codegen.compilation_info<lowering_config = #iree_cpu.lowering_config<{config}>, "
        "translation_info = #iree_codegen.translation_info<"
        f"pipeline = #iree_cpu.pipeline<{pipeline}>{options}>>"
    )


def parse_opaque(text: str) -> ir.Attribute:
    """Parse an attribute of dialects that the bindings do not know."""
    context = ir.Context.current
    allowed = context.allow_unregistered_dialects
    context.allow_unregistered_dialects = True
    try:
        return ir.Attribute.parse(text)
    finally:
        context.allow_unregistered_dialects = allowed
