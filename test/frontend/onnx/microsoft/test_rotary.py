"""Rotary embeddings of com.microsoft against ONNX Runtime."""

import numpy as np
import pytest
from numerics import Cases, Feed, const

from graphc.errors import InvalidModelError, UnsupportedModelError
from graphc.frontend.onnx import import_onnx

DOMAIN = "com.microsoft"
_random = np.random.default_rng(0)


def _floats(*shape: int) -> np.ndarray:
    return _random.standard_normal(shape).astype(np.float32)


def test_rotary_embedding():
    cases = Cases(opset=21, domains={DOMAIN: 1})
    angles = [const(_floats(10, 4)), const(_floats(10, 4))]
    position_ids = np.int64([[0, 1, 2], [5, 6, 9]])
    for interleaved in (0, 1):

        def add(*inputs, interleaved=interleaved, **attributes):
            cases.add(
                "RotaryEmbedding", *inputs, domain=DOMAIN, interleaved=interleaved, **attributes
            )

        add(_floats(2, 3, 16), position_ids, *angles)
        add(_floats(2, 4, 3, 8), np.int64([4]), *angles)
        add(_floats(2, 3, 32), position_ids, *angles, num_heads=2, rotary_embedding_dim=8)
        add(Feed(_floats(2, 3, 16), ["b", "s", 16]), Feed(position_ids, ["b", "s"]), *angles)
    cases.compare_with_onnxruntime()


def test_three_positions():
    cases = Cases(opset=21, domains={DOMAIN: 1})
    angles = [const(_floats(10, 8)), const(_floats(10, 8))]
    position_ids = _random.integers(0, 10, (3, 2, 5))
    for layout, interleaved in ((0, 0), (1, 0), (0, 1)):
        cases.add(
            "MRotaryEmbedding", _floats(2, 5, 32), position_ids, *angles, domain=DOMAIN,
            mrope_section=[4, 2, 2], num_heads=2, mrope_layout=layout, interleaved=interleaved,
        )  # fmt: skip
    cases.compare_with_onnxruntime()


@pytest.mark.parametrize(
    ("attributes", "error", "reason"),
    [
        ({"is_packed_batching": 1}, UnsupportedModelError, "packed batches"),
        ({"scale": 2.0}, UnsupportedModelError, "scale=2.0"),
        ({"rotary_embedding_dim": 4}, InvalidModelError, "needs num_heads"),
    ],
)
def test_refuses(attributes, error, reason):
    cases = Cases(opset=21, domains={DOMAIN: 1})
    angles = [_floats(10, 4), _floats(10, 4)]
    cases.add(
        "RotaryEmbedding", _floats(2, 3, 8), np.int64([0]), *angles, domain=DOMAIN, **attributes
    )
    with pytest.raises(error, match=reason):
        import_onnx(cases.model())
