"""Sizes in kernels: numbers, or values if they are known only at run time."""

from ...mlir import arith, ir

Index = int | ir.Value
"""A size in a kernel: a number, or a value if it is known only at run time."""


def index(value: Index) -> ir.Value:
    """`value` at the insertion point."""
    return value if isinstance(value, ir.Value) else arith.constant(ir.IndexType.get(), value)


def product(a: Index, b: Index) -> Index:
    """``a * b``."""
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    if a == 1 or b == 1:
        return b if a == 1 else a
    return arith.muli(index(a), index(b))


def quotient(a: Index, b: Index) -> Index:
    """``a / b``, rounded down."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    return arith.divui(index(a), index(b))


def ceil_quotient(a: Index, b: Index) -> Index:
    """``a / b``, rounded up."""
    if isinstance(a, int) and isinstance(b, int):
        return -(-a // b)
    return arith.ceildivui(index(a), index(b))


def larger(a: Index, b: Index) -> Index:
    """The larger of both."""
    if isinstance(a, int) and isinstance(b, int):
        return max(a, b)
    return arith.maxui(index(a), index(b))


def smaller(a: Index, b: Index) -> Index:
    """The smaller of both."""
    if isinstance(a, int) and isinstance(b, int):
        return min(a, b)
    return arith.minui(index(a), index(b))
