"""Continuous batching, without a server: tokens are those of `Generator`."""

import numpy as np
import pytest
import tiny_language_models as tiny
from serving_models import CHUNK, CONTEXT, POISON, SLOTS, request_for, run_all

from graphc.errors import ExecutionError, OutOfMemoryError
from graphc.generation import Generator, SearchOptions, key_value_cache
from graphc.generation.logit_bias import LogitBias
from graphc.generation.stop_sequences import StopSequences
from graphc.serving.api_error import ApiError
from graphc.serving.generation_request import FinishReason
from graphc.serving.scheduler import Scheduler
from harness.marks import long

GREEDY = SearchOptions(min_length=CONTEXT)
OPTIONS = [
    GREEDY,
    SearchOptions(do_sample=True, temperature=1.4, top_k=20, random_seed=3, min_length=CONTEXT),
    SearchOptions(repetition_penalty=1.7, min_length=CONTEXT),
    SearchOptions(
        do_sample=True, top_k=15, top_p=0.9, min_p=0.01, random_seed=9, min_length=CONTEXT
    ),
]


def prompt(length, seed=0):
    return np.random.default_rng(seed).integers(2, POISON, length).tolist()


PROMPTS = [prompt(1), prompt(8, 1), prompt(19, 2), prompt(33, 3)]


@pytest.fixture(scope="module")
def expected(model):
    """The twelve tokens behind each of `PROMPTS` by each of `OPTIONS`, by `Generator`."""
    found = {}
    for shift in range(len(OPTIONS)):
        options = OPTIONS[shift:] + OPTIONS[:shift]
        generator = Generator(model, options, batch_size=SLOTS)
        generator.append_tokens(PROMPTS)
        for _ in range(12):
            generator.generate_next_token()
        for row, given in enumerate(PROMPTS):
            tokens = generator.get_sequence(row)[len(given) :]
            found[row, (row + shift) % len(OPTIONS)] = tokens
    return found


def every_request(expected):
    """Requests in an order that mixes lengths and options, with what they should get."""
    cases = sorted(expected, key=lambda case: (case[0] * 5 + case[1] * 3) % 16)
    made = {case: request_for(PROMPTS[case[0]], OPTIONS[case[1]]) for case in cases}
    return made, cases


@pytest.mark.parametrize("pause", [long(0), 3])
def test_tokens_are_those_of_a_generator(pause, model, expected, monkeypatch):
    """Sixteen requests through four slots, at once or one by one, with a cache that grows."""
    monkeypatch.setattr(key_value_cache, "FIRST_CAPACITY", 16)
    made, cases = every_request(expected)
    scheduler = Scheduler(model, SLOTS)
    waiting = [made[case][0] for case in cases]
    running = set()

    def arrive(step):
        count = len(waiting) if pause == 0 else step % pause == 0
        scheduler.submit([waiting.pop(0) for _ in range(min(count, len(waiting)))])
        running.add(scheduler.metrics.running)

    run_all(scheduler, arrive)
    assert not waiting
    assert max(running) == SLOTS
    for case in cases:
        recorder = made[case][1]
        assert recorder.tokens == expected[case]
        assert recorder.end.reason == FinishReason.LENGTH
        assert recorder.text == "".join(chr(0x100 + token) for token in expected[case])


def test_alone_and_in_company(model, expected):
    for case in [(0, 1), (2, 0), (3, 3)]:
        scheduler = Scheduler(model, SLOTS)
        request, recorder = request_for(PROMPTS[case[0]], OPTIONS[case[1]])
        scheduler.submit([request])
        run_all(scheduler)
        assert recorder.tokens == expected[case]


def test_a_long_prompt_does_not_stall_the_others(model):
    """Each step computes a chunk of it, and a token of the text that runs."""
    scheduler = Scheduler(model, SLOTS)
    first, stream = request_for(prompt(4), count=40)
    scheduler.submit([first])
    scheduler.step()
    long, other = request_for(prompt(12 * CHUNK, 5), count=3)
    scheduler.submit([long])
    for _ in range(11):
        before = len(stream.tokens)
        scheduler.step()
        assert len(stream.tokens) == before + 1
        assert not other.tokens
    scheduler.step()
    assert len(other.tokens) == 2  # behind the last chunk, and of the batch


def test_up_to_the_end_of_the_context(model, folder):
    """The last tokens of the prompt, where no chunk fits, are computed among the others."""
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(folder / "model.onnx")
    empty = np.zeros((1, tiny.KV_HEADS, 0, tiny.HEAD_SIZE), np.float32)
    pasts = {each.name: empty for each in session.get_inputs() if each.name.startswith("past")}
    tokens = prompt(CONTEXT - 5, 6)
    scheduler = Scheduler(model, SLOTS)
    request, recorder = request_for(tokens, count=5)
    other, company = request_for(prompt(3), count=60)
    scheduler.submit([request, other])
    run_all(scheduler)
    for _ in range(5):
        ids = np.array([tokens], np.int64)
        feeds = {"input_ids": ids, "attention_mask": np.ones_like(ids), **pasts}
        logits = session.run(["logits"], feeds)[0][0, -1]
        logits[1] = -np.inf
        tokens.append(int(np.argmax(logits)))
    assert recorder.tokens == tokens[-5:]
    assert recorder.end.reason == FinishReason.LENGTH
    assert len(company.tokens) == 60


def test_a_prompt_that_begins_like_the_one_before(model, expected):
    """Whole chunks are taken from it; the tokens are those of a prompt from scratch."""
    scheduler = Scheduler(model, SLOTS)
    counts = []
    for given in (PROMPTS[3], PROMPTS[3], PROMPTS[3][:20] + prompt(13, 8), PROMPTS[3]):
        request, recorder = request_for(given, GREEDY)
        scheduler.submit([request])
        run_all(scheduler)
        counts.append(recorder.end.cached_tokens)
        if given == PROMPTS[3]:
            assert recorder.tokens == expected[3, 0]
    assert counts == [0, 32, 16, 16]
    assert scheduler.metrics.cached_tokens.values[""] == sum(counts)


def test_ends(model, expected):
    """By the model, by a stop sequence, which is left out, and by the number of tokens."""
    text = "".join(chr(0x100 + token) for token in expected[2, 0])
    stop = text[4:6]
    scheduler = Scheduler(model, SLOTS)
    stopped, by_stop = request_for(PROMPTS[2], GREEDY, stops=StopSequences([stop, "x"]))
    single, by_count = request_for(PROMPTS[2], GREEDY, count=1)
    options = SearchOptions(do_sample=True, temperature=50.0, top_k=20)
    draws = [
        request_for(PROMPTS[0], options.replace({"random_seed": seed}), count=120)
        for seed in range(6)
    ]
    scheduler.submit([stopped, single, *(request for request, _ in draws)])
    run_all(scheduler)
    assert by_stop.text == text[: text.index(stop)]
    assert by_stop.end.reason == FinishReason.STOP
    assert by_count.tokens == expected[2, 0][:1]
    assert by_count.end.reason == FinishReason.LENGTH
    ended = [recorder for _, recorder in draws if recorder.tokens[-1] == 1]
    assert ended
    assert all(each.end.reason == FinishReason.STOP for each in ended)


def test_a_request_that_is_cancelled(model, expected):
    """It frees its slot, or its place in the queue, for the next one."""
    scheduler = Scheduler(model, 4, queue=2)
    made = [request_for(prompt(3, seed), count=100) for seed in range(6)]
    scheduler.submit([request for request, _ in made])
    for _ in range(6):
        scheduler.step()
    assert (scheduler.metrics.running, scheduler.metrics.waiting) == (4, 2)
    scheduler.cancel(made[4][0])
    assert scheduler.metrics.waiting == 1
    late, answer = request_for(PROMPTS[2], GREEDY)
    scheduler.submit([late])
    with pytest.raises(ApiError, match="the server is busy with 6 requests") as caught:
        scheduler.submit([request_for(prompt(3))[0]])
    assert (caught.value.status, caught.value.may_retry) == (429, True)
    for request, _ in made:
        scheduler.cancel(request)
    before = [len(recorder.tokens) for _, recorder in made]
    run_all(scheduler)
    assert [len(recorder.tokens) for _, recorder in made] == before
    assert not any(recorder.end or recorder.error for _, recorder in made)
    assert answer.tokens == expected[2, 0]
    assert scheduler.metrics.finished.values == {"cancelled": 6, "length": 1}


def test_requests_that_take_too_long(model):
    """In a slot and in the queue; the others go on."""
    now = 100.0
    scheduler = Scheduler(model, 4, clock=lambda: now)
    made = [request_for(prompt(3, seed), count=30, timeout=5.0) for seed in range(3)]
    long, waits = [request_for(prompt(3, 4), count=60) for _ in range(3)], request_for(prompt(3))
    late = request_for(prompt(3), timeout=4.0)
    scheduler.submit([each[0] for each in (*made, long[0], late, waits)])
    for _ in range(5):
        scheduler.step()
    now = 104.5
    scheduler.step()
    assert late[1].error.code == "request_timeout"
    assert not made[0][1].error
    now = 105.5
    scheduler.step()
    assert all(recorder.error.status == 504 for _, recorder in made)
    assert str(made[0][1].error) == "the request took more than 5 s"
    run_all(scheduler)
    assert len(long[0][1].tokens) == 60
    assert len(waits[1].tokens) == 12


INVALID = {
    "no tokens": ([], 3, "the prompt has no tokens"),
    "a token too large": ([5, tiny.VOCAB], 3, f"no token {tiny.VOCAB}: they are numbers below"),
    "a negative token": ([-1], 3, "no token -1"),
    "too many tokens": ([5] * CONTEXT, 1, "maximum context length is 128 tokens. However, you req"),
    "too many in all": ([5] * 100, 29, r"129 tokens \(100 in the prompt, 29 in the completion"),
}


@pytest.mark.parametrize("case", INVALID)
def test_requests_that_are_rejected(case, model):
    tokens, count, message = INVALID[case]
    with pytest.raises(ApiError, match=message):
        Scheduler(model, SLOTS).submit([request_for(tokens, count=count)[0]])


def test_all_texts_of_a_call_or_none(model):
    scheduler = Scheduler(model, SLOTS, queue=1)
    with pytest.raises(ApiError, match="the server is busy with 5 requests"):
        scheduler.submit([request_for([5])[0] for _ in range(6)])
    assert not scheduler.step()


def test_logits_that_are_not_numbers(model, expected):
    """The request fails; the others, and the next ones in its slot, get what they should."""
    scheduler = Scheduler(model, SLOTS)
    wrong, failed = request_for([*prompt(40, 4)[:30], POISON, 5, 6])
    short, failed_too = request_for([POISON])
    made, cases = every_request(expected)
    mine = [made[case][0] for case in cases]
    scheduler.submit([mine[0], wrong, short, *mine[1:]])
    run_all(scheduler)
    for recorder, count in ((failed, 33), (failed_too, 1)):
        assert str(recorder.error) == f"logits behind {count} tokens are NaN or infinite"
        assert (recorder.error.status, recorder.error.code) == (500, "invalid_logits")
        assert not recorder.tokens
    for case in cases:
        assert made[case][1].tokens == expected[case]


class Forced:
    """A constraint that allows these tokens alone."""

    def __init__(self, tokens):
        self.left = list(tokens)

    def allowed(self):
        return np.arange(tiny.VOCAB) == self.left[0]

    def accept(self, token):
        assert token == self.left.pop(0)

    def rewind(self, count):
        raise NotImplementedError

    @property
    def is_complete(self):
        return not self.left


def test_slots_in_which_numbers_were_missing(model, expected):
    """Keys that are NaN stay in the slots, behind those of the next request."""
    scheduler = Scheduler(model, SLOTS)
    wrong = [request_for(PROMPTS[1], constraint=Forced([5, 6, POISON, 7])) for _ in range(SLOTS)]
    made, cases = every_request(expected)
    scheduler.submit([request for request, _ in wrong])
    scheduler.submit([made[case][0] for case in cases])
    run_all(scheduler)
    for _, recorder in wrong:
        assert recorder.tokens == [5, 6, POISON]
        assert recorder.error.code == "invalid_logits"
    for case in cases:
        assert made[case][1].tokens == expected[case]


class Failing:
    """A constraint that fails behind three tokens."""

    is_complete = False

    def __init__(self, when):
        self.when, self.count = when, 0

    def allowed(self):
        if self.when == "allowed" and self.count == 3:
            raise ExecutionError("the constraint failed: by itself")
        return np.arange(tiny.VOCAB) > 1

    def accept(self, token):
        self.count += 1
        if self.when == "accept" and self.count == 3:
            raise ExecutionError("the constraint failed: by itself")

    def rewind(self, count):
        raise NotImplementedError


@pytest.mark.parametrize("when", ["allowed", "accept"])
def test_a_constraint_that_fails(when, model, expected):
    scheduler = Scheduler(model, SLOTS)
    wrong, failed = request_for(PROMPTS[1], constraint=Failing(when))
    right, answer = request_for(PROMPTS[2], GREEDY)
    scheduler.submit([wrong, right])
    run_all(scheduler)
    assert str(failed.error) == "the constraint failed: by itself"
    assert failed.error.status == 500
    assert answer.tokens == expected[2, 0]


@pytest.mark.parametrize("length", [1, CHUNK])
def test_a_step_that_fails(length, model, expected, monkeypatch):
    """A prompt's: that request fails. The batch's: all in it. The next ones are served."""
    scheduler = Scheduler(model, SLOTS)
    first, running = request_for(PROMPTS[1], count=30)
    scheduler.submit([first])
    scheduler.step()
    step = model.entry_points.step

    def fail(tokens, *rest):
        if len(tokens[0]) == length:
            raise OutOfMemoryError("no memory")
        return step(tokens, *rest)

    second, failed = request_for(PROMPTS[2], GREEDY)
    scheduler.submit([second])
    with monkeypatch.context() as patch:
        patch.setattr(model.entry_points, "step", fail)
        scheduler.step()
    third, answer = request_for(PROMPTS[2], GREEDY)
    scheduler.submit([third])
    run_all(scheduler)
    assert answer.tokens == expected[2, 0]
    if length == 1:
        assert str(running.error) == "no memory"
        assert failed.tokens == expected[2, 0]
    else:
        assert len(running.tokens) == 30
        assert (str(failed.error), failed.error.code) == ("no memory", "execution_failed")


def test_a_step_that_fails_with_the_cache(model, expected, monkeypatch):
    """It had taken over the memory: what others have in it is computed again."""
    scheduler = Scheduler(model, SLOTS)
    first, running = request_for(PROMPTS[2], GREEDY)
    scheduler.submit([first])
    for _ in range(6):
        scheduler.step()

    def fail(cache, outputs):
        raise ExecutionError("the device failed")

    second, failed = request_for(PROMPTS[3], GREEDY)
    scheduler.submit([second])
    with monkeypatch.context() as patch:
        patch.setattr(key_value_cache.KeyValueCache, "update", fail)
        patch.setattr(scheduler, "_decode", lambda: True)
        scheduler.step()
    third, answer = request_for(PROMPTS[3], GREEDY)
    scheduler.submit([third])
    run_all(scheduler)
    assert str(failed.error) == "the device failed"
    assert running.tokens == expected[2, 0]
    assert answer.tokens == expected[3, 0]


def test_biases(model, expected):
    """Tokens are chosen by the logits with all additions; other requests are not affected."""
    first = expected[2, 0]
    forced = LogitBias({70: 1e4})
    barred = LogitBias({first[0]: -1e4})
    often = LogitBias(presence_penalty=1.0, frequency_penalty=1e3)
    scheduler = Scheduler(model, SLOTS)
    made = [request_for(PROMPTS[2], GREEDY, bias=each) for each in (forced, barred, often, None)]
    scheduler.submit([request for request, _ in made])
    run_all(scheduler)
    found = [recorder.tokens for _, recorder in made]
    assert found[0] == [70] * 12
    assert found[1][0] not in (first[0], POISON)
    assert first[0] not in found[1]
    assert found[2][0] == first[0]
    assert len(set(found[2])) == 12
    assert found[3] == first
    with pytest.raises(ApiError, match=f"no token {tiny.VOCAB}"):
        scheduler.submit([request_for([5], bias=LogitBias({tiny.VOCAB: 1}))[0]])


def test_steps_are_for_open_requests(model, monkeypatch):
    """A step has as many rows as there are requests, and a prompt goes to its place at once."""
    step, sizes, caches = model.entry_points.step, [], []

    def record(tokens, before, cache, sampling, rows):
        if len(tokens[0]) == 1:
            sizes.append(len(rows))
        caches.append(cache)
        return step(tokens, before, cache, sampling, rows)

    monkeypatch.setattr(model.entry_points, "step", record)
    scheduler = Scheduler(model, SLOTS)
    made = [request_for(prompt(9, seed), count=count) for seed, count in enumerate((12, 4, 8))]
    scheduler.submit([request for request, _ in made])
    run_all(scheduler)
    assert sorted(set(sizes)) == [1, 2, 3]
    assert sizes[-1] == 1
    assert all(cache is caches[0] for cache in caches)


def test_the_beginning_of_any_prompt(model, monkeypatch):
    """A prompt takes the chunks that a running one and a finished one have computed, and gives the
    same tokens as without them."""
    long, other = prompt(3 * CHUNK + 2, 7), prompt(2 * CHUNK + 1, 8)
    alone = {}
    for name, tokens in (("long", long), ("other", other), ("more", [*long, 9, 8])):
        scheduler = Scheduler(model, SLOTS)
        request, alone[name] = request_for(tokens, GREEDY)
        scheduler.submit([request])
        run_all(scheduler)
    scheduler = Scheduler(model, SLOTS)
    occupied = [request_for(prompt(2, seed), GREEDY, count=60) for seed in range(9, 7 + SLOTS)]
    made = [request_for(each, GREEDY) for each in (long, other, [*long, 9, 8], other)]
    scheduler.submit([request for request, _ in (*occupied, *made)])
    run_all(scheduler)
    names = ("long", "other", "more", "other")
    for (_, recorder), name in zip(made, names, strict=True):
        assert recorder.tokens == alone[name].tokens
    cached = [recorder.end.cached_tokens for _, recorder in made]
    assert cached == [0, 0, 3 * CHUNK, 2 * CHUNK]


def test_no_memory_for_a_longer_cache(model, expected, monkeypatch):
    """The request that needs it fails, and the one that runs keeps its cache."""
    monkeypatch.setattr(key_value_cache, "FIRST_CAPACITY", 32)
    allocate = key_value_cache.aligned_empty

    def refuse(shape, dtype):
        if shape[0] == SLOTS and shape[2] > 32:
            raise MemoryError
        return allocate(shape, dtype)

    monkeypatch.setattr(key_value_cache, "aligned_empty", refuse)
    scheduler = Scheduler(model, SLOTS)
    short, answer = request_for(PROMPTS[1], OPTIONS[1])
    long, failed = request_for(PROMPTS[3], GREEDY)
    scheduler.submit([short, long])
    run_all(scheduler)
    assert str(failed.error) == "out of memory"
    assert answer.tokens == expected[1, 1]


def test_the_end_of_the_server(model):
    """Requests in slots and in the queue fail, and new ones are rejected."""
    scheduler = Scheduler(model, SLOTS)
    made = [request_for(prompt(20, seed)) for seed in range(7)]
    scheduler.submit([request for request, _ in made])
    scheduler.step()
    scheduler.close()
    assert not scheduler.wait()
    scheduler.fail_all()
    assert all(recorder.error.code == "server_shutdown" for _, recorder in made)
    with pytest.raises(ApiError, match="the server shuts down"):
        scheduler.submit([request_for([5])[0]])
    assert not scheduler.step()


def test_metrics(model):
    """Numbers of tokens and requests, and times by the scheduler's clock."""
    ticks = iter(range(1000))
    scheduler = Scheduler(model, SLOTS, clock=lambda: float(next(ticks)))
    made = [request_for(prompt(9, seed), count=4) for seed in range(2)]
    scheduler.submit([request for request, _ in made])
    run_all(scheduler)
    metrics = scheduler.metrics
    assert metrics.prompt_tokens.values == {"": 18}
    assert metrics.generation_tokens.values == {"": 8}
    assert metrics.finished.values == {"length": 2}
    assert sum(metrics.time_to_first_token.counts) == 2
    assert sum(metrics.time_per_output_token.counts) == 6
    total = metrics.time_to_first_token.total + metrics.time_per_output_token.total
    assert 0 < total < metrics.latency.total
