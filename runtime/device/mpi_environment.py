"""Workaround for IREE 3.13 under ``mpiexec``.

A new device looks for MPI in the environment (``iree_hal_mpi_is_configured`` in
``runtime/src/iree/hal/utils/mpi_channel_provider.c``) and then fails unless ``libmpi.so`` can be
loaded. Compiled models have no collectives, and so need none. Remove this when a device opens with
``PMI_SIZE=2`` in the environment.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

_VARIABLES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE")


@contextmanager
def without_mpi() -> Iterator[None]:
    """A context in which the runtime does not see that the process is a rank of MPI."""
    hidden = {name: os.environ.pop(name) for name in _VARIABLES if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(hidden)
