"""The example programs, each run as a reader would."""

from __future__ import annotations

import importlib.util
import json
import pathlib
import subprocess
import sys
from types import SimpleNamespace
from typing import Any, List

import pytest
from conftest import PARROT, POCKET, ROOT, command_line
from indexshare import SamplingParams

EXAMPLES = ROOT / "examples/python"
SAID = ("What is a parrakeet?", "--raw", "--temperature", 0.7, "--max-tokens", 64, "--seed", 0)


def start(name: str, *arguments: object) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, str(EXAMPLES / name), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def run(name: str, *arguments: object) -> str:
    done = start(name, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_programs_of_vllm_and_sglang_say_what_the_command_line_says() -> None:
    # Both programs draw from the model's whole distribution, where the command line asks generation_config.json.
    expected = command_line(POCKET, *SAID, "--top-k", 0, "--top-p", 1)["text"] + "\n"
    assert run("vllm_style.py") == expected
    assert run("sglang_style.py") == expected


def test_index_share_is_measured() -> None:
    lines = run("measure_index_share.py").splitlines()
    assert lines[0].startswith("FFFSSSF:") and "times less" in lines[1]
    assert [line.split()[0] for line in lines[-2:]] == ["FFFSSSF", "FSSSSSS"]


def test_a_file_is_answered_line_by_line(tmp_path: pathlib.Path) -> None:
    questions, answers = tmp_path / "questions.jsonl", tmp_path / "answers.jsonl"
    questions.write_text((EXAMPLES / "questions.jsonl").read_text() * 300)  # more than go into one batch
    done = start("batch_file.py", questions, answers)
    assert done.returncode == 0 and "1200/1200" in done.stderr, done.stderr
    said = [json.loads(line) for line in answers.read_text().splitlines()]
    assert [line["id"] for line in said] == [x for n in range(300) for x in ("parrot", "short", 4 * n + 3, "drawn")]
    assert all([{**line, "id": ""} for line in said[n::4]] == [{**said[n], "id": ""}] * 300 for n in range(4))
    tokens = {"prompt_tokens": 14, "completion_tokens": 16}
    assert said[0] == {"id": "parrot", "text": PARROT, "finish_reason": "stop", **tokens}
    assert said[1]["finish_reason"] == "length" and said[1]["completion_tokens"] == 3
    drawn = command_line(POCKET, "What is a zebra?", "--temperature", 1, "--seed", 7, "--top-k", 0, "--top-p", 1)
    assert said[3]["text"] == drawn["text"]
    questions.write_text('{"messages": []}\nnonsense\n')
    assert f"{questions}:2: JSONDecodeError" in start("batch_file.py", questions, answers).stderr


def test_a_long_document_is_read_once() -> None:
    lines = run("long_document.py").splitlines()
    notes = dict(line.split(": ", 1) for line in (EXAMPLES / "notes.txt").read_text().splitlines()[1:])
    words = ("dravenmoor", "porvash", "umberwhit", "bulveston")
    assert lines[::2] == [f"What is a {word}? {word}: {notes[word]}" for word in words]
    counts = [line.split() for line in lines[1::2]]
    assert [int(count[3]) for count in counts][0] == 0
    assert all(int(count[3]) > 0.9 * int(count[0]) for count in counts[1:])


def test_a_tool_is_called_and_its_result_is_read() -> None:
    lines = run("tool_use.py").splitlines()
    explained = "immerlune: a festival held at the first full moon of spring"
    assert lines[0].startswith("by heart: immerlune: ") and explained not in lines[0]
    assert lines[1].startswith("look_up({'word': 'immerlune'}) gives ") and explained in lines[1]
    assert lines[2:] == [explained]


def test_a_model_that_calls_tools_converses(capsys: pytest.CaptureFixture[str]) -> None:
    spec = importlib.util.spec_from_file_location("tool_use", EXAMPLES / "tool_use.py")
    assert spec is not None and spec.loader is not None
    example: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)

    def call(name: str, key: str, value: str) -> str:
        return f"<tool_call>{name}<arg_key>{key}</arg_key><arg_value>{value}</arg_value></tool_call>"

    says = iter(["So. " + call("look_up", "word", "drossel") + call("search", "word", "x"),
                 call("look_up", "words", "y"), "It is a broom."])  # fmt: skip
    heard: List[Any] = []

    class Scripted:
        def chat(self, messages: Any, params: Any, tools: Any) -> Any:
            heard[:] = messages
            assert tools is example.TOOLS
            return [SimpleNamespace(text=next(says))]

    assert example.converse(Scripted(), "What is a drossel?", SamplingParams()) == "It is a broom."
    assert [message["role"] for message in heard] == ["user", "assistant", "tool", "tool", "assistant", "tool"]
    assert heard[1]["content"] == "So." and "drossel: a broom made of dry twigs" in heard[2]["content"]
    assert heard[1]["tool_calls"][0]["function"] == {"name": "look_up", "arguments": {"word": "drossel"}}
    assert "search" in heard[3]["content"] and "'words'" in heard[5]["content"]
    assert capsys.readouterr().out.count(" gives ") == 3


def test_every_example_is_run() -> None:
    here = (ROOT / "python/tests/examples_test.py").read_text()
    assert all(f'"{program.name}"' in here for program in EXAMPLES.glob("*.py"))
