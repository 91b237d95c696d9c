"""A rank of a divided model: ``mpiexec -n 2 python shard_on_ranks.py MODEL FEEDS.npz OUT``.

FEEDS has arrays ``NAME``, one call along the first axis of each. Each rank writes ``OUT.RANK.npz``.
"""

import json
import sys

import numpy as np

from graphc.distributed.shard_ranks import run_on_ranks


def main(model: str, inputs: str, output: str, options: str = "{}") -> None:
    """Run this rank, and write its outputs."""
    from mpi4py import MPI

    with np.load(inputs) as arrays:
        columns = dict(arrays)
    calls = min(map(len, columns.values()))
    feeds = ({name: x[call] for name, x in columns.items()} for call in range(calls))
    found = list(run_on_ranks(model, feeds, threads=1, **json.loads(options)))
    stacked = {name: np.stack([each[name] for each in found]) for name in found[0]}
    np.savez(f"{output}.{MPI.COMM_WORLD.Get_rank()}.npz", **stacked)


if __name__ == "__main__":
    main(*sys.argv[1:])
