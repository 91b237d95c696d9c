"""Facts about ops that passes ask for, declared with the op.

Facts are base classes (`ElementwiseOp`, `Contraction`, `KernelContraction`, `Reduction`, `Pool`)
or class attributes:

``amp``          the `MixedPrecision` of every op;
``excess``       the `ExcessPrecision` of ops that do not compute, or whose result is no continuous
                 function of their operands; those that give integers or truth values need not say
                 it;
``along_axis``   of ops with an attribute `axis`: the result has the shape of the first operand, the
                 other axes may be in any order, and other operands vary along `axis` alone;
``commutative``  of binary ops: the operands may be exchanged;
``is_view``      the result is the memory of the first operand;
``per_rank``     the result differs between ranks though the operands do not.

A test demands a statement from every op that a fact is about.
"""

from enum import Enum
from typing import Literal

Fact = Literal[True] | str
"""True, or the reason why not, or why nobody makes use of it."""


class MixedPrecision(Enum):
    """Element type of a float op in automatic mixed precision (Micikevicius et al., 2018)."""

    NARROW = "narrow"
    """Always 16 bits: it gains most from them, and its accumulators are f32."""
    FOLLOW = "follow"
    """16 bits between ops that are: its accumulators are f32, too, and its results are hardly
    larger than its operands."""
    KEEP = "keep"
    """Never converted: it needs the range or the precision of f32, or has types of its own."""


class ExcessPrecision(Enum):
    """Element type of an op on floats of 16 bits where these are computed in f32, without the
    rounding that the model has between ops (C's FLT_EVAL_METHOD)."""

    ALLOW = "allow"
    """f32: the result is at least as exact."""
    FOLLOW = "follow"
    """That of its first operand that is no constant: elements are moved, and what is in memory
    stays as it is."""
    NEVER = "never"
    """16 bits, of rounded operands: a decision is that of the model, or memory has this type."""
