"""Hash tables: every key is in one of its slots."""

import numpy as np
import pytest

from graphc.dialects.graph.cuckoo import SIDES, build_hash_table, key_bits, slots_of

_random = np.random.default_rng(0)


@pytest.mark.parametrize(
    "keys",
    [
        np.array([7]),
        np.array([-(1 << 63), (1 << 63) - 1]),
        np.arange(1000),
        np.arange(20_000) << 40,
        _random.permutation(1 << 20)[:50_000].astype(np.int32),
        np.arange(30_000, dtype=np.float32) / 8,
        _random.standard_normal(3000),
    ],
    ids=lambda keys: f"{keys.size}-{keys.dtype}",
)
def test_every_key_is_in_one_of_its_slots(keys):
    bits = key_bits(keys)
    table = build_hash_table(bits)
    slots = table.positions.shape[1]
    assert slots <= 2 * len(keys)
    found = np.zeros(len(keys), bool)
    for side in range(SIDES):
        at = slots_of(bits, table.multipliers[side], slots)
        found |= table.positions[side, at] == np.arange(len(keys))
    assert found.all()


def test_equal_floats_have_equal_bits():
    nans = np.array([np.nan, -np.nan, np.frombuffer(b"\1\0\xa0\x7f", np.float32)[0]], np.float32)
    assert len(set(key_bits(nans).tolist())) == 1
    zeros = key_bits(np.array([0.0, -0.0], np.float16))
    assert zeros[0] == zeros[1]
    assert len(set(key_bits(np.array([1, -1, np.inf, 0, 5e-324])).tolist())) == 5
