"""What the mirrored dialects share."""

from collections.abc import Callable, Sequence

from ...mlir import ext, ir


class Iree(ext.Dialect, name="iree"):
    """Base of the mirrored dialects. Its own namespace holds attributes of functions."""

    @classmethod
    def load(cls) -> None:
        """Register the dialect in the current context; a second call does nothing."""
        if ir.Context.current.is_dialect_loaded(cls.DIALECT_NAMESPACE):
            return
        super().load()
        cls._mlir_module = None  # or the context, and every constant in it, would live on


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
