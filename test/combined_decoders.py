"""Tiny decoders of one layer with keys and values in one cache, by ``com.microsoft.Attention``, as
ONNX Runtime exports GPT-2; with and without an attention mask."""

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper, parser

VOCAB, WIDTH, HEADS, SIZE, CONTEXT = 40, 32, 2, 16, 48
CONFIG = {
    "model_type": "gpt2", "vocab_size": VOCAB, "n_embd": WIDTH, "n_head": HEADS, "n_layer": 1,
    "n_ctx": CONTEXT, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip

_MODEL = """
<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
decoder (int64[b, s] input_ids, int64[b, s] position_ids, {mask}
  float[2, b, 2, p, 16] past_0) => (float[b, s, 40] logits, float[2, b, 2, q, 16] present_0)
{{
  x0 = Gather(embed, input_ids)
  place = Gather(places, position_ids)
  x = Add(x0, place)
  y0, present_0 = com.microsoft.Attention<num_heads = 2, unidirectional = 1>
    (x, w_qkv, b_qkv, {mask_name}, past_0)
  y1 = MatMul(y0, w_out)
  y = Add(x, y1)
  logits = MatMul(y, head)
}}
"""


def combined_decoder(*, with_mask: bool = True) -> onnx.ModelProto:
    """A decoder without a norm, with learned positions."""
    mask = ("int32[b, t] attention_mask,", "attention_mask") if with_mask else ("", '""')
    model = parser.parse_model(_MODEL.format(mask=mask[0], mask_name=mask[1]))
    random = np.random.default_rng(0)
    shapes = {
        "embed": (VOCAB, WIDTH), "places": (CONTEXT, WIDTH), "w_qkv": (WIDTH, 3 * WIDTH),
        "b_qkv": (3 * WIDTH,), "w_out": (WIDTH, WIDTH), "head": (WIDTH, VOCAB),
    }  # fmt: skip
    for name, shape in shapes.items():
        values = random.normal(size=shape).astype(np.float32) / (1 if name == "embed" else 4)
        model.graph.initializer.append(numpy_helper.from_array(values, name))
    return model


class CombinedReference:
    """Logits by ONNX Runtime, of all tokens at once."""

    def __init__(self, model: onnx.ModelProto):
        self._session = onnxruntime.InferenceSession(model.SerializeToString())

    def logits(self, tokens: list[int]) -> np.ndarray:
        """The logits behind `tokens`."""
        feeds = {
            "input_ids": np.array([tokens], np.int64),
            "position_ids": np.arange(len(tokens))[None],
            "attention_mask": np.ones((1, len(tokens)), np.int32),
            "past_0": np.zeros((2, 1, HEADS, 0, SIZE), np.float32),
        }
        given = {each.name for each in self._session.get_inputs()}
        (found,) = self._session.run(["logits"], {name: feeds[name] for name in given})
        return np.asarray(found)[0, -1]
