"""The choice of the next token: compiled, beside a reference in numpy."""

import numpy as np
import onnx
import pytest
from onnx import helper
from sampling_reference import choose, remaining

import graphc
from graphc.generation import SearchOptions
from graphc.generation.sampling import (
    FINITE,
    LOGITS,
    TOKENS,
    RowSampling,
    sampling_feeds,
    sampling_graph,
)

ROWS, VOCAB = 2, 40
OPTIONS = {
    "greedy": {},
    "greedy with a penalty": {"repetition_penalty": 1.8},
    "all": {"do_sample": True, "top_k": 0},
    "temperature": {"do_sample": True, "top_k": 0, "temperature": 0.3},
    "top_k": {"do_sample": True, "top_k": 3},
    "top_k beyond the vocabulary": {"do_sample": True, "top_k": 1000},
    "top_p": {"do_sample": True, "top_k": 0, "top_p": 0.6},
    "top_p of almost nothing": {"do_sample": True, "top_p": 1e-6},
    "min_p": {"do_sample": True, "top_k": 0, "min_p": 0.2},
    "penalty": {"do_sample": True, "top_k": 0, "repetition_penalty": 3.0},
    "every one": {
        "do_sample": True, "temperature": 1.7, "top_k": 20, "top_p": 0.8, "min_p": 0.05,
        "repetition_penalty": 1.2,
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def sampling():
    """The compiled choice for `ROWS` rows."""
    graph = sampling_graph(ROWS, VOCAB)
    opsets = [helper.make_opsetid("", 13)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    onnx.checker.check_model(model)
    with graphc.compile(model) as compiled:
        yield compiled


def run(sampling, options, logits, seen, position=0, allowed=None):
    """Choose by `options`, of all rows or of each; rows of one seed draw different numbers."""
    allowed = np.ones((ROWS, VOCAB), bool) if allowed is None else allowed
    if isinstance(options, SearchOptions):
        seed = options.random_seed
        options = [options.replace({"random_seed": seed + row}) for row in range(ROWS)]
    rows = zip(options, seen, allowed, strict=True)
    feeds = sampling_feeds([RowSampling(*row, position) for row in rows])
    tokens, finite = sampling.run([TOKENS, FINITE], {LOGITS: logits, **feeds})
    return tokens, finite, feeds["sampling_uniform"][:, 0]


@pytest.mark.parametrize("name", OPTIONS)
def test_tokens_are_those_of_the_reference(name, sampling):
    options = SearchOptions(**OPTIONS[name])
    rng = np.random.default_rng(0)
    chosen = set()
    for position in range(30):
        logits = rng.normal(size=(ROWS, VOCAB)).astype(np.float32) * 2
        seen = rng.random((ROWS, VOCAB)) < 0.3
        tokens, _, uniform = run(sampling, options, logits, seen, position)
        expected = [
            choose(*each, options, u) for *each, u in zip(logits, seen, uniform, strict=True)
        ]
        assert tokens.tolist() == expected
        chosen |= {
            np.argsort(-row).tolist().index(t) for row, t in zip(logits, tokens, strict=True)
        }
    is_random = options.do_sample and name != "top_p of almost nothing"
    assert (len(chosen) > 1) == (is_random or options.repetition_penalty > 1)


def test_options_are_those_of_transformers():
    """The reference keeps the tokens that transformers' own classes keep."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    options = SearchOptions(
        do_sample=True, temperature=1.3, top_k=15, top_p=0.85, min_p=0.04, repetition_penalty=1.4
    )
    processors = [
        transformers.RepetitionPenaltyLogitsProcessor(options.repetition_penalty),
        transformers.TemperatureLogitsWarper(options.temperature),
        transformers.TopKLogitsWarper(options.top_k),
        transformers.TopPLogitsWarper(options.top_p),
        transformers.MinPLogitsWarper(options.min_p),
    ]
    rng = np.random.default_rng(3)
    for _ in range(20):
        logits, seen = rng.normal(size=VOCAB).astype(np.float32) * 2, rng.random(VOCAB) < 0.3
        scores = torch.tensor(logits)[None]
        for processor in processors:
            scores = processor(torch.tensor(np.flatnonzero(seen))[None], scores)
        expected = torch.softmax(scores, -1)[0].numpy()
        np.testing.assert_allclose(remaining(logits, seen, options), expected, atol=1e-6)


def test_shares_are_those_of_the_weights(sampling):
    """Every seed draws a number of its own."""
    logits = np.full((ROWS, VOCAB), -30, np.float32)
    logits[:, [3, 8]] = np.log([0.25, 0.75])
    drawn = []
    for seed in range(200):
        options = SearchOptions(do_sample=True, random_seed=2 * seed)
        tokens, _, _ = run(sampling, options, logits, np.zeros((ROWS, VOCAB), bool))
        drawn += tokens.tolist()
    assert set(drawn) == {3, 8}
    assert drawn.count(3) == pytest.approx(100, abs=30)  # of 400; three standard deviations are 26


def test_tokens_that_are_not_allowed(sampling):
    rng = np.random.default_rng(4)
    allowed = np.zeros((ROWS, VOCAB), bool)
    allowed[0, 7] = allowed[1, [2, 3]] = True
    for do_sample in (False, True):
        options = SearchOptions(do_sample=do_sample, temperature=5.0)
        logits = rng.normal(size=(ROWS, VOCAB)).astype(np.float32) * 9
        none = np.zeros((ROWS, VOCAB), bool)
        tokens, _, _ = run(sampling, options, logits, none, allowed=allowed)
        assert tokens[0] == 7
        assert tokens[1] in (2, 3)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_logits_that_are_not_numbers(sampling, wrong):
    logits = np.zeros((ROWS, VOCAB), np.float32)
    logits[0, 5], logits[1, 5] = wrong, -np.inf
    _, finite, _ = run(sampling, SearchOptions(), logits, np.zeros((ROWS, VOCAB), bool))
    assert finite.tolist() == [False, True]


@pytest.mark.parametrize("name", OPTIONS)
def test_rows_have_options_of_their_own(name, sampling):
    """One row draws, and the other chooses as it would alone."""
    options = SearchOptions(**OPTIONS[name])
    other = SearchOptions(do_sample=True, temperature=0.7, top_k=9, min_p=0.01, random_seed=5)
    rng = np.random.default_rng(1)
    for position in range(20):
        logits = rng.normal(size=(ROWS, VOCAB)).astype(np.float32) * 2
        seen = rng.random((ROWS, VOCAB)) < 0.3
        both, _, uniform = run(sampling, [options, other], logits, seen, position)
        for row, each in enumerate((options, other)):
            assert both[row] == choose(logits[row], seen[row], each, uniform[row])
        alone, _, _ = run(sampling, [options, options], logits, seen, position)
        assert both[0] == alone[0]


def test_the_most_probable_of_equal_tokens(sampling):
    """The first of them, also where another row draws; zeros of both signs are equal."""
    draws = SearchOptions(do_sample=True)
    logits = np.full((ROWS, VOCAB), -1, np.float32)
    for ties in ({3: 2.0, 30: 2.0}, {3: 0.0, 30: -0.0}, {3: -0.0, 30: 0.0}):
        logits[:, list(ties)] = list(ties.values())
        for options in ([SearchOptions()] * 2, [SearchOptions(), draws]):
            tokens, _, _ = run(sampling, options, logits, np.zeros((ROWS, VOCAB), bool))
            assert tokens[0] == 3


def test_random_numbers_depend_on_seed_and_position():
    def draw(seed, position):
        options = SearchOptions(do_sample=True, random_seed=seed)
        none = np.zeros(VOCAB, bool)
        feeds = sampling_feeds([RowSampling(options, none, ~none, position)])
        return feeds["sampling_uniform"].item()

    assert draw(5, 9) == draw(5, 9)
    assert len({draw(5, 9), draw(6, 9), draw(5, 10)}) == 3
