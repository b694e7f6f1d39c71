"""The routes of OpenAI's API on the bundled model, by its own Python package."""

import asyncio
import json

import openai
import pydantic
from support import PARROT, QUESTION, REASONING, TestCase, call_of_lamp, main

LAMP = {"type": "function", "name": "lamp", "description": "Lights.", "parameters": {"type": "object", "properties": {}}}
NO_END = {"logit_bias": {"4086": -100}}  # of the reasoning
SHORT_REASONING = {"logit_bias": {"100": 99, "4086": 60}, "repetition_penalty": 1e6}  # of one token


class Animal(pydantic.BaseModel):
    bird: bool
    legs: int = pydantic.Field(ge=0, le=99)


CHANGES = ("id", "call_id", "created", "created_at", "usage", "parsed", "parsed_arguments")


def without_ids(value):
    """What an answer says: all but what differs each time, and what the package adds."""
    if isinstance(value, list):
        return [without_ids(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {k: without_ids(v) for k, v in value.items() if k not in CHANGES}


class OpenAi(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.client = openai.OpenAI(base_url=f"http://127.0.0.1:{cls.server.port}/v1", api_key="any", max_retries=0)
        cls.addClassCleanup(cls.client.close)

    def chat(self, messages=QUESTION, sampling=None, **fields):
        """The choice at once, after checking that it comes the same in a stream."""
        fields = {"model": "pocket", "messages": messages, "temperature": 0, "max_completion_tokens": 30,
                  "extra_body": sampling or {}, **fields}
        whole = self.client.chat.completions.create(**fields).choices[0]
        with self.client.chat.completions.stream(**fields, stream_options={"include_usage": True}) as stream:
            pieces = [event.chunk.choices[0].delta for event in stream if event.type == "chunk" and event.chunk.choices]
            streamed = stream.current_completion_snapshot
        self.assertEqual((streamed.choices[0].message.content or "", streamed.choices[0].finish_reason),
                         (whole.message.content, whole.finish_reason))
        calls = [[(c.function.name, c.function.arguments) for c in message.tool_calls or []]
                 for message in (streamed.choices[0].message, whole.message)]
        self.assertEqual(*calls)
        self.assertEqual("".join(getattr(p, "reasoning_content", None) or "" for p in pieces),
                         getattr(whole.message, "reasoning_content", ""))
        self.assertGreater(streamed.usage.completion_tokens, 0)
        return whole

    def ask(self, input="What is a parrakeet?", sampling=None, **fields):
        """The response at once, after checking that it comes the same in a stream, whose events fit together."""
        fields = {"model": "pocket", "input": input, "max_output_tokens": 30,
                  "extra_body": {"temperature": 0, **(sampling or {})}, **fields}
        whole = self.client.responses.create(**fields)
        with self.client.responses.stream(**fields) as stream:
            events = list(stream)
        self.assertEqual([e.sequence_number for e in events], list(range(len(events))))
        self.assertEqual([e.type for e in events[:2]], ["response.created", "response.in_progress"])
        self.assertEqual(events[-1].type, f"response.{whole.status}")
        last = events[-1].response
        self.assertEqual(without_ids(last.to_dict()), without_ids(whole.to_dict()))
        self.assertEqual([e.item.id for e in events if e.type == "response.output_item.done"], [i.id for i in last.output])
        for item in last.output:
            deltas = "".join(e.delta for e in events if e.type.endswith(".delta") and e.item_id == item.id)
            parts = item.content or item.summary if item.type == "reasoning" else getattr(item, "content", None)
            self.assertEqual(deltas, item.arguments if item.type == "function_call" else parts[0].text)
        return whole


class Plain(OpenAi):
    def test_completes(self):
        fields = {"model": "pocket", "prompt": "What is a", "max_tokens": 10, "temperature": 0, "seed": 1}
        whole = self.client.completions.create(**fields)
        pieces = list(self.client.completions.create(**fields, stream=True))
        self.assertEqual("".join(p.choices[0].text for p in pieces), whole.choices[0].text)
        self.assertEqual(pieces[-1].choices[0].finish_reason, whole.choices[0].finish_reason)

    def test_chats(self):
        choice = self.chat()
        self.assertEqual((choice.message.content, choice.finish_reason), (PARROT, "stop"))
        self.assertEqual(self.chat(max_completion_tokens=3).finish_reason, "length")
        choice = self.chat(logprobs=True, top_logprobs=2)
        self.assertEqual("".join(token.token for token in choice.logprobs.content), PARROT)

    def test_responds(self):
        response = self.ask()
        self.assertEqual((response.output_text, response.status, response.incomplete_details), (PARROT, "completed", None))
        self.assertEqual([(i.type, i.role, i.status) for i in response.output], [("message", "assistant", "completed")])
        self.assertEqual((response.usage.input_tokens, response.usage.total_tokens),
                         (14, 14 + response.usage.output_tokens))
        self.assertEqual(self.client.responses.create(model="pocket", input=QUESTION, max_output_tokens=1).usage
                         .input_tokens_details.cached_tokens, 13)

    def test_a_response_that_is_cut_off(self):
        response = self.ask(max_output_tokens=3)
        self.assertEqual((response.status, response.incomplete_details.reason), ("incomplete", "max_output_tokens"))
        self.assertEqual(response.output[0].status, "incomplete")
        self.assertEqual(response.usage.output_tokens, 3)

    def test_a_stream_is_of_named_events(self):
        events = self.server.events("/v1/responses", {"input": "What is a parrakeet?", "max_output_tokens": 30})
        self.assertTrue(all(name == data["type"] for name, data in events))
        names = [name.removeprefix("response.") for name, _ in events]
        self.assertEqual(names[:4], ["created", "in_progress", "output_item.added", "content_part.added"])
        self.assertEqual(set(names[4:-4]), {"output_text.delta"})
        self.assertEqual(names[-4:], ["output_text.done", "content_part.done", "output_item.done", "completed"])
        self.assertEqual((events[0][1]["response"]["status"], events[0][1]["response"]["output"]), ("in_progress", []))
        self.assertEqual("".join(data["delta"] for _, data in events[4:-4]), PARROT)

    def test_instructions_are_the_systems(self):
        told = self.ask(instructions="Be short.", max_output_tokens=1)
        items = self.ask([{"role": "developer", "content": "Be short."}, *QUESTION], max_output_tokens=1)
        self.assertEqual(told.usage.input_tokens, items.usage.input_tokens)
        self.assertEqual((told.instructions, items.instructions), ("Be short.", None))

    def test_goes_on_with_what_it_said(self):
        first = self.ask()
        again = self.ask([*QUESTION, *first.output, {"role": "user", "content": "And a zebra?"}], max_output_tokens=3)
        chat = self.client.chat.completions.create(
            model="pocket", max_completion_tokens=1,
            messages=[*QUESTION, {"role": "assistant", "content": PARROT}, {"role": "user", "content": "And a zebra?"}])
        self.assertEqual(again.usage.input_tokens, chat.usage.prompt_tokens)

    def test_errors_are_its_own(self):
        for fields in [{"previous_response_id": "resp_1"}, {"background": True}, {"top_logprobs": 3}, {"max_output_tokens": 0},
                       {"reasoning": {"summary": "long"}}, {"reasoning": {"effort": "much"}},
                       {"conversation": "conv_1"}, {"tools": [{"type": "web_search"}]}, {"tool_choice": "required"},
                       {"text": {"format": {"type": "xml"}}}, {"input": [{"type": "item_reference", "id": "msg_1"}]}]:
            with self.subTest(fields=fields), self.assertRaises(openai.BadRequestError) as raised:
                self.client.responses.create(**{"model": "pocket", "input": "a", **fields})
            self.assertEqual(raised.exception.param, next(iter(fields)))
        with self.assertRaises(openai.NotFoundError):
            self.client.responses.retrieve("resp_1")
        with self.assertRaises(openai.BadRequestError):
            self.client.embeddings.create(model="pocket", input="a")

    def test_parses_answers_of_a_form(self):
        chat = self.client.chat.completions.parse(model="pocket", messages=QUESTION, response_format=Animal, max_completion_tokens=200)
        self.assertIsInstance(chat.choices[0].message.parsed, Animal)
        response = self.client.responses.parse(model="pocket", input=QUESTION, text_format=Animal, max_output_tokens=200)
        self.assertIsInstance(response.output_parsed, Animal)
        self.assertIn(self.ask(text={"format": {"type": "json_schema", "name": "n", "schema": {"enum": [1, 2]}}}).output_text, ("1", "2"))

    def test_asks_from_a_loop(self):
        async def ask(client, word):
            stream = await client.responses.create(model="pocket", input=f"What is a {word}?", stream=True, max_output_tokens=8,
                                                   temperature=0)
            return "".join([event.delta async for event in stream if event.type == "response.output_text.delta"])

        async def all_at_once():
            async with openai.AsyncOpenAI(base_url=self.client.base_url, api_key="any", max_retries=0) as client:
                return await asyncio.gather(*[ask(client, word) for word in ("parrakeet", "zebra", "parrakeet")])
        texts = asyncio.run(all_at_once())
        self.assertEqual(texts[0], texts[2])
        self.assertTrue(PARROT.startswith(texts[0]) and texts[1])

    def test_lists_the_model(self):
        self.assertEqual([model.id for model in self.client.models.list()], ["pocket"])


class Reasoning(OpenAi):
    template = REASONING

    def test_in_chats(self):
        choice = self.chat(sampling=SHORT_REASONING, max_completion_tokens=12)
        self.assertTrue(choice.message.reasoning_content and choice.message.content)
        self.chat([*QUESTION, choice.message, *QUESTION], sampling=NO_END, max_completion_tokens=3)
        self.assertFalse(hasattr(self.chat(reasoning_effort="none").message, "reasoning_content"))

    def test_is_an_item(self):
        response = self.ask(sampling=SHORT_REASONING, max_output_tokens=12)
        self.assertEqual([(i.type, i.status) for i in response.output], [("reasoning", "completed"), ("message", "incomplete")])
        self.assertEqual(response.usage.output_tokens_details.reasoning_tokens, 1)
        back = self.ask([*QUESTION, *response.output, *QUESTION], sampling=NO_END, max_output_tokens=3)
        self.assertEqual([(i.type, i.status) for i in back.output], [("reasoning", "incomplete")])

    def test_is_its_own_summary_where_one_is_wanted(self):
        plain = self.ask(sampling=SHORT_REASONING, max_output_tokens=12).output[0]
        item = self.ask(sampling=SHORT_REASONING, max_output_tokens=12, reasoning={"summary": "auto"}).output[0]
        self.assertEqual([(s.type, s.text) for s in item.summary], [("summary_text", plain.content[0].text)])
        self.assertEqual((plain.summary, item.content), ([], None))
        back = [self.ask([*QUESTION, i, *QUESTION], sampling=NO_END, max_output_tokens=1) for i in (plain, item)]
        self.assertEqual(back[0].usage.input_tokens, back[1].usage.input_tokens)

    def test_there_is_none_where_none_is_wanted(self):
        response = self.ask(reasoning={"effort": "none"}, max_output_tokens=3)
        self.assertEqual([i.type for i in response.output], ["message"])
        self.assertEqual(response.reasoning.effort, "none")


class Tools(OpenAi):
    def test_in_chats(self):
        function = {key: value for key, value in LAMP.items() if key != "type"}
        tools = [{"type": "function", "function": function}]
        choice = self.chat(tools=tools, sampling=call_of_lamp())
        self.assertEqual((choice.finish_reason, choice.message.tool_calls[0].function.name), ("tool_calls", "lamp"))
        result = {"role": "tool", "tool_call_id": choice.message.tool_calls[0].id, "content": "It is light."}
        self.chat([*QUESTION, choice.message, result], tools=tools)

    def test_a_call_is_an_item(self):
        response = self.ask(tools=[LAMP], sampling=call_of_lamp())
        self.assertEqual([(i.type, i.name, i.arguments, i.status) for i in response.output],
                         [("function_call", "lamp", "{}", "completed")])
        result = {"type": "function_call_output", "call_id": response.output[0].call_id, "output": "It is light."}
        self.ask([*QUESTION, *response.output, result], tools=[LAMP])

    def test_a_call_that_is_forced(self):
        for choice in ["required", {"type": "function", "name": "lamp"}]:
            (item,) = self.ask(tools=[LAMP], tool_choice=choice, parallel_tool_calls=False).output
            self.assertEqual((item.type, item.name, item.arguments), ("function_call", "lamp", "{}"))

    def test_a_call_that_is_none_is_text(self):
        # The tokens of <tool_call>lamp<arg_key>: the call has been told by then, and is taken back at the end.
        sampling = {**call_of_lamp(), "logit_bias": {"4087": 100, "75": 85, "948": 70, "4091": 55, "100": 40}}
        fields = {"model": "pocket", "input": QUESTION, "tools": [LAMP], "extra_body": {"temperature": 0, **sampling}}
        whole = self.client.responses.create(**fields)
        self.assertEqual((whole.status, whole.output_text), ("completed", "<tool_call>lamp<arg_key>"))
        with self.client.responses.stream(**fields) as stream:
            ended = [(e.item.type, e.item.status) for e in stream if e.type == "response.output_item.done"]
            last = stream.get_final_response()
        self.assertEqual(ended, [("function_call", "incomplete"), ("message", "completed")])
        self.assertEqual([(i.type, i.content[0].text) for i in last.output], [("message", whole.output_text)])


if __name__ == "__main__":
    main()
