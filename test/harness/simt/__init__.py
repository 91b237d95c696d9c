"""Interpretation of GPU kernels without a GPU: all threads of a workgroup in lock step, in numpy.

A value has one entry for each thread. What a GPU leaves undefined is an error here: reading shared
memory that no thread has written, whose copy is in flight, or that another thread writes or has
written since the last barrier; a barrier or a tensor core op that not all threads reach.

The semantics of ``ldmatrix`` and ``mma.sync`` are those of the PTX ISA, section "Warp-level matrix
instructions"; those of ``wgmma`` of "Asynchronous warpgroup-level matrix instructions".
"""

from importlib import import_module

from .lock_step import run_kernel
from .programs import find_all, run_program
from .state import UndefinedBehaviour

__all__ = ["UndefinedBehaviour", "find_all", "run_kernel", "run_program"]

for _family in (
    "arithmetic",
    "structure",
    "memory_access",
    "vectors",
    "tensor_cores",
    "warpgroups",
    "bulk_copies",
):
    import_module(f".{_family}", __name__)  # registers the rules of its ops
