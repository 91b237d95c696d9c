"""Log-probabilities of the tokens of a prompt, without a server."""

import numpy as np
import pytest
from serving_models import CONTEXT, POISON, SLOTS, request_for, run_all

from graphc.generation import Generator, SearchOptions
from graphc.serving.generation_request import PromptTokenEvent
from graphc.serving.logprobs import TokenLogprobs
from graphc.serving.scheduler import Scheduler

GREEDY = SearchOptions(min_length=CONTEXT)


def test_log_probabilities_of_a_prompt(model):
    """A prompt is told token by token, beside another request; its answer is the same."""
    given = np.random.default_rng(2).integers(2, POISON, 19).tolist()
    told, found = request_for(given, GREEDY, logprobs=2, tells_prompt=True)
    other, beside = request_for(given, GREEDY)
    scheduler = Scheduler(model, SLOTS)
    scheduler.submit([other])
    scheduler.step()
    scheduler.submit([told])
    run_all(scheduler)
    assert found.tokens == beside.tokens
    events = [each for each in found.events if isinstance(each, PromptTokenEvent)]
    assert [each.token for each in events] == given
    assert events[0].logprobs is None
    generator = Generator(model, GREEDY)
    for before, event in enumerate(events[1:], 1):
        generator.append_tokens([given[before - 1]])
        wanted = TokenLogprobs.of(generator.get_logits()[0], event.token, 2)
        assert event.logprobs.logprob == pytest.approx(wanted.logprob, rel=1e-5)
        assert [each[0] for each in event.logprobs.top] == [each[0] for each in wanted.top]
