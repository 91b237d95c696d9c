"""Power of an error beside that of the signal, summed over arrays."""

import math

import numpy as np


class ErrorPower:
    """Sums of squares of a value and of its error; of values that are no floats, the number of
    elements, and of those that differ."""

    def __init__(self) -> None:
        self.signal = 0.0
        self.noise = 0.0

    def add(self, have: np.ndarray, want: np.ndarray) -> None:
        """Add a pair of arrays. A shape that depends on data may differ: then all is error."""
        if want.dtype.kind not in "fcV":
            self.signal += want.size
            same = have.shape == want.shape
            self.noise += np.count_nonzero(have != want) if same else want.size
            return
        wide = want.astype(np.float64)
        power = float(np.square(wide).sum())
        self.signal += power
        if have.shape != want.shape:
            self.noise += power
            return
        self.noise += float(np.square(have.astype(np.float64) - wide).sum())

    @property
    def relative(self) -> float:
        """Root of the power of the error over that of the signal; infinite for NaN."""
        if not math.isfinite(self.noise):
            return math.inf
        if not self.signal:
            return math.inf if self.noise else 0.0
        return math.sqrt(self.noise / self.signal)

    @property
    def sqnr(self) -> float:
        """Signal-to-quantisation-noise ratio in dB; infinite for no noise."""
        if not self.relative:
            return math.inf
        return -20 * math.log10(self.relative) if math.isfinite(self.relative) else -math.inf
