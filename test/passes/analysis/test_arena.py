"""Addresses of buffers: none over another while both are alive."""

from hypothesis import given
from hypothesis import strategies as st

from graphc.dialects.symbolic import Dim
from graphc.passes.analysis.arena import place_buffers
from graphc.passes.analysis.liveness import LiveBuffer

KINDS = st.sampled_from(("intermediate", "scratch", "output"))
SPANS = st.tuples(st.integers(1, 500), st.integers(0, 20), st.integers(0, 6), KINDS, st.booleans())
BATCH = Dim.symbol("batch")


def buffer(size, begin, more, kind="intermediate", named=False):
    """One of `size` bytes, or of as many for each of three in a batch."""
    if not named:
        return LiveBuffer("", size, begin, begin + more, kind)
    return LiveBuffer("", 3 * size, begin, begin + more, kind, BATCH * size)


@given(st.lists(SPANS, max_size=30))
def test_buffers_do_not_overlap(spans):
    buffers = [buffer(*span) for span in spans]
    offsets, size = place_buffers(buffers)
    for i, (a, at) in enumerate(zip(buffers, offsets, strict=True)):
        assert at + a.bytes <= size
        for b, other in list(zip(buffers, offsets, strict=True))[:i]:
            if a.begin <= b.end and b.begin <= a.end:
                assert at >= other + b.bytes or other >= at + a.bytes


def test_what_is_free_again_is_used_again():
    buffers = [buffer(10, i, 1) for i in range(6)]
    assert place_buffers(buffers) == ([0, 64, 0, 64, 0, 64], 128)
    assert place_buffers([LiveBuffer("x", 8, -1, 3, "input")]) == ([0], 0)


def test_the_smallest_gap_is_taken():
    """The backend does the same, although the larger gap comes first."""
    large, between, small, last = [buffer(n, 0, 9) for n in (256, 64, 128, 64)]
    freed = [buffer(256, 0, 1), between, buffer(128, 0, 1), last]
    assert place_buffers([*freed, buffer(128, 2, 1)])[0] == [0, 256, 320, 448, 320]
    assert place_buffers([large, between, small, last, buffer(128, 2, 1)])[0][-1] == 512


def test_outputs_share_nothing():
    buffers = [buffer(64, 0, 1), buffer(64, -1, 9, "output"), buffer(64, 2, 1)]
    assert place_buffers(buffers) == ([64, 0, 64], 128)


def test_sizes_that_only_the_run_knows_share_with_their_like():
    buffers = [buffer(64, 0, 1, named=True), buffer(64, 2, 1), buffer(64, 2, 1, named=True)]
    assert place_buffers(buffers) == ([64, 0, 64], 256)
    larger, much_larger = buffer(128, 2, 1, named=True), buffer(640, 2, 1, named=True)
    assert place_buffers([buffers[0], larger]) == ([0, 0], 384)
    assert place_buffers([buffers[0], much_larger]) == ([1920, 0], 2112)
