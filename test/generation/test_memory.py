"""Predictions of memory, against what is allocated."""

import pytest

from graphc.errors import UsageError
from graphc.generation import Generator
from graphc.generation.compiled_steps import StepSize


def test_weights_and_cache_are_exact(model, monkeypatch):
    monkeypatch.setattr("graphc.generation.key_value_cache.FIRST_CAPACITY", 16)
    generator = Generator(model, max_length=20)
    generator.append_tokens(list(range(18)))
    generator.generate_next_token()
    prediction = model.predict_memory(19)
    assert prediction.cache == sum(each.nbytes for each in generator._cache._tensors)
    assert prediction.cache == 2 * model.predict_memory(16).cache
    step = model.entry_points._steps[StepSize(1, 1)]
    assert prediction.weights == step.constant_bytes
    assert 0 < prediction.weights < len(step._contents)
    logits = 4 * model.config.vocab_size
    assert logits < prediction.step < 1 << 20
    assert prediction.total == prediction.weights + prediction.cache + prediction.step


def test_the_whole_context_and_batches(model):
    whole = model.predict_memory()
    assert whole.cache == model.predict_memory(model.config.context_length).cache
    assert str(whole).startswith(f"{whole.total / 1024:.1f} KiB (weights ")
    for length in (0, model.config.context_length + 1):
        with pytest.raises(UsageError, match=f"a context of {length} tokens"):
            model.predict_memory(length)
