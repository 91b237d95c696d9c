"""A caller that waits for workers, and does not take their processors from them.

The worker that ends a call wakes the caller, on its own processor where no other is free. The
scheduler lets a thread which slept that long run at once, in the middle of what the worker does;
and the runtime's wait then polls until the worker has done it (``iree_async_semaphore_multi_wait``,
its timepoints), which cannot go on before the scheduler's next tick: milliseconds, in a twentieth
to a half of all calls where workers have all processors (Linux 6.18).

Threads of the class `SCHED_BATCH` interrupt nobody when they wake (`sched(7)`). So a caller is one
while its call lasts.
"""

import os

_CLASSES = hasattr(os, "SCHED_BATCH")


def give_way() -> bool:
    """Let the calling thread interrupt no other when it wakes. Says whether it did before: not
    where it has a class that somebody chose, nor where the system has none or refuses."""
    try:
        if not _CLASSES or os.sched_getscheduler(0) != os.SCHED_OTHER:
            return False
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    except OSError:
        return False
    return True


def stop_giving_way() -> None:
    """The end of that."""
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
