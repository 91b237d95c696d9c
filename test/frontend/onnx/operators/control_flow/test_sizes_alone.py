"""Results of control flow of which the model reads the sizes alone."""

import numpy as np
import pytest
from control_flow_models import check, floats, parse

GROWS = """
    {result} = Loop (trips, {go}, x) <body: graph = b1
      (int64 i, bool go, float[l] p) => (go1, q) {{
        two = Constant <value_int: int = 2> ()
        less = Less (i, two)
        go1 = Identity ({condition})
        half = Constant <value_float: float = 0.5> ()
        scaled = Mul (p, half)
        q = Concat <axis: int = 0> (scaled, x)
      }}>
"""


@pytest.mark.parametrize("condition", ["go", "less"])
@pytest.mark.parametrize("op", ["Size", "Shape"])
def test_size_of_what_a_loop_appends_to(condition, op):
    body = GROWS.format(result="grown", go="first", condition=condition)
    rank = "" if op == "Size" else "[1]"
    model = parse(
        f"(float[n] x, int64 trips, bool first) => (int64{rank} y)", body + f"y = {op} (grown)"
    )
    feeds = {"x": floats(3), "first": np.array(True)}
    check(model, *({**feeds, "trips": np.array(trips)} for trips in (4, 0, 1)))


def test_sizes_in_regions():
    """A loop in a loop, and an If in that."""
    inner = GROWS.format(result="grown", go="", condition="go")
    model = parse(
        "(float[n] x, int64 trips, bool longer) => (int64[k] sizes)",
        f"""
        sizes = Loop (trips, , ) <body: graph = b0 (int64 j, bool c) => (c1, size) {{
          c1 = Identity (c)
          {inner}
          either = If (longer) <
            then_branch: graph = b2 () => (a) {{ a = Concat <axis: int = 0> (grown, x, x) }},
            else_branch: graph = b3 () => (b) {{ b = Concat <axis: int = 0> (x, x) }}>
          n = Size (either)
          size = Add (n, j)
        }}>
        """,
    )
    feeds = {"x": floats(3), "trips": np.array(2)}
    check(model, *({**feeds, "longer": np.array(longer)} for longer in (True, False)))
