"""A tiny language model for servers, and listeners of requests."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tiny_language_models as tiny

from graphc.generation import SearchOptions
from graphc.generation.gguf.folder import write_folder as write_gguf_folder
from graphc.generation.gguf.reader import GGUFTensor
from graphc.serving.api_error import ApiError
from graphc.serving.generation_request import (
    FailureEvent,
    FinishEvent,
    GenerationEvent,
    GenerationRequest,
    TokenEvent,
)
from graphc.serving.scheduler import Scheduler

SLOTS, CHUNK, CONTEXT = 4, 8, 128
POISON = 94
"""A token behind which all logits are NaN; ``|`` in texts. It is not among the 20 most probable
tokens itself: its logit is 0."""


def write_folder(folder: Path, *, tokenizer: bool) -> Path:
    """Write the model to `folder`: one layer of a Qwen 2, whose logits do not use the embedding."""
    tensors = tiny.tensors("qwen2", layers=1)
    for name, scale in (("token_embd.weight", np.inf), ("output.weight", 0)):
        tensors[name] = _with_scale(tensors[name], POISON, scale)
    metadata = {**tiny.metadata("qwen2", layers=1), "qwen2.context_length": CONTEXT}
    file: Any = tiny.MemoryFile(metadata, tensors)
    write_gguf_folder(file, folder, tokenizer=tokenizer)
    return folder


def _with_scale(matrix: GGUFTensor, row: int, scale: float) -> GGUFTensor:
    """Another scale for the blocks of one row."""
    data = matrix.data.copy()
    blocks = data.reshape(tiny.VOCAB, -1, tiny.BLOCK_BYTES["Q8_0"])
    blocks[row, :, :2] = np.array([scale], np.float16).view(np.uint8)
    return GGUFTensor(matrix.name, matrix.type_name, matrix.shape, data)


class CodePoints:
    """A stand-in for a tokenizer: each token is one character."""

    def step(self, token: int) -> str:
        """The character of `token`."""
        return chr(0x100 + token)


class Recorder:
    """A listener that keeps the events of one request."""

    def __init__(self) -> None:
        self.events: list[GenerationEvent] = []

    def __call__(self, event: GenerationEvent) -> None:
        self.events.append(event)

    @property
    def tokens(self) -> list[int]:
        """The tokens so far."""
        return [each.token for each in self.events if isinstance(each, TokenEvent)]

    @property
    def text(self) -> str:
        """The text so far."""
        texts = (TokenEvent, FinishEvent)
        return "".join(each.text for each in self.events if isinstance(each, texts))

    @property
    def end(self) -> FinishEvent | None:
        """The regular end."""
        return next((each for each in self.events if isinstance(each, FinishEvent)), None)

    @property
    def error(self) -> ApiError | None:
        """The failure."""
        return next((each.error for each in self.events if isinstance(each, FailureEvent)), None)


def request_for(
    prompt: list[int], options: SearchOptions | None = None, count: int = 12, **fields: Any
) -> tuple[GenerationRequest, Recorder]:
    """A request for `count` tokens behind `prompt`, and what it gets."""
    recorder = Recorder()
    options = options or SearchOptions(min_length=CONTEXT)
    return GenerationRequest(prompt, options, count, CodePoints(), recorder, **fields), recorder


def run_all(scheduler: Scheduler, between: Callable[[int], None] = lambda step: None) -> int:
    """Step until nothing is left to do; `between` is called before each. Returns their number."""
    steps = 0
    between(steps)
    while scheduler.step():
        steps += 1
        between(steps)
    return steps
