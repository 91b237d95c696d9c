"""A tiny decoder of one layer as transformers exports BLOOM: merged queries, keys and values,
biases by distance (ALiBi), and heads and batches in one axis."""

import numpy as np
import onnx
from growing_decoders import HEADS, VOCAB, WIDTH
from onnx import numpy_helper, parser

_MODEL = """
<ir_version: 8, opset_import: ["" : 17]>
decoder (int64[b, s] input_ids, int64[b, t] attention_mask,
  float[b, 2, p, 16] "past_key_values.0.key", float[b, 2, p, 16] "past_key_values.0.value")
  => (float[b, s, 40] logits, float[b, 2, q, 16] "present.0.key",
      float[b, 2, q, 16] "present.0.value")
<int64[5] parts = {0, 0, 2, 3, 16}, int64[3] merged = {0, 0, 32}, int64 zero = {0}, int64 one = {1},
 int64 two = {2}, int64[1] axis1 = {1}, int64[2] column = {-1, 1},
 int64[1] minus_one = {-1}, int64[1] width = {16}, int64[1] unit = {1}, int64[2] outer = {1, 2},
 int64[1] heads = {2}, float scale = {0.25}, float hidden = {-3.4e38}, float visible = {0}>
{
  id_shape = Shape(input_ids)
  count = Gather(id_shape, one)
  rows = Gather(id_shape, zero)
  rows1 = Unsqueeze(rows, first)
  count1 = Unsqueeze(count, first)
  past_shape = Shape("past_key_values.0.key")
  past = Gather(past_shape, two)
  total = Add(past, count)
  total1 = Unsqueeze(total, first)
  x = Gather(embed, input_ids)
  qkv0 = MatMul(x, w_qkv)
  qkv = Reshape(qkv0, parts)
  qkv_t = Transpose<perm = [3, 0, 2, 1, 4]>(qkv)
  q = Gather<axis = 0>(qkv_t, zero)
  k = Gather<axis = 0>(qkv_t, one)
  v = Gather<axis = 0>(qkv_t, two)
  "present.0.key" = Concat<axis = 2>("past_key_values.0.key", k)
  "present.0.value" = Concat<axis = 2>("past_key_values.0.value", v)
  batches = Mul(rows1, heads)
  q_shape = Concat<axis = 0>(batches, minus_one, width)
  q3 = Reshape(q, q_shape)
  k3 = Reshape("present.0.key", q_shape)
  kt = Transpose<perm = [0, 2, 1]>(k3)
  v3 = Reshape("present.0.value", q_shape)
  sums = CumSum(attention_mask, one)
  before = Sub(sums, one)
  place0 = Mul(before, attention_mask)
  place1 = Unsqueeze(place0, axis1)
  place = Cast<to = 1>(place1)
  alibi0 = Mul(slopes, place)
  alibi_shape = Concat<axis = 0>(batches, unit, total1)
  alibi = Reshape(alibi0, alibi_shape)
  products = MatMul(q3, kt)
  scaled = Mul(products, scale)
  biased = Add(alibi, scaled)
  score_shape = Concat<axis = 0>(rows1, heads, count1, total1)
  biased4 = Reshape(biased, score_shape)
  own = Range(past, total, one)
  own_column = Reshape(own, column)
  every = Range(zero, total, one)
  is_seen = LessOrEqual(every, own_column)
  causal = Where(is_seen, visible, hidden)
  given = Unsqueeze(attention_mask, outer)
  is_given = Cast<to = 9>(given)
  padding = Where(is_given, visible, hidden)
  mask = Add(causal, padding)
  scores = Add(biased4, mask)
  weights4 = Softmax<axis = -1>(scores)
  weight_shape = Concat<axis = 0>(batches, count1, total1)
  weights = Reshape(weights4, weight_shape)
  y0 = MatMul(weights, v3)
  y_shape = Concat<axis = 0>(rows1, heads, count1, width)
  y1 = Reshape(y0, y_shape)
  y2 = Transpose<perm = [0, 2, 1, 3]>(y1)
  y3 = Reshape(y2, merged)
  y4 = MatMul(y3, w_out)
  y = Add(x, y4)
  logits = MatMul(y, head)
}
"""


_OLD = {
    'float[b, 2, p, 16] "past_key_values.0.key"': 'float[n, 16, p] "past_key_values.0.key"',
    'float[b, 2, p, 16] "past_key_values.0.value"': 'float[n, p, 16] "past_key_values.0.value"',
    'float[b, 2, q, 16] "present.0.key"': 'float[n, 16, q] "present.0.key"',
    'float[b, 2, q, 16] "present.0.value"': 'float[n, q, 16] "present.0.value"',
    '"present.0.key" = Concat<axis = 2>("past_key_values.0.key", k)': "",
    '"present.0.value" = Concat<axis = 2>("past_key_values.0.value", v)': "",
    'k3 = Reshape("present.0.key", q_shape)': "k3 = Reshape(k, q_shape)",
    "kt = Transpose<perm = [0, 2, 1]>(k3)": """k_columns = Transpose<perm = [0, 2, 1]>(k3)
  "present.0.key" = Concat<axis = 2>("past_key_values.0.key", k_columns)
  new_values = Reshape(v, q_shape)
  "present.0.value" = Concat<axis = 1>("past_key_values.0.value", new_values)""",
    'v3 = Reshape("present.0.value", q_shape)': "",
    "MatMul(q3, kt)": 'MatMul(q3, "present.0.key")',
    "MatMul(weights, v3)": 'MatMul(weights, "present.0.value")',
}
"""Parts of the text, and those that older exports have in their place: heads and batches in one
axis of the caches, too."""


def bloom_decoder(*, old: bool = False) -> onnx.ModelProto:
    """A decoder without a norm, with random weights."""
    text = _MODEL
    for form, replaced in _OLD.items() if old else ():
        assert form in text
        text = text.replace(form, replaced)
    model = parser.parse_model(text)
    random = np.random.default_rng(0)
    shapes = {
        "embed": (VOCAB, WIDTH), "w_qkv": (WIDTH, 3 * WIDTH), "w_out": (WIDTH, WIDTH),
        "head": (WIDTH, VOCAB),
    }  # fmt: skip
    arrays = {
        name: random.normal(size=shape).astype(np.float32) / (1 if name == "embed" else 4)
        for name, shape in shapes.items()
    }
    arrays["slopes"] = np.array([0.5, 0.25], np.float32).reshape(HEADS, 1)
    arrays["first"] = np.array([0])
    for name, values in arrays.items():
        model.graph.initializer.append(numpy_helper.from_array(values, name))
    return model
