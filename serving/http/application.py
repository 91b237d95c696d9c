"""The routes of the server."""

from collections.abc import Callable, Mapping
from typing import Any

from fastapi import APIRouter, Depends, FastAPI, Request  # pyright: ignore[reportMissingImports]
from starlette.concurrency import run_in_threadpool  # pyright: ignore[reportMissingImports]
from starlette.responses import (  # pyright: ignore[reportMissingImports]
    JSONResponse,
    PlainTextResponse,
    Response,
)

from ...generation import LanguageModel, SearchOptions
from ..engine import Engine
from ..protocol.answer import Answer
from ..protocol.calls import GenerationCall, read_chat, read_completion
from ..protocol.request_builder import RequestBuilder
from .answers import AnswerStream, whole_answer
from .error_responses import add_error_handlers
from .request_body import read_json
from .request_events import RequestEvents
from .settings import ServerSettings

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""The content type of Prometheus' text format."""

CallReader = Callable[[Mapping[str, Any], SearchOptions], GenerationCall]


def make_application(model: LanguageModel, engine: Engine, settings: ServerSettings) -> FastAPI:
    """The ASGI application that serves `model` by `engine`."""
    routes = _Routes(model, engine, settings)
    keyed = APIRouter(prefix="/v1", dependencies=[Depends(routes.check_key)])
    keyed.add_api_route("/models", routes.models)
    keyed.add_api_route("/models/{name:path}", routes.model)
    keyed.add_api_route("/completions", routes.completions, methods=["POST"])
    keyed.add_api_route("/chat/completions", routes.chat, methods=["POST"])
    checks = [Depends(routes.check_host)]
    application = FastAPI(title="graphc", openapi_url=None, dependencies=checks)
    add_error_handlers(application)
    application.include_router(keyed)
    application.add_api_route("/healthz", routes.health)
    application.add_api_route("/metrics", routes.metrics)
    return application


class _Routes:
    """One method for each route."""

    def __init__(self, model: LanguageModel, engine: Engine, settings: ServerSettings):
        self._defaults = model.config.search
        self._engine = engine
        self._settings = settings
        self._builder = RequestBuilder(
            model, engine.scheduler.context_length, engine.scheduler.capacity, settings.timeout
        )

    def check_host(self, request: Request) -> None:
        self._settings.check_host(request.headers.get("host"))

    def check_key(self, request: Request) -> None:
        self._settings.check_key(request.headers.get("authorization"))

    async def health(self) -> Response:
        is_alive = self._engine.is_alive
        status = "ok" if is_alive else "stopped"
        return JSONResponse({"status": status}, 200 if is_alive else 503)

    async def metrics(self) -> Response:
        text = self._engine.scheduler.metrics.render(self._settings.model_name)
        return PlainTextResponse(text, media_type=METRICS_TYPE)

    async def models(self) -> Response:
        return JSONResponse({"object": "list", "data": [self._description()]})

    async def model(self, name: str) -> Response:
        self._settings.check_model(name)
        return JSONResponse(self._description())

    def _description(self) -> dict[str, Any]:
        return {
            "id": self._settings.model_name,
            "object": "model",
            "created": self._settings.started,
            "owned_by": "graphc",
            "max_model_len": self._engine.scheduler.context_length,
        }

    def _text_of(self, token: int) -> str:
        return self._builder.model.tokenizer.decode([token], special_tokens=True)

    async def completions(self, request: Request) -> Response:
        return await self._answer(request, read_completion)

    async def chat(self, request: Request) -> Response:
        return await self._answer(request, read_chat)

    async def _answer(self, request: Request, read: CallReader) -> Response:
        """Answer a call; texts become tokens in another thread, as these may be long."""
        settings = self._settings
        values = await read_json(request, settings.body_limit, settings.body_timeout)
        call = read(values, self._defaults)
        settings.check_model(call.model)
        events = RequestEvents(self._engine.scheduler)
        requests = await run_in_threadpool(self._builder.build, call, events.listener_of)
        events.submit(requests)
        answer = Answer(call, settings.model_name, requests, self._text_of)
        if call.streams:
            return AnswerStream(answer, events)
        return await whole_answer(request, answer, events)
