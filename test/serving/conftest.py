"""A tiny language model for servers, compiled once."""

import importlib.util

import pytest
import serving_models

from graphc.generation import load


@pytest.fixture(scope="session")
def cache_folder(tmp_path_factory):
    """The cache of compiled models, for processes that tests start."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A folder with the model, and a tokenizer where the package is installed."""
    has_tokenizers = importlib.util.find_spec("tokenizers") is not None
    return serving_models.write_folder(tmp_path_factory.mktemp("tiny"), tokenizer=has_tokenizers)


@pytest.fixture(scope="session")
def model(folder, cache_folder):
    """The model; prompts are computed by eight tokens. It is in the cache where servers can be
    started; without a cache, tests share what is compiled."""
    with load(folder, prefill_chunk=serving_models.CHUNK, opt_level=0) as loaded:
        with pytest.MonkeyPatch.context() as patch:
            if importlib.util.find_spec("uvicorn") is not None:
                patch.setenv("GRAPHC_CACHE", str(cache_folder))
            loaded.entry_points.prepare(serving_models.SLOTS)
        yield loaded
