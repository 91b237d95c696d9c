"""Recurrent layers."""

from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..draw_registry import draws
from .contraction import scaled

_GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


@draws(weight=1.5, since=7)
def recurrent(b: GraphBuilder) -> None:
    """One recurrent layer, in one direction or both."""
    op_type = b.choose(tuple(_GATES))
    steps, batch, width, hidden = (b.choose((1, 2, 3, 5)) for _ in range(4))
    direction = b.choose(("forward", "reverse", "bidirectional"))
    ways, gates = 1 + (direction == "bidirectional"), _GATES[op_type]
    x = b.like([steps, batch, width], np.dtype(np.float32))
    w = scaled(b, [ways, gates * hidden, width], x.dtype, width, weight=True)
    r = scaled(b, [ways, gates * hidden, hidden], x.dtype, hidden, weight=True)
    width = 2 * gates * hidden
    bias = [b.new([ways, width], x.dtype, -1, 1, weight=True)] if b.chance(0.6) else []
    attributes: dict[str, Any] = (
        {"linear_before_reset": b.integer(0, 1)} if op_type == "GRU" else {}
    )
    outputs = b.integer(1, 3 if op_type == "LSTM" else 2)
    b.add(op_type, [x, w, r, *bias], outputs, **attributes)
