"""The sign test: is one call really faster than another?"""

import math
from collections.abc import Sequence
from statistics import median, stdev

from ..benchmarks.measure import Timing

SIGNIFICANCE = 0.05
CONFIRMED = 0.01
"""Significance of the last measurement, of the best of many candidates."""
LEAST_GAIN = 0.01
"""A change that gains less than this share is not worth another program."""


def round_ratios(candidate: Timing, incumbent: Timing) -> list[float]:
    """The candidate's time over the incumbent's, for each round of a measurement in turns."""
    pairs = zip(candidate.rounds, incumbent.rounds, strict=True)
    return [median(mine) / median(theirs) for mine, theirs in pairs]


def is_faster(ratios: Sequence[float], significance: float = SIGNIFICANCE) -> bool:
    """True if the median gains enough, and so many rounds were won that chance would rarely do so.

    The sign test assumes nothing about the noise but that it favours nobody.
    """
    return median(ratios) < 1 - LEAST_GAIN and sign_test(ratios) < significance


def noise_of(ratios: Sequence[float]) -> float:
    """The standard error of the median of the ratios' logarithms, if they are normal."""
    if len(ratios) < 2:
        return 0.0
    return math.sqrt(math.pi / 2 / len(ratios)) * stdev(map(math.log, ratios))


def sign_test(ratios: Sequence[float]) -> float:
    """The probability that as many of the ratios lie below 1 if either sign is as likely."""
    decided = [ratio for ratio in ratios if ratio != 1]
    wins = sum(ratio < 1 for ratio in decided)
    tail = sum(math.comb(len(decided), count) for count in range(wins, len(decided) + 1))
    return tail / 2 ** len(decided)
