"""Tool calls in an answer."""

from __future__ import annotations

from typing import Any, Dict

import pytest
from indexshare import LLM, ToolCall, read_tool_calls

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "parameters": {
                "type": "object",
                "properties": {"place": {"type": "string"}, "days": {"type": "integer"}, "where": {"type": "object"}},
            },
        },
    }
]


def written(name: str, arguments: Dict[str, str]) -> str:
    pairs = (f"<arg_key>{key}</arg_key><arg_value>{value}</arg_value>" for key, value in arguments.items())
    return f"<tool_call>{name}{''.join(pairs)}</tool_call>"


def test_reads_calls_with_the_types_of_the_schema() -> None:
    text = "I look.\n" + written("weather", {"place": "12", "days": "3", "where": '{"north": [1.5, null]}'})
    answer = read_tool_calls(text + written("clock", {}), TOOLS)
    expected = ToolCall("weather", {"place": "12", "days": 3, "where": {"north": [1.5, None]}})
    assert answer == ("I look.", [expected, ToolCall("clock", {})])
    assert read_tool_calls("No call: <tool_call>weather", TOOLS) == ("No call: <tool_call>weather", [])
    assert read_tool_calls(text, []) == (text, [])


def test_what_it_reads_goes_back_into_a_conversation(llm: LLM) -> None:
    message = read_tool_calls("Look. " + written("weather", {"days": "3"}), TOOLS).message()
    call = {"type": "function", "function": {"name": "weather", "arguments": {"days": 3}}}
    assert message == {"role": "assistant", "content": "Look.", "tool_calls": [call]}
    text = llm.model.template([message, {"role": "tool", "content": "rain"}])
    assert "Look." in text and "<tool_response>rain</tool_response>" in text


@pytest.mark.parametrize(
    "text, tools, kind, sentence",
    [
        (7, TOOLS, TypeError, "text is 7, expected a string"),
        ("half \ud800", TOOLS, ValueError, "text is no Unicode text"),
        ("", [{"type": "web_search"}], ValueError, r"tools\[0\]"),
        ("", TOOLS * 2, ValueError, "weather"),
    ],
)
def test_refuses_what_is_not_as_expected(text: Any, tools: Any, kind: Any, sentence: str) -> None:
    with pytest.raises(kind, match=sentence):
        read_tool_calls(text, tools)
