"""Additions to the logits of single tokens."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class LogitBias:
    """Additions to logits before a token is chosen, by OpenAI's API.

    `by_token` has additions by tokens. From the logits of tokens that were generated before, not
    those of the prompt, `presence_penalty` is subtracted once, and `frequency_penalty` for each
    time.
    """

    by_token: Mapping[int, float] = field(default_factory=dict)
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0

    def add_to(self, logits: np.ndarray, generated: Sequence[int]) -> np.ndarray:
        """The `logits`, f32 ``[vocab]``, behind the tokens `generated`, with the additions."""
        logits = logits.copy()
        tokens = list(self.by_token)
        logits[tokens] += np.array(list(self.by_token.values()), np.float32)
        found, counts = np.unique(np.array(generated, np.int64), return_counts=True)
        logits[found] -= np.float32(self.presence_penalty)
        logits[found] -= np.float32(self.frequency_penalty) * counts.astype(np.float32)
        return logits
