"""The example programs, each run as a reader would."""

from __future__ import annotations

import subprocess
import sys

from conftest import POCKET, ROOT, command_line

EXAMPLES = ROOT / "examples/python"
SAID = ("What is a parrakeet?", "--raw", "--temperature", 0.7, "--max-tokens", 64, "--seed", 0)


def run(name: str) -> str:
    done = subprocess.run([sys.executable, EXAMPLES / name], capture_output=True, text=True, timeout=120)
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


def test_every_example_is_run() -> None:
    here = (ROOT / "python/tests/examples_test.py").read_text()
    assert all(f'"{program.name}"' in here for program in EXAMPLES.glob("*.py"))
