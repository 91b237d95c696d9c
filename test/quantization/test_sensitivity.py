"""The search for the fewest nodes to keep."""

import pytest

from graphc.quantization.sensitivity import fewest_kept

RANKING = [f"n{i}" for i in range(37)]


@pytest.mark.parametrize("needed", [0, 1, 2, 17, 36, 37])
def test_the_shortest_beginning_is_found_in_few_steps(needed):
    tried = []

    def holds(names):
        tried.append(len(names))
        return len(names) >= needed

    assert fewest_kept(RANKING, holds) == RANKING[:needed]
    assert len(tried) <= 6
    assert len(set(tried)) == len(tried)


def test_nothing_to_rank():
    assert fewest_kept([], lambda names: False) == []
