"""The routes of Anthropic's API on the bundled model, by its own Python package."""

import json

import anthropic
from support import PARROT, QUESTION, REASONING, TestCase, call_of_lamp, main

MESSAGES = "/v1/messages"


def without_ids(message):
    """What a message says: all but what differs each time."""
    said = {key: value for key, value in message.to_dict(exclude_none=True).items() if key not in ("id", "usage")}
    return {**said, "content": [{k: v for k, v in block.items() if k != "id"} for block in said["content"]]}


class Anthropic(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.client = anthropic.Anthropic(base_url=f"http://127.0.0.1:{cls.server.port}", api_key="any", max_retries=0)
        cls.addClassCleanup(cls.client.close)

    def ask(self, messages=QUESTION, max_tokens=30, sampling=None, **fields):
        """The answer at once, after checking that it comes the same in a stream."""
        fields = {"model": "pocket", "messages": messages, "max_tokens": max_tokens,
                  "extra_body": {"temperature": 0, **(sampling or {})}, **fields}
        whole = self.client.messages.create(**fields)
        with self.client.messages.stream(**fields) as stream:
            events = [event.type for event in stream]
            streamed = stream.get_final_message()
        self.assertEqual((events[0], events[-1]), ("message_start", "message_stop"))
        self.assertEqual(without_ids(streamed), without_ids(whole))
        self.assertEqual(streamed.usage.output_tokens, whole.usage.output_tokens)
        return whole

    def wrong(self, sentence, path=MESSAGES, **fields):
        status, _, text = self.server.request("POST", path, {"messages": QUESTION, "max_tokens": 5, **fields})
        self.assertEqual(status, 400, text)
        error = json.loads(text)
        self.assertEqual((error["type"], error["error"]["type"]), ("error", "invalid_request_error"))
        self.assertIn(sentence, error["error"]["message"])


class Messages(Anthropic):
    def test_answers(self):
        message = self.ask()
        self.assertEqual([(b.type, b.text) for b in message.content], [("text", PARROT)])
        self.assertEqual((message.stop_reason, message.stop_sequence), ("end_turn", None))
        self.assertTrue(message._request_id and message.id.endswith(message._request_id))

    def test_counts_tokens(self):
        count = self.client.messages.count_tokens(model="pocket", messages=QUESTION, system="Be short.").input_tokens
        usage = self.ask(system="Be short.", max_tokens=1).usage
        self.assertEqual(usage.input_tokens + usage.cache_read_input_tokens, count)
        again = self.ask(system=[{"type": "text", "text": "Be short."}], max_tokens=1).usage
        self.assertEqual((again.input_tokens, again.cache_read_input_tokens), (1, count - 1))

    def test_why_it_stops(self):
        message = self.ask(max_tokens=3)
        self.assertEqual((message.stop_reason, message.usage.output_tokens), ("max_tokens", 3))
        message = self.ask(stop_sequences=["slender", "zebra"])
        self.assertEqual((message.stop_reason, message.stop_sequence), ("stop_sequence", "slender"))
        self.assertEqual(message.content[0].text, PARROT[:PARROT.index("slender")])

    def test_goes_on_with_the_assistants_last_message(self):
        message = self.ask([*QUESTION, {"role": "assistant", "content": PARROT[:26]}])
        self.assertEqual(message.content[0].text, PARROT[26:])

    def test_what_claude_code_begins_with_is_left_out(self):
        def tokens(*system):
            blocks = [{"type": "text", "text": text} for text in system]
            return self.client.messages.count_tokens(model="pocket", messages=QUESTION, system=blocks).input_tokens
        self.assertEqual(tokens("x-anthropic-billing-header: cc_version=2; cch=a1b2c;", "Be short."), tokens("Be short."))

    def test_a_stream_is_of_named_events(self):
        events = self.server.events(MESSAGES, {"messages": QUESTION, "max_tokens": 30})
        self.assertTrue(all(name == data["type"] for name, data in events))
        names = [name for name, _ in events]
        self.assertEqual(names[:3], ["message_start", "ping", "content_block_start"])
        self.assertEqual(names[-3:], ["content_block_stop", "message_delta", "message_stop"])
        self.assertEqual(events[0][1]["message"]["usage"]["input_tokens"], 14)
        self.assertEqual(events[-2][1]["usage"]["input_tokens"] + events[-2][1]["usage"]["cache_read_input_tokens"], 14)

    def test_names_the_field_that_is_wrong(self):
        image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ""}}
        for sentence, fields in [("max_tokens is missing", {"max_tokens": None}), ("max_tokens is 0", {"max_tokens": 0}),
                                 ("messages is missing", {"messages": None}), ("messages is empty", {"messages": []}),
                                 ('messages[0].content[0].type: "image"', {"messages": [{"role": "user", "content": [image]}]}),
                                 ("system is an integer", {"system": 3}), ("stop_sequences is", {"stop_sequences": [1]}),
                                 ("temperature is 1e+30", {"temperature": 1e30}), ("tools[0]", {"tools": [{"type": "bash_20250124"}]}),
                                 ("prompt is too long", {"messages": [{"role": "user", "content": "a b " * 131072}]})]:
            with self.subTest(sentence=sentence):
                self.wrong(sentence, **fields)
        self.wrong("messages is missing", path=MESSAGES + "/count_tokens", messages=None)
        with self.assertRaises(anthropic.BadRequestError):
            self.client.messages.create(model="pocket", max_tokens=5, messages=[])

    def test_lists_the_model(self):
        models = self.client.models.list().data
        self.assertEqual([(m.id, m.type) for m in models], [("pocket", "model")])


class BillingHeader(Anthropic):
    arguments = ["--keep-billing-header"]

    def test_is_kept_when_asked(self):
        def tokens(system):
            return self.client.messages.count_tokens(model="pocket", messages=QUESTION, system=system).input_tokens
        line = {"type": "text", "text": "x-anthropic-billing-header: cc_version=2; cch=a1b2c;"}
        self.assertGreater(tokens([line]), tokens([]))


class Thinking(Anthropic):
    template = REASONING

    def test_reasoning_is_a_block(self):
        for thinking in [{"type": "enabled", "budget_tokens": 1024}, {"type": "adaptive"}]:
            message = self.ask(thinking=thinking, max_tokens=5, sampling={"logit_bias": {"4086": -100}})
            self.assertEqual([(b.type, bool(b.thinking)) for b in message.content], [("thinking", True)])
            self.assertEqual(message.stop_reason, "max_tokens")

    def test_then_comes_the_answer(self):
        # The end of reasoning is what the model is made to say first after one token.
        message = self.ask(thinking={"type": "adaptive"}, max_tokens=12,
                           sampling={"logit_bias": {"100": 99, "4086": 60}, "repetition_penalty": 1e6})
        self.assertEqual([b.type for b in message.content], ["thinking", "text"])
        back = [*QUESTION, {"role": "assistant", "content": [b.to_dict() for b in message.content]}, *QUESTION]
        self.ask(back, thinking={"type": "adaptive"}, max_tokens=3)

    def test_there_is_none_unless_asked_for(self):
        for fields in [{}, {"thinking": {"type": "disabled"}}]:
            message = self.ask(max_tokens=3, **fields)
            self.assertEqual([b.type for b in message.content], ["text"])


class Tools(Anthropic):
    LAMP = {"name": "lamp", "description": "Lights.", "input_schema": {"type": "object", "properties": {}}}

    def test_a_call(self):
        message = self.ask(tools=[self.LAMP], sampling=call_of_lamp())
        self.assertEqual([(b.type, b.name, b.input) for b in message.content], [("tool_use", "lamp", {})])
        self.assertEqual(message.stop_reason, "tool_use")
        result = {"type": "tool_result", "tool_use_id": message.content[0].id, "content": "It is light."}
        self.ask([*QUESTION, {"role": "assistant", "content": [b.to_dict() for b in message.content]},
                  {"role": "user", "content": [result]}], tools=[self.LAMP])

    def test_a_call_that_the_end_cuts_off_is_text(self):
        fields = {"messages": QUESTION, "tools": [self.LAMP], "temperature": 0, **call_of_lamp(), "max_tokens": 3}
        message = self.post(MESSAGES, fields)
        self.assertEqual([(b["type"], b["text"]) for b in message["content"]], [("text", "<tool_call>lamp")])
        self.assertEqual(message["stop_reason"], "max_tokens")

    def test_a_call_that_is_forced(self):
        for choice in [{"type": "any"}, {"type": "tool", "name": "lamp"}]:
            message = self.ask(tools=[self.LAMP], tool_choice={**choice, "disable_parallel_tool_use": True})
            self.assertEqual([(b.type, b.name, b.input) for b in message.content], [("tool_use", "lamp", {})])
            self.assertEqual(message.stop_reason, "tool_use")

    def test_an_answer_of_a_form(self):
        form = {"type": "json_schema", "schema": {"enum": [1, 2]}}
        for fields in [{"output_format": form}, {"output_config": {"format": form}}]:
            self.assertIn(self.ask(sampling=fields).content[0].text, ("1", "2"))
        self.wrong("output_config.format.type", output_config={"format": {"type": "xml"}})

    def test_without_tools_it_is_text(self):
        for fields in [{}, {"tools": [self.LAMP], "tool_choice": {"type": "none"}}]:
            message = self.ask(sampling=call_of_lamp(), **fields)
            self.assertEqual([(b.type, b.text) for b in message.content], [("text", "<tool_call>lamp</tool_call>")])


if __name__ == "__main__":
    main()
