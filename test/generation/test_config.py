"""Folders that are read as they are, and what is wrong with others."""

import json
import shutil

import pytest

from graphc.errors import InvalidModelError, ModelFolderError, PromptError, UsageError
from graphc.generation import Generator, SearchOptions, load
from graphc.generation.config import read_config

CHANGES = {
    "no object": ([], "not a JSON object"),
    "no decoder": ({"model": {"decoder": None}}, "there is no object model.decoder"),
    "no size": ({"model": {"vocab_size": "many"}}, "model.vocab_size must be a positive whole num"),
    "another vocabulary": ({"model": {"vocab_size": 97}}, "logits of 96 tokens, the config"),
    "too few layers": (
        {"model": {"decoder": {"num_hidden_layers": 1}}},
        "'past_key_values.1.key' is not in the config: is num_hidden_layers 1 right",
    ),
    "too many layers": (
        {"model": {"decoder": {"num_hidden_layers": 3}}}, "no input 'past_key_values.2.key'",
    ),
    "a cache of another shape": (
        {"model": {"decoder": {"head_size": 8}}}, r"is \[0, 2, 0, 16\], the config says \[bat",
    ),
    "other names": (
        {"model": {"decoder": {"outputs": {"logits": "scores"}}}}, "no output 'scores', as the con",
    ),
    "a token out of range": ({"model": {"eos_token_id": [1, 96]}}, "eos_token_id: no token 96 in"),
    "an unknown option": ({"search": {"top_q": 1}}, "search: unknown search option 'top_q'"),
    "another modality": ({"model": {"vision": {}}}, "model.vision is not supported"),
    "no model": ({"model": {"decoder": {"filename": "other.onnx"}}}, "there is no other.onnx"),
}  # fmt: skip


def merged(old, new):
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return new
    return {**old, **{name: merged(old.get(name), value) for name, value in new.items()}}


@pytest.mark.parametrize("case", CHANGES)
def test_contradictions(case, folder, tmp_path):
    change, message = CHANGES[case]
    config = json.loads((folder / "genai_config.json").read_text())
    (tmp_path / "genai_config.json").write_text(json.dumps(merged(config, change)))
    shutil.copy(folder / "model.onnx", tmp_path)
    with pytest.raises(ModelFolderError, match=message):
        load(tmp_path)


def test_a_folder_without_a_config(tmp_path):
    with pytest.raises(ModelFolderError, match=r"there is no genai_config\.json"):
        load(tmp_path)


def test_a_config_that_is_no_json(tmp_path):
    (tmp_path / "genai_config.json").write_text("{")
    with pytest.raises(ModelFolderError, match="not valid JSON"):
        load(tmp_path)


def test_a_model_that_is_none(folder, tmp_path):
    shutil.copy(folder / "genai_config.json", tmp_path)
    (tmp_path / "model.onnx").write_bytes(b"text")
    with pytest.raises(InvalidModelError, match="not a valid ONNX model"):
        load(tmp_path)


def test_a_folder_without_a_tokenizer(model):
    pytest.importorskip("tokenizers")
    with pytest.raises(ModelFolderError, match=r"there is no tokenizer\.json"):
        model.tokenizer.encode("x")


def test_the_config_is_read(folder):
    config = read_config(folder)
    assert (config.layers, config.kv_heads, config.head_size) == (2, 2, 16)
    assert (config.bos_token_id, config.eos_token_ids, config.pad_token_id) == (0, (1,), 1)
    assert config.search == SearchOptions(max_length=64)


def test_a_generator_that_is_asked_for_too_much(model):
    with pytest.raises(UsageError, match="unknown search option 'temprature'"):
        Generator(model, temprature=1)
    with pytest.raises(UsageError, match="batch_size must be a positive whole number, not 0"):
        Generator(model, batch_size=0)
    generator = Generator(model)
    with pytest.raises(PromptError, match="sequence 0 would have 65 tokens, max_length is 64"):
        generator.append_tokens([2] * 65)
    for wrong in (96, -1, 1.5):
        with pytest.raises(PromptError, match=f"no token {wrong}: they are numbers below 96"):
            generator.append_tokens([3, wrong])
    for wrong in (5, "text"):
        with pytest.raises(PromptError, match="tokens are a list of numbers, not "):
            generator.append_tokens(wrong)
    with pytest.raises(PromptError, match="tokens for 2 sequences, there are 1"):
        generator.append_tokens([[1], [2]])
    with pytest.raises(UsageError, match="sequence 0 is empty"):
        generator.generate_next_token()
    generator.append_tokens([3, 4])
    with pytest.raises(UsageError, match="sequence 0 has 2 tokens: no rewinding to 3"):
        generator.rewind_to(3)
    with pytest.raises(UsageError, match=r"logits are \[96\], not \[1, 96\]"):
        generator.set_logits([0.0] * 96)
    assert generator.get_sequence() == [3, 4]
