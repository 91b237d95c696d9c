"""Values that stand for keys, in tables of any size."""

from typing import Any

import numpy as np

from ....dialects import graph
from ....dialects.graph.cuckoo import build_hash_table, key_bits
from ....mlir import ir


def look_up(x: ir.Value, keys: np.ndarray, values: np.ndarray, default: Any) -> ir.Value:
    """For each element of `x`, the value of the first key that it is, or `default`.

    NaN is a key like others, and -0 is 0. `keys` are a list of the type of `x`.
    """
    otherwise = np.array(default, values.dtype)
    if not keys.size:
        return graph.expand(graph.constant(value=otherwise), shape=graph.type_of(x).shape)
    bits, first = np.unique(key_bits(keys), return_index=True)
    table = build_hash_table(bits)
    return graph.hash_lookup(
        x,
        graph.constant(value=bits[table.positions]),
        graph.constant(value=values[first][table.positions]),
        graph.constant(value=otherwise),
        multipliers=table.multipliers,
    )
