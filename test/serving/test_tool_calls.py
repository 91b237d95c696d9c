"""Tools: in calls, in templates, and in the text of answers."""

import json

import pytest

from graphc.generation import SearchOptions
from graphc.serving.api_error import ApiError
from graphc.serving.generation_request import (
    FinishEvent,
    FinishReason,
    GenerationRequest,
    TokenEvent,
)
from graphc.serving.protocol.answer import Answer
from graphc.serving.protocol.calls import read_chat
from graphc.serving.protocol.tool_calls import ToolCallParser, check_template

HELLO = [{"role": "user", "content": "Hello"}]
TOOL = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}
CALL = '<tool_call>\n{"name": "weather", "arguments": {"city": "Köln"}}\n</tool_call>'
TEXT = f"Let me see.\n{CALL}\n<tool_call>no JSON</tool_call>{CALL}\n"
CONTENT = "Let me see.\n<tool_call>no JSON</tool_call>"


def chat(**fields):
    return read_chat({"messages": HELLO, **fields}, SearchOptions())


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_calls_in_pieces(size):
    """Tags around no call stay text, and so does a call that does not end."""
    parser, content, calls = ToolCallParser(), "", []
    for start in range(0, len(TEXT), size):
        text, found = parser.feed(TEXT[start : start + size])
        content, calls = content + text, [*calls, *found]
    assert content + parser.finish() == CONTENT
    assert [(each.name, json.loads(each.arguments)) for each in calls] == [
        ("weather", {"city": "Köln"})
    ] * 2
    parser.feed("a <tool_call>{")
    assert parser.finish() == "<tool_call>{"


def test_an_answer_with_calls():
    call = chat(tools=[TOOL], stream=True)
    answer = Answer(call, "tiny", [GenerationRequest([1], call.options, 999, None, None)])
    events = [TokenEvent(index, letter) for index, letter in enumerate(TEXT)]
    chunks = []
    for event in (*events, FinishEvent(FinishReason.STOP, "", 0)):
        chunks += [each["choices"][0] for each in answer.add(0, event)]
    deltas = [each["delta"] for each in chunks]
    assert "".join(each.get("content", "") for each in deltas) == CONTENT
    called = [each["tool_calls"][0] for each in deltas if "tool_calls" in each]
    assert [each["index"] for each in called] == [0, 1]
    assert chunks[-1]["finish_reason"] == "tool_calls"
    (choice,) = answer.whole()["choices"]
    assert choice["message"]["content"] == CONTENT
    whole = choice["message"]["tool_calls"]
    assert [{"index": number, **each} for number, each in enumerate(whole)] == called


def test_messages_with_calls():
    """Calls of an answer, given back, are as templates take them."""
    function = {"name": "weather", "arguments": '{"city": "Bonn"}'}
    said = {"role": "assistant", "content": None, "tool_calls": [
        {"id": "1", "type": "function", "function": function}
    ]}  # fmt: skip
    result = {"role": "tool", "tool_call_id": "1", "content": "sunny"}
    call = chat(messages=[*HELLO, said, result], tools=[TOOL], tool_choice="auto")
    assert call.tools == [TOOL]
    assert call.messages[1]["tool_calls"][0]["function"]["arguments"] == {"city": "Bonn"}
    assert call.messages[1:][1] == {"role": "tool", "content": "sunny"}
    assert chat(tools=[TOOL], tool_choice="none").tools == []


WRONG = {
    "forced": ({"tools": [TOOL], "tool_choice": "required"}, "tool_choice"),
    "no name": ({"tools": [{"type": "function", "function": {}}]}, "tools"),
    "no list": ({"tools": "weather"}, "tools"),
    "no JSON": (
        {"messages": [
            {"role": "assistant", "tool_calls": [{"function": {"name": "a", "arguments": "{"}}]}
        ]},
        "messages[0].tool_calls",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_calls_that_are_wrong(case):
    fields, param = WRONG[case]
    with pytest.raises(ApiError) as caught:
        chat(**fields)
    assert (caught.value.status, caught.value.param) == (400, param)


@pytest.mark.parametrize("template", [None, "{{ messages }}", "{{ tools }} [TOOL_CALLS]"])
def test_templates_without_a_known_form(template):
    check_template("{% if tools %}<tool_call>{% endif %}")
    with pytest.raises(ApiError, match="no tools that are called by") as caught:
        check_template(template)
    assert (caught.value.code, caught.value.param) == ("unsupported_parameter", "tools")
