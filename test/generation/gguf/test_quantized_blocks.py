"""Blocks of GGUF as weights of MatMulNBits."""

import numpy as np
import pytest
from tiny_language_models import dequantized

from graphc.generation.gguf.quantized_blocks import BLOCK_FORMATS, quantized_matrix

FLOATS = {
    "Q2_K": (80, 82),
    "Q3_K": (108,),
    "Q6_K": (208,),
    "Q4_0": (0,),
    "Q5_0": (0,),
    "Q8_0": (0,),
}
"""Where blocks have f16; others have two at their beginning."""


def random_blocks(name, rows=3, count=2):
    """Random bytes with scales that are numbers, one of them zero."""
    rng = np.random.default_rng(0)
    size = BLOCK_FORMATS[name].block_bytes
    blocks = rng.integers(0, 256, (rows * count, size), np.uint8)
    for first in FLOATS.get(name, (0, 2)):
        floats = rng.normal(size=rows * count).astype(np.float16)
        blocks[:, first : first + 2] = floats[:, None].view(np.uint8)
    first = FLOATS.get(name, (0,))[0]
    blocks[0, first : first + 2] = 0
    return blocks.reshape(rows, count * size)


@pytest.mark.parametrize("name", BLOCK_FORMATS)
def test_values_are_those_of_the_format(name):
    gguf = pytest.importorskip("gguf")
    kind = gguf.GGMLQuantizationType[name]
    assert gguf.GGML_QUANT_SIZES[kind][1] == BLOCK_FORMATS[name].block_bytes
    data = random_blocks(name)
    expected = gguf.quants.dequantize(data, kind)
    matrix = quantized_matrix(name, data)
    assert (matrix.rows, matrix.columns) == expected.shape
    tolerance = 1e-7 * abs(expected).max()  # of the zero point
    np.testing.assert_allclose(dequantized(matrix), expected, rtol=0, atol=tolerance)


def test_the_low_halves_come_first():
    scale = np.array([0.5], np.float16).view(np.uint8)
    block = np.concatenate([scale, np.arange(16, dtype=np.uint8) | 0xF0])
    matrix = quantized_matrix("Q4_0", block[None])
    expected = np.concatenate([np.arange(16) - 8, np.full(16, 7)]) * 0.5
    np.testing.assert_array_equal(dequantized(matrix)[0], expected)


def test_a_group_of_one_value_keeps_it():
    """Without a scale there is no zero point for the offset."""
    floats = np.array([0, 0.25], np.float16).view(np.uint8)
    block = np.concatenate([floats, np.full(16, 0x5A, np.uint8)])
    matrix = quantized_matrix("Q4_1", block[None])
    np.testing.assert_array_equal(dequantized(matrix), np.full((1, 32), 0.25))


def test_rows_in_another_order():
    matrix = quantized_matrix("Q4_1", random_blocks("Q4_1"))
    order = np.array([2, 0, 1])
    np.testing.assert_array_equal(dequantized(matrix.take_rows(order)), dequantized(matrix)[order])
