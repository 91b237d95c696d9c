"""Log-probabilities as OpenAI's API spells them."""

from collections.abc import Callable, Sequence
from typing import Any

from ..logprobs import TokenLogprobs

Entries = Sequence[tuple[int, TokenLogprobs | None]]
"""Tokens with their log-probabilities; the first one of a prompt has none."""
TokenText = Callable[[int], str]


def completion_logprobs(entries: Entries, offset: int, text_of: TokenText) -> dict[str, Any]:
    """Those of a completion, whose first token stands at `offset` of the text."""
    tokens = [text_of(token) for token, _ in entries]
    offsets = []
    for text in tokens:
        offsets.append(offset)
        offset += len(text)
    return {
        "tokens": tokens,
        "token_logprobs": [None if each is None else each.logprob for _, each in entries],
        "top_logprobs": [
            None if each is None else {text_of(token): logprob for token, logprob in each.top}
            for _, each in entries
        ],
        "text_offset": offsets,
    }


def chat_logprobs(entries: Entries, text_of: TokenText) -> dict[str, Any]:
    """Those of a message."""
    content = [
        {
            **_token(token, each.logprob, text_of),
            "top_logprobs": [_token(*one, text_of) for one in each.top],
        }
        for token, each in entries
        if each is not None
    ]
    return {"content": content, "refusal": None}


def _token(token: int, logprob: float, text_of: TokenText) -> dict[str, Any]:
    text = text_of(token)
    return {"token": text, "logprob": logprob, "bytes": list(text.encode())}
