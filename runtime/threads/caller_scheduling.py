"""Scheduling class of a caller, so that it does not preempt the workers it waits for.

The worker that ends a call wakes the caller, on its own core if no other is free. The scheduler
lets a thread that has slept that long preempt the worker in the middle of its signalling. The
runtime's wait then polls until the worker has finished (``iree_async_semaphore_multi_wait``, its
timepoints), but the worker cannot go on before the next scheduler tick: milliseconds, in 5 % to
50 % of all calls if the workers occupy all cores (Linux 6.18).

Threads of the class `SCHED_BATCH` preempt no other thread when they wake (`sched(7)`). So a caller
has this class during its call.
"""

import os

_CLASSES = hasattr(os, "SCHED_BATCH")


def enter_batch_class() -> bool:
    """Set the calling thread to `SCHED_BATCH`. Return whether it was changed.

    It is not changed if it has a class other than the default, or if the system lacks scheduling
    classes or refuses.
    """
    try:
        if not _CLASSES or os.sched_getscheduler(0) != os.SCHED_OTHER:
            return False
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    except OSError:
        return False
    return True


def leave_batch_class() -> None:
    """Set the calling thread back to `SCHED_OTHER`."""
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
