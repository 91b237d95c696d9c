"""Search options and what is wrong with them."""

import pytest

from graphc.errors import UsageError
from graphc.generation import SearchOptions

WRONG = {
    "top_kk": (3, r"unknown search option 'top_kk'; did you mean 'top_k'\? \(options: do_sample, "),
    "num_beams": (4, "search option num_beams=4 is not supported"),
    "temperature": (0, "temperature must be a number above 0, not 0"),
    "top_p": (1.5, "top_p must be a number above 0 to 1, not 1.5"),
    "min_p": (-0.1, "min_p must be a number from 0 to 1, not -0.1"),
    "top_k": (-1, "top_k must be a whole number from 0 on, not -1"),
    "repetition_penalty": (float("nan"), "repetition_penalty must be a number above 0, not nan"),
    "max_length": (0, "max_length must be a whole number from 1 on, not 0"),
    "random_seed": ("a", "random_seed must be a whole number from 0 on, not 'a'"),
    "do_sample": (1, "do_sample must be true or false, not 1"),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors(name):
    value, message = WRONG[name]
    with pytest.raises(UsageError, match=message):
        SearchOptions.of({name: value})


def test_fields_of_a_config():
    fields = {
        "do_sample": True, "temperature": 0.6, "num_beams": 1, "early_stopping": True,
        "past_present_share_buffer": True, "diversity_penalty": 0.0, "random_seed": -1,
    }  # fmt: skip
    assert SearchOptions.of(fields) == SearchOptions(do_sample=True, temperature=0.6)
