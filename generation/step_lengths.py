"""The lengths of the steps that compute a prompt, and the steps of a prompt of any length."""

from collections.abc import Sequence

_LENGTHS = (8, 64)
"""Lengths for short prompts, and for the ends of others."""
_READING = 6
"""The tokens that take as long to compute as a step takes to read the weights (measured, Zen 4)."""


def step_lengths(chunk: int) -> tuple[int, ...]:
    """The tokens of a prompt that steps compute, `chunk` at most."""
    return (*(each for each in _LENGTHS if 2 * each <= chunk), chunk)


def first_step(pending: int, lengths: Sequence[int]) -> int:
    """The longest step of the cheapest ones that compute `pending` tokens, padding included.

    A step computes one token or as many as one of `lengths` says, and takes as long as these and
    those that reading the weights is worth.
    """
    longest = max(lengths, default=1)
    if pending >= 2 * longest:
        return longest
    costs, firsts = [0], [0]
    for count in range(1, pending + 1):
        cost, first = min(
            (each + _READING + costs[max(count - each, 0)], -each) for each in (1, *lengths)
        )
        costs.append(cost)
        firsts.append(-first)
    return firsts[pending]
