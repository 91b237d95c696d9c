"""Tokens per second of a scheduler, by the number of clients.

::

    python -m graphc.benchmarks.serving smollm2 --clients 1 8

Each client asks for one text after the other, with a prompt of its own; there is no network. The
folder is compiled first, if it is not in the cache.
"""

import argparse
import sys
import time
from collections.abc import Sequence

import numpy as np

from graphc.generation import LanguageModel, SearchOptions, load
from graphc.serving.generation_request import GenerationEvent, GenerationRequest, TokenEvent
from graphc.serving.scheduler import Scheduler

TEXTS = 2
"""Texts that each client asks for."""


class _Client:
    """Submits the next request when one has ended, and counts tokens."""

    def __init__(self, scheduler: Scheduler, prompts: list[list[int]], new_tokens: int):
        self.tokens = 0
        self._scheduler, self._prompts, self._count = scheduler, prompts, new_tokens
        self._options = SearchOptions(min_length=1 << 30)

    def begin(self) -> None:
        """Submit the next request, if one is left."""
        if self._prompts:
            prompt = self._prompts.pop()
            request = GenerationRequest(prompt, self._options, self._count, self, self._listen)
            self._scheduler.submit([request])

    def step(self, token: int) -> str:
        """No text: tokens are counted alone."""
        return ""

    def _listen(self, event: GenerationEvent) -> None:
        if isinstance(event, TokenEvent):
            self.tokens += 1
        else:
            self.begin()


def tokens_per_second(model: LanguageModel, clients: int, flags: argparse.Namespace) -> float:
    """Generated tokens by the time of all requests."""
    random = np.random.default_rng(0)
    vocab, scheduler = model.config.vocab_size, Scheduler(model, flags.slots)
    everyone = [
        _Client(
            scheduler,
            [random.integers(2, vocab, flags.prompt).tolist() for _ in range(TEXTS)],
            flags.new_tokens,
        )
        for _ in range(clients)
    ]
    begin = time.perf_counter()
    for client in everyone:
        client.begin()
    while scheduler.step():
        pass
    return sum(client.tokens for client in everyone) / (time.perf_counter() - begin)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Tokens per second, by the number of clients.")
    parser.add_argument("folder")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--slots", type=int, default=8)
    parser.add_argument("--prompt", type=int, default=64, metavar="TOKENS")
    parser.add_argument("--new-tokens", type=int, default=64, metavar="TOKENS")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    flags = parser.parse_args(arguments)
    with load(flags.folder, threads=flags.threads) as model:
        for round_ in range(flags.rounds + 1):
            for clients in flags.clients:
                rate = tokens_per_second(model, clients, flags)
                if round_:  # the first one compiles
                    print(f"{clients} clients: {rate:.1f} tokens/s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
