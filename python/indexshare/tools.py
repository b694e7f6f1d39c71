"""The calls of tools in what a model has written."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, Dict, List, Mapping, NamedTuple, Sequence

from . import _core
from .model import checked_text


@dataclasses.dataclass(frozen=True)
class ToolCall:
    """A function that the model wants called."""

    #: The function's.
    name: str
    #: By their names; of the types that the tool's schema allows, where the model wrote such.
    arguments: Dict[str, Any]


class ToolAnswer(NamedTuple):
    """An answer that may call tools."""

    #: What it says beside the calls.
    content: str
    #: In the order in which they were written.
    calls: List[ToolCall]

    def message(self) -> Dict[str, Any]:
        """The answer as a message of the conversation: what the results of its calls follow, each as
        ``{"role": "tool", "content": result}``."""
        calls = [{"type": "function", "function": dataclasses.asdict(call)} for call in self.calls]
        return {"role": "assistant", "content": self.content, "tool_calls": calls}


def read_tool_calls(text: str, tools: Sequence[Mapping[str, Any]]) -> ToolAnswer:
    """The calls in the text of an answer, in the form in which GLM writes them.

    Args:
        text: of a CompletionOutput: without the reasoning.
        tools: that the model was told of, as OpenAI's interface describes them. A call of another one is told
            too, with the types that its values look like; what is no whole call is content.

    Raises:
        ValueError: a tool is not described as expected; the sentence says which and how.
    """
    content, calls = _core.parse_answer(checked_text(text, "text"), json.dumps(list(tools)))
    return ToolAnswer(content, [ToolCall(name, json.loads(arguments)) for name, arguments in calls])
