"""Upper bounds of sizes in fewer names."""

import pytest

from graphc.dialects.symbolic import Dim, ceildiv, floordiv, maximum, minimum
from graphc.dialects.symbolic_limits import upper_bound

N, M, END, START = map(Dim.symbol, ("n", "m", "end", "start"))
VARYING = {"end", "start"}


@pytest.mark.parametrize(
    ("size", "bound"),
    [
        (7, 7),
        (N * M, N * M),
        (maximum(0, minimum(END, N) - minimum(N, START)), N),
        (minimum(END, N) * 16 + 1, N * 16 + 1),
        (minimum(END, N) * minimum(START, M), N * M),
        (minimum(minimum(END, N), M), minimum(N, M)),
        (floordiv(minimum(END, N), 4), floordiv(N, 4)),
        (N - START, N),
        (ceildiv(N, START), None),
        (N + END, None),
        (maximum(N, END), None),
        (N - minimum(END, N) + 3, N + 3),
        (N - minimum(END - 3, N), None),
    ],
    ids=str,
)
def test_bounds(size, bound):
    assert upper_bound(size, VARYING) == bound
