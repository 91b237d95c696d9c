"""Generators: any way to a sequence gives its continuation, beside ONNX Runtime."""

import numpy as np
import pytest
import tiny_language_models as tiny
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sampling_reference import choose

from graphc.errors import ExecutionError, UsageError
from graphc.generation import Generator, SearchOptions, key_value_cache
from graphc.generation.sampling import RowSampling, sampling_feeds

TOKEN_LISTS = st.lists(st.integers(2, tiny.VOCAB - 1), min_size=1, max_size=20)


@pytest.fixture(scope="module")
def reference(folder):
    """The logits behind a list of tokens, computed from scratch by ONNX Runtime."""
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(folder / "model.onnx")
    shape = (1, tiny.KV_HEADS, 0, tiny.HEAD_SIZE)
    empty = {
        each.name: np.zeros(shape, np.float32)
        for each in session.get_inputs()
        if each.name.startswith("past")
    }

    def logits(tokens):
        ids = np.array([tokens], np.int64)
        feeds = {"input_ids": ids, "attention_mask": np.ones_like(ids), **empty}
        return session.run(["logits"], feeds)[0][0, -1]

    return logits


def continued(generator, count):
    for _ in range(count):
        generator.generate_next_token()
    return generator.get_sequence()


@pytest.mark.parametrize("length", [1, 7, 8, 9, 16, 30])
def test_the_most_probable_tokens(length, model, reference):
    """Prompts of a part of a chunk, of whole chunks, and of one token more."""
    expected = np.random.default_rng(length).integers(2, tiny.VOCAB, length).tolist()
    generator = Generator(model, min_length=tiny.CONTEXT)
    generator.append_tokens(expected)
    for _ in range(20):
        logits = reference(expected)
        logits[1] = -np.inf
        expected.append(int(np.argmax(logits)))
    assert continued(generator, 20) == expected


def test_up_to_the_end_of_the_context(model, reference):
    """The last chunk does not fit, and its tokens are computed one by one."""
    tokens = np.random.default_rng(0).integers(2, tiny.VOCAB, tiny.CONTEXT - 1).tolist()
    generator = Generator(model, min_length=tiny.CONTEXT)
    generator.append_tokens(tokens)
    np.testing.assert_allclose(generator.get_logits()[0], reference(tokens), atol=1e-4)
    generator.generate_next_token()
    assert generator.is_done()
    with pytest.raises(UsageError, match="all sequences are done"):
        generator.generate_next_token()


def test_a_cache_that_grows(model, reference, monkeypatch):
    """From 16 positions to 32 and to 64; the sequences of a batch keep theirs."""
    monkeypatch.setattr(key_value_cache, "FIRST_CAPACITY", 16)
    generator = Generator(model, batch_size=4, min_length=tiny.CONTEXT)
    generator.append_tokens([[5, 6, 7], [8, 9], [10], [11]])
    capacities = set()
    while generator.token_count() < 40:
        generator.generate_next_token()
        capacities.add(generator._cache.capacity)
    assert capacities == {16, 32, 64}
    logits = generator.get_logits()
    for row in range(4):
        expected = reference(generator.get_sequence(row))
        np.testing.assert_allclose(logits[row], expected, atol=1e-4)


def test_draws(model, reference):
    options = SearchOptions(
        do_sample=True, temperature=1.5, top_k=30, top_p=0.95, repetition_penalty=1.3,
        random_seed=11, min_length=tiny.CONTEXT,
    )  # fmt: skip
    generator = Generator(model, options)
    expected = [5, 6, 7]
    generator.append_tokens(expected)
    for _ in range(25):
        logits = reference(expected)
        logits[1] = -1e30
        seen = np.isin(np.arange(tiny.VOCAB), expected)
        feeds = sampling_feeds([RowSampling(options, seen, ~seen, len(expected))])
        expected.append(choose(logits, seen, options, feeds["sampling_uniform"][0, 0]))
    assert continued(generator, 25) == expected
    generator.rewind_to(10)
    assert continued(generator, 18) == expected
    assert Generator(model, options).token_count() == 0


@settings(max_examples=40, stateful_step_count=12, deadline=None)
class _Machine(RuleBasedStateMachine):
    """A generator, and the tokens that it should have."""

    model = reference = None

    @initialize(tokens=TOKEN_LISTS)
    def start(self, tokens):
        self.generator = Generator(type(self).model, min_length=tiny.CONTEXT)
        self.generator.append_tokens(tokens)
        self.tokens, self.logits = list(tokens), None

    @precondition(lambda self: len(self.tokens) <= tiny.CONTEXT - 20)
    @rule(tokens=TOKEN_LISTS)
    def append(self, tokens):
        self.generator.append_tokens(tokens)
        self.tokens += tokens
        self.logits = None

    @precondition(lambda self: len(self.tokens) < tiny.CONTEXT)
    @rule()
    def generate(self):
        logits = self._reference() if self.logits is None else self.logits.copy()
        logits[1] = -np.inf  # no end before min_length
        self.generator.generate_next_token()
        (token,) = self.generator.get_next_tokens()
        self.tokens.append(int(token))
        assert logits[token] >= logits.max() - 1e-4
        self.logits = None

    @rule(share=st.floats(0, 1))
    def rewind(self, share):
        length = max(1, round(share * len(self.tokens)))
        self.generator.rewind_to(length)
        del self.tokens[length:]
        self.logits = None

    @rule(seed=st.integers(0, 100))
    def set_logits(self, seed):
        self.logits = np.random.default_rng(seed).normal(size=tiny.VOCAB).astype(np.float32)
        self.generator.set_logits(self.logits[None])

    @rule()
    def look(self):
        expected = self._reference() if self.logits is None else self.logits
        np.testing.assert_allclose(self.generator.get_logits()[0], expected, atol=1e-4)
        assert self.generator.get_sequence() == self.tokens

    def _reference(self):
        return type(self).reference(self.tokens)


def test_any_mixture_equals_recomputation(model, reference):
    _Machine.model, _Machine.reference = model, staticmethod(reference)
    run_state_machine_as_test(_Machine)


PROMPTS = [[7], list(range(20, 40)), [9, 8, 7, 6, 5, 4, 3, 2, 3], [50, 51]]
SEARCHES = {"greedy": {}, "draws": {"do_sample": True, "temperature": 1.3, "random_seed": 4}}


@pytest.mark.parametrize("search", SEARCHES)
def test_a_batch_changes_nothing(search, model):
    """Sequences of unequal length that end at different times, to the last bit of the logits."""
    options = SearchOptions(**SEARCHES[search], max_length=40)
    batch = Generator(model, options, batch_size=len(PROMPTS))
    batch.append_tokens(PROMPTS)
    first = batch.get_logits()
    while not batch.is_done():
        batch.generate_next_token()
    for row, prompt in enumerate(PROMPTS):
        seed = options.random_seed + row
        alone = Generator(model, options, random_seed=seed)
        alone.append_tokens(prompt)
        np.testing.assert_array_equal(first[row], alone.get_logits()[0])
        while not alone.is_done():
            alone.generate_next_token()
        assert batch.get_sequence(row) == alone.get_sequence()


def test_options_of_each_sequence(model):
    """One is greedy, others draw with penalties and seeds of their own, and end by themselves."""
    options = [
        SearchOptions(max_length=30),
        SearchOptions(do_sample=True, temperature=1.3, random_seed=4, max_length=45),
        SearchOptions(do_sample=True, top_p=0.9, min_p=0.02, random_seed=4, min_length=40),
        SearchOptions(repetition_penalty=1.5, max_length=20),
    ]
    batch = Generator(model, options, batch_size=len(PROMPTS))
    batch.append_tokens(PROMPTS)
    while not batch.is_done():
        batch.generate_next_token()
    for row, prompt in enumerate(PROMPTS):
        alone = Generator(model, options[row])
        alone.append_tokens(prompt)
        while not alone.is_done():
            alone.generate_next_token()
        assert batch.get_sequence(row) == alone.get_sequence()
    with pytest.raises(UsageError, match="options of 4 sequences, there are 2"):
        Generator(model, options, batch_size=2)


def test_a_batch_that_is_changed(model):
    """Rows are appended to and rewound one by one."""
    batch = Generator(model, batch_size=4, min_length=tiny.CONTEXT)
    batch.append_tokens(PROMPTS)
    for _ in range(5):
        batch.generate_next_token()
    batch.rewind_to([3, 21, 9, 5])
    batch.append_tokens([[], [30, 31], [], list(range(60, 75))])
    before = [batch.get_sequence(row) for row in range(4)]
    for _ in range(5):
        batch.generate_next_token()
    for row, tokens in enumerate(before):
        alone = Generator(model, min_length=tiny.CONTEXT)
        alone.append_tokens(tokens)
        assert continued(alone, 5) == batch.get_sequence(row)


def test_a_sequence_that_ends(model):
    """By the model's token, in a batch whose other sequence goes on."""
    batch = Generator(model, batch_size=4, max_length=8)
    batch.append_tokens([[5, 6], [7, 8, 9], [10], [11]])
    logits = np.zeros((4, tiny.VOCAB), np.float32)
    logits[0, 1] = logits[1:, 20] = 9
    batch.set_logits(logits)
    batch.generate_next_token()
    assert batch.get_next_tokens().tolist() == [1, 20, 20, 20]
    assert not batch.is_done()
    batch.generate_next_token()
    assert batch.get_next_tokens()[0] == 1  # padding
    assert batch.get_sequence(0) == [5, 6, 1]
    assert len(batch.get_sequence(1)) == 5
    batch.rewind_to([2, 3, 1, 1])
    assert not batch.is_done()


def test_logits_that_are_not_numbers(model):
    generator = Generator(model)
    generator.append_tokens([5, 6])
    generator.set_logits(np.full((1, tiny.VOCAB), np.nan))
    with pytest.raises(ExecutionError, match="sequence 0: logits behind 2 tokens are NaN or infi"):
        generator.generate_next_token()


class EvenTokens:
    """A constraint for even tokens, three of them."""

    def __init__(self):
        self.accepted = []

    def allowed(self):
        return np.arange(tiny.VOCAB) % 2 == 0

    def accept(self, token):
        self.accepted.append(token)

    def rewind(self, count):
        del self.accepted[len(self.accepted) - count :]

    @property
    def is_complete(self):
        return len(self.accepted) == 3


def test_a_constraint(model):
    constraint = EvenTokens()
    generator = Generator(model, batch_size=4, constraints=[None, constraint, None, None])
    generator.append_tokens([[5, 6], [7], [8], [9]])
    for _ in range(3):
        generator.generate_next_token()
    found = generator.get_sequence(1)[1:]
    assert found == constraint.accepted
    assert all(token % 2 == 0 for token in found)
    generator.rewind_to([5, 2, 1, 1])
    assert constraint.accepted == found[:1]
    generator.rewind_to([5, 1, 1, 1])
    assert constraint.accepted == []
