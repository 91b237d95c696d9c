"""The server on a free port of this machine, and clients of several kinds."""

import http.client
import json
import re
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest
from serving_models import CONTEXT, SLOTS

import graphc
from graphc.generation import Generator
from graphc.serving.engine import Engine
from graphc.serving.http.settings import ServerSettings
from graphc.serving.scheduler import Scheduler

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("tokenizers")
pytest.importorskip("jinja2")

PAGE = (Path(graphc.__file__).parent / "docs" / "serving.md").read_text()
BODY_LIMIT = 20_000
HELLO = [{"role": "user", "content": "Hello"}]


@contextmanager
def running(model, queue=8, **settings):
    """A server for `model`, and its address."""
    from graphc.serving.http.application import make_application
    from graphc.serving.http.server import ModelServer, open_socket

    engine = Engine(Scheduler(model, SLOTS, queue))
    settings = ServerSettings("tiny", body_limit=BODY_LIMIT, **settings)
    server = ModelServer(make_application(model, engine, settings), engine)
    listener = open_socket("127.0.0.1", 0)
    thread = threading.Thread(target=server.serve_on, args=[listener])
    thread.start()
    try:
        yield Client(engine, listener.getsockname()[1])
    finally:
        server.stop()
        thread.join()


@pytest.fixture(scope="module")
def client(model):
    with running(model) as client:
        yield client


class Client:
    """A client of the standard library."""

    def __init__(self, engine, port):
        self.engine, self.port = engine, port
        self.metrics = engine.scheduler.metrics

    def connect(self):
        return closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=60))

    def send(self, method, path, body=None, headers=None):
        """The status, the headers and the JSON of an answer."""
        content = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        given = {"content-type": "application/json", **(headers or {})}
        with self.connect() as connection:
            connection.request(method, path, content, given)
            response = connection.getresponse()
            text = response.read().decode()
        is_json = response.headers["content-type"] == "application/json"
        return response.status, response.headers, json.loads(text) if is_json else text

    def complete(self, **fields):
        """The answer to a prompt."""
        status, _, content = self.send("POST", "/v1/completions", {"prompt": "Hello", **fields})
        assert status == 200, content
        return content

    def chunks(self, path, **fields):
        """The chunks of a stream."""
        with self.connect() as connection:
            body = json.dumps({"stream": True, **fields})
            connection.request("POST", path, body, {"content-type": "application/json"})
            response = connection.getresponse()
            assert response.status == 200
            assert response.headers["content-type"].startswith("text/event-stream")
            lines = response.read().decode().split("\n\n")
        assert lines[-2:] == ["data: [DONE]", ""]
        return [json.loads(line.removeprefix("data: ")) for line in lines[:-2]]


def wait_until(is_true):
    end = time.monotonic() + 30
    while not is_true():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture(scope="module")
def expected(model):
    """The texts by `Generator`, of a batch as large as the server's, which is compiled anyway."""

    def text_of(prompt, count, **options):
        is_chat = isinstance(prompt, list)
        encode = model.tokenizer.encode_chat if is_chat else model.tokenizer.encode
        tokens = encode(prompt)
        options = model.config.search.replace(options)
        generator = Generator(model, [options] * SLOTS, batch_size=SLOTS)
        generator.append_tokens([tokens] * SLOTS)
        while generator.token_count() < len(tokens) + count and not generator.is_done():
            generator.generate_next_token()
        stream = model.tokenizer.stream()
        return "".join(map(stream.step, generator.get_sequence()[len(tokens) :]))

    return text_of


def test_a_completion(client, expected):
    content = client.complete(model="tiny", max_tokens=20)
    (choice,) = content["choices"]
    assert choice["text"] == expected("Hello", 20)
    assert content["object"] == "text_completion"
    usage = content["usage"]
    assert usage["prompt_tokens"] == 5
    assert usage["total_tokens"] == 5 + usage["completion_tokens"]
    assert client.complete(prompt="Hello")["usage"]["completion_tokens"] <= 16


def test_a_conversation(client, expected):
    status, _, content = client.send(
        "POST", "/v1/chat/completions", {"messages": HELLO, "max_tokens": 15}
    )
    assert status == 200
    (choice,) = content["choices"]
    assert choice["message"]["content"] == expected(HELLO, 15)
    assert choice["message"]["role"] == "assistant"
    _, _, content = client.send(
        "POST", "/v1/chat/completions", {"messages": HELLO, "min_tokens": CONTEXT}
    )
    usage = content["usage"]
    assert usage["total_tokens"] == CONTEXT  # without a limit, up to the context
    assert content["choices"][0]["finish_reason"] == "length"


DRAW = {"temperature": 1.3, "top_k": 15, "top_p": 0.95, "min_p": 0.01, "repetition_penalty": 1.2}


def test_streams(client, expected):
    """Draws of a seed, in pieces."""
    text = expected("Hello", 30, do_sample=True, random_seed=7, **DRAW)
    chunks = client.chunks(
        "/v1/completions", prompt="Hello", max_tokens=30, seed=7, **DRAW,
        stream_options={"include_usage": True},
    )  # fmt: skip
    *parts, last = chunks
    assert "".join(each["choices"][0]["text"] for each in parts) == text
    assert last["usage"]["prompt_tokens"] == 5
    assert len(parts) > 5
    chunks = client.chunks("/v1/chat/completions", messages=HELLO, max_tokens=9)
    deltas = [each["choices"][0]["delta"] for each in chunks]
    assert deltas[0]["role"] == "assistant"
    assert "".join(each.get("content", "") for each in deltas) == expected(HELLO, 9)
    assert "usage" not in chunks[-1]


def test_several_prompts_and_choices(client, expected):
    content = client.complete(prompt=["ab", [5, 6, 7]], n=3, max_tokens=8, seed=4, temperature=2)
    texts = [choice["text"] for choice in content["choices"]]
    assert [choice["index"] for choice in content["choices"]] == list(range(6))
    draw = {"do_sample": True, "temperature": 2.0, "random_seed": 4}
    assert texts[:3] == [expected("ab", 8, **{**draw, "random_seed": 4 + n}) for n in range(3)]
    assert content["usage"]["prompt_tokens"] == 5


def test_many_clients_at_once(client, expected):
    """More than there are slots; each gets its own text."""
    prompts = [f"text {number}" * (1 + number % 3) for number in range(10)]
    with ThreadPoolExecutor(10) as pool:
        found = [pool.submit(client.complete, prompt=each, max_tokens=20) for each in prompts]
        texts = [each.result()["choices"][0]["text"] for each in found]
    assert texts == [expected(each, 20) for each in prompts]


def test_stops(client, expected):
    text = expected("Hello", 20)
    content = client.complete(max_tokens=20, stop=[text[4:6], "no such"])
    (choice,) = content["choices"]
    assert choice["text"] == text[: text.index(text[4:6])]
    assert choice["finish_reason"] == "stop"


def test_log_probabilities(client, model):
    """Those of the model, of which the most probable token is taken."""
    (choice,) = client.complete(max_tokens=4, logprobs=3)["choices"]
    found = choice["logprobs"]
    assert len(found["tokens"]) == 4
    generator = Generator(model)
    generator.append_tokens(model.tokenizer.encode("Hello"))
    for logprob, top in zip(found["token_logprobs"], found["top_logprobs"], strict=True):
        (logits,) = generator.get_logits().astype(np.float64)
        generator.generate_next_token()
        token = generator.get_next_tokens()[0]
        truth = logits[token] - np.log(np.exp(logits).sum())
        np.testing.assert_allclose(logprob, truth, atol=1e-5)
        assert max(top.values()) == logprob
    plain = client.complete(max_tokens=4)["choices"][0]
    assert plain["logprobs"] is None
    assert client.complete(max_tokens=4, echo=True)["choices"][0]["text"] == "Hello" + plain["text"]
    fields = {"messages": HELLO, "max_tokens": 3, "logprobs": True, "top_logprobs": 2}
    _, _, content = client.send("POST", "/v1/chat/completions", fields)
    (choice,) = content["choices"]
    assert [len(each["top_logprobs"]) for each in choice["logprobs"]["content"]] == [2, 2, 2]


def test_json_by_a_schema(client):
    pytest.importorskip("llguidance")
    form = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"enum": ["yes", "no"]}}}
    fields = {"messages": HELLO, "response_format": form, "temperature": 1.0, "seed": 3}
    _, _, content = client.send("POST", "/v1/chat/completions", fields)
    (choice,) = content["choices"]
    assert choice["message"]["content"] in ('"yes"', '"no"')
    assert choice["finish_reason"] == "stop"
    form["json_schema"]["schema"] = {"type": "nothing"}
    status, _, content = client.send("POST", "/v1/chat/completions", fields)
    assert (status, content["error"]["code"]) == (400, "invalid_json_schema")


def test_models_health_and_metrics(client):
    status, _, content = client.send("GET", "/v1/models")
    assert status == 200
    assert [each["id"] for each in content["data"]] == ["tiny"]
    assert client.send("GET", "/v1/models/tiny")[2]["max_model_len"] == CONTEXT
    assert client.send("GET", "/healthz")[2] == {"status": "ok"}
    before = client.metrics.generation_tokens.values[""]
    count = client.complete(max_tokens=5)["usage"]["completion_tokens"]
    _, headers, text = client.send("GET", "/metrics")
    assert headers["content-type"].startswith("text/plain; version=0.0.4")
    assert f'graphc:generation_tokens_total{{model_name="tiny"}} {before + count:g}' in text


ERRORS = {
    "no JSON": (b"{", 400, "invalid_json", None),
    "no object": (b"[]", 400, "invalid_json", None),
    "an unknown field": ({"prompt": "a", "topk": 5}, 400, "unknown_parameter", "topk"),
    "a value out of range": ({"prompt": "a", "top_p": 2}, 400, "invalid_value", "top_p"),
    "a token out of range": ({"prompt": [5, 96]}, 400, "invalid_value", "prompt"),
    "no tokens": ({"prompt": ""}, 400, "invalid_value", "prompt"),
    "a long prompt": ({"prompt": "a" * 200}, 400, "context_length_exceeded", "prompt"),
    "a long answer": ({"prompt": "a", "max_tokens": 128}, 400, "context_length_exceeded", "prompt"),
    "another model": ({"model": "gpt", "prompt": "a"}, 404, "model_not_found", "model"),
    "many choices": ({"prompt": "a", "n": 99}, 400, "invalid_value", "n"),
    "many prompts": ({"prompt": ["a"] * 5, "n": 3}, 400, "invalid_value", "n"),
    "NaN": ({"prompt": "ab|cd"}, 500, "invalid_logits", None),
    "a large body": (b" " * (BODY_LIMIT + 1), 413, "body_too_large", None),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case, client):
    body, status, code, param = ERRORS[case]
    found, headers, content = client.send("POST", "/v1/completions", body)
    assert (found, content["error"]["code"], content["error"]["param"]) == (status, code, param)
    assert set(content["error"]) == {"message", "type", "param", "code"}
    assert headers["x-should-retry"] == "false"


ROUTES = [("GET", "/v1/nothing", 404), ("GET", "/v1/completions", 405), ("POST", "/", 404)]


@pytest.mark.parametrize(("method", "path", "status"), ROUTES)
def test_routes_that_there_are_not(method, path, status, client):
    found, _, content = client.send(method, path)
    assert found == status
    assert content["error"]["message"].startswith(f"{method} {path}: ")


def test_bodies_of_another_type(client):
    form = {"content-type": "application/x-www-form-urlencoded"}
    status, _, content = client.send("POST", "/v1/completions", {"prompt": "a"}, form)
    assert (status, content["error"]["code"]) == (415, "unsupported_media_type")


def test_an_error_in_a_stream(client):
    chunks = client.chunks("/v1/completions", prompt="ab|cd")
    assert [each["error"]["code"] for each in chunks] == ["invalid_logits"]


def test_a_body_is_refused_while_it_is_read(client):
    """One without a length, of which no more is sent than the limit and a bit."""
    with socket.create_connection(("127.0.0.1", client.port), timeout=60) as connection:
        head = "POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
        connection.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        connection.sendall(b"%x\r\n%s\r\n" % (BODY_LIMIT, b" " * BODY_LIMIT))
        connection.sendall(b"1\r\n \r\n")
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        assert answer.status == 413
        assert json.loads(answer.read())["error"]["code"] == "body_too_large"


def test_a_body_that_does_not_come(model, caplog):
    """In time, or at all: the first client gets an error, the second one leaves without a trace."""
    head = "POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
    with running(model, body_timeout=0.3) as client:
        connections = [socket.create_connection(("127.0.0.1", client.port)) for _ in range(2)]
        for each in connections:
            each.sendall(f"{head}Content-Length: 9\r\n\r\n{{".encode())
        time.sleep(0.1)
        connections[1].close()
        with closing(connections[0]):
            answer = http.client.HTTPResponse(connections[0])
            answer.begin()
            assert answer.status == 408
            assert json.loads(answer.read())["error"]["code"] == "body_timeout"
        assert client.complete(max_tokens=1)
    assert not caplog.records


@pytest.mark.parametrize("streams", [True, False])
def test_clients_that_leave(streams, client):
    """Their slots are free before their texts have ended."""
    before = client.metrics.finished.values.get("cancelled", 0)
    body = json.dumps(
        {"prompt": "a", "max_tokens": 120, "min_tokens": 120, "n": 6, "stream": streams}
    )
    with client.connect() as connection:
        connection.request("POST", "/v1/completions", body, {"content-type": "application/json"})
        if streams:
            assert connection.getresponse().read(10)
        wait_until(lambda: client.metrics.running >= 3)
    wait_until(lambda: client.metrics.running == client.metrics.waiting == 0)
    assert client.metrics.finished.values["cancelled"] > before


def test_a_full_queue(model, monkeypatch):
    """The answer says that it is worth trying again."""
    with running(model, queue=0) as client, client.connect() as connection:
        hold = threading.Event()
        step = model.entry_points.step
        monkeypatch.setattr(model.entry_points, "step", lambda *args: hold.wait(30) and step(*args))
        body = json.dumps({"prompt": "abc", "n": SLOTS, "stream": True})
        connection.request("POST", "/v1/completions", body, {"content-type": "application/json"})
        wait_until(lambda: client.metrics.waiting + client.metrics.running == SLOTS)
        status, headers, content = client.send("POST", "/v1/completions", {"prompt": "a"})
        hold.set()
        assert (status, content["error"]["code"]) == (429, "queue_full")
        assert (headers["x-should-retry"], headers["retry-after"]) == ("true", "1")
        assert connection.getresponse().read().endswith(b"data: [DONE]\n\n")


def test_a_key(model):
    with running(model, api_key="secret") as client:
        for given in ({}, {"authorization": "Bearer no"}, {"authorization": "secret"}):
            status, headers, content = client.send("GET", "/v1/models", headers=given)
            assert (status, content["error"]["code"]) == (401, "invalid_api_key")
            assert headers["www-authenticate"] == "Bearer"
        given = {"authorization": "Bearer secret"}
        assert client.send("GET", "/v1/models", headers=given)[0] == 200
        assert client.send("GET", "/healthz")[0] == 200


def test_a_request_that_takes_too_long(model):
    with running(model, timeout=0.0) as client:
        status, _, content = client.send("POST", "/v1/completions", {"prompt": "a"})
        assert (status, content["error"]["code"]) == (504, "request_timeout")


def test_an_engine_that_fails(model, monkeypatch):
    """By a bug: its requests fail, and the server ends with the exception."""
    from graphc.serving.http.application import make_application
    from graphc.serving.http.server import ModelServer, open_socket

    def fail(*arguments):
        raise KeyError("a bug")

    engine = Engine(Scheduler(model, SLOTS))
    server = ModelServer(make_application(model, engine, ServerSettings("tiny")), engine)
    listener = open_socket("127.0.0.1", 0)
    client = Client(engine, listener.getsockname()[1])
    monkeypatch.setattr(model.entry_points, "step", fail)
    with ThreadPoolExecutor(1) as pool:
        served = pool.submit(server.serve_on, listener)
        status, _, content = client.send("POST", "/v1/completions", {"prompt": "a"})
        assert (status, content["error"]["code"]) == (500, "internal_error")
        with pytest.raises(KeyError, match="a bug"):
            served.result()


def test_the_client_of_openai(client, expected):
    openai = pytest.importorskip("openai")
    address = f"http://127.0.0.1:{client.port}/v1"
    with openai.OpenAI(base_url=address, api_key="none", max_retries=0) as official:
        answer = official.chat.completions.create(model="tiny", messages=HELLO, max_tokens=9)
        assert answer.choices[0].message.content == expected(HELLO, 9)
        assert answer.usage.prompt_tokens_details.cached_tokens >= 0
        stream = official.chat.completions.create(
            model="tiny", messages=HELLO, max_tokens=9, stream=True,
            stream_options={"include_usage": True},
        )  # fmt: skip
        *chunks, last = stream
        texts = [each.choices[0].delta.content or "" for each in chunks]
        assert "".join(texts) == expected(HELLO, 9)
        assert last.usage.completion_tokens == answer.usage.completion_tokens
        drawn = official.completions.create(
            model="tiny", prompt="Hello", max_tokens=9, seed=7, extra_body=DRAW
        )
        text = expected("Hello", 9, do_sample=True, random_seed=7, **DRAW)
        assert drawn.choices[0].text == text
        assert [each.id for each in official.models.list()] == ["tiny"]
        with pytest.raises(openai.BadRequestError, match="maximum context length is 128"):
            official.completions.create(model="tiny", prompt="a" * 200)
        with pytest.raises(openai.NotFoundError):
            official.completions.create(model="gpt", prompt="a")
        with pytest.raises(openai.APIError, match="NaN or infinite"):
            list(official.completions.create(model="tiny", prompt="a|", stream=True))


def test_the_page(client, expected, capsys):
    """The examples of docs/serving.md, with this server's port and name."""
    question = [{"role": "user", "content": "Why is the sky blue?"}]
    (body,) = re.findall(r"-d '(.*?)'", PAGE)
    assert json.loads(body) == {"messages": question}
    assert client.send("POST", "/v1/chat/completions", json.loads(body))[0] == 200
    (code,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    pytest.importorskip("openai")
    code = code.replace(":8000", f":{client.port}").replace("smollm2", "tiny")
    names = {}
    exec(compile(code, "serving.md", "exec"), names)
    names["client"].close()
    assert capsys.readouterr().out == expected(question, 50)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:80", 200), ("localhost", 200), ("LOCALHOST.:1", 200), ("[::1]:80", 200),
        ("evil.example", 421), ("localhost.evil.example:80", 421), ("10.0.0.1", 421), ("", 421),
    ],
)  # fmt: skip
def test_names_of_other_machines(local, host, status):
    """A page in a browser that has its own name resolved to this machine gets no answers."""
    for path in ("/v1/models", "/healthz"):
        found, _, content = local.send("GET", path, headers={"host": host})
        assert found == status
        assert found == 200 or content["error"]["code"] == "invalid_host"


@pytest.fixture(scope="module")
def local(model):
    with running(model, is_local=True) as client:
        yield client


def test_all_names_of_a_server_for_others(client):
    assert client.send("GET", "/v1/models", headers={"host": "a.example"})[0] == 200
