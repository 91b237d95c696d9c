"""Constants that the backend does not know, and takes as arguments of its kernels."""

from ...dialects import iree
from ...mlir import arith, ir


class HiddenConstants:
    """Scalars behind optimization barriers, at the beginning of a function."""

    def __init__(self, block: ir.Block):
        self._block = block
        self._values: dict[ir.Attribute, ir.Value] = {}

    def __getitem__(self, value: ir.Attribute) -> ir.Value:
        """The scalar `value`, an ``IntegerAttr`` or a ``FloatAttr``, as something unknown."""
        if value not in self._values:
            with ir.InsertionPoint.at_block_begin(self._block), ir.Location.unknown():
                constant = arith.ConstantOp(value.type, value).result
                self._values[value] = iree.optimization_barrier(constant)
        return self._values[value]
