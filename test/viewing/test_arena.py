"""Addresses of buffers: none over another while both are alive."""

from hypothesis import given
from hypothesis import strategies as st

from graphc.passes.liveness import Buffer
from graphc.viewing.arena import place_buffers

SPANS = st.tuples(st.integers(1, 50), st.integers(0, 20), st.integers(0, 6))


@given(st.lists(SPANS, max_size=30))
def test_buffers_do_not_overlap(spans):
    buffers = [Buffer("", size, begin, begin + more, "intermediate") for size, begin, more in spans]
    offsets, size = place_buffers(buffers)
    for i, (a, at) in enumerate(zip(buffers, offsets, strict=True)):
        assert at + a.bytes <= size
        for b, other in list(zip(buffers, offsets, strict=True))[:i]:
            if a.begin <= b.end and b.begin <= a.end:
                assert at >= other + b.bytes or other >= at + a.bytes


def test_what_is_free_again_is_used_again():
    buffers = [Buffer(str(i), 10, i, i + 1, "intermediate") for i in range(6)]
    assert place_buffers(buffers) == ([0, 10, 0, 10, 0, 10], 20)
    assert place_buffers([Buffer("x", 8, -1, 3, "input")]) == ([0], 0)
