"""Counts of n-grams against ONNX Runtime."""

import numpy as np
import pytest
from numerics import Cases, Feed

from graphc.errors import InvalidModelError, UnsupportedModelError
from graphc.frontend.onnx import import_onnx

_random = np.random.default_rng(0)
_POOL = {
    "ngram_counts": [0, 4],
    "ngram_indexes": [0, 5, 2, 3, 1, 4, 6],
    "pool_int64s": [2, 3, 5, 4, 5, 6, 7, 8, 6, 7],
}


def _node(**attributes) -> dict:
    lengths = {"mode": "TF", "min_gram_length": 1, "max_gram_length": 2, "max_skip_count": 0}
    return _POOL | lengths | attributes


def test_n_grams():
    cases = Cases(opset=9)
    x = _random.integers(2, 9, (4, 12))
    weights = [0.5, 2, 3, 4, -5, 6, 7]
    cases.add("TfIdfVectorizer", x, **_node())
    cases.add("TfIdfVectorizer", Feed(x[0].astype(np.int32), ["n"]), **_node(max_skip_count=5))
    cases.add("TfIdfVectorizer", x, **_node(min_gram_length=2, max_skip_count=3))
    cases.add("TfIdfVectorizer", x, **_node(max_gram_length=1, max_skip_count=3, mode="IDF"))
    for mode in ("IDF", "TFIDF"):
        cases.add("TfIdfVectorizer", Feed(x, ["b", "n"]), **_node(mode=mode, weights=weights))
    cases.add("TfIdfVectorizer", Feed(x[:, :1], ["b", "n"]), **_node(max_skip_count=2))
    shared = [0, 1, 1, 0, 2, 2, 3]
    cases.add("TfIdfVectorizer", x, **_node(ngram_indexes=shared, mode="TFIDF", weights=weights))
    cases.add("TfIdfVectorizer", x, **_node(ngram_indexes=shared, mode="IDF"))
    cases.compare_with_onnxruntime()


def test_longer_n_grams():
    cases = Cases(opset=9)
    pool = {"pool_int64s": [1, 1, 2, 0, 1, 2, 2, 2, 1], "ngram_counts": [0, 1, 3],
            "ngram_indexes": [3, 1, 0, 2]}  # fmt: skip
    for low, high, skips in ((1, 3, 0), (2, 3, 4), (3, 3, 2), (1, 2, 1)):
        cases.add("TfIdfVectorizer", _random.integers(0, 3, (3, 20)), **pool, mode="TF",
                  min_gram_length=low, max_gram_length=high, max_skip_count=skips)  # fmt: skip
    cases.compare_with_onnxruntime()


def test_many_n_grams():
    cases = Cases(opset=9)
    words = np.unique(_random.integers(-(1 << 40), 1 << 40, 200))
    grams = [np.unique(_random.choice(words[:12], (500, size)), axis=0) for size in (1, 2, 3)]
    starts = np.cumsum([0, *(part.size for part in grams[:-1])])
    count = sum(map(len, grams))
    pool = {"pool_int64s": np.concatenate([part.ravel() for part in grams]).tolist(),
            "ngram_counts": starts.tolist(), "ngram_indexes": _random.permutation(count).tolist(),
            "weights": _random.random(count).astype(np.float32).tolist()}  # fmt: skip
    x = _random.choice(words[:14], (3, 40))
    for mode in ("TF", "IDF", "TFIDF"):
        cases.add("TfIdfVectorizer", Feed(x, ["b", "n"]), **pool, mode=mode, min_gram_length=1,
                  max_gram_length=3, max_skip_count=1)  # fmt: skip
    cases.compare_with_onnxruntime()


def test_as_many_skipped_elements_as_there_can_be():
    cases = Cases(opset=9)
    x = _random.integers(2, 9, (4, 12))
    cases.add("TfIdfVectorizer", x, **_node(min_gram_length=2, max_skip_count=(1 << 63) - 1))
    cases.compare_compiled_with_evaluation()
    cases.add("TfIdfVectorizer", Feed(x, ["b", "n"]), **_node(max_skip_count=(1 << 63) - 1))
    with pytest.raises(UnsupportedModelError, match="999 being the most"):
        import_onnx(cases.model())


def test_rows_of_nothing():
    cases = Cases(opset=9)
    cases.add("TfIdfVectorizer", np.zeros((2, 0), np.int64), **_node())
    cases.add("TfIdfVectorizer", Feed(np.zeros((2, 0), np.int32), ["b", "n"]), **_node())
    cases.add("TfIdfVectorizer", np.ones((2, 3), np.int64), **_node(min_gram_length=2))
    cases.compare_compiled_with_evaluation()
    cases.compare_evaluation()


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"mode": "BM25"}, "mode 'BM25' is unknown"),
        ({"min_gram_length": 3}, "n-grams of 3 to 2"),
        ({"ngram_counts": [0, 11]}, r"ngram_counts \[0, 11\] for a pool of 10"),
        ({"ngram_indexes": [0, 1]}, "2 ngram_indexes for more n-grams"),
        ({"ngram_indexes": [0, 1, 2, -3, 4, 5, 6]}, "an index of -3"),
        ({"mode": "IDF", "weights": [1.0]}, "1 weights for 7 n-grams"),
    ],
)
def test_what_does_not_fit(attributes, message):
    cases = Cases(opset=9)
    cases.add("TfIdfVectorizer", np.zeros((2, 3), np.int64), **_node(**attributes))
    with pytest.raises(InvalidModelError, match=message):
        import_onnx(cases.model())


def test_what_is_refused():
    cases = Cases(opset=9)
    same = {"ngram_indexes": [0, 0, 1, 2, 3, 4, 5], "weights": [0.5] * 7, "mode": "IDF"}
    cases.add("TfIdfVectorizer", np.zeros(3, np.int64), **_node(**same))
    with pytest.raises(UnsupportedModelError, match="weights of n-grams that share a column"):
        import_onnx(cases.model())
    cases = Cases(opset=9)
    attributes = _node() | {"pool_strings": [b"a"] * 10}
    del attributes["pool_int64s"]
    cases.add("TfIdfVectorizer", np.zeros(3, np.int64), **attributes)
    with pytest.raises(UnsupportedModelError, match="n-grams of strings"):
        import_onnx(cases.model())
