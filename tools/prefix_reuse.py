#!/usr/bin/env python3
"""How soon an answer begins whose long beginning was read for another question before.

Usage: INDEXSHARE=build/release/indexshare tools/prefix_reuse.py [--tokens 30000]

Notes of that many tokens and a question go to a server that has just started, over HTTP, as a stream; the same goes to
a server that has read the notes with another question. Prints the times to the first piece of the answers; ends with 1
where an answer or a log-probability of the second server differs from the first one's.
"""

import argparse
import http.client
import json
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/server"))
from support import Server  # noqa: E402

WORDS = ["zebra", "lamp", "river", "king", "moon"]


def body_of(notes, word):
    messages = [{"role": "system", "content": notes}, {"role": "user", "content": f"What is a {word}?"}]
    return {"messages": messages, "temperature": 1, "seed": 7, "max_tokens": 32, "ignore_eos": True, "logprobs": True, "top_logprobs": 5,
            "stream": True}


def ask(server, body):
    """(seconds to the first piece, all pieces)"""
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    data = json.dumps(body).encode()
    begun = time.perf_counter()
    connection.request("POST", "/v1/chat/completions", data)
    response = connection.getresponse()
    assert response.status == 200, response.read()
    first, pieces = None, []
    for line in response:
        if not line.startswith(b"data: {"):
            continue
        choice = json.loads(line[6:])["choices"][0]
        if choice["logprobs"]["content"]:
            first = first or time.perf_counter() - begun
            pieces.append(choice["logprobs"]["content"])
    connection.close()
    return first, pieces


def notes_of(tokens):
    """A text of at least so many tokens as a prompt, and how many they are."""
    server = Server()
    try:
        lines = tokens // 16
        while True:
            notes = "\n".join(f"word{i}: a small thing of the kind {i}" for i in range(lines))
            status, _, text = server.request("POST", "/v1/messages/count_tokens", {"messages": [{"role": "user", "content": notes}]})
            assert status == 200, text
            if (found := json.loads(text)["input_tokens"]) >= tokens:
                return notes, found
            lines = max(lines + 1, lines * tokens // found)
    finally:
        server.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tokens", type=int, default=30000, help="of the notes (default: 30000)")
    notes, tokens = notes_of(parser.parse_args().tokens)
    times, equal = [], True
    warm = Server()
    ask(warm, body_of(notes, "parrakeet"))
    for word in WORDS:
        cold = Server()
        first, expected = ask(cold, body_of(notes, word))
        cold.close()
        again, pieces = ask(warm, body_of(notes, word))
        times.append((first, again))
        equal = equal and pieces == expected
    warm.close()
    cold_ms, warm_ms = (1e3 * statistics.median(side) for side in zip(*times))
    print(f"notes of {tokens} tokens and a question, {len(WORDS)} questions: first piece after {cold_ms:.0f} ms where nothing was kept, "
          f"{warm_ms:.1f} ms where the notes were: {cold_ms / warm_ms:.0f} times less (least: {min(a / b for a, b in times):.0f})")
    print(f"answers and log-probabilities are {'the same' if equal else 'NOT THE SAME'}")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
