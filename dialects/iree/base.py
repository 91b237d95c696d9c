"""Shared parts of the mirrored dialects."""

from collections.abc import Callable, Sequence

from ...mlir import ir
from ..loading import LoadableDialect


class Iree(LoadableDialect, name="iree"):
    """Base of the mirrored dialects. Its own namespace holds attributes of functions."""


def fill_region(
    region: ir.Region,
    arguments: Sequence[ir.Type],
    body: Callable[..., ir.Value],
    terminate: Callable[[ir.Value], object],
) -> None:
    """Give `region` one block; `body` turns its arguments into the value that ends it."""
    location = ir.Location.current
    block = region.blocks.append(*arguments, arg_locs=[location] * len(arguments))
    with ir.InsertionPoint(block):
        terminate(body(*block.arguments))
