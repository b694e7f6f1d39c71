"""Tool use: the model calls a Python function, reads what it returns, and answers.

Usage: python examples/python/tool_use.py [MODEL_DIRECTORY [QUESTION]]      default: the bundled model

GLM-5 calls tools by itself (converse). The bundled model was never taught to, and its template leaves tools
out: there its answer's first words stand in for the call (converse_untaught).
"""

import pathlib
import sys
from typing import Any, Dict, List

from indexshare import LLM, SamplingParams, ToolCall, read_tool_calls

HERE = pathlib.Path(__file__).resolve().parent
POCKET = HERE.parents[1] / "models/pocket"
MAX_TURNS = 8


def look_up(word: str) -> str:
    """The note on a word, between the two that stand beside it."""
    notes = (HERE / "notes.txt").read_text(encoding="utf-8").splitlines()[1:]
    for place, note in enumerate(notes):
        if note.startswith(f"{word}: "):
            return "\n".join(notes[max(place - 1, 0) : place + 2])
    return f"There is no note on {word}."


FUNCTIONS = {"look_up": look_up}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "look_up",
            "description": "Finds the note that explains a word.",
            "parameters": {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
        },
    }
]


def run(call: ToolCall) -> str:
    """What a call gives. The model reads what is wrong with it, too, and may try again."""
    try:
        result = FUNCTIONS[call.name](**call.arguments)
    except (KeyError, TypeError) as error:
        result = f"This call is wrong: {error}"
    print(f"{call.name}({call.arguments}) gives {result!r}")
    return result


def converse(llm: LLM, question: str, params: SamplingParams) -> str:
    """The answer of a model that calls tools."""
    messages: List[Dict[str, Any]] = [{"role": "user", "content": question}]
    for _ in range(MAX_TURNS):
        answer = read_tool_calls(llm.chat(messages, params, tools=TOOLS)[0].text, TOOLS)
        if not answer.calls:
            return answer.content
        messages.append(answer.message())
        messages += [{"role": "tool", "content": run(call)} for call in answer.calls]
    raise RuntimeError(f"the model still calls tools after {MAX_TURNS} turns")


def converse_untaught(llm: LLM, question: str, params: SamplingParams) -> str:
    """The answer of a model that says "word: explanation", and reads notes from a tool."""
    ask = [{"role": "user", "content": question}]
    print(f"by heart: {llm.chat(ask, params)[0].text}")
    word = llm.chat(ask, SamplingParams(temperature=0, max_tokens=64, stop=":"))[0].text
    written = f"<tool_call>look_up<arg_key>word</arg_key><arg_value>{word}</arg_value></tool_call>"
    results = [run(call) for call in read_tool_calls(written, TOOLS).calls]
    messages = [*ask, {"role": "tool", "content": "\n".join(["Notes:", *results])}]  # it was taught without calls
    return llm.chat(messages, params)[0].text


if __name__ == "__main__":
    llm = LLM(sys.argv[1] if len(sys.argv) > 1 else POCKET)
    question = sys.argv[2] if len(sys.argv) > 2 else "What is a immerlune?"
    ask = [{"role": "user", "content": question}]
    taught = llm.model.template(ask, tools=TOOLS) != llm.model.template(ask)
    params = SamplingParams(temperature=0, max_tokens=4096 if taught else 64)
    print((converse if taught else converse_untaught)(llm, question, params))
