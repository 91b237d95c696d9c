"""How a length that is known only at run time is transformed, and which power of two that takes."""

from ...mlir import arith, ir, math
from .dft_shape import SMALL
from .fft import FftEmitter
from .fft_plan import least_power


def is_small(emitter: FftEmitter, length: ir.Value) -> ir.Value:
    """True for so few points that sums take less than stages."""
    return emitter.compare(arith.CmpIPredicate.ult, length, SMALL)


def is_large_power(emitter: FftEmitter, length: ir.Value) -> ir.Value:
    """True for a power of two of which all stages have vectors of points."""
    single = arith.cmpi(arith.CmpIPredicate.eq, math.ctpop(length), emitter.index(1))
    large = emitter.compare(arith.CmpIPredicate.uge, length, least_power(emitter.lanes))
    return arith.andi(single, large)


def padded_power(emitter: FftEmitter, length: ir.Value) -> ir.Value:
    """The least power of two for the convolution of `length` points with a chirp."""
    least = arith.subi(emitter.times(length, 2), emitter.index(2))  # less than twice, minus one
    least = arith.maxsi(least, emitter.index(least_power(emitter.lanes) - 1))
    wide = arith.index_cast(ir.IntegerType.get_signless(64), least)
    zeros = arith.index_cast(ir.IndexType.get(), math.ctlz(wide))
    return arith.shli(emitter.index(1), arith.subi(emitter.index(64), zeros))
