"""What the server keeps of prompts changes no bit of an answer."""

import json

from support import Server, TestCase, main

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


if __name__ == "__main__":
    main()
