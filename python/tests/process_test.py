"""What needs a process of its own: Ctrl-C, leaks, and the way out."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import List

import pytest
from conftest import POCKET

ENDLESS = "SamplingParams(max_tokens=100_000, ignore_eos=True)"
AFTERWARDS = """
except KeyboardInterrupt:
    (output,) = llm.generate("What is", SamplingParams(temperature=0, max_tokens=4))
    metrics = llm.model.metrics()
    print("stopped", len(output.outputs[0].token_ids), metrics["running"], metrics["waiting"], flush=True)
"""
CALLS = {
    "generate": f"llm.generate(['What'] * 4, {ENDLESS})",
    "stream": "list(llm.generate('What', {'max_new_tokens': 100_000, 'ignore_eos': True}, stream=True))",
    "forward": "[llm.model.forward([5] * 20_000, hidden=False, logits=False) for _ in range(100)]",
}


def python(code: str) -> List[str]:
    return [sys.executable, "-c", f"from indexshare import *\nllm = LLM({str(POCKET)!r})\n{code}"]


@pytest.mark.parametrize("call", CALLS)
def test_ctrl_c_stops_it_and_the_engine_goes_on(call: str) -> None:
    code = f"try:\n    print('begun', flush=True)\n    {CALLS[call]}\n{AFTERWARDS}"
    with subprocess.Popen(python(code), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        pressed = time.monotonic()
        assert process.stdout.readline() == "stopped 4 0 0\n"
        assert time.monotonic() - pressed < 10
        assert process.wait(timeout=30) == 0


def test_ends_with_requests_running() -> None:
    code = f"""
import threading
threading.Thread(target=lambda: llm.generate("What", {ENDLESS}), daemon=True).start()
answers = iter(llm.generate("What", {{"max_new_tokens": 100_000, "ignore_eos": True}}, stream=True))
next(answers)
print("leaving")
"""
    done = subprocess.run(python(code), capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "leaving\n", "")


def loads_without_leak(cycles: int) -> None:
    code = f"""
import gc, os

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

def cycle():
    with LLM({str(POCKET)!r}) as one:
        one.generate("What is", SamplingParams(max_tokens=2, logprobs=1))
        one.model.forward([1, 2, 3])

llm.shutdown()
for _ in range(10):
    cycle()
gc.collect()
before, files, tasks = resident(), len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))
for _ in range({cycles}):
    cycle()
gc.collect()
print(resident() - before, len(os.listdir("/proc/self/fd")) - files, len(os.listdir("/proc/self/task")) - tasks)
"""
    done = subprocess.run(python(code), capture_output=True, text=True, check=True, timeout=3000)
    grown, files, tasks = map(int, done.stdout.split())
    print(f"{cycles} cycles: {grown / 1024:.0f} KiB more, {files} files, {tasks} threads")  # pytest -rP shows it
    assert grown < 8 << 20, f"{cycles} cycles left {grown} bytes"  # one model's weights alone are 13 MB
    assert files == 0
    assert tasks == 0


def test_loads_fifty_times_without_leak() -> None:
    loads_without_leak(50)


@pytest.mark.long
def test_loads_a_thousand_times_without_leak() -> None:
    loads_without_leak(1000)
