"""Tile sizes handed to the backend with an op."""

from collections.abc import Sequence

from ...mlir import ir


def tile_hint(
    pipeline: str, *, distribution: Sequence[int], parallel: Sequence[int], reduction: Sequence[int]
) -> ir.Attribute:
    """The attribute ``compilation_info`` of an op: how the backend is to tile it.

    `pipeline` is one of IREE's for processors; one size per loop: of the piece of work that goes
    to a thread, of the register tile, and of a step of the reduction; 0 leaves a loop whole. The
    attribute belongs to dialects that the bindings do not know, so it is parsed as opaque; the
    backend reads it from the bytecode as its own, and reports what it does not understand.
    """
    levels = (
        ("distribution", distribution),
        ("vector_common_parallel", parallel),
        ("vector_reduction", reduction),
    )
    config = ", ".join(f"{name} = {list(sizes)}" for name, sizes in levels)
    text = (
        f"#iree_codegen.compilation_info<lowering_config = #iree_cpu.lowering_config<{config}>, "
        "translation_info = #iree_codegen.translation_info<"
        f"pipeline = #iree_cpu.pipeline<{pipeline}>>>"
    )
    return parse_opaque(text)


def parse_opaque(text: str) -> ir.Attribute:
    """An attribute of dialects that the bindings do not know."""
    context = ir.Context.current
    allowed = context.allow_unregistered_dialects
    context.allow_unregistered_dialects = True
    try:
        return ir.Attribute.parse(text)
    finally:
        context.allow_unregistered_dialects = allowed
