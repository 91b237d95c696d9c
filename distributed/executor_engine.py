"""Blocks on any `concurrent.futures.Executor`, and on a process pool that replaces lost workers."""

import atexit
import contextlib
import multiprocessing
import os
import signal
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import chain, islice
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for

from ..errors import ClusterError
from .blocks import RowBlock, block_key
from .manifest import BlockRecord
from .worker import MapJob, process_block

ATTEMPTS = 3
"""Number of workers that a block may lose."""
BLOCKS_PER_WORKER = 2
"""Blocks in flight for each worker: one that it processes and one that waits."""


def run_on_executor(
    job: MapJob, blocks: Iterable[RowBlock], executor: Executor, in_flight: int
) -> Iterator[BlockRecord]:
    """Process `blocks` on `executor`, at most `in_flight` at a time; yield records as they come."""
    pending: dict[Future[BlockRecord], RowBlock] = {}
    yield from _run(job, iter(blocks), executor, in_flight, pending)


def _run(
    job: MapJob,
    blocks: Iterator[RowBlock],
    executor: Executor,
    in_flight: int,
    pending: dict[Future[BlockRecord], RowBlock],
) -> Iterator[BlockRecord]:
    """`run_on_executor`; what is in flight is in `pending`, also after an error."""
    try:
        while True:
            for block in islice(blocks, in_flight - len(pending)):
                pending[executor.submit(process_block, job, block)] = block
            if not pending:
                return
            done, _ = wait(pending, return_when=FIRST_COMPLETED)
            for future in done:
                record = future.result()
                del pending[future]
                yield record
    finally:
        for future in pending:
            future.cancel()


def run_on_processes(
    job: MapJob, blocks: Iterable[RowBlock], workers: int
) -> Iterator[BlockRecord]:
    """Process `blocks` in `workers` processes of this machine; yield records as they come.

    If a worker is killed, its blocks are given to new workers. Raises `ClusterError` that names a
    block that has lost `ATTEMPTS` workers.
    """
    remaining, lost = iter(blocks), Counter[str]()
    while True:
        pending: dict[Future[BlockRecord], RowBlock] = {}
        with worker_pool(workers) as pool:
            try:
                return (yield from _run(job, remaining, pool, BLOCKS_PER_WORKER * workers, pending))
            except BrokenProcessPool:
                again = list(pending.values())
        for block in again:
            lost[block_key(block)] += 1
            if lost[block_key(block)] == ATTEMPTS:
                raise ClusterError(
                    f"block {block.label}: its worker was killed {ATTEMPTS} times; "
                    "is there enough memory for the block and the model?"
                )
        remaining = chain(again, remaining)


@contextlib.contextmanager
def worker_pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """A pool whose waiting calls are dropped when an error leaves it."""
    context = multiprocessing.get_context("spawn")  # the runtime's threads do not survive a fork
    pool = ProcessPoolExecutor(workers, context, initializer=start_worker)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def start_worker() -> None:
    """Prepare a process of the pool: it ends when its parent ends, even if that is killed, and
    leaves Ctrl-C to it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    leaving, leave = multiprocessing.Pipe(duplex=False)
    watcher = threading.Thread(target=_exit_with_parent, args=(leaving,), daemon=True)
    watcher.start()

    def end_watcher() -> None:  # which would keep the bindings from being unloaded
        leave.close()
        watcher.join()

    atexit.register(end_watcher)


def _exit_with_parent(leaving: Connection) -> None:
    parent = multiprocessing.parent_process()
    if parent is not None and parent.sentinel in wait_for([parent.sentinel, leaving]):
        os._exit(1)
