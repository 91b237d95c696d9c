"""The kernel for rotary embeddings, against ONNX's reference."""

import numpy as np
from numerics import Cases
from onnx.reference import ReferenceEvaluator

import graphc

_random = np.random.default_rng(0)


def _floats(*shape: int) -> np.ndarray:
    return _random.standard_normal(shape).astype(np.float32)


def test_halves_of_whole_vectors():
    """All of a row is turned, or its beginning; heads share angles, by position or not."""
    cases = Cases(opset=23)
    cases.add("RotaryEmbedding", _floats(2, 4, 3, 64), _floats(2, 3, 32), _floats(2, 3, 32))
    cases.add(
        "RotaryEmbedding", _floats(2, 4, 3, 48), _floats(2, 3, 16), _floats(2, 3, 16),
        rotary_embedding_dim=32,
    )  # fmt: skip
    cases.add(
        "RotaryEmbedding", _floats(1, 3, 70, 96), _floats(99, 48), _floats(99, 48),
        _random.integers(0, 99, (1, 70)),
    )  # fmt: skip
    cases.add(
        "RotaryEmbedding", _floats(2, 5, 128), _floats(2, 5, 16), _floats(2, 5, 16), num_heads=4
    )
    model = cases.model()
    expected = ReferenceEvaluator(model).run(None, cases.feeds)
    with graphc.compile(model, threads=2) as compiled:
        assert compiled.report.rewrites["rotary-kernel"].count == 4
        for ours, reference in zip(compiled.run(None, cases.feeds), expected, strict=True):
            np.testing.assert_allclose(ours, reference, rtol=1e-5, atol=1e-6)
