"""The choice of the next token in numpy, one row at a time, in float64."""

import numpy as np

from graphc.generation import SearchOptions


def remaining(logits: np.ndarray, seen: np.ndarray, options: SearchOptions) -> np.ndarray:
    """The probabilities of one row's tokens, 0 for those that do not remain."""
    scores = logits.astype(np.float64)
    weakened = np.where(
        scores > 0, scores / options.repetition_penalty, scores * options.repetition_penalty
    )
    scores = np.where(seen, weakened, scores) / options.temperature
    order = np.argsort(-scores, kind="stable")
    weights = np.exp(scores[order] - scores[order[0]])
    weights[options.top_k or len(weights) :] = 0
    weights /= weights.sum()
    weights[1:][np.cumsum(weights)[:-1] >= options.top_p] = 0
    weights[weights < options.min_p * weights[0]] = 0
    found = np.zeros_like(weights)
    found[order] = weights / weights.sum()
    return found


def choose(logits: np.ndarray, seen: np.ndarray, options: SearchOptions, uniform: float) -> int:
    """The token of one row, by a number from 0 to 1."""
    weights = remaining(logits, seen, options)
    if not options.do_sample:
        return int(np.argmax(weights))
    order = np.argsort(-weights, kind="stable")
    sums = np.cumsum(weights[order])
    rank = int(np.searchsorted(sums, uniform * sums[-1], side="right"))
    return int(order[min(rank, np.count_nonzero(weights) - 1)])
