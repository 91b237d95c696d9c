"""A rank of a divided model: ``mpiexec -n 2 python shard_on_ranks.py MODEL FEEDS.npz OUT [JSON]``.

FEEDS has for each input an array with the feeds of all calls along a first axis. Each rank writes
``OUT.RANK.npz``. The JSON are options of `shard`, and under the number of a rank those of this one.
"""

import json
import sys

import numpy as np

from graphc.distributed.shard_ranks import run_on_ranks


def main(model: str, inputs: str, output: str, text: str = "{}") -> None:
    """Run this rank, and write its outputs."""
    from mpi4py import MPI

    rank = str(MPI.COMM_WORLD.Get_rank())
    given = json.loads(text)
    options = {name: value for name, value in given.items() if not name.isdigit()}
    with np.load(inputs) as arrays:
        columns = dict(arrays)
    feeds = ({name: x[call] for name, x in columns.items()}
             for call in range(min(map(len, columns.values()))))  # fmt: skip
    found = list(run_on_ranks(model, feeds, threads=1, **{**options, **given.get(rank, {})}))
    stacked = {name: np.stack([each[name] for each in found]) for name in found[0]}
    np.savez(f"{output}.{rank}.npz", **stacked)


if __name__ == "__main__":
    main(*sys.argv[1:])
