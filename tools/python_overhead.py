#!/usr/bin/env python3
"""What asking from Python costs: the processor time of LLM.generate beside that of `indexshare serve` for the same
16 requests, which both decode in one batch, on one thread. They take turns, and must say the same. The program's
figure has its HTTP in it; so the share of the thread that runs Python is told as well, which is all that Python adds.

With the package installed, or in the PYTHONPATH:

  tools/python_overhead.py models/pocket [--tokens N] [--rounds N]
"""
import argparse
import json
import statistics
import subprocess
import sys
import time
import urllib.request

import indexshare

PROMPTS = [[token] for token in range(100, 116)]  # one token each: all the rest is decoding


def seconds_of(process):
    """The processor time of all threads of a process so far."""
    return time.clock_gettime(~process << 3 | 2)  # the clock that clock_getcpuclockid() names


class Package:
    """This process. The engine computes in a thread of its own."""

    def __init__(self, model):
        self.llm = indexshare.LLM(model, threads=1)
        self.shares = []

    def decode(self, tokens):
        params = indexshare.SamplingParams(temperature=0, max_tokens=tokens, ignore_eos=True)
        start, own = time.process_time(), time.thread_time()
        outputs = self.llm.generate([{"prompt_token_ids": ids} for ids in PROMPTS], params, use_tqdm=False)
        seconds = time.process_time() - start
        self.shares.append((time.thread_time() - own) / seconds)
        return seconds, [output.text for output in outputs]


class Program:
    """A server, asked for all answers at once."""

    def __init__(self, model):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "indexshare", "serve", model, "--port", "0", "--threads", "1", "--log-level", "off"],
            stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().split()[-1] + "/v1/completions"

    def decode(self, tokens):
        body = {"prompt": PROMPTS, "temperature": 0, "max_tokens": tokens, "ignore_eos": True}
        request = urllib.request.Request(self.url, json.dumps(body).encode(), {"Content-Type": "application/json"})
        start = seconds_of(self.process.pid)
        with urllib.request.urlopen(request) as response:
            choices = json.load(response)["choices"]
        seconds = seconds_of(self.process.pid) - start
        return seconds, [choice["text"] for choice in sorted(choices, key=lambda choice: choice["index"])]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--tokens", type=int, default=500, help="of each answer")
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    package, program = Package(arguments.model), Program(arguments.model)
    try:
        rounds = []
        for number in range(arguments.rounds + 1):
            order = (package, program) if number % 2 else (program, package)
            took = {one: one.decode(arguments.tokens) for one in order}
            if took[package][1] != took[program][1]:
                sys.exit("they do not say the same")
            if number > 0:  # the first warms up
                rounds.append((took[package][0], took[program][0]))
    finally:
        program.process.terminate()
    per_token = 1e6 / (arguments.tokens * len(PROMPTS))
    for name, seconds in zip(("Python", "program"), zip(*rounds)):
        print(f"{name:8}{per_token * statistics.median(seconds):8.2f} us of processor time per token, "
              f"at best {per_token * min(seconds):.2f}")
    ratios = sorted(package / program for package, program in rounds)
    print(f"Python / program: {statistics.median(ratios):.4f} (median of {len(ratios)} rounds, "
          f"quartiles {ratios[len(ratios) // 4]:.4f} to {ratios[-1 - len(ratios) // 4]:.4f})")
    print(f"the thread that runs Python: {100 * statistics.median(package.shares):.3f} % of Python's processor time")


if __name__ == "__main__":
    main()
