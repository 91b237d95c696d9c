"""A tiny language model, compiled once."""

import pytest
from tiny_language_models import write_model_folder

from graphc.generation import load


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A folder with a tiny Llama, without a tokenizer."""
    return write_model_folder(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="session")
def model(folder):
    """The tiny model; prompts are computed by eight tokens. The steps of up to four sequences are
    compiled together: a step that came later would compile all of them anew."""
    with load(folder, prefill_chunk=8) as loaded:
        loaded.entry_points.prepare(4)
        yield loaded
