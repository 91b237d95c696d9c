"""Log-probabilities of tokens, by the logits of the model."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class TokenLogprobs:
    """The log-probability of a token that was chosen, and the most probable tokens with theirs."""

    logprob: float
    top: Sequence[tuple[int, float]]

    @classmethod
    def of(cls, logits: np.ndarray, token: int, count: int) -> "TokenLogprobs":
        """Those of `token` and the `count` most probable tokens, by `logits` [vocab], before
        anything that the options of a request do to them."""
        wide = logits.astype(np.float64)
        highest = wide.max()
        logprobs = wide - (highest + np.log(np.exp(wide - highest).sum()))
        count = min(count, logprobs.size)
        best = np.argpartition(-logprobs, count - 1)[:count] if count else np.empty(0, np.int64)
        best = best[np.lexsort((best, -logprobs[best]))]
        top = [(int(each), float(logprobs[each])) for each in best]
        return cls(float(logprobs[token]), top)
