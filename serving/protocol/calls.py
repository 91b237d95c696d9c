"""Calls of the API: the JSON of a request, checked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...generation.logit_bias import LogitBias
from ...generation.search_options import SearchOptions
from ..api_error import ApiError
from .fields import RequestFields, brief
from .response_format import read_response_format
from .sampling_fields import read_bias, read_sampling
from .tool_calls import read_tool_calls, read_tools

MOST_CHOICES, MOST_PROMPTS, MOST_STOPS = 128, 1024, 16
MOST_LOGPROBS = 20
DEFAULT_COMPLETION_TOKENS = 16
"""OpenAI's default for completions; without a limit, answers of chats may use up the context."""

NEUTRAL: Mapping[str, tuple[Any, ...]] = {
    "best_of": (1,),
    "echo": (False,),
    "function_call": ("none",),
    "functions": ([],),
    "modalities": (["text"],),
    "service_tier": ("auto", "default"),
    "store": (False,),
    "suffix": ("",),
    "tool_choice": ("none", "auto"),
    "tools": ([],),
    "top_logprobs": (0,),
}
"""Fields of OpenAI's API that there is nothing for, with the values that ask for nothing."""
IGNORED = ("metadata", "parallel_tool_calls", "prompt_cache_key", "safety_identifier", "user")
"""Fields that change no answer."""

Message = Mapping[str, Any]
Prompt = str | Sequence[int]


@dataclass(frozen=True)
class GenerationCall:
    """A request to continue prompts, or a conversation, `choices` times each.

    There are `prompts` or `messages`. `max_tokens` is None for the default, `json_schema` for any
    text. `logprobs` is the number of most probable tokens to tell with each token, None for no
    log-probabilities. With `echoes`, texts begin with their prompts, and log-probabilities with
    those of the prompts.
    """

    model: str | None
    prompts: Sequence[Prompt]
    messages: Sequence[Message]
    choices: int
    options: SearchOptions
    bias: LogitBias | None
    max_tokens: int | None
    min_tokens: int
    stops: Sequence[str]
    json_schema: Any
    streams: bool
    includes_usage: bool
    logprobs: int | None = None
    echoes: bool = False
    tools: Sequence[Mapping[str, Any]] = ()

    @property
    def is_chat(self) -> bool:
        """True for a conversation."""
        return bool(self.messages)


def read_completion(values: Mapping[str, Any], defaults: SearchOptions) -> GenerationCall:
    """The call of ``/v1/completions``. Raises `ApiError`."""
    fields = RequestFields(values)
    prompts = _prompts(fields.take("prompt"))
    most = fields.whole("max_tokens", 1, 1 << 31)
    logprobs, echoes = _completion_logprobs(fields), fields.flag("echo")
    call = _call(fields, defaults, most, prompts=prompts, logprobs=logprobs, echoes=echoes)
    fields.finish(NEUTRAL, IGNORED)
    return call


def read_chat(values: Mapping[str, Any], defaults: SearchOptions) -> GenerationCall:
    """The call of ``/v1/chat/completions``. Raises `ApiError`."""
    fields = RequestFields(values)
    messages = _messages(fields.take("messages"))
    limits = [fields.whole(name, 1, 1 << 31) for name in ("max_completion_tokens", "max_tokens")]
    most = next((each for each in limits if each is not None), None)
    logprobs, tools = _chat_logprobs(fields), read_tools(fields)
    call = _call(fields, defaults, most, messages=messages, logprobs=logprobs, tools=tools)
    fields.finish(NEUTRAL, IGNORED)
    return call


def _completion_logprobs(fields: RequestFields) -> int | None:
    """The number in the field `logprobs`; false is like none."""
    value = fields.take("logprobs")
    if value is None or value is False:
        return None
    return RequestFields({"logprobs": value}).whole("logprobs", 0, MOST_LOGPROBS)


def _chat_logprobs(fields: RequestFields) -> int | None:
    is_wanted, count = fields.flag("logprobs"), fields.whole("top_logprobs", 0, MOST_LOGPROBS)
    if count and not is_wanted:
        raise ApiError(
            "top_logprobs is for logprobs=true", code="invalid_value", param="top_logprobs"
        )
    return (count or 0) if is_wanted else None


def _call(
    fields: RequestFields,
    defaults: SearchOptions,
    most: int | None,
    *,
    prompts: Sequence[Prompt] = (),
    messages: Sequence[Message] = (),
    logprobs: int | None = None,
    echoes: bool = False,
    tools: Sequence[Mapping[str, Any]] = (),
) -> GenerationCall:
    """The fields that both have."""
    streams = fields.flag("stream")
    stream_options = fields.section("stream_options")
    includes_usage = False
    if stream_options is not None:
        if not streams:
            raise ApiError(
                "stream_options are for streams", code="invalid_value", param="stream_options"
            )
        includes_usage = stream_options.flag("include_usage")
        stream_options.finish({"include_obfuscation": (False,)}, ())
    return GenerationCall(
        model=fields.text("model"),
        prompts=prompts,
        messages=messages,
        choices=fields.whole("n", 1, MOST_CHOICES) or 1,
        options=read_sampling(fields, defaults),
        bias=read_bias(fields),
        max_tokens=most,
        min_tokens=fields.whole("min_tokens", 0, 1 << 31) or 0,
        stops=fields.texts("stop", MOST_STOPS),
        json_schema=read_response_format(fields.section("response_format")),
        streams=streams,
        includes_usage=includes_usage,
        logprobs=logprobs,
        echoes=echoes,
        tools=tools,
    )


def _prompts(value: Any) -> list[Prompt]:
    """One or several prompts, texts or lists of tokens."""
    if isinstance(value, str) or _is_tokens(value):
        return [value]
    is_list = isinstance(value, list) and 0 < len(value) <= MOST_PROMPTS
    if not is_list or not all(isinstance(each, str) or _is_tokens(each) for each in value):
        raise ApiError(
            f"prompt must be a text, a list of tokens, or a list of up to {MOST_PROMPTS} of these, "
            f"not {brief(value)}",
            code="invalid_value", param="prompt",
        )  # fmt: skip
    return value


def _is_tokens(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(each, int) and not isinstance(each, bool) for each in value)
    )


def _messages(value: Any) -> list[Message]:
    if not isinstance(value, list) or not value:
        raise ApiError(
            f"messages must be a list of messages, not {brief(value)}",
            code="invalid_value", param="messages",
        )  # fmt: skip
    return [_message(each, f"messages[{index}]") for index, each in enumerate(value)]


def _message(value: Any, place: str) -> Message:
    fields = RequestFields(value, f"{place}.")
    role, given, calls = fields.text("role"), fields.take("content"), fields.take("tool_calls")
    if role is None:
        raise ApiError(f"{place} has no role", code="invalid_value", param=f"{place}.role")
    fields.finish({"refusal": ("",)}, ("name", "tool_call_id"))
    content = "" if calls and given is None else _content(given, f"{place}.content")
    if not calls:
        return {"role": role, "content": content}
    found = read_tool_calls(calls, f"{place}.tool_calls")
    return {"role": role, "content": content, "tool_calls": found}


def _content(value: Any, place: str) -> str:
    """A text, or the texts of a list of parts."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        raise ApiError(
            f"{place} must be a text or a list of parts, not {brief(value)}",
            code="invalid_value", param=place,
        )  # fmt: skip
    return "".join(_part(each, f"{place}[{index}]") for index, each in enumerate(value))


def _part(value: Any, place: str) -> str:
    fields = RequestFields(value, f"{place}.")
    kind, text = fields.text("type"), fields.text("text")
    if kind != "text" or text is None:
        raise ApiError(
            f"{place}: only parts of text are supported, not {brief(kind)}",
            code="unsupported_parameter", param=place,
        )  # fmt: skip
    return text
