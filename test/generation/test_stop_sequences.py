"""Texts that end a generation, in pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphc.errors import UsageError
from graphc.generation.stop_sequences import StopSequences

TEXTS = st.text("ab", max_size=12)


@given(st.lists(TEXTS, max_size=6), st.lists(st.text("ab", min_size=1, max_size=4), max_size=3))
def test_text_ends_before_the_first_stop(pieces, stops):
    found = StopSequences(stops)
    text = "".join(map(found.feed, pieces))
    text += found.finish()
    whole = "".join(pieces)
    ends = [whole.find(stop) for stop in stops if stop in whole]
    assert found.is_reached == bool(ends)
    assert whole.startswith(text)
    if ends:
        assert not any(stop in text for stop in stops)
        assert whole[len(text) :].startswith(tuple(stops))
    else:
        assert text == whole


def test_text_is_held_back_no_longer_than_needed():
    stops = StopSequences(["\n\nUser:"])
    assert [stops.feed(each) for each in ("Hi", "\n", "\n", "there", "\n\nUse", "r:", "x")] == [
        "Hi", "", "", "\n\nthere", "", "", "",
    ]  # fmt: skip
    assert stops.is_reached


@pytest.mark.parametrize("stops", ["text", [""]])
def test_errors(stops):
    with pytest.raises(UsageError, match="a list of texts that are not empty"):
        StopSequences(stops)
