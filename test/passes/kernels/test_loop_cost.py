"""Costs of iterations, in terms of sizes that only the run knows."""

from graphc.dialects.symbolic import Dim, ceildiv
from graphc.passes.kernels.loop_cost import at_least

N = Dim.symbol("n")


def test_sizes_that_would_divide_by_zero():
    """A loop of n - 1 iterations shares what they read, as embedding bags whose last offset is the
    end."""
    assert at_least(10 * N + 3) == 13
    assert at_least(ceildiv(10 * N, N - 1)) == 20
    assert at_least(ceildiv(N, (N - 1) * (N - 2) * (N - 3))) == 0
