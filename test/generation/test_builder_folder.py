"""A folder laid out as the builder of onnxruntime-genai does: other names, operators and types."""

import json

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from graphc.generation import Generator, load
from graphc.generation.config import read_config
from graphc.generation.step_model import read_decoder, step_model

VOCAB, HIDDEN, HEADS, KV_HEADS, SIZE, CONTEXT = 50, 32, 2, 1, 16, 32


def decoder():
    """One layer without a feed-forward; queries, keys and values are one matrix, weights are in the
    model, and positions are an input."""
    rng = np.random.default_rng(0)
    width = (HEADS + 2 * KV_HEADS) * SIZE
    angles = np.arange(CONTEXT)[:, None] / 100 ** (np.arange(0, SIZE, 2) / SIZE)
    weights = {
        "embed": rng.normal(size=(VOCAB, HIDDEN)), "norm": np.ones(HIDDEN),
        "last_norm": np.ones(HIDDEN),
        "qkv": rng.normal(size=(HIDDEN, width)) / 3, "o": rng.normal(size=(HEADS * SIZE, HIDDEN)),
        "head": rng.normal(size=(HIDDEN, VOCAB)), "cos": np.cos(angles), "sin": np.sin(angles),
        "half": np.array(0.5),
    }  # fmt: skip
    initializers = [numpy_helper.from_array(a.astype(np.float32), n) for n, a in weights.items()]
    constants = {"one": 1, "axes": [1]}
    initializers += [
        numpy_helper.from_array(np.array(v, np.int64), n) for n, v in constants.items()
    ]

    def node(kind, inputs, outputs, **attributes):
        return helper.make_node(kind, inputs.split(","), outputs.split(","), **attributes)

    microsoft = {"domain": "com.microsoft"}
    nodes = [
        node("ReduceSum", "attention_mask,axes", "count"),
        node("Sub", "count,one", "last"),
        node("Cast", "last", "seqlens_k", to=6),
        node("Shape", "attention_mask", "mask_shape"),
        node("Gather", "mask_shape,one", "mask_size", axis=0),
        node("Cast", "mask_size", "total", to=6),
        node("Gather", "embed,input_ids", "x"),
        node("SimplifiedLayerNormalization", "x,norm", "normed", epsilon=1e-6, axis=-1),
        node("MatMul", "normed,qkv", "packed"),
        node(
            "GroupQueryAttention",
            "packed,,,past_key_0,past_value_0,seqlens_k,total,cos,sin,position_ids",
            "attended,present_key_0,present_value_0",
            num_heads=HEADS, kv_num_heads=KV_HEADS, do_rotary=1, **microsoft,
        ),
        node("MatMul", "attended,o", "projected"),
        node(
            "SkipSimplifiedLayerNormalization", "x,projected,last_norm", "y,,,sum", epsilon=1e-6,
            **microsoft,
        ),
        node("MatMul", "y,head", "raw"),
        node("Mul", "raw,half", "scores"),
    ]  # fmt: skip

    def info(name, shape, kind=1):
        return helper.make_tensor_value_info(name, kind, shape)

    tokens = {"input_ids": ["batch_size", "sequence_length"],
              "attention_mask": ["batch_size", "total_sequence_length"],
              "position_ids": ["batch_size", "sequence_length"]}  # fmt: skip
    cache = ["batch_size", KV_HEADS, "past_sequence_length", SIZE]
    inputs = [info(name, shape, 7) for name, shape in tokens.items()]
    inputs += [info(f"past_{kind}_0", cache) for kind in ("key", "value")]
    cache = [*cache[:2], "total_sequence_length", SIZE]
    outputs = [info("scores", ["batch_size", "sequence_length", VOCAB])]
    outputs += [info(f"present_{kind}_0", cache) for kind in ("key", "value")]
    graph = helper.make_graph(nodes, "main_graph", inputs, outputs, initializers)
    opsets = [helper.make_opsetid("", 14), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=7)


CONFIG = {
    "model": {
        "bos_token_id": 1, "eos_token_id": [2, 3], "pad_token_id": 2, "context_length": CONTEXT,
        "type": "llama", "vocab_size": VOCAB,
        "decoder": {
            "session_options": {"log_id": "onnxruntime-genai", "provider_options": []},
            "filename": "text.onnx", "head_size": SIZE, "hidden_size": HIDDEN,
            "num_attention_heads": HEADS, "num_hidden_layers": 1, "num_key_value_heads": KV_HEADS,
            "inputs": {
                "past_key_names": "past_key_%d", "past_value_names": "past_value_%d",
            },
            "outputs": {
                "logits": "scores", "present_key_names": "present_key_%d",
                "present_value_names": "present_value_%d",
            },
        },
    },
    "search": {
        "diversity_penalty": 0.0, "do_sample": False, "early_stopping": True, "length_penalty": 1.0,
        "max_length": CONTEXT, "min_length": 0, "no_repeat_ngram_size": 0, "num_beams": 1,
        "num_return_sequences": 1, "past_present_share_buffer": True, "repetition_penalty": 1.0,
        "temperature": 1.0, "top_k": 1, "top_p": 1.0,
    },
}  # fmt: skip


def reference(model, tokens):
    """The logits behind `tokens`, by ONNX Runtime."""
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(model.SerializeToString())
    ids = np.array([tokens], np.int64)
    empty = np.zeros((1, KV_HEADS, 0, SIZE), np.float32)
    feeds = {
        "input_ids": ids, "attention_mask": np.ones_like(ids),
        "position_ids": np.arange(len(tokens))[None], "past_key_0": empty, "past_value_0": empty,
    }  # fmt: skip
    return session.run(["scores"], feeds)[0][0, -1]


def write(folder):
    onnx.save(decoder(), folder / "text.onnx")
    (folder / "genai_config.json").write_text(json.dumps(CONFIG))
    return decoder()


def test_only_the_last_logits_are_computed(tmp_path):
    """The row is selected before the matmul, behind which the logits are scaled."""
    write(tmp_path)
    config = read_config(tmp_path)
    for length in (1, 4):
        model = step_model(config, read_decoder(config), 1, length)
        selected = [node.input[0] for node in model.graph.node if node.op_type == "GatherND"]
        assert selected == (["y"] if length > 1 else [])


def test_it_is_read_as_it_is(tmp_path):
    model = write(tmp_path)
    before = sorted(tmp_path.iterdir())
    with load(tmp_path, prefill_chunk=4, opt_level=0) as loaded:
        generator = Generator(loaded)
        tokens = [5, 6, 7, 8, 9, 10, 11]
        generator.append_tokens(tokens)
        for _ in range(5):
            found = generator.get_logits()[0]
            expected = reference(model, tokens)
            np.testing.assert_allclose(found, expected, atol=1e-5 * abs(expected).max())
            generator.generate_next_token()
            tokens.append(int(np.argmax(expected)))
        assert generator.get_sequence() == tokens
    assert sorted(tmp_path.iterdir()) == before
