"""The steps of a prompt."""

import itertools

import pytest

from graphc.generation.step_lengths import first_step, step_lengths


def steps_of(count, lengths):
    """The steps that compute a prompt, padding included."""
    steps = []
    while count > 0:
        steps.append(first_step(count, lengths))
        count -= steps[-1]
    return steps


def test_lengths():
    found = {chunk: step_lengths(chunk) for chunk in (2, 15, 16, 64, 128, 256)}
    assert found == {
        2: (2,), 15: (15,), 16: (8, 16), 64: (8, 64), 128: (8, 64, 128), 256: (8, 64, 256),
    }  # fmt: skip


@pytest.mark.parametrize("lengths", [(8, 64, 256), (8, 32), (5,), ()])
def test_no_other_steps_take_less(lengths):
    def cost(steps):
        return sum(steps) + 6 * len(steps)

    for count in range(1, 100):
        least = (
            min(
                cost(steps)
                for n in range(1, 7)
                for steps in itertools.combinations_with_replacement((1, *lengths), n)
                if sum(steps) >= count
            )
            if lengths and count <= 6 * max(lengths)
            else cost([1] * count)
        )
        assert cost(steps_of(count, lengths)) <= least, count


def test_long_prompts_take_the_longest_steps():
    assert steps_of(2000, (8, 64, 256)) == [256] * 7 + [64, 64, 64, 8, 8]
