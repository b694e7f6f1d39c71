"""What the server keeps of prompts, in memory and on the disk: the same answers, and why no more was kept."""

import itertools
import json
import re

from support import DirectoryTestCase, Server, TestCase, main

CHAT = "/v1/chat/completions"
NOTES = "\n".join(f"word{i}: a small thing of the kind {i}" for i in range(250))  # about 3,000 tokens
# As GLM-5.2's: the effort stands before all else, and whether the model reasons at the very end.
TEMPLATE = ("[gMASK]<sop>{% if reasoning_effort is defined %}<|system|>Reasoning Effort: {{ reasoning_effort }}{% endif %}"
            "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}<|assistant|><think>"
            "{% if enable_thinking is defined and not enable_thinking %}</think>{% endif %}")


def question(text, notes=NOTES, **fields):
    messages = [{"role": "system", "content": notes}, {"role": "user", "content": text}]
    return {"messages": messages, "temperature": 1, "seed": 7, "max_tokens": 24, "ignore_eos": True, "logprobs": True, "top_logprobs": 5, **fields}


def answer(server, body):
    """(choices with all log-probabilities, cached tokens, prompt tokens)"""
    status, _, text = server.request("POST", CHAT, body)
    assert status == 200, text
    whole = json.loads(text)
    return whole["choices"], whole["usage"]["prompt_tokens_details"]["cached_tokens"], whole["usage"]["prompt_tokens"]


def cold(body):
    """What a server says that has seen nothing before."""
    server = Server()
    try:
        choices, cached, _ = answer(server, body)
        assert cached == 0
        return choices
    finally:
        server.close()


class Memory(TestCase):
    def test_what_was_kept_changes_no_bit_of_an_answer(self):
        expected = cold(question("What is a zebra?"))
        answer(self.server, question("What is a parrakeet?"))
        choices, cached, prompt = answer(self.server, question("What is a zebra?"))
        self.assertGreater(cached, 0.95 * prompt)
        self.assertEqual(choices, expected)
        events = [data for _, data in self.server.events(CHAT, question("What is a zebra?"))]
        text = "".join(c["delta"].get("content", "") for e in events[:-1] for c in e["choices"])
        self.assertEqual(text, expected[0]["message"]["content"])


class Switches(TestCase):
    template = TEMPLATE

    def test_switching_how_much_the_model_reasons_keeps_what_was_read(self):
        ways = [{"enable_thinking": True}, {"enable_thinking": False}, {"reasoning_effort": "high"}, {"reasoning_effort": "max"},
                {"thinking": {"type": "disabled"}, "reasoning_effort": "high"}]
        first = [answer(self.server, question("What is a zebra?", **way)) for way in ways]
        for _ in range(2):  # there and back again
            for way, (choices, _, prompt) in zip(ways, first):
                again, cached, _ = answer(self.server, question("What is a zebra?", **way))
                self.assertEqual(cached, prompt - 1, way)
                self.assertEqual(again, choices)
        # Each is another prompt, and the notes were read once for each effort.
        self.assertEqual(len({str(choices) for choices, _, _ in first}), len(ways))
        read = [prompt - cached for _, cached, prompt in first]
        self.assertEqual([n > 2000 for n in read], [True, False, True, True, False])


class Reasons(TestCase):
    arguments = ["--context", "8192", "--cache-memory", "20M"]
    ids = (f"id{i}" for i in itertools.count())

    def ask(self, body, path=CHAT):
        """What the log says of the prompt."""
        request = next(self.ids)
        status, _, text = self.server.request("POST", path, body, {"X-Request-Id": request})
        self.assertEqual(status, 200, text)
        self.server.wait_for_log(f"request={request} ")
        line = next(line for line in self.server.log().splitlines() if f"request={request} " in line)
        return re.search(r"prefix=\w+( message=\d+)?", line).group()

    def counted(self, reason):
        text = self.server.request("GET", "/metrics")[2]
        return float(re.search(rf'^indexshare_prefix_ends_total{{reason="{reason}"}} (\S+)$', text, re.MULTILINE).group(1))

    def test_the_log_and_the_metrics_say_why_no_more_was_kept(self):
        names = ["whole", "ended", "differs", "evicted", "nothing", "unused"]
        before = {name: self.counted(name) for name in names}
        chat = question("What is a zebra?")
        self.assertEqual(self.ask({"prompt": "What is a", "max_tokens": 1}, "/v1/completions"), "prefix=nothing")
        self.assertEqual(self.ask({**chat, "messages": [{"role": "user", "content": "What?"}]}), "prefix=nothing")
        self.assertEqual(self.ask(chat), "prefix=differs message=0")  # after [gMASK]<sop>
        self.assertEqual(self.ask(chat), "prefix=whole")
        self.assertEqual(self.ask(question("What is a lamp?")), "prefix=differs message=1")
        self.assertEqual(self.ask(question("What is a lamp?", NOTES[:3000] + "!" + NOTES[3000:])), "prefix=differs message=0")
        self.assertEqual(self.ask({"prompt": "What is a", "max_tokens": 1, "echo": True, "logprobs": 1}, "/v1/completions"), "prefix=unused")
        self.assertEqual(self.ask({"prompt": [4001, 17, 18, 19], "max_tokens": 0}, "/v1/completions"), "prefix=nothing")
        self.assertEqual(self.ask({"prompt": [4001, 17, 18, 19, 20, 21], "max_tokens": 0}, "/v1/completions"), "prefix=ended")
        for i in range(12):
            self.ask(question("What is a lamp?", f"{i} {NOTES}"))
        self.assertEqual(self.ask(chat), "prefix=evicted message=0")
        counts = {name: self.counted(name) - before[name] for name in names}
        self.assertEqual(counts, {"whole": 1, "ended": 1, "differs": 15, "evicted": 1, "nothing": 3, "unused": 1})


class Disk(DirectoryTestCase):
    def server_of(self, *arguments):
        server = Server("--context", "8192", "--disk-cache", str(self.directory), *arguments)
        self.addCleanup(server.close)
        return server

    def pages(self):
        return sorted(self.directory.glob("*.page"))

    def end(self, server):
        server.signal(15)
        self.assertEqual(server.end(), 0)

    def test_answers_are_the_same_from_nothing_from_memory_and_from_the_disk(self):
        body = question("What is a zebra?")
        expected = cold(body)
        server = self.server_of()
        self.assertEqual(answer(server, body)[:2], (expected, 0))
        self.assertEqual(answer(server, body)[0], expected)
        self.end(server)
        server = self.server_of()
        choices, cached, prompt = answer(server, body)
        self.assertEqual(choices, expected)
        self.assertEqual(cached, prompt // 256 * 256)
        self.assertEqual(answer(server, question("What is a lamp?"))[0], cold(question("What is a lamp?")))

    def test_what_memory_gives_up_comes_back_from_the_disk(self):
        server = self.server_of("--cache-memory", "20M")
        bodies = [question("What is a zebra?", f"{i} {NOTES}") for i in range(10)]
        first = [answer(server, body) for body in bodies]
        for body, (choices, _, prompt) in zip(bodies, first):
            again, cached, _ = answer(server, body)
            self.assertEqual(again, choices)
            self.assertGreaterEqual(cached, prompt // 256 * 256 - 256)
        metrics = server.request("GET", "/metrics")[2]
        for name in ["pages", "bytes", "pages_read_total", "pages_written_total"]:
            value = re.search(rf"^indexshare_disk_cache_{name} (\S+)$", metrics, re.MULTILINE).group(1)
            self.assertGreater(float(value), 0, name)

    def test_damaged_and_foreign_files_are_no_pages(self):
        body = question("What is a zebra?")
        server = self.server_of()
        expected = answer(server, body)[0]
        self.end(server)
        self.assertGreater(len(self.pages()), 5)
        for page in self.pages():
            content = bytearray(page.read_bytes())
            content[-1000] ^= 4
            page.write_bytes(content)
        (self.directory / "notes.txt").write_text("not ours")
        server = self.server_of()
        self.assertEqual(answer(server, body)[:2], (expected, 0))
        server.wait_for_log(" warning ")
        self.assertIn("is damaged: the checksum of its page does not match; it is removed", server.log())
        self.end(server)
        # Under other settings, whose rows are other numbers, none of them is a page of the same tokens.
        server = self.server_of("--latent-norm-eps", "1e-5")
        self.assertEqual(answer(server, body)[1], 0)
        self.assertNotIn(" warning ", server.log())
        self.assertEqual((self.directory / "notes.txt").read_text(), "not ours")

    def test_the_files_stay_inside_their_budget(self):
        server = self.server_of("--disk-cache-size", "1M")
        for i in range(3):
            answer(server, question("What is a zebra?", f"{i} {NOTES}"))
        self.end(server)
        sizes = [page.stat().st_size for page in self.pages()]
        self.assertGreater(len(sizes), 0)
        self.assertLessEqual(sum(sizes), 1 << 20)

    def test_a_directory_that_cannot_be_had_is_refused(self):
        self.directory.write_text("a file")
        with self.assertRaisesRegex(AssertionError, re.escape(str(self.directory))):
            self.server_of()


if __name__ == "__main__":
    main()
