"""The examples of docs/generation.md run, on a model of random weights."""

import re
from pathlib import Path

import pytest
from tiny_language_models import write_model_folder

from graphc.generation.config import read_config
from graphc.generation.gguf.architectures import ARCHITECTURES
from graphc.generation.gguf.quantized_blocks import BLOCK_FORMATS
from graphc.generation.gguf.tokenizer import PRE_TOKENIZERS
from graphc.generation.search_options import SearchOptions
from graphc.tools import gc_generate, gc_import_gguf

PAGE = (Path(__file__).parent.parent.parent / "docs" / "generation.md").read_text()


def test_the_examples(tmp_path, monkeypatch, capsys):
    pytest.importorskip("tokenizers")
    pytest.importorskip("jinja2")
    pytest.importorskip("llguidance")
    monkeypatch.chdir(tmp_path)
    write_model_folder(Path("smollm2"), tokenizer=True, context=128)
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    exec(compile("\n".join(blocks), "generation.md", "exec"), {})
    said = capsys.readouterr().out
    assert re.search(r"^[A-Z][a-z]{2,9}$", said.splitlines()[-1])
    assert read_config(Path("smollm2")).context_length == 128


def test_the_first_conversation_has_five_commands():
    (block,) = re.findall(r"^## A first.*?^```\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    commands = block.splitlines()
    assert len(commands) == 5
    tools = {"gc-import-gguf": gc_import_gguf, "gc-generate": gc_generate}
    for command in commands:
        tool, *words = command.split()
        if tool in tools:
            known = tools[tool]._parser().format_help()
            assert all(word in known for word in words if word.startswith("-") and word != "-c")


def test_lists_are_whole():
    for name in (*ARCHITECTURES, *BLOCK_FORMATS, *PRE_TOKENIZERS, *vars(SearchOptions())):
        assert f"`{name}`" in PAGE, name
