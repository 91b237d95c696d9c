"""Tools: their descriptions in a call, and the calls of them in the text of an answer.

Calls are recognized in the form of Hermes and Qwen: ``<tool_call>{"name": .., "arguments": ..}
</tool_call>``.
"""

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..api_error import ApiError
from .fields import RequestFields, brief

OPENING, CLOSING = "<tool_call>", "</tool_call>"


@dataclass(frozen=True)
class ToolCall:
    """A call of the tool `name`, with its arguments as JSON."""

    id: str
    name: str
    arguments: str

    def to_dict(self) -> dict[str, Any]:
        """The call as OpenAI's API spells it."""
        function = {"name": self.name, "arguments": self.arguments}
        return {"id": self.id, "type": "function", "function": function}


def read_tools(fields: RequestFields) -> list[Mapping[str, Any]]:
    """The tools of a call that may be used. Raises `ApiError`."""
    tools, choice = fields.take("tools") or [], fields.take("tool_choice")
    if choice not in (None, "none", "auto"):
        raise ApiError(
            f"tool_choice must be 'none' or 'auto', not {brief(choice)}: no call can be forced",
            code="unsupported_parameter", param="tool_choice",
        )  # fmt: skip
    if not isinstance(tools, list) or not all(map(_is_tool, tools)):
        raise ApiError(
            f"tools must be a list of functions with names, not {brief(tools)}",
            code="invalid_value", param="tools",
        )  # fmt: skip
    return [] if choice == "none" else tools


def _is_tool(value: Any) -> bool:
    function = value.get("function") if isinstance(value, dict) else None
    is_named = isinstance(function, dict) and isinstance(function.get("name"), str)
    return is_named and value.get("type") == "function"


def read_tool_calls(value: Any, place: str) -> list[dict[str, Any]]:
    """The calls in a message, with arguments as templates take them. Raises `ApiError`."""
    try:
        return [
            {
                "type": "function",
                "id": each.get("id"),
                "function": {
                    "name": each["function"]["name"],
                    "arguments": json.loads(each["function"]["arguments"]),
                },
            }
            for each in value
        ]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ApiError(
            f"{place} must be a list of calls of functions with arguments in JSON, "
            f"not {brief(value)}",
            code="invalid_value", param=place,
        ) from error  # fmt: skip


def check_template(template: str | None) -> None:
    """Raise `ApiError` unless a chat template has tools, and calls in a form that is recognized."""
    if template is None or "tools" not in template or OPENING not in template:
        raise ApiError(
            f"the model's chat template has no tools that are called by {OPENING}",
            code="unsupported_parameter", param="tools",
        )  # fmt: skip


class ToolCallParser:
    """Takes calls out of a text that comes in pieces."""

    def __init__(self) -> None:
        self._held = ""
        self._has_calls = False

    def feed(self, text: str) -> tuple[str, Sequence[ToolCall]]:
        """The text outside of calls and the calls that a piece completes."""
        self._held += text
        content, calls = "", list[ToolCall]()
        while True:
            before, opening, rest = self._held.partition(OPENING)
            if not opening:
                kept = _begun(before)
                self._held = before[len(before) - kept :]
                return content + self._between(before[: len(before) - kept]), calls
            inner, closing, behind = rest.partition(CLOSING)
            content += self._between(before)
            if not closing:
                self._held = OPENING + rest
                return content, calls
            call = _call(inner)
            self._has_calls = self._has_calls or call is not None
            calls += [] if call is None else [call]
            content += f"{OPENING}{inner}{CLOSING}" if call is None else ""
            self._held = behind

    def finish(self) -> str:
        """The text that is left: a call that did not end is none."""
        held, self._held = self._held, ""
        return self._between(held)

    def _between(self, text: str) -> str:
        """White space behind a call belongs to it."""
        return "" if self._has_calls and text.isspace() else text


def _begun(text: str) -> int:
    """The characters at the end of `text` that may begin a call."""
    lengths = range(min(len(text), len(OPENING) - 1), 0, -1)
    return next((count for count in lengths if OPENING.startswith(text[-count:])), 0)


def _call(text: str) -> ToolCall | None:
    """The call in a text; None if it is none."""
    try:
        value = json.loads(text)
    except ValueError:
        return None
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        return None
    arguments = value.get("arguments", {})
    given = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return ToolCall(f"call_{uuid.uuid4().hex}", value["name"], given)
