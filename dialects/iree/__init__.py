"""The few ops of IREE's own dialects that the lowering emits.

The bindings do not know these dialects. Defining what we use of them with the same machinery as
our own keeps their ops typed and verified; the hand-off carries them to IREE by name.
"""

# pyright: reportUnusedImport=false
# The names are for those who import this package.

from .base import Iree
from .flow import dispatch_region
from .linalg_ext import LinalgExt, im2col, scan, scatter
from .stream import (
    FLOPS,
    Buffer,
    assume_alignment,
    define_function,
    define_kernel,
    operand_in_place,
    run_kernel,
)
from .tensor_ext import compute_barrier
from .tensor_list import dynamic_sizes, tensor_list, tensor_list_type, tensors_of
from .util import optimization_barrier


def load() -> None:
    """Register the dialects in the current context; a second call does nothing."""
    Iree.load()
    LinalgExt.load()
