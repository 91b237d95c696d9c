"""A rank of a pipeline: ``mpiexec -n 2 python pipeline_on_ranks.py MODEL X.npy OUT.npz``."""

import sys
from pathlib import Path

import numpy as np

from graphc.distributed import compile_stages, partition
from graphc.distributed.pipeline_ranks import run_on_ranks


def main(model: str, inputs: str, output: str) -> None:
    """Run the stage of this rank; the last one writes the outputs."""
    from mpi4py import MPI

    folder = Path(output).with_suffix(f".{MPI.COMM_WORLD.Get_rank()}")
    folder.mkdir()
    stages = compile_stages(partition(model, MPI.COMM_WORLD.Get_size()), folder)
    feeds = ({"x": x} for x in np.load(inputs))
    found = [outputs["y"] for outputs in run_on_ranks(stages, feeds)]
    if found:
        np.savez(output, y=np.stack(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
