"""Tiny decoders of one layer whose cache grows, in the forms that exporters write."""

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper, parser

VOCAB, WIDTH, HEADS, SIZE, CONTEXT = 40, 32, 2, 16, 48
CONFIG = {
    "model_type": "llama", "vocab_size": VOCAB, "hidden_size": WIDTH, "num_attention_heads": HEADS,
    "num_hidden_layers": 1, "max_position_embeddings": CONTEXT, "bos_token_id": 1,
    "eos_token_id": 2,
}  # fmt: skip

_MODEL = """
<ir_version: 8, opset_import: ["" : {opset}, "com.microsoft" : 1]>
decoder (int64[b, s] input_ids, int64[b, t] attention_mask,
  float[b, 2, p, 16] "past_key_values.0.key", float[b, 2, p, 16] "past_key_values.0.value")
  => (float[b, s, 40] logits, float[b, 2, q, 16] "present.0.key",
      float[b, 2, q, 16] "present.0.value")
<int64[4] heads = {{0, 0, 2, 16}}, int64[3] merged = {{0, 0, 32}}, int64 zero = {{0}},
 int64 one = {{1}}, int64 two = {{2}}, int64[2] column = {{-1, 1}},
 float scale = {{0.25}}, float hidden = {{-3.4e38}}, float visible = {{0}},
 int64[2] outer = {{1, 2}}>
{{
  past_shape = Shape("past_key_values.0.key")
  past = Gather(past_shape, two)
  id_shape = Shape(input_ids)
  count = Gather(id_shape, one)
  total = Add(past, count)
  own = Range(past, total, one)
  own_column = Reshape(own, column)
  every = Range(zero, total, one)
  {embedding}
  q0 = MatMul(x, wq)
  k0 = MatMul(x, wk)
  v0 = MatMul(x, wv)
  q1 = Reshape(q0, heads)
  k1 = Reshape(k0, heads)
  v1 = Reshape(v0, heads)
  q2 = Transpose<perm = [0, 2, 1, 3]>(q1)
  k2 = Transpose<perm = [0, 2, 1, 3]>(k1)
  v2 = Transpose<perm = [0, 2, 1, 3]>(v1)
  {seen}
  causal = Where(is_seen, visible, hidden)
  given = Unsqueeze(attention_mask, outer)
  is_given = Cast<to = 9>(given)
  padding = Where(is_given, visible, hidden)
  mask = Add(causal, padding)
  {attention}
  y3 = MatMul(y2, wo)
  y = Add(x, y3)
  logits = MatMul(y, head)
}}
"""
_EMBEDDING = {
    "none": "x = Gather(embed, input_ids)",
    "past": "x0 = Gather(embed, input_ids)  angle = Gather(places, own)  x = Add(x0, angle)",
}
_SEEN = {
    "all": "is_seen = LessOrEqual(every, own_column)",
    "window": "is_past = LessOrEqual(every, own_column)  start = Sub(own_column, two)  "
    "is_near = Greater(every, start)  is_seen = And(is_past, is_near)",
}
_MERGE = "y1 = Transpose<perm = [0, 2, 1, 3]>(y0)  y2 = Reshape(y1, merged)"
_PAST = '"past_key_values.0.key", "past_key_values.0.value"'
_PRESENT = '"present.0.key", "present.0.value"'
_ATTENTION = {
    "matmul": f"""
  "present.0.key" = Concat<axis = 2>("past_key_values.0.key", k2)
  "present.0.value" = Concat<axis = 2>("past_key_values.0.value", v2)
  kt = Transpose<perm = [0, 1, 3, 2]>("present.0.key")
  products = MatMul(q2, kt)
  scaled = Mul(products, scale)
  scores = Add(scaled, mask)
  weights = Softmax<axis = -1>(scores)
  y0 = MatMul(weights, "present.0.value")
  {_MERGE}""",
    "operator": f"y0, {_PRESENT} = Attention(q2, k2, v2, mask, {_PAST})  {_MERGE}",
    "multi-head": f"y2, {_PRESENT} = com.microsoft.MultiHeadAttention<num_heads = 2>"
    f'(q0, k0, v0, "", "", mask, {_PAST})',
}
_OTHER_PRODUCTS = _ATTENTION["matmul"].replace("Softmax<axis = -1>", "Sigmoid")


def decoder(
    attention: str = "matmul", *, seen: str = "all", positions: str = "none"
) -> onnx.ModelProto:
    """A decoder without a norm; `positions` are those of no token, or learned ones behind the past.

    `attention` is that of matmuls, of an operator, or no attention at all (``sigmoid``).
    """
    nodes = _OTHER_PRODUCTS if attention == "sigmoid" else _ATTENTION[attention]
    text = _MODEL.format(
        opset=23 if attention == "operator" else 17, embedding=_EMBEDDING[positions],
        seen=_SEEN[seen], attention=nodes,
    )  # fmt: skip
    model = parser.parse_model(text)
    random = np.random.default_rng(0)
    shapes = {"embed": (VOCAB, WIDTH), "head": (WIDTH, VOCAB), "places": (CONTEXT, WIDTH)}
    shapes |= {f"w{name}": (WIDTH, WIDTH) for name in "qkvo"}
    for name, shape in shapes.items():
        values = random.normal(size=shape).astype(np.float32) / (1 if name == "embed" else 4)
        model.graph.initializer.append(numpy_helper.from_array(values, name))
    return model


class Reference:
    """Logits by ONNX Runtime, of all tokens at once."""

    def __init__(self, model: onnx.ModelProto):
        self._session = onnxruntime.InferenceSession(model.SerializeToString())

    def logits(self, tokens: list[int]) -> np.ndarray:
        """The logits behind `tokens`."""
        ids = np.array([tokens], np.int64)
        empty = np.zeros((1, HEADS, 0, SIZE), np.float32)
        pasts = {f"past_key_values.0.{name}": empty for name in ("key", "value")}
        feeds = {"input_ids": ids, "attention_mask": np.ones_like(ids), **pasts}
        (found,) = self._session.run(["logits"], feeds)
        return np.asarray(found)[0, -1]
