"""Tokenizers of GGUF files, and chat templates."""

import json
from pathlib import Path

import pytest
from tiny_language_models import MemoryFile, tokenizer_metadata, write_model_folder

from graphc.errors import InvalidModelError, ModelFolderError, UnsupportedFormatError, UsageError
from graphc.generation.gguf.tokenizer import PRE_TOKENIZERS, write_tokenizer
from graphc.generation.tokenizer import Tokenizer

pytest.importorskip("tokenizers")

WORDS = {
    "gpt-2": ["It", "'s", " 1234", " o", "'", "clock", ",", "  ", " naïve", "\n"],
    "smollm": ["It", "'s", " ", "1", "2", "3", "4", " o", "'", "clock", ",", "  ", " naïve", "\n"],
    "llama-bpe": ["It", "'s", " ", "123", "4", " o", "'clock", ",", "  ", " naïve", "\n"],
    "qwen2": ["It", "'s", " ", "1", "2", "3", "4", " o", "'clock", ",", "  ", " naïve", "\n"],
    "tekken": ["It", "'s", " ", "1", "2", "3", "4", " o", "'clock", ",", "  ", " naïve", "\n"],
}


def tokenizer(folder, **metadata):
    values = {**tokenizer_metadata(), **{f"tokenizer.ggml.{k}": v for k, v in metadata.items()}}
    write_tokenizer(MemoryFile(values, {}), folder)
    return Tokenizer.read(folder, 1000)


@pytest.mark.parametrize("name", PRE_TOKENIZERS)
def test_texts_are_split_as_the_models_were_trained(name, tmp_path):
    made = tokenizer(tmp_path, pre=name)
    text = "It's 1234 o'clock,   naïve\n"
    found = made.backend.pre_tokenizer.pre_tokenize_str(text)
    assert [text[begin:end] for _, (begin, end) in found] == WORDS[name]


def test_merges_and_special_tokens(tmp_path):
    made = tokenizer(tmp_path)
    tokens = made.encode("the</s> th")
    merged = tokenizer_metadata()["tokenizer.ggml.tokens"].index("th")
    assert tokens[0] == merged
    assert 1 in tokens
    assert made.decode(tokens) == "the th"
    assert made.decode(tokens, special_tokens=True) == "the</s> th"


def test_pieces_with_scores(tmp_path):
    """The pair with the best score is merged first; what is in no piece becomes bytes."""
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    control = [2, 3, 3] + [6] * 256
    words = {"▁": -1, "a": -2, "b": -3, "c": -4, "ab": -6, "bc": -5, "▁a": -7, "abc": -8}
    made = tokenizer(
        tmp_path, model="llama", tokens=[*pieces, *words], scores=[0.0] * 259 + [*words.values()],
        token_type=control + [1] * len(words), unknown_token_id=0, bos_token_id=1, eos_token_id=2,
    )  # fmt: skip

    def texts(text):
        return [made.backend.id_to_token(token) for token in made.encode(text)]

    assert texts("abc") == ["<s>", "▁a", "bc"]
    assert texts("ab é") == ["<s>", "▁", "ab", "▁", "<0xC3>", "<0xA9>"]
    assert made.decode(made.encode("ab é c")) == "ab é c"
    stream = made.stream()
    assert [stream.step(token) for token in made.encode("a é")] == ["", "a", " ", "", "é"]


def test_transformers_reads_the_folder(tmp_path):
    transformers = pytest.importorskip("transformers")
    made = tokenizer(tmp_path, add_bos_token=True)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    text = "the quick brown fox, 12 times</s>!"
    assert theirs(text)["input_ids"] == made.encode(text)
    assert made.encode(text)[0] == 0
    messages = [{"role": "user", "content": "Hi </s>"}]
    prompt = theirs.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    assert made.apply_chat_template(messages) == prompt == "user: Hi </s> assistant:"


def test_chat_templates(tmp_path):
    made = tokenizer(tmp_path)
    (tmp_path / "chat_template.jinja").write_text(
        "{{ bos_token }}{% for m in messages %}{% if m.role == 'system' %}"
        "{{ raise_exception('no system message') }}{% endif %}{{ m.content | tojson }}{% endfor %}"
    )
    assert made.apply_chat_template([{"role": "user", "content": 'a "b" é'}]) == '<s>"a \\"b\\" é"'
    with pytest.raises(UsageError, match="chat template: no system message"):
        made.apply_chat_template([{"role": "system", "content": ""}])
    (tmp_path / "chat_template.jinja").write_text("{{ messages.__class__.__mro__ }}")
    with pytest.raises(UsageError, match="chat template: "):
        made.apply_chat_template([])


def test_a_folder_without_a_template(tmp_path):
    made = tokenizer(tmp_path)
    settings = json.loads((tmp_path / "tokenizer_config.json").read_text())
    del settings["chat_template"]
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    with pytest.raises(UsageError, match="the tokenizer has no chat template"):
        Tokenizer.read(tmp_path, 1000).apply_chat_template([])
    assert made.folder == tmp_path


def test_errors(tmp_path):
    with pytest.raises(UnsupportedFormatError, match="pre-tokenizer 'dbrx' is not one of gpt-2, "):
        tokenizer(tmp_path, pre="dbrx")
    with pytest.raises(UnsupportedFormatError, match="tokenizer 'bert' is not gpt2 or llama"):
        tokenizer(tmp_path, model="bert")
    with pytest.raises(InvalidModelError, match="2 types of tokens, not one each"):
        tokenizer(tmp_path, token_type=[1, 1])
    with pytest.raises(InvalidModelError, match="no token 5000 for eos"):
        tokenizer(tmp_path, eos_token_id=5000)
    write_model_folder(tmp_path, tokenizer=True)
    with pytest.raises(ModelFolderError, match="96 tokens, the model has 90"):
        Tokenizer.read(tmp_path, 90)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(ModelFolderError, match="not a valid tokenizer"):
        Tokenizer.read(Path(tmp_path), 96)
