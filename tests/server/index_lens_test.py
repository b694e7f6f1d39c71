"""POST /v1/index-lens: what the index selected, against `indexshare dump`, and what is refused."""

import base64
import json
import pathlib
import struct
import subprocess
import tempfile
import threading
import time

from support import LIMIT, POCKET, PROGRAM, QUESTION, REASONING, TestCase, main

NOTES = "The harbour lies north of the castle. " * 60


def conversation(question, answer="The castle lies south of the harbour.", **more):
    return [{"role": "user", "content": question}, {"role": "assistant", "content": answer, **more}]


def dumped_selections(ids):
    """By `indexshare dump`, [full layer][token]: the set of positions."""
    with tempfile.TemporaryDirectory() as directory:
        file = pathlib.Path(directory, "dump.safetensors")
        subprocess.run([PROGRAM, "dump", POCKET, "--ids", ",".join(map(str, ids)), "--only", "topk", "--out", file],
                       check=True, stdout=subprocess.DEVNULL)
        data = file.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])["topk"]
    layers, tokens, width = header["shape"]
    begin, end = header["data_offsets"]
    values = struct.unpack(f"<{layers * tokens * width}i", data[8 + size + begin:8 + size + end])
    rows = [set(values[i:i + width]) - {-1} for i in range(0, len(values), width)]
    return [rows[i:i + tokens] for i in range(0, len(rows), tokens)]


def told_selections(lens):
    """The same of an answer of the route, from token number lens["first"] on."""
    length = len(lens["ids"])
    stride = (length + 7) // 8
    groups = []
    for group in lens["groups"]:
        data = base64.b64decode(group["selected"], validate=True)
        rows = [data[i:i + stride] for i in range(0, len(data), stride)]
        groups.append([{p for p in range(8 * stride) if row[p // 8] >> p % 8 & 1} for row in rows])
    return groups


class IndexLens(TestCase):
    def lens(self, messages, **fields):
        return self.post("/v1/index-lens", {"messages": messages, **fields})

    def status_of_another(self):
        return self.server.request("POST", "/v1/index-lens", {"messages": conversation("Why?")})[0]

    def wait_until_it_reads_its_prompt(self):
        deadline = time.monotonic() + LIMIT
        while "indexshare_requests_running 1\n" not in self.server.request("GET", "/metrics")[2]:
            self.assertLess(time.monotonic(), deadline)

    def test_tells_what_dump_tells(self):
        for question, last in [("What is a parrakeet?", 4), (NOTES, 512), (NOTES, None)]:
            with self.subTest(question=question[:20], last=last):
                lens = self.lens(conversation(question), last=last)
                dumped, told = dumped_selections(lens["ids"]), told_selections(lens)
                answer = len(lens["ids"]) - lens["prompt_tokens"]
                self.assertEqual(len(lens["ids"]) - lens["first"], min(answer, last or 512))
                self.assertEqual(len(told), 4)
                self.assertEqual(told, [layer[lens["first"]:] for layer in dumped])

    def test_tells_what_the_sequence_is(self):
        said = self.post("/v1/chat/completions", {"messages": QUESTION, "temperature": 0, "logprobs": True})
        message = said["choices"][0]["message"]
        lens = self.lens([*QUESTION, message])
        self.assertEqual(lens["prompt_tokens"], said["usage"]["prompt_tokens"])
        self.assertEqual(lens["ids"], self.post("/tokenize", {"prompt": "".join(lens["tokens"])})["tokens"])
        self.assertEqual("".join(lens["tokens"][lens["prompt_tokens"]:]), message["content"])
        self.assertEqual([(g["full_layer"], g["layers"]) for g in lens["groups"]],
                         [(0, [0]), (1, [1]), (2, [2, 3, 4, 5]), (6, [6])])
        self.assertEqual((lens["index_topk"], lens["model"]), (64, "pocket"))
        self.assertGreater(lens["work"]["seconds"]["index"], 0)
        self.assertGreater(lens["work"]["flops"]["index"], 0)
        self.assertGreater(lens["work"]["flops"]["experts"], lens["work"]["flops"]["index"])
        flops = lens["flops_per_token"]
        self.assertAlmostEqual(flops["unshared"]["index"] / flops["shared"]["index"], 7 / 4)
        self.assertEqual(flops["unshared"]["total"] - flops["shared"]["total"],
                         flops["unshared"]["index"] - flops["shared"]["index"])

    def test_looks_at_reasoning_too(self):
        lens = self.lens(conversation("Why?", "So.", reasoning_content="Let me think."))
        self.assertEqual("".join(lens["tokens"][lens["prompt_tokens"]:]), "<think>Let me think.</think>So.")
        self.assertEqual(lens["first"], lens["prompt_tokens"])

    def test_refuses_what_it_cannot_show(self):
        def refused(sentence, field, messages, **fields):
            self.refused(400, sentence, "/v1/index-lens", {"messages": messages, **fields}, field)
        refused("messages does not end with a message of the assistant", "messages", QUESTION)
        refused("messages does not end with a message of the assistant", "messages", [])
        refused("messages does not end with a message of the assistant", "messages", None)
        refused("without text: there is nothing to look at", "messages", conversation("Why?", ""))
        refused("content of the answer is an array, expected a string", "messages", conversation("Why?", []))
        refused("last is 0, expected a whole number from 1 to 512", "last", conversation("Why?"), last=0)
        refused("last is 513, expected a whole number from 1 to 512", "last", conversation("Why?"), last=513)
        refused("reasoning_effort", "reasoning_effort", conversation("Why?"), reasoning_effort="some")

    def test_its_answer_is_bounded(self):
        question = NOTES * 24  # more than 16384 tokens, of which 4 MiB hold the selections of less than 512
        self.refused(400, "expected at most", "/v1/index-lens",
                     {"messages": conversation(question), "last": 512}, "last")
        status, _, text = self.server.request("POST", "/v1/index-lens", {"messages": conversation(question, NOTES),
                                                                         "last": 300})
        self.assertEqual(status, 200, text)
        self.assertEqual(len(json.loads(text)["ids"]) - json.loads(text)["first"], 300)
        self.assertLess(len(text), 8 << 20)
        self.refused(400, "more than the context of 131072", "/v1/index-lens",
                     {"messages": conversation(question * 12)}, "messages")

    def test_others_are_answered_meanwhile(self):
        outcome = []
        body = {"messages": conversation("Meanwhile. " + NOTES * 15)}
        asking = threading.Thread(target=lambda: outcome.append(self.server.request("POST", "/v1/index-lens", body)[0]))
        asking.start()
        self.wait_until_it_reads_its_prompt()
        answers, refusals = 0, 0
        while asking.is_alive():
            self.post("/v1/chat/completions", {"messages": QUESTION, "max_tokens": 4})
            answers += asking.is_alive()
            refusals += self.status_of_another() == 429
        asking.join()
        self.assertEqual(outcome, [200])
        self.assertGreater(answers, 1)
        self.assertGreater(refusals, 1)

    def test_ends_when_the_client_leaves(self):
        body = json.dumps({"messages": conversation("Leaving. " + NOTES * 30)}).encode()
        with self.server.connect() as connection:
            connection.sendall(b"POST /v1/index-lens HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            self.wait_until_it_reads_its_prompt()
            self.assertEqual(self.status_of_another(), 429)
        self.server.wait_for_log('path="/v1/index-lens" status=0')
        deadline = time.monotonic() + LIMIT
        while self.status_of_another() != 200:
            self.assertLess(time.monotonic(), deadline)


class Opened(TestCase):
    template = REASONING

    def test_reasoning_that_the_prompt_opens_is_not_opened_again(self):
        lens = self.post("/v1/index-lens", {"messages": conversation("Why?", "So.", reasoning_content="Let me think.")})
        answer = "".join(lens["tokens"][lens["prompt_tokens"] - 1:])
        self.assertEqual(answer, "<think>Let me think.</think>So.")


if __name__ == "__main__":
    main()
