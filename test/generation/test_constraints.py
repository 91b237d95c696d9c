"""Grammars, token by token; nothing is compiled."""

import numpy as np
import pytest
from tiny_language_models import tokenizer_metadata, write_model_folder

from graphc.errors import UsageError
from graphc.generation import GrammarConstraint, load

pytest.importorskip("tokenizers")
pytest.importorskip("llguidance")

TOKENS = tokenizer_metadata()["tokenizer.ggml.tokens"]


@pytest.fixture(scope="module")
def speaker(tmp_path_factory):
    """A model with a tokenizer."""
    with load(write_model_folder(tmp_path_factory.mktemp("model"), tokenizer=True)) as model:
        yield model


def allowed(constraint):
    return {TOKENS[index] for index in np.flatnonzero(constraint.allowed())}


def test_a_pattern(speaker):
    constraint = GrammarConstraint(speaker, regex="(th|t)[ab]x?")
    assert allowed(constraint) == {"t", "th"}
    constraint.accept(TOKENS.index("t"))
    assert allowed(constraint) == {"h", "a", "b"}
    constraint.accept(TOKENS.index("a"))
    assert allowed(constraint) == {"x", "</s>"}
    constraint.rewind(1)
    assert allowed(constraint) == {"h", "a", "b"}
    constraint.rewind(1)
    constraint.accept(TOKENS.index("th"))
    assert allowed(constraint) == {"a", "b"}
    for text in ("b", "x"):
        assert not constraint.is_complete
        constraint.accept(TOKENS.index(text))
    assert constraint.is_complete


def test_a_schema_and_a_grammar(speaker):
    assert allowed(GrammarConstraint(speaker, json_schema={"type": "boolean"})) == {"t", "f"}
    assert allowed(GrammarConstraint(speaker, grammar='start: "y" | "n"')) == {"y", "n"}


def test_constraints_share_the_tokenizer(speaker):
    """One that is read once; their states are apart."""
    first, second = (GrammarConstraint(speaker, regex="ab|cd") for _ in range(2))
    assert speaker.grammar_tokenizer is speaker.grammar_tokenizer
    first.accept(TOKENS.index("a"))
    assert allowed(first) == {"b"}
    assert allowed(second) == {"a", "c"}


def test_errors(speaker):
    with pytest.raises(UsageError, match="one of regex, json_schema and grammar"):
        GrammarConstraint(speaker)
    with pytest.raises(UsageError, match="one of regex, json_schema and grammar"):
        GrammarConstraint(speaker, regex="a", json_schema={})
    with pytest.raises(UsageError, match="regex: "):
        GrammarConstraint(speaker, regex="(")
    with pytest.raises(UsageError, match="json_schema: "):
        GrammarConstraint(speaker, json_schema='{"type": "nothing"}')
