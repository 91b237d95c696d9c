"""Conversations compute each message once."""

import pytest
from tiny_language_models import write_model_folder

from graphc.errors import PromptError
from graphc.generation import Conversation, Generator, generate_text, load
from graphc.generation.statistics import GenerationStatistics

pytest.importorskip("tokenizers")
pytest.importorskip("jinja2")


@pytest.fixture(scope="module")
def speaker(tmp_path_factory):
    """A model with a tokenizer."""
    folder = write_model_folder(tmp_path_factory.mktemp("model"), tokenizer=True, context=128)
    with load(folder, prefill_chunk=16, opt_level=0) as model:
        yield model


def test_a_conversation(speaker):
    conversation = Conversation(speaker, system="Be kind.")
    counts = []
    for question in ("Hi", "Why?"):
        statistics = GenerationStatistics()
        before = [*conversation.messages, {"role": "user", "content": question}]
        pieces = [*conversation.reply(question, max_new_tokens=6, statistics=statistics)]
        counts.append(statistics.prompt_tokens)
        assert len(statistics.arrivals) <= 6
        generator = Generator(speaker)
        generator.append_tokens(speaker.tokenizer.encode_chat(before))
        for _ in statistics.arrivals:
            generator.generate_next_token()
        generated = generator.get_sequence()[len(speaker.tokenizer.encode_chat(before)) :]
        assert speaker.tokenizer.decode(generated).startswith("".join(pieces))
        assert conversation.messages == [*before, {"role": "assistant", "content": "".join(pieces)}]
    assert counts[1] < len(speaker.tokenizer.encode_chat(conversation.messages[:-1]))
    said = list(conversation.messages)
    with pytest.raises(PromptError, match="max_length is 128"):
        conversation.reply("a" * 200)
    assert conversation.messages == said


def test_text_ends_at_a_stop(speaker):
    whole = "".join(generate_text(speaker, "abc", max_new_tokens=20))
    stop = whole[5:7]
    found = "".join(generate_text(speaker, "abc", max_new_tokens=20, stop=[stop]))
    assert found == whole[: whole.index(stop)]
    with pytest.raises(PromptError, match="the prompt has no tokens"):
        generate_text(speaker, "")
