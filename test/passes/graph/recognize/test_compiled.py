"""A small decoder block as exporters write it, compiled, against ONNX Runtime."""

from contextlib import closing

import numpy as np
import onnx
import onnx.parser
import onnxruntime

import graphc

BLOCK = """
<ir_version: 8, opset_import: ["" : 13]>
block (float[batch, 6, 16] x, int64[batch, 6] seen) => (float[batch, 6, 16] y)
<float epsilon = {0.00001}, float two = {2.0}, float half = {0.5}, float one = {1.0},
 float root = {1.41421356}, float scale = {0.35355339}, float lowest = {-3.4028235e38},
 float cubic = {0.044715}, float tangent = {0.79788456}, float three = {3.0}, float zero = {0.0},
 int64[4] four_heads = {0, 0, 4, 8}, int64[4] two_heads = {0, 0, 2, 8},
 int64[3] joined = {0, 0, 32},
 int64[5] twice = {1, 1, 2, 1, 1}, int64[4] repeated = {0, 4, -1, 8}, int64[1] last = {3},
 int64[1] start = {0}, int64[1] middle = {4}, int64[1] end = {8}, int64[2] key_axes = {1, 2}
>
{
  mean = ReduceMean <axes = [-1]> (x)
  centred = Sub (x, mean)
  squares = Pow (centred, two)
  variance = ReduceMean <axes = [-1]> (squares)
  shifted = Add (variance, epsilon)
  deviation = Sqrt (shifted)
  normal = Div (centred, deviation)
  scaled = Mul (normal, gamma)
  h = Add (scaled, beta)

  q0 = MatMul (h, wq)
  q1 = Reshape (q0, four_heads)
  q2 = Transpose <perm = [0, 2, 1, 3]> (q1)
  k0 = MatMul (h, wk)
  k1 = Reshape (k0, two_heads)
  k2 = Transpose <perm = [0, 2, 1, 3]> (k1)
  v0 = MatMul (h, wv)
  v1 = Reshape (v0, two_heads)
  v2 = Transpose <perm = [0, 2, 1, 3]> (v1)

  q_first = Slice (q2, start, middle, last)
  q_second = Slice (q2, middle, end, last)
  q_minus = Neg (q_second)
  q_turned = Concat <axis = -1> (q_minus, q_first)
  q_cos = Mul (q2, cos)
  q_sin = Mul (q_turned, sin)
  q = Add (q_cos, q_sin)

  k3 = Unsqueeze (k2, two_axis)
  k4 = Expand (k3, twice)
  k5 = Reshape (k4, repeated)
  v3 = Unsqueeze (v2, two_axis)
  v4 = Expand (v3, twice)
  v5 = Reshape (v4, repeated)
  k6 = Transpose <perm = [0, 1, 3, 2]> (k5)
  products = MatMul (q, k6)
  scores = Mul (products, scale)
  is_seen = Cast <to = 9> (seen)
  keys = Unsqueeze (is_seen, key_axes)
  mask = Where (keys, zero, lowest)
  masked = Add (scores, mask)
  weights = Softmax <axis = -1> (masked)
  broken = IsNaN (weights)
  whole = Where (broken, zero, weights)
  mixed = MatMul (whole, v5)
  back = Transpose <perm = [0, 2, 1, 3]> (mixed)
  flat = Reshape (back, joined)
  projected = MatMul (flat, wo)
  r = Add (x, projected)

  squared = Mul (r, r)
  power = ReduceMean <axes = [-1]> (squared)
  power_shifted = Add (power, epsilon)
  power_root = Sqrt (power_shifted)
  inverse = Reciprocal (power_root)
  rms = Mul (r, inverse)
  g = Mul (gamma, rms)

  gate = MatMul (g, wg)
  up = MatMul (g, wu)
  gate_cube = Pow (gate, three)
  gate_term = Mul (gate_cube, cubic)
  gate_sum = Add (gate, gate_term)
  gate_scaled = Mul (gate_sum, tangent)
  gate_tanh = Tanh (gate_scaled)
  gate_plus = Add (gate_tanh, one)
  gate_half = Mul (gate, half)
  gelu = Mul (gate_half, gate_plus)
  gated = Mul (gelu, up)
  down = MatMul (gated, wd)
  quotient = Div (down, root)
  erf = Erf (quotient)
  erf_plus = Add (erf, one)
  product = Mul (down, erf_plus)
  exact = Mul (product, half)
  y = Add (r, exact)
}
"""
SHAPES = {
    "gamma": (16,), "beta": (16,), "wq": (16, 32), "wk": (16, 16), "wv": (16, 16),
    "wo": (32, 16), "wg": (16, 24), "wu": (16, 24), "wd": (24, 16),
}  # fmt: skip
LENGTH = 6


def block() -> onnx.ModelProto:
    """The block with random weights, and angles for a sequence of `LENGTH`."""
    model = onnx.parser.parse_model(BLOCK)
    rng = np.random.default_rng(0)
    arrays = {n: rng.standard_normal(s).astype(np.float32) / 4 for n, s in SHAPES.items()}
    angles = np.tile(np.outer(np.arange(LENGTH), 0.5 ** np.arange(4)), 2).astype(np.float32)
    arrays |= {"cos": np.cos(angles), "sin": np.sin(angles), "two_axis": np.array([2])}
    for name, array in arrays.items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    return model


def test_decoder_block():
    model = block()
    session = onnxruntime.InferenceSession(model.SerializeToString())
    with closing(graphc.compile(model, threads=1)) as compiled:
        for batch in (1, 3):
            seen = np.ones((batch, LENGTH), np.int64)
            seen[0, 4:] = 0
            x = np.random.default_rng(batch).standard_normal((batch, LENGTH, 16))
            feeds = {"x": x.astype(np.float32), "seen": seen}
            (expected,) = session.run(None, feeds)
            (actual,) = compiled.run(None, feeds)
            np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)
        rewrites = compiled.report.rewrites
    fired = {name: s.count for name, s in rewrites.items() if s.count}
    expected_counts = {
        "recognize-layer-norm": 1,
        "recognize-rms-norm": 1,
        "recognize-norm-scale": 2,
        "recognize-norm-bias": 1,
        "recognize-rotary-embedding": 1,
        "recognize-attention": 1,
        "recognize-grouped-heads": 1,
        "recognize-gelu": 2,
        "merge-matmuls": 2,
    }
    assert {name: fired.get(name) for name in expected_counts} == expected_counts
