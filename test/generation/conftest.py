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
    """The tiny model; prompts are computed by eight tokens."""
    with load(folder, prefill_chunk=8) as loaded:
        yield loaded
