"""Requests and responses of OpenAI's API; nothing is computed."""

import json
import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphc.generation import SearchOptions
from graphc.generation.logit_bias import LogitBias
from graphc.generation.sampling import RowSampling, sampling_feeds
from graphc.serving.api_error import ApiError
from graphc.serving.generation_request import (
    FailureEvent,
    FinishEvent,
    FinishReason,
    GenerationRequest,
    PromptTokenEvent,
    TokenEvent,
)
from graphc.serving.logprobs import TokenLogprobs
from graphc.serving.metrics import ServingMetrics
from graphc.serving.protocol.answer import Answer
from graphc.serving.protocol.calls import read_chat, read_completion
from graphc.serving.protocol.fields import read_object

DEFAULTS = SearchOptions(top_k=7, max_length=99)
HELLO = [{"role": "user", "content": "Hello"}]


def completion(**fields):
    return read_completion({"prompt": "Hello", **fields}, DEFAULTS)


def chat(**fields):
    return read_chat({"messages": HELLO, **fields}, DEFAULTS)


def test_a_completion():
    call = completion(model="m", max_tokens=9, stop="x", n=2, stream=True, temperature=0.5, seed=3)
    assert (call.model, call.prompts, call.choices, call.max_tokens) == ("m", ["Hello"], 2, 9)
    assert (call.stops, call.streams, call.includes_usage) == (["x"], True, False)
    assert not call.is_chat
    assert call.options == DEFAULTS.replace(
        {"do_sample": True, "temperature": 0.5, "random_seed": 3}
    )
    assert completion(prompt=[5, 6]).prompts == [[5, 6]]
    assert completion(prompt=["a", [5]]).prompts == ["a", [5]]


def test_a_conversation():
    parts = [{"type": "text", "text": "Hel"}, {"type": "text", "text": "lo"}]
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": parts}]
    call = chat(messages=messages, max_completion_tokens=4, max_tokens=5)
    assert call.messages == [messages[0], HELLO[0]]
    assert call.max_tokens == 4
    assert chat(max_tokens=5).max_tokens == 5
    assert chat().max_tokens is None
    assert chat(stream=True, stream_options={"include_usage": True}).includes_usage


DRAWS = {
    "nothing": ({}, False),
    "a penalty": ({"repetition_penalty": 1.2}, False),
    "a temperature": ({"temperature": 1}, True),
    "no temperature": ({"temperature": 0, "top_p": 0.5, "seed": 4}, False),
    "almost no temperature": ({"temperature": 1e-9}, False),
    "top_p": ({"top_p": 0.5}, True),
    "all": ({"top_k": -1}, True),
    "a seed": ({"seed": -2}, True),
    "null": ({"temperature": None}, False),
}


@pytest.mark.parametrize("case", DRAWS)
def test_draws(case):
    fields, draws = DRAWS[case]
    assert completion(**fields).options.do_sample is draws


def test_seeds():
    assert completion(seed=5).options.random_seed == 5
    assert completion(seed=-1).options.random_seed == 2**64 - 1
    assert completion(top_k=3).options.random_seed != completion(top_k=3).options.random_seed
    assert read_completion({"prompt": "a"}, SearchOptions(do_sample=True)).options.do_sample


NEUTRAL = {
    "frequency_penalty": 0, "presence_penalty": 0.0, "logprobs": False, "logit_bias": {},
    "tools": [], "user": "somebody", "metadata": {"a": "b"}, "store": None,
}  # fmt: skip


def test_fields_that_ask_for_nothing():
    assert chat(**NEUTRAL, seed=1) == chat(seed=1)


def test_biases():
    given = completion(logit_bias={"5": -100, "7": 0.5, "9": None}, frequency_penalty=1)
    assert given.bias == LogitBias({5: -100, 7: 0.5}, 0.0, 1.0)
    assert completion(logit_bias={"5": 0}).bias is None


def test_response_formats():
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    given = {"type": "json_schema", "json_schema": {"name": "n", "strict": True, "schema": schema}}
    assert chat(response_format=given).json_schema == schema
    assert chat(response_format={"type": "json_object"}).json_schema == {"type": "object"}
    assert chat(response_format={"type": "text"}).json_schema is None


WRONG = {
    "no prompt": ({"prompt": None}, "prompt", "prompt must be a text, a list of tokens"),
    "an empty list": ({"prompt": []}, "prompt", "not []"),
    "a mixture": ({"prompt": ["a", 5]}, "prompt", "prompt must be"),
    "truth values": ({"prompt": [True]}, "prompt", "prompt must be"),
    "no number": ({"temperature": "1"}, "temperature", 'must be a number from 0 to 1000, not "1"'),
    "too warm": ({"temperature": 1e9}, "temperature", "not 1000000000.0"),
    "a huge integer": ({"temperature": 10**400}, "temperature", "must be a number"),
    "no share": ({"top_p": 0}, "top_p", "top_p must be a number above 0 to 1, not 0"),
    "too large a share": ({"top_p": 1.5}, "top_p", "from 0 to 1, not 1.5"),
    "a negative min_p": ({"min_p": -0.1}, "min_p", "from 0 to 1"),
    "half a token": ({"top_k": 2.5}, "top_k", "a whole number from -1"),
    "no penalty": ({"repetition_penalty": 0}, "repetition_penalty", "from 0.001 to 1000"),
    "a truth value": ({"seed": True}, "seed", "a whole number"),
    "no tokens": ({"max_tokens": 0}, "max_tokens", "a whole number from 1"),
    "no choices": ({"n": 0}, "n", "a whole number from 1 to 128"),
    "an empty stop": ({"stop": ["a", ""]}, "stop", "a text or up to 16 texts"),
    "many stops": ({"stop": ["a"] * 17}, "stop", "up to 16 texts"),
    "a misspelled field": ({"temprature": 1}, "temprature", "unknown field 'temprature'"),
    "beams": ({"best_of": 3}, "best_of", "best_of: 3 is not supported"),
    "biases of texts": ({"logit_bias": {"a": 1}}, "logit_bias", "numbers by tokens, not {"),
    "a large bias": ({"logit_bias": {"5": 101}}, "logit_bias.5", "a number from -100 to 100"),
    "a large penalty": ({"presence_penalty": 2.5}, "presence_penalty", "a number from -2 to 2"),
    "options of streams": ({"stream_options": {}}, "stream_options", "are for streams"),
    "no format": (
        {"response_format": {"type": "xml"}}, "response_format.type", 'json_schema, not "xml"'
    ),
    "no schema": (
        {"response_format": {"type": "json_schema", "json_schema": {"name": "n"}}},
        "response_format.json_schema.schema", "must be a schema",
    ),
    "a text for an object": (
        {"response_format": "json"}, "response_format", 'must be an object, not "json"'
    ),
}  # fmt: skip
WRONG_MESSAGES = {
    "none": (None, "messages"),
    "an empty list": ([], "messages"),
    "a text": (["Hello"], "messages[0]"),
    "no role": ([{"content": "a"}], "messages[0].role"),
    "no content": ([HELLO[0], {"role": "user"}], "messages[1].content"),
    "an image": (
        [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}],
        "messages[0].content[0]",
    ),
    "a field of no message": ([{**HELLO[0], "tool": "1"}], "messages[0].tool"),
}


@pytest.mark.parametrize("case", WRONG)
def test_fields_that_are_wrong(case):
    fields, param, message = WRONG[case]
    with pytest.raises(ApiError) as caught:
        completion(**fields)
    assert message in str(caught.value)
    assert (caught.value.status, caught.value.param) == (400, param)


@pytest.mark.parametrize("case", WRONG_MESSAGES)
def test_messages_that_are_wrong(case):
    messages, param = WRONG_MESSAGES[case]
    with pytest.raises(ApiError) as caught:
        chat(messages=messages)
    assert (caught.value.status, caught.value.param) == (400, param)


NAMES = [
    "model", "prompt", "messages", "max_tokens", "n", "stop", "stream", "stream_options", "seed",
    "temperature", "top_p", "top_k", "min_p", "repetition_penalty", "response_format", "tools", "x",
]  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["role", "content", "type", *NAMES]), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=50)
@given(st.dictionaries(st.sampled_from(NAMES), JSON), st.sampled_from([read_chat, read_completion]))
def test_any_json(fields, read):
    """It is a call, whose options can be fed to a step, or an error that can be sent."""
    call = error = None
    try:
        call = read(read_object(json.dumps(fields).encode()), DEFAULTS)
    except ApiError as caught:
        error = caught
    if error is not None:
        assert error.status == 400
        json.dumps(error.content())
    else:
        seen = np.zeros(9, bool)
        feeds = sampling_feeds([RowSampling(call.options, seen, ~seen, 3)])
        assert all(np.isfinite(each).all() for each in feeds.values())
        assert feeds["sampling_temperature"] > 0


BODIES = [b"", b"{", b"[1]", b'"a"', b"\xff{}", b'{"temperature": NaN}', b"[" * 100_000]


@pytest.mark.parametrize("body", BODIES, ids=range(len(BODIES)))
def test_bodies_that_are_no_objects(body):
    with pytest.raises(ApiError, match=r"^the body is not ") as caught:
        read_object(body)
    assert caught.value.code == "invalid_json"


def events_of(text, reason=FinishReason.STOP):
    tokens = [TokenEvent(index, letter) for index, letter in enumerate(text[:-1])]
    return [*tokens, TokenEvent(99, ""), FinishEvent(reason, text[-1], cached_tokens=2)]


def answer_of(call, prompts=((1, 2, 3),)):
    requests = [
        GenerationRequest(prompt, call.options, 9, None, None)
        for prompt in prompts
        for _ in range(call.choices)
    ]
    return Answer(call, "tiny", requests)


@pytest.mark.parametrize("read", [chat, completion])
def test_answers(read):
    """Whole and in chunks; the tokens of the prompt count once for two choices."""
    answer = answer_of(read(n=2, stream=True, stream_options={"include_usage": True}))
    chunks = [*answer.first_chunks()]
    for index, text in enumerate(("abc", "xy")):
        for event in events_of(text):
            assert not answer.is_complete
            chunks += answer.add(index, event)
    chunks += answer.last_chunks()
    assert answer.is_complete
    usage = {
        "prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8,
        "prompt_tokens_details": {"cached_tokens": 2},
    }  # fmt: skip
    assert chunks[-1]["choices"] == []
    assert [chunk["usage"] for chunk in chunks] == [None] * (len(chunks) - 1) + [usage]
    whole = answer.whole()
    assert whole["usage"] == usage
    assert {chunk["id"] for chunk in (*chunks, whole)} == {answer.id}
    is_chat = read is chat
    for index, text in enumerate(("abc", "xy")):
        mine = [each for chunk in chunks for each in chunk["choices"] if each["index"] == index]
        assert [each["finish_reason"] for each in mine] == [None] * (len(mine) - 1) + ["stop"]
        if is_chat:
            assert mine[0]["delta"] == {"role": "assistant", "content": ""}
            assert "".join(each["delta"].get("content", "") for each in mine) == text
            assert whole["choices"][index]["message"]["content"] == text
        else:
            assert "".join(each["text"] for each in mine) == text
            assert whole["choices"][index]["text"] == text
    assert whole["object"] == ("chat.completion" if is_chat else "text_completion")
    assert chunks[0]["object"] == ("chat.completion.chunk" if is_chat else "text_completion")
    json.dumps([*chunks, whole])


def test_an_answer_that_fails():
    answer = answer_of(completion())
    with pytest.raises(ApiError, match="no memory"):
        list(answer.add(0, FailureEvent(ApiError("no memory", 500))))


def test_the_text_of_metrics():
    metrics = ServingMetrics()
    metrics.prompt_tokens.add(5)
    metrics.finished.add(2, "stop")
    metrics.running = 3
    for value in (0.004, 0.01, 0.02, 500):
        metrics.time_to_first_token.observe(value)
    lines = metrics.render('a "b"').splitlines()
    name = 'model_name="a \\"b\\""'
    assert f"graphc:prompt_tokens_total{{{name}}} 5" in lines
    assert f"graphc:num_requests_running{{{name}}} 3" in lines
    assert f'graphc:request_success_total{{{name},finished_reason="stop"}} 2' in lines
    buckets = [each for each in lines if each.startswith("graphc:time_to_first_token_seconds_b")]
    assert [int(each.split()[-1]) for each in buckets[:3]] == [2, 3, 3]
    assert buckets[-1] == f'graphc:time_to_first_token_seconds_bucket{{{name},le="+Inf"}} 4'
    (total,) = [each for each in lines if each.startswith("graphc:time_to_first_token_seconds_s")]
    assert math.isclose(float(total.split()[-1]), 500.034)


def test_prometheus_reads_the_metrics():
    parser = pytest.importorskip("prometheus_client.parser")
    metrics = ServingMetrics()
    metrics.failed.add(1, "queue_full")
    metrics.time_per_output_token.observe(0.03)
    found = {each.name: each for each in parser.text_string_to_metric_families(metrics.render("m"))}
    assert found["graphc:request_failure"].type == "counter"
    assert found["graphc:request_failure"].samples[0].labels["code"] == "queue_full"
    assert found["graphc:time_per_output_token_seconds"].type == "histogram"
    assert found["graphc:num_requests_waiting"].samples[0].value == 0


def test_log_probabilities_that_are_asked_for():
    assert completion().logprobs is chat().logprobs is None
    assert completion(logprobs=0).logprobs == chat(logprobs=True).logprobs == 0
    assert completion(logprobs=3).logprobs == chat(logprobs=True, top_logprobs=3).logprobs == 3
    assert chat(logprobs=False, top_logprobs=0).logprobs is None
    for call in (partial(completion, logprobs=21), partial(completion, logprobs=True),
                 partial(chat, top_logprobs=2), partial(chat, logprobs=2),
                 partial(chat, echo=True)):  # fmt: skip
        with pytest.raises(ApiError):
            call()


def test_log_probabilities():
    logits = np.log(np.array([0.5, 0.125, 0.25, 0.125], np.float32)) + 7
    found = TokenLogprobs.of(logits, 3, 3)
    assert math.isclose(found.logprob, math.log(0.125), abs_tol=1e-6)
    assert [token for token, _ in found.top] == [0, 2, 1]
    np.testing.assert_allclose([each for _, each in found.top], np.log([0.5, 0.25, 0.125]), 1e-5)
    assert TokenLogprobs.of(logits, 0, 0).top == []
    assert len(TokenLogprobs.of(logits, 0, 20).top) == 4


LOGPROBS = TokenLogprobs(-0.5, [(1, -0.5), (2, -1.5)])


def told_events():
    yield TokenEvent(1, "", LOGPROBS)
    yield TokenEvent(2, "b2", LOGPROBS)
    yield FinishEvent(FinishReason.STOP, "", 0)


def test_log_probabilities_of_a_completion():
    answer = answer_of(completion(logprobs=2))
    answer.text_of = lambda token: f"<{token}>"
    chunks = [chunk for event in told_events() for chunk in answer.add(0, event)]
    told = [chunk["choices"][0]["logprobs"] for chunk in chunks]
    top = {"<1>": -0.5, "<2>": -1.5}
    assert told == [
        {"tokens": ["<1>"], "token_logprobs": [-0.5], "top_logprobs": [top], "text_offset": [0]},
        {"tokens": ["<2>"], "token_logprobs": [-0.5], "top_logprobs": [top], "text_offset": [3]},
        None,
    ]
    (choice,) = answer.whole()["choices"]
    assert choice["logprobs"] == {
        "tokens": ["<1>", "<2>"], "token_logprobs": [-0.5, -0.5], "top_logprobs": [top, top],
        "text_offset": [0, 3],
    }  # fmt: skip


def test_log_probabilities_of_a_message():
    answer = answer_of(chat(logprobs=True, top_logprobs=2))
    answer.text_of = chr
    for event in told_events():
        list(answer.add(0, event))
    (choice,) = answer.whole()["choices"]
    one, two = ({"token": chr(n), "bytes": [n]} for n in (1, 2))
    top = [{**one, "logprob": -0.5}, {**two, "logprob": -1.5}]
    content = [{**each, "logprob": -0.5, "top_logprobs": top} for each in (one, two)]
    assert choice["logprobs"] == {"content": content, "refusal": None}


def test_log_probabilities_of_a_prompt():
    answer = answer_of(completion(prompt=[[3, 4]], echo=True, logprobs=2), ((3, 4),))
    answer.text_of = lambda token: f"<{token}>"
    for event in (PromptTokenEvent(3, None), PromptTokenEvent(4, LOGPROBS), *told_events()):
        list(answer.add(0, event))
    (choice,) = answer.whole()["choices"]
    assert choice["text"] == "<3><4>b2"
    assert choice["logprobs"]["tokens"] == ["<3>", "<4>", "<1>", "<2>"]
    assert choice["logprobs"]["token_logprobs"] == [None, -0.5, -0.5, -0.5]
    assert choice["logprobs"]["top_logprobs"][:2] == [None, {"<1>": -0.5, "<2>": -1.5}]
    assert answer._usage()["completion_tokens"] == 2


def test_prompts_that_are_echoed():
    answer = answer_of(completion(prompt=["ab", [5, 6]], echo=True, stream=True), ((1,), (5, 6)))
    answer.text_of = lambda token: f"<{token}>"
    first = [chunk["choices"][0]["text"] for chunk in answer.first_chunks()]
    assert first == ["ab", "<5><6>"]
    for index in range(2):
        for event in events_of("xy"):
            list(answer.add(index, event))
    assert [each["text"] for each in answer.whole()["choices"]] == ["abxy", "<5><6>xy"]
