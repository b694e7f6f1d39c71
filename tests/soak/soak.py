"""The server under load for minutes: streams side by side with clients that leave, stall or never finish asking.

Usage: soak.py [--minutes N] [--seconds N]      with INDEXSHARE, the program, in the environment

A pool of requests of random lengths is answered one by one, then by as many streams at once as the server works
on, then again and again until the time is up, while clients cancel, read slowly, send half a body, or are
connected and say nothing. Each answer must be, to the last character, what the request was answered alone.
Prints figures; ends with 1 and a sentence for each thing that is not as it should be.
"""

import argparse
import asyncio
import dataclasses
import json
import math
import os
import pathlib
import random
import resource
import socket
import statistics
import struct
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/server"))
from support import Server, raw  # noqa: E402

STREAMS, IDLE, SLOW, HALF = 64, 1000, 4, 8
POOL = 256
CANCELLED = 0.15  # of all requests: half of them reset, half closed as they should be
CACHE = "96M"  # full within the first minute, so that what grows afterwards is a leak
REQUEST_LIMIT = 120  # seconds
WARM_UP = 0.2  # of the time
FLAT = 0.02
SHORTEST_TO_JUDGE = 120  # seconds below which memory is printed, not judged


@dataclasses.dataclass
class Request:
    path: str
    body: dict
    answer: tuple = ()  # (text, finish_reason) when it was asked alone
    tokens: int = 0


@dataclasses.dataclass
class Figures:
    finished: int = 0
    cancelled: int = 0
    slow: int = 0
    timed_out: int = 0  # half-sent bodies that were answered 408
    idle_again: int = 0  # idle connections that the server closed, and that were opened again
    tokens: int = 0
    first: list = dataclasses.field(default_factory=list)  # seconds to the first piece
    between: list = dataclasses.field(default_factory=list)  # seconds between pieces
    resident: list = dataclasses.field(default_factory=list)  # (seconds, bytes)
    wrong: list = dataclasses.field(default_factory=list)

    def fail(self, sentence):
        if len(self.wrong) < 20:
            print(f"wrong: {sentence}", flush=True)
        self.wrong.append(sentence)


def log_uniform(rng, low, high):
    return round(math.exp(rng.uniform(math.log(low), math.log(high))))


def make_pool(rng, count):
    """Requests of random lengths; three in four begin like others."""
    words = [line.split(":")[0] for line in (ROOT / "examples/python/notes.txt").read_text().splitlines()[1:]]
    documents = [[rng.randrange(256, 4000) for _ in range(1500)] for _ in range(8)]
    pool = []
    for i in range(count):
        body = {"max_tokens": log_uniform(rng, 1, 256), "seed": i, "temperature": rng.choice([0, 0.7, 1]),
                "ignore_eos": rng.random() < 0.5, "stream": True, "stream_options": {"include_usage": True}}
        kind = i % 4
        if kind == 0:
            messages = [{"role": "user", "content": f"What is a {rng.choice(words)}?"}]
            pool.append(Request("/v1/chat/completions", {**body, "messages": messages}))
            continue
        document = rng.choice(documents)[:log_uniform(rng, 1, 1500)]
        tail = [rng.randrange(256, 4000) for _ in range(rng.randrange(1, 40))]
        pool.append(Request("/v1/completions", {**body, "prompt": document + tail}))
    return pool


class Wrong(Exception):
    pass


async def connect(port, limit=1 << 16, receive=None):
    connection = socket.socket()
    connection.setblocking(False)
    if receive:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
    try:
        await asyncio.get_running_loop().sock_connect(connection, ("127.0.0.1", port))
    except BaseException:
        connection.close()
        raise
    return await asyncio.open_connection(sock=connection, limit=limit)


async def events(reader):
    """The events of a stream, as JSON, up to [DONE]."""
    head = await reader.readuntil(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200 ") or b"transfer-encoding: chunked" not in head.lower():
        raise Wrong(f"the answer begins with {head[:200]!r} {await reader.read(1000)!r}")
    text = b""
    while True:
        size = int(await reader.readline(), 16)
        text += (await reader.readexactly(size + 2))[:-2]
        *whole, text = text.split(b"\n\n")
        for event in whole:
            if event.startswith(b":"):
                continue
            data = event.removeprefix(b"data: ")
            if data == b"[DONE]":
                return
            yield json.loads(data)
        if size == 0:
            raise Wrong("the stream ended without [DONE]")


async def ask(port, request, figures=None, leave_after=None, slow=False):
    """((text, finish_reason), tokens); (text, None) of a request that is left after so many pieces."""
    reader, writer = await connect(port, *((256, 4096) if slow else ()))
    try:
        writer.write(raw("POST", request.path, json.dumps(request.body).encode(), "Connection: close"))
        last = time.perf_counter()
        text, reason, tokens, pieces = "", None, 0, 0
        async for event in events(reader):
            if "error" in event:
                raise Wrong(f"the stream says {event['error']}")
            if event.get("usage"):
                tokens = event["usage"]["completion_tokens"]
            for choice in event["choices"]:
                piece = choice["text"] if "text" in choice else choice["delta"].get("content") or ""
                reason = choice["finish_reason"] or reason
                text += piece
                if not piece:
                    continue
                now = time.perf_counter()
                if figures is not None:
                    (figures.between if pieces else figures.first).append(now - last)
                last = now
                pieces += 1
            if slow:
                await asyncio.sleep(0.05)
            if leave_after is not None and pieces >= leave_after:
                if leave_after % 2:  # a reset rather than an end
                    linger = struct.pack("ii", 1, 0)
                    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                return (text, None), 0
        return (text, reason), tokens
    finally:
        writer.close()


async def checked(port, request, figures, **how):
    """Asks, and compares with the answer that it had alone. Its tokens, or 0 where it was left or failed."""
    try:
        (text, reason), tokens = await asyncio.wait_for(ask(port, request, figures, **how), REQUEST_LIMIT)
    except asyncio.TimeoutError:
        figures.fail(f"{request.path} with seed {request.body['seed']} took more than {REQUEST_LIMIT} s")
        return 0
    except (Wrong, OSError, EOFError, ValueError, KeyError) as error:
        figures.fail(f"{request.path} with seed {request.body['seed']}: {type(error).__name__}: {error}")
        return 0
    expected = request.answer
    same = expected[0].startswith(text) if reason is None else (text, reason) == expected
    if not same:
        figures.fail(f"seed {request.body['seed']} says {(text, reason)!r}, and alone {expected!r}")
    return tokens


async def one_by_one(port, pool):
    """Tokens per second."""
    begun = time.perf_counter()
    for request in pool:
        request.answer, request.tokens = await asyncio.wait_for(ask(port, request), REQUEST_LIMIT)
    return sum(request.tokens for request in pool) / (time.perf_counter() - begun)


async def all_at_once(port, pool, figures):
    """Tokens per second, with STREAMS requests at any time."""
    left = list(reversed(pool))

    async def work():
        while left:
            tokens = await checked(port, left.pop(), figures)
            figures.tokens += tokens  # read after the wait: others count too

    before, begun = figures.tokens, time.perf_counter()
    await asyncio.gather(*(work() for _ in range(STREAMS)))
    return (figures.tokens - before) / (time.perf_counter() - begun)


async def stream_on(port, pool, rng, figures, end):
    while time.monotonic() < end:
        request = rng.choice(pool)
        if rng.random() < CANCELLED:
            await checked(port, request, figures, leave_after=rng.randrange(0, 20))
            figures.cancelled += 1
        else:
            tokens = await checked(port, request, figures)
            figures.tokens += tokens
            figures.finished += 1


async def read_slowly(port, pool, rng, figures, end):
    while time.monotonic() < end:
        # Without the clock: how fast it reads is its own doing.
        await checked(port, rng.choice(pool), Unclocked(figures), slow=True)
        figures.slow += 1


class Unclocked:
    """Figures that keep what is wrong alone."""

    def __init__(self, figures):
        self.fail = figures.fail
        self.first, self.between = [], []


async def send_half(port, figures):
    """Sends half a body and waits: the server must end it, after 30 seconds."""
    while True:
        reader, writer = await connect(port)
        try:
            writer.write(raw("POST", "/v1/completions", b" " * 1000)[:-500])
            answer = await reader.read()
            if not answer.startswith(b"HTTP/1.1 408 "):
                figures.fail(f"half a body is answered {answer[:200]!r}")
            figures.timed_out += 1
        finally:
            writer.close()


async def stay_idle(port, figures):
    """A connection that says nothing; the server may close it, after 120 seconds."""
    while True:
        reader, writer = await connect(port)
        try:
            if answer := await reader.read():
                figures.fail(f"an idle connection is told {answer[:200]!r}")
            figures.idle_again += 1
        finally:
            writer.close()


def resident_bytes(pid):
    return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()


async def watch(pid, figures):
    begun = time.monotonic()
    while True:
        figures.resident.append((time.monotonic() - begun, resident_bytes(pid)))
        await asyncio.sleep(1)


async def soak(server, pool, rng, figures, seconds):
    port, end = server.port, time.monotonic() + seconds
    beside = [asyncio.create_task(task) for task in (
        watch(server.process.pid, figures), *(stay_idle(port, figures) for _ in range(IDLE)),
        *(send_half(port, figures) for _ in range(HALF)))]
    try:
        await asyncio.gather(*(stream_on(port, pool, rng, figures, end) for _ in range(STREAMS)),
                             *(read_slowly(port, pool, rng, figures, end) for _ in range(SLOW)))
    finally:
        for task in beside:
            task.cancel()
        for error in await asyncio.gather(*beside, return_exceptions=True):
            if not isinstance(error, asyncio.CancelledError):
                figures.fail(f"a client beside the streams failed: {error!r}")


def files_of(server):
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


async def wait_for_files(server, count, figures):
    deadline = time.monotonic() + 30
    while files_of(server) > count:
        if time.monotonic() > deadline:
            figures.fail(f"the server still has {files_of(server)} files open, and had {count} before")
            return
        await asyncio.sleep(0.1)


def end(server, figures):
    server.process.terminate()
    code = server.end()
    if code != 0:
        figures.fail(f"the server ended with {code}")
    if " error " in server.log():
        figures.fail(f"the server's log has an error: {server.log()[-2000:]}")
    server.close()


def judge_memory(figures, seconds):
    after = [size for at, size in figures.resident if at >= WARM_UP * seconds]
    if len(after) < 2:
        return "memory: not long enough to tell"
    part = max(len(after) // 10, 1)
    first, last = statistics.mean(after[:part]), statistics.mean(after[-part:])
    text = (f"memory after {WARM_UP:.0%} of the time: {first / 1e6:.1f} MB, at the end {last / 1e6:.1f} MB "
            f"({last / first - 1:+.2%}), from {min(after) / 1e6:.1f} to {max(after) / 1e6:.1f} MB")
    if seconds >= SHORTEST_TO_JUDGE and abs(last / first - 1) > FLAT:
        figures.fail(f"{text}, expected within {FLAT:.0%}")
    return text


def centiles(values):
    values = sorted(values)
    at = lambda share: 1e3 * values[min(int(share * len(values)), len(values) - 1)]  # noqa: E731
    return f"p50 {at(0.5):.1f} ms, p99 {at(0.99):.1f} ms ({len(values)})"


async def run(seconds, pool_size, seed):
    figures, rng = Figures(), random.Random(seed)
    pool = make_pool(rng, pool_size)
    options = ["--cache-memory", CACHE, "--log-level", "warning", "--max-running", str(STREAMS)]
    server = Server(*options)
    try:
        alone = await one_by_one(server.port, pool)
        end(server, figures)
        server = Server(*options)
        files = files_of(server)
        together = await all_at_once(server.port, pool, figures)
        figures.first.clear()
        figures.between.clear()
        begun, tokens = time.perf_counter(), figures.tokens
        await soak(server, pool, rng, figures, seconds)
        rate = (figures.tokens - tokens) / (time.perf_counter() - begun)
        await wait_for_files(server, files, figures)
        for request in pool[:8]:
            await checked(server.port, request, Unclocked(figures))
        end(server, figures)
    finally:
        server.close()
    if min(figures.finished, figures.cancelled, figures.slow) == 0:
        figures.fail(f"too little was done to tell: {figures.finished} finished, {figures.cancelled} cancelled")
    print(f"{len(pool)} requests one by one: {alone:.0f} tokens/s; {STREAMS} at once: {together:.0f} tokens/s, "
          f"{together / alone:.2f} times as many")
    print(f"{seconds:.0f} s of {STREAMS} streams: {figures.finished} answers, {figures.cancelled} cancelled, "
          f"{rate:.0f} tokens/s")
    print(f"beside them: {IDLE} idle connections ({figures.idle_again} timed out and opened again), {figures.slow} "
          f"answers read slowly, {HALF} half-sent bodies at any time ({figures.timed_out} timed out)")
    print(f"to the first piece: {centiles(figures.first)}")
    print(f"between pieces: {centiles(figures.between)}")
    print(judge_memory(figures, seconds))
    print(f"{len(figures.wrong)} wrong")
    return 1 if figures.wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seconds", type=float, help="instead of minutes")
    parser.add_argument("--pool", type=int, default=POOL, help=f"requests to choose from (default: {POOL})")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    seconds = given.seconds if given.seconds is not None else 60 * given.minutes
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, 4096), hard), hard))
    return asyncio.run(asyncio.wait_for(run(seconds, given.pool, given.seed), seconds + 900))


if __name__ == "__main__":
    sys.exit(main())
