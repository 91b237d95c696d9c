"""Continuous batching: requests join and leave the batch between steps."""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence

from ..errors import GraphcError
from ..generation import LanguageModel
from ..generation.token_sequence import TokenSequence
from .admission import check_request
from .api_error import ApiError, api_error_of
from .generation_request import FailureEvent, FinishEvent, GenerationRequest
from .metrics import ServingMetrics
from .running_request import RunningRequest
from .slots import ChosenToken, SlotBatch

_STEP_FAILURES = (GraphcError, MemoryError)


class Scheduler:
    """Runs requests on `model`: up to `slots` at a time, and `queue` more wait.

    A step computes a chunk of one prompt and then a token of every request behind its prompt, so
    that a long prompt delays the others by a chunk at a time. Requests are taken in their order.
    A step that fails fails the requests that it computes; others are computed again, if it took
    the cache with it.
    `context_length` bounds a prompt with its answer. `submit`, `cancel` and `close` may be called
    from any thread, the other methods from one.
    """

    def __init__(
        self,
        model: LanguageModel,
        slots: int = 4,
        queue: int = 64,
        *,
        context_length: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ):
        context = model.config.context_length
        self.context_length = min(context_length or context, context)
        self.capacity = slots + queue
        """Requests that may be here at a time."""
        self.metrics = ServingMetrics()
        self._model = model
        self._clock = clock
        self._changed = threading.Condition()
        self._waiting: deque[GenerationRequest] = deque()
        self._is_closed = False
        self._slots = SlotBatch(model, slots)
        self._running: dict[int, RunningRequest] = {}
        """The requests by their slots, in their order."""

    def submit(self, requests: Sequence[GenerationRequest]) -> None:
        """Let `requests` wait for slots: all of them, or none.

        Raises `ApiError` for requests that exceed the context, have tokens out of range, or find
        the queue full, as more than `capacity` always do; and after `close`.
        """
        for request in requests:
            check_request(self._model, request, self.context_length)
            request.arrival = self._clock()
        with self._changed:
            if self._is_closed:
                raise _shutdown_error()
            self._require_room(len(requests))
            self._waiting.extend(requests)
            self._count()
            self._changed.notify_all()

    def _require_room(self, count: int) -> None:
        if count + len(self._waiting) + len(self._running) > self.capacity:
            raise ApiError(
                f"the server is busy with {self.capacity} requests: try again later", 429,
                "queue_full", may_retry=True,
            )  # fmt: skip

    def _count(self) -> None:
        self.metrics.waiting, self.metrics.running = len(self._waiting), len(self._running)

    def cancel(self, request: GenerationRequest) -> None:
        """Give up `request`: it leaves the queue now, or its slot before the next step."""
        with self._changed:
            request.is_cancelled = True
            if request in self._waiting:
                self._waiting.remove(request)
                self.metrics.finished.add(1, "cancelled")
                self._count()

    def close(self) -> None:
        """Take no more requests, and end `wait`."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def wait(self) -> bool:
        """Wait until there is something to do; false after `close`."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_closed or self._waiting or self._running)
            return not self._is_closed

    def step(self) -> bool:
        """Advance all requests; false if there are none."""
        self._end_requests()
        self._admit()
        did_prefill = self._prefill()
        did_decode = self._decode()
        return did_prefill or did_decode

    def fail_all(self, error: ApiError | None = None) -> None:
        """Let every request fail with `error`; without one, because the server shuts down."""
        with self._changed:
            waiting, self._waiting = list(self._waiting), deque()
        for request in waiting:
            self._report(request, error or _shutdown_error())
        for running in list(self._running.values()):
            self._fail(running, error or _shutdown_error())

    def _end_requests(self) -> None:
        """Free the slots of requests that are cancelled or take too long."""
        now = self._clock()
        with self._changed:
            late = [each for each in self._waiting if now > each.arrival + each.timeout]
            for request in late:
                self._waiting.remove(request)
        for request in late:
            self._report(request, _timeout_error(request))
        for running in list(self._running.values()):
            request = running.request
            if request.is_cancelled:
                self._remove(running)
                self.metrics.finished.add(1, "cancelled")
            elif now > request.arrival + request.timeout:
                self._fail(running, _timeout_error(request))

    def _admit(self) -> None:
        """Give free slots to the next requests."""
        with self._changed:
            while self._slots.has_room and self._waiting:
                self._begin(self._waiting.popleft())
            self._count()

    def _begin(self, request: GenerationRequest) -> None:
        sequence = TokenSequence(
            self._model.config, request.options, request.constraint, request.bias
        )
        sequence.append(request.prompt)
        slot = self._slots.insert(sequence, by_token=request.tells_prompt)
        self.metrics.cached_tokens.add(sequence.cached)
        running = RunningRequest(request, sequence, self.metrics, sequence.cached)
        self._running[slot] = running
        running.tell_prompt(None)

    def _prefill(self) -> bool:
        """Compute a chunk of the oldest prompt that is not computed yet."""
        found = (each for each in self._running.items() if self._slots.has_chunk(each[0]))
        slot, running = next(found, (None, None))
        if slot is None or running is None:
            return False
        try:
            reused = self._slots.reuse(slot)
            running.cached_tokens += reused
            self.metrics.cached_tokens.add(reused)
            token = self._slots.prefill(slot) if self._slots.has_chunk(slot) else None
        except _STEP_FAILURES as error:
            self._fail(running, api_error_of(error))
            self._slots.recover()
            return True
        if token is not None:
            self._take(running, token)
        return True

    def _decode(self) -> bool:
        """Compute a token of each request behind its prompt."""
        samplings = {}
        for slot, running in list(self._running.items()):
            if self._slots.has_chunk(slot):
                continue
            try:
                self._slots.reserve(slot)
                samplings[slot] = running.sequence.sampling()
            except _STEP_FAILURES as error:
                self._fail(running, api_error_of(error))
        if not samplings:
            return False
        try:
            chosen, logits = self._slots.decode(samplings)
        except _STEP_FAILURES as error:
            for slot in samplings:
                self._fail(self._running[slot], api_error_of(error))
            self._slots.recover()
            return True
        for slot, row in logits.items():
            try:
                self._running[slot].tell_prompt(row)
            except ApiError as error:
                self._fail(self._running[slot], error)
        for slot, token in chosen.items():
            self._take(self._running[slot], token)
        return True

    def _take(self, running: RunningRequest, token: ChosenToken) -> None:
        try:
            end = running.take(token, self._clock())
        except ApiError as error:
            self._fail(running, error)
            return
        if end is not None:
            self._finish(running, end)

    def _finish(self, running: RunningRequest, end: FinishEvent) -> None:
        self._remove(running)
        self.metrics.latency.observe(self._clock() - running.request.arrival)
        self.metrics.finished.add(1, end.reason)
        running.request.listener(end)

    def _fail(self, running: RunningRequest, error: ApiError) -> None:
        self._remove(running)
        self._report(running.request, error)

    def _report(self, request: GenerationRequest, error: ApiError) -> None:
        self.metrics.failed.add(1, error.code or "")
        request.listener(FailureEvent(error))

    def _remove(self, running: RunningRequest) -> None:
        """Free the place of `running`."""
        with self._changed:
            for slot, each in list(self._running.items()):
                if each is running:
                    del self._running[slot]
                    self._slots.remove(slot)
            self._count()


def _shutdown_error() -> ApiError:
    return ApiError("the server shuts down", 503, "server_shutdown")


def _timeout_error(request: GenerationRequest) -> ApiError:
    return ApiError(f"the request took more than {request.timeout:g} s", 504, "request_timeout")
