"""Folders of language models with random weights."""

from typing import Any, cast

import numpy as np
import pytest

from graphc.benchmarks import random_folder
from graphc.benchmarks.decoders import Decoder
from graphc.generation.config import read_config
from graphc.generation.gguf.folder import write_folder
from graphc.generation.step_model import read_decoder


def test_a_folder_is_that_of_a_model(tmp_path):
    model = Decoder("tiny", layers=2, width=64, heads=4, kv_heads=2, hidden=96, vocabulary=128)
    file = cast(Any, random_folder.RandomFile(model))
    write_folder(file, tmp_path, tokenizer=False, accuracy_level=4)
    decoder = read_decoder(read_config(tmp_path))  # which checks names and sizes
    weights = [each for each in decoder.graph.node if each.op_type == "MatMulNBits"]
    assert len(weights) >= 2 * 5
    for node in weights:
        values = {each.name: each.i for each in node.attribute}
        assert (values["bits"], values["accuracy_level"]) == (4, 4)
        assert not any(node.input[3:])  # no zero points


def test_a_gguf_file_has_the_same_weights(tmp_path):
    pytest.importorskip("gguf")
    from graphc.generation.gguf.reader import GGUFFile

    model = Decoder("tiny", layers=1, width=64, heads=4, kv_heads=2, hidden=96, vocabulary=288)
    file = random_folder.RandomFile(model)
    random_folder.write_gguf(file, model, tmp_path / "tiny.gguf")
    read = GGUFFile(tmp_path / "tiny.gguf")
    for name in file:
        found, expected = read.tensor(name), file.tensor(name)
        assert (found.type_name, found.shape) == (expected.type_name, expected.shape)
        np.testing.assert_array_equal(found.data, expected.data)
    assert read.require("llama.attention.head_count_kv") == 2
    assert len(read.require("tokenizer.ggml.tokens")) == 288


def test_only_known_models():
    with pytest.raises(SystemExit):
        random_folder.main(["llama-7t", "folder"])
