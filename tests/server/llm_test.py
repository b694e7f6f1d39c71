"""The routes of OpenAI's API on the bundled model, by Simon Willison's llm: as chats, responses and completions."""

import asyncio
import json
import os
import pathlib
import tempfile
from typing import Optional

import llm
from support import PARROT, QUESTION, REASONING, TestCase, call_of_lamp, main

QUESTION = QUESTION[0]["content"]


def lamp() -> str:
    """Lights."""
    return "It is light."


class Llm(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        os.environ["LLM_USER_PATH"] = directory.name
        shared = {"model_name": "pocket", "api_base": f"http://127.0.0.1:{cls.server.port}/v1", "supports_tools": True}
        kinds = {"chat": {}, "responses": {"responses": True, "reasoning": True}, "completion": {"completion": True}}
        models = [{"model_id": f"pocket-{kind}", **shared, **fields} for kind, fields in kinds.items()]
        pathlib.Path(directory.name, "extra-openai-models.yaml").write_text(json.dumps(models))  # which is YAML too

    @staticmethod
    def model(kind):
        """One that takes fields as well for which llm has no options."""
        model = llm.get_model(f"pocket-{kind}")

        class Options(model.Options):
            extra_body: Optional[dict] = None
        model.Options = Options
        return model

    def ask(self, kind, question=QUESTION, **fields):
        """The response at once, after checking that it comes the same in a stream."""
        model = self.model(kind)
        whole = model.prompt(question, stream=False, **fields)
        streamed = model.prompt(question, **fields)
        self.assertEqual("".join(streamed), whole.text())
        self.assertEqual(self.calls(streamed), self.calls(whole))
        self.assertEqual(streamed.usage().output, whole.usage().output)
        return whole

    @staticmethod
    def calls(response):
        return [(call.name, call.arguments) for call in response.tool_calls()]


class Answers(Llm):
    def test_as_chats_and_as_responses(self):
        for kind in ["chat", "responses"]:
            with self.subTest(kind=kind):
                response = self.ask(kind, temperature=0)
                self.assertEqual(response.text(), PARROT)
                self.assertEqual(response.usage().input, 14)
                self.assertGreater(self.ask(kind, system="Be short.").usage().input, 14)

    def test_texts(self):
        self.assertTrue(self.ask("completion", "What is a", max_tokens=8).text())

    def test_conversations(self):
        for kind in ["chat", "responses"]:
            with self.subTest(kind=kind):
                conversation = self.model(kind).conversation()
                self.assertEqual(conversation.prompt(QUESTION).text(), PARROT)
                self.assertGreater(conversation.prompt(QUESTION).usage().input, 40)

    def test_from_a_loop(self):
        async def ask(kind):
            return [text async for text in llm.get_async_model(f"pocket-{kind}").prompt(QUESTION)]
        for kind in ["chat", "responses"]:
            self.assertEqual("".join(asyncio.run(ask(kind))), PARROT)

    def test_errors_are_told(self):
        for kind in ["chat", "responses"]:
            with self.subTest(kind=kind), self.assertRaisesRegex(Exception, "leaves no room in the context"):
                self.model(kind).prompt("a b " * 131072).text()


class Tools(Llm):
    def test_as_chats_and_as_responses(self):
        for kind in ["chat", "responses"]:
            with self.subTest(kind=kind):
                response = self.ask(kind, tools=[lamp], extra_body=call_of_lamp())
                self.assertEqual(self.calls(response), [("lamp", {})])
                conversation = self.model(kind).conversation(tools=[lamp])
                results = conversation.prompt(QUESTION, extra_body=call_of_lamp()).execute_tool_calls()
                self.assertEqual([result.output for result in results], ["It is light."])
                self.assertTrue(conversation.prompt(tool_results=results).text())


class Reasoning(Llm):
    template = REASONING
    ONE_TOKEN = {"logit_bias": {"100": 99, "4086": 60}, "repetition_penalty": 1e6}  # of reasoning

    def test_is_told_apart(self):
        conversation = self.model("responses").conversation()
        for stream in [False, True]:
            response = conversation.prompt(QUESTION, stream=stream, extra_body=self.ONE_TOKEN, max_tokens=12)
            told = [event.chunk for event in response.stream_events() if event.type == "reasoning"]
            self.assertTrue("".join(told) and response.text())
        plain = self.model("responses").prompt(QUESTION, reasoning_effort="none", max_tokens=3)
        self.assertFalse([event for event in plain.stream_events() if event.type == "reasoning"])


if __name__ == "__main__":
    main(warnings="ignore")  # of the sockets that the package leaves to be closed
