"""Folders as optimum writes them: config.json, and a decoder whose cache grows."""

import json
import shutil

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper, parser

from graphc.errors import ModelFolderError
from graphc.generation import Generator, load

VOCAB, WIDTH, HEADS, SIZE, CONTEXT = 40, 32, 2, 16, 48

DECODER = """
<ir_version: 8, opset_import: ["" : 17]>
decoder (int64[b, s] input_ids, int64[b, t] attention_mask,
  float[b, 2, p, 16] "past_key_values.0.key", float[b, 2, p, 16] "past_key_values.0.value")
  => (float[b, s, 40] logits, float[b, 2, q, 16] "present.0.key",
      float[b, 2, q, 16] "present.0.value")
<int64[4] heads = {0, 0, 2, 16}, int64[3] merged = {0, 0, 32}, int64 zero = {0}, int64 one = {1},
 int64 two = {2}, int64[2] column = {-1, 1}, int64[1] axis = {1}, float scale = {0.25},
 float hidden = {-3.4e38}, float visible = {0}, int64[2] outer = {1, 2}>
{
  x = Gather(embed, input_ids)
  q0 = MatMul(x, wq)
  k0 = MatMul(x, wk)
  v0 = MatMul(x, wv)
  q1 = Reshape(q0, heads)
  k1 = Reshape(k0, heads)
  v1 = Reshape(v0, heads)
  q2 = Transpose<perm = [0, 2, 1, 3]>(q1)
  k2 = Transpose<perm = [0, 2, 1, 3]>(k1)
  v2 = Transpose<perm = [0, 2, 1, 3]>(v1)
  "present.0.key" = Concat<axis = 2>("past_key_values.0.key", k2)
  "present.0.value" = Concat<axis = 2>("past_key_values.0.value", v2)
  past_shape = Shape("past_key_values.0.key")
  past = Gather(past_shape, two)
  id_shape = Shape(input_ids)
  count = Gather(id_shape, one)
  total = Add(past, count)
  own = Range(past, total, one)
  own_column = Reshape(own, column)
  every = Range(zero, total, one)
  is_seen = LessOrEqual(every, own_column)
  causal = Where(is_seen, visible, hidden)
  given = Unsqueeze(attention_mask, outer)
  is_given = Cast<to = 9>(given)
  padding = Where(is_given, visible, hidden)
  mask = Add(causal, padding)
  kt = Transpose<perm = [0, 1, 3, 2]>("present.0.key")
  products = MatMul(q2, kt)
  scaled = Mul(products, scale)
  scores = Add(scaled, mask)
  weights = Softmax<axis = -1>(scores)
  y0 = MatMul(weights, "present.0.value")
  y1 = Transpose<perm = [0, 2, 1, 3]>(y0)
  y2 = Reshape(y1, merged)
  y3 = MatMul(y2, wo)
  y = Add(x, y3)
  logits = MatMul(y, head)
}
"""
CONFIG = {
    "model_type": "llama", "vocab_size": VOCAB, "hidden_size": WIDTH, "num_attention_heads": HEADS,
    "num_hidden_layers": 1, "max_position_embeddings": CONTEXT, "bos_token_id": 1,
    "eos_token_id": 2,
}  # fmt: skip


def decoder():
    """One layer without a norm."""
    model = parser.parse_model(DECODER)
    random = np.random.default_rng(0)
    shapes = {"embed": (VOCAB, WIDTH), "head": (WIDTH, VOCAB)}
    shapes |= {f"w{name}": (WIDTH, WIDTH) for name in "qkvo"}
    for name, shape in shapes.items():
        values = random.normal(size=shape).astype(np.float32) / (1 if name == "embed" else 4)
        model.graph.initializer.append(numpy_helper.from_array(values, name))
    return model


def merged(model):
    """The decoder in a branch, beside one without a cache."""
    graph = model.graph
    branch = helper.make_graph(graph.node, "with_past", [], graph.output, graph.initializer)
    for value in branch.output:
        value.name = f"cached.{value.name}"
    for node in branch.node:
        node.output[:] = [
            f"cached.{name}" if name in ("logits", "present.0.key", "present.0.value") else name
            for name in node.output
        ]
        node.input[:] = [f"cached.{n}" if n.startswith("present") else n for n in node.input]
    names = [value.name for value in graph.output]
    choice = helper.make_node(
        "If", ["use_cache_branch"], names, then_branch=branch, else_branch=branch
    )
    flag = helper.make_tensor_value_info("use_cache_branch", onnx.TensorProto.BOOL, [1])
    whole = helper.make_graph([choice], "merged", [*graph.input, flag], graph.output)
    return helper.make_model(whole, opset_imports=model.opset_import, ir_version=8)


def write(folder, name="model.onnx", form=lambda model: model):
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    onnx.save(form(decoder()), path)
    (folder / "config.json").write_text(json.dumps(CONFIG))
    generation = {"do_sample": True, "top_k": 1, "eos_token_id": [2, 3], "pad_token_id": 0}
    (folder / "generation_config.json").write_text(json.dumps(generation))


def expected(tokens):
    """The logits behind `tokens`, by ONNX Runtime."""
    session = onnxruntime.InferenceSession(decoder().SerializeToString())
    ids = np.array([tokens], np.int64)
    empty = np.zeros((1, HEADS, 0, SIZE), np.float32)
    pasts = {f"past_key_values.0.{name}": empty for name in ("key", "value")}
    feeds = {"input_ids": ids, "attention_mask": np.ones_like(ids), **pasts}
    return session.run(["logits"], feeds)[0][0, -1]


@pytest.mark.parametrize(
    ("name", "form"), [("onnx/model.onnx", None), ("decoder_model_merged.onnx", merged)]
)
def test_sequences(name, form, tmp_path):
    """Prompts of different lengths, tokens, a step back, and more tokens of a prompt."""
    write(tmp_path, name, form or (lambda model: model))
    with load(tmp_path, prefill_chunk=4, opt_level=0) as model:
        assert model.config.eos_token_ids == (2, 3)
        assert (model.config.search.do_sample, model.config.search.top_k) == (True, 1)
        generator = Generator(model, batch_size=2, min_length=CONTEXT)
        rows = [[5, 6, 7, 8, 9, 10, 11], [12]]
        generator.append_tokens(rows)
        for change in (None, None, 4, None, [[13, 14, 15, 16, 17], []], None):
            if isinstance(change, int):
                generator.rewind_to([change, 1])
                rows = [rows[0][:change], rows[1][:1]]
            elif change is not None:
                generator.append_tokens(change)
                rows = [row + more for row, more in zip(rows, change, strict=True)]
            for found, row in zip(generator.get_logits(), rows, strict=True):
                np.testing.assert_allclose(found, expected(row), rtol=1e-4, atol=1e-4)
            generator.generate_next_token()
            rows = [generator.get_sequence(index) for index in range(2)]


def test_attention_in_place(model, folder, tmp_path):
    """A model whose attention has a cache of fixed capacity gives the same with either config."""
    config = model.config
    for file in folder.glob("model.onnx*"):
        shutil.copy(file, tmp_path)
    facts = {
        **CONFIG, "vocab_size": config.vocab_size, "num_key_value_heads": config.kv_heads,
        "head_dim": config.head_size, "num_hidden_layers": config.layers,
        "max_position_embeddings": config.context_length,
    }  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(facts))
    with load(tmp_path, prefill_chunk=8) as other:
        results = []
        for each in (model, other):
            generator = Generator(each)
            generator.append_tokens([5, 6, 7, 8, 9, 10, 11, 12, 13, 14])
            results.append(generator.get_logits())
    assert np.array_equal(*results)


BAD = {
    "no model": ({}, None, "there is no model.onnx"),
    "no layers": (
        {"num_hidden_layers": None},
        "model.onnx",
        "num_hidden_layers must be a positive",
    ),
    "an encoder": ({"is_encoder_decoder": True}, "model.onnx", "only decoders"),
    "other heads": ({"num_attention_heads": 4}, "model.onnx", r"cache .* is \[0, 2, 0, 16\]"),
}


@pytest.mark.parametrize("case", BAD)
def test_folders_that_are_rejected(case, tmp_path):
    change, name, message = BAD[case]
    write(tmp_path, name or "other.onnx")
    (tmp_path / "config.json").write_text(json.dumps({**CONFIG, **change}))
    with pytest.raises(ModelFolderError, match=message):
        load(tmp_path)


def test_a_condition_of_something_else(tmp_path):
    write(tmp_path, form=lambda model: merged(model))
    path = tmp_path / "model.onnx"
    model = onnx.load(path)
    model.graph.node.append(helper.make_node("Not", ["use_cache_branch"], ["other"]))
    onnx.save(model, path)
    with pytest.raises(ModelFolderError, match="'use_cache_branch' is no condition of one If"):
        load(tmp_path)
