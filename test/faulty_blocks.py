"""Blocks that kill the process that reads them, for tests of lost workers."""

import os
import signal
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from graphc.distributed.array_blocks import ArrayRows


@dataclass(frozen=True)
class DeadlyBlock:
    """Two rows for the model `dense`. Reading them kills the process `kills` times.

    Each kill leaves a file in `folder`.
    """

    folder: Path
    index: int
    kills: int = 0
    suffix = ".npz"

    @property
    def label(self) -> str:
        """``deadly-0003``."""
        return f"deadly-{self.index:04}"

    identity = label

    @property
    def x(self) -> np.ndarray:
        """The input."""
        return np.full((2, 4), self.index, np.float32)

    def read(self) -> ArrayRows:
        """Kill the process, or return the rows."""
        for number in range(self.kills):
            trace = self.folder / f"{self.label}.{number}"
            if not trace.exists():
                trace.touch()
                os.kill(os.getpid(), signal.SIGKILL)
        return ArrayRows({"x": self.x})
