"""Folders as optimum writes them: config.json, and a decoder whose cache grows."""

import json
import shutil

import numpy as np
import onnx
import pytest
from growing_decoders import CONFIG, CONTEXT, Reference, decoder
from onnx import helper

from graphc.errors import ModelFolderError
from graphc.generation import Generator, load


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


@pytest.mark.parametrize(
    ("name", "form"), [("onnx/model.onnx", None), ("decoder_model_merged.onnx", merged)]
)
def test_sequences(name, form, tmp_path):
    """Prompts of different lengths, tokens, a step back, and more tokens of a prompt."""
    write(tmp_path, name, form or (lambda model: model))
    reference = Reference(decoder())
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
                np.testing.assert_allclose(found, reference.logits(row), rtol=1e-4, atol=1e-4)
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
        other.entry_points.prepare(4)  # the same program as the other's
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
