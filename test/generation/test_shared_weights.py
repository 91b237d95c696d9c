"""All steps of a language model have one copy of its weights."""

import zipfile

import numpy as np
import pytest
from tiny_language_models import write_model_folder

from graphc.generation import Generator, key_value_cache, load
from graphc.generation.compiled_steps import SAMPLING, StepSize

CHUNK, BATCH = 32, 2
DECODE, BATCHED = StepSize(1, 1), StepSize(BATCH, 1)
PREFILLS = [StepSize(1, 8), StepSize(1, CHUNK)]
PROMPT = [5, 6, 7]


@pytest.fixture
def said():
    """The announcements."""
    return []


@pytest.fixture(scope="module")
def own_folder(tmp_path_factory):
    """A model, and a cache for its steps."""
    return write_model_folder(tmp_path_factory.mktemp("model"), layers=1)


@pytest.fixture
def model(own_folder, said):
    """The model, with no steps yet."""
    options = {"announce": said.append, "cache": own_folder / "cache", "opt_level": 0}
    with load(own_folder, prefill_chunk=CHUNK, **options) as loaded:
        yield loaded


def generator_of(model, batch=1):
    generator = Generator(model, batch_size=batch, max_length=12)
    generator.append_tokens([PROMPT] * batch if batch > 1 else PROMPT)
    return generator


def finish(generator, batch=1):
    while not generator.is_done():
        generator.generate_next_token()
    return [list(generator.get_sequence(row)) for row in range(batch)]


def constants(model, path):
    """The sizes of the constants in the file of the compiled steps."""
    model.entry_points._steps[DECODE].save(path)
    with zipfile.ZipFile(path) as archive:
        infos = archive.infolist()
    return sum(each.file_size for each in infos if each.filename.startswith("_const"))


def test_more_steps_take_no_more_constants(model, said, tmp_path):
    steps = model.entry_points._steps
    early = generator_of(model)
    early.generate_next_token()
    (alone,) = finish(generator_of(model))
    assert len({id(steps[size]._contents) for size in (SAMPLING, DECODE, *PREFILLS)}) == 1
    few = constants(model, tmp_path / "few.vmfb")
    whole = steps[DECODE]._contents
    assert finish(generator_of(model, BATCH), BATCH) == [alone, alone]  # by a new module
    sizes = (SAMPLING, DECODE, *PREFILLS, BATCHED)
    assert len({id(steps[size]._contents) for size in sizes}) == 1
    assert steps[DECODE]._contents is not whole
    assert finish(early) == [alone]  # with a cache that the old module made
    assert constants(model, tmp_path / "more.vmfb") < 1.02 * few  # what is left is about sizes
    names = "sampling, decode-1x1, prefill-1x8, prefill-1x32"
    assert said == [names, f"{names}, decode-2x1"]


def test_prompts_take_steps_of_their_length(model, monkeypatch):
    """Logits are those of a prompt that is computed token by token."""
    step, lengths = model.entry_points.step, []

    def record(tokens, *arguments):
        lengths.append(len(tokens[0]))
        return step(tokens, *arguments)

    prompt = [(7 * n) % 90 + 2 for n in range(63)]
    slow, expected = Generator(model), []
    for token in prompt:
        slow.append_tokens([token])
        expected.append(slow.get_logits())
    monkeypatch.setattr(model.entry_points, "step", record)
    cases = {
        1: [1], 2: [2], 8: [8], 9: [8, 1], 16: [8, 8], 17: [8, 8, 1], 32: [32], 41: [32, 8, 1],
        50: [32, 18], 63: [32, 31],
    }  # fmt: skip
    for count, steps in cases.items():
        lengths.clear()
        generator = Generator(model)
        generator.append_tokens(prompt[:count])
        np.testing.assert_allclose(generator.get_logits(), expected[count - 1], atol=1e-4)
        assert lengths == steps, count
    chunk_of = model.entry_points.chunk_of
    assert [chunk_of(40, room) for room in (64, 32, 31, 8, 7)] == [32, 32, 8, 8, 1]


def test_a_cache_grows_tensor_by_tensor(model, monkeypatch):
    """Where memory ends, it is what it was."""
    monkeypatch.setattr(key_value_cache, "FIRST_CAPACITY", 2)
    cache = model.entry_points.new_cache(1)
    cache.reserve(2)
    names = [name for name, _ in cache._names]
    for number, name in enumerate(names):
        assert cache.feeds()[name].device == "cpu"
        cache._writable(number)[:] = number
    allocate, allocated = key_value_cache.aligned_empty, []

    def refuse(shape, dtype):
        allocated.append(shape)
        if len(allocated) == len(names):
            raise MemoryError
        return allocate(shape, dtype)

    monkeypatch.setattr(key_value_cache, "aligned_empty", refuse)
    with pytest.raises(MemoryError):
        cache.reserve(3)
    assert cache.capacity == 2
    cache.reserve(3)
    assert cache.capacity == 4
    for number, name in enumerate(names):
        array = key_value_cache.as_array(cache.feeds()[name])
        assert array.shape[2] == 4
        assert (array[:, :, :2] == number).all()
        assert not array[:, :, 2:].any()
