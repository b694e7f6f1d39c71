"""The routes of OpenAI's API on the bundled model, by langchain-openai: as chats and as responses."""

from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAI
from support import PARROT, QUESTION, REASONING, TestCase, call_of_lamp, main

QUESTION = QUESTION[0]["content"]


@tool
def lamp() -> str:
    """Lights."""
    return "It is light."


class LangChain(TestCase):
    def settings(self, **fields):
        return {"model": "pocket", "base_url": f"http://127.0.0.1:{self.server.port}/v1", "api_key": "any", "temperature": 0,
                "max_retries": 0, **fields}

    def model(self, sampling=None, **fields):
        return ChatOpenAI(**self.settings(extra_body=sampling or {}, stream_usage=True, **fields))

    def ask(self, model, messages=QUESTION):
        """The message at once, after checking that it comes the same in a stream."""
        whole = model.invoke(messages)
        streamed = AIMessageChunk(content="")
        for chunk in model.stream(messages):
            streamed += chunk
        self.assertEqual(streamed.text, whole.text)
        self.assertEqual([(c["name"], c["args"]) for c in streamed.tool_calls], [(c["name"], c["args"]) for c in whole.tool_calls])
        self.assertEqual(streamed.usage_metadata["output_tokens"], whole.usage_metadata["output_tokens"])
        return whole


class Answers(LangChain):
    def test_as_chats_and_as_responses(self):
        for responses in [False, True]:
            with self.subTest(responses=responses):
                message = self.ask(self.model(use_responses_api=responses))
                self.assertEqual(message.text, PARROT)
                self.assertEqual(message.usage_metadata["input_tokens"], 14)
                self.ask(self.model(use_responses_api=responses, max_completion_tokens=3),
                         [HumanMessage(QUESTION), message, HumanMessage(QUESTION)])
                again = self.model(use_responses_api=responses).invoke(QUESTION)
                self.assertEqual(again.usage_metadata["input_token_details"]["cache_read"], 13)

    def test_texts(self):
        model = OpenAI(**self.settings(max_tokens=8))
        self.assertEqual("".join(model.stream("What is a")), model.invoke("What is a"))

    def test_tools(self):
        for responses in [False, True]:
            with self.subTest(responses=responses):
                calling = self.model(call_of_lamp(), use_responses_api=responses).bind_tools([lamp])
                message = self.ask(calling)
                self.assertEqual([(c["name"], c["args"]) for c in message.tool_calls], [("lamp", {})])
                self.assertIsInstance(message, AIMessage)
                result = lamp.invoke(message.tool_calls[0])
                self.assertIsInstance(result, ToolMessage)
                answering = self.model(use_responses_api=responses, max_completion_tokens=8).bind_tools([lamp])
                self.assertTrue(self.ask(answering, [HumanMessage(QUESTION), message, result]).text)


class Reasoning(LangChain):
    template = REASONING
    SAMPLING = {"logit_bias": {"100": 99, "4086": 60}, "repetition_penalty": 1e6}  # one token of reasoning

    def test_is_a_block_of_responses(self):
        model = self.model(self.SAMPLING, use_responses_api=True, output_version="responses/v1", max_completion_tokens=12)
        message = self.ask(model)
        self.assertEqual([block["type"] for block in message.content], ["reasoning", "text"])
        self.assertTrue(message.content[0]["content"][0]["text"])
        self.assertEqual(message.usage_metadata["output_token_details"]["reasoning"], 1)
        self.ask(model, [HumanMessage(QUESTION), message, HumanMessage(QUESTION)])

    def test_comes_in_streams_as_its_summary(self):
        model = self.model(self.SAMPLING, reasoning={"summary": "auto"}, output_version="responses/v1", max_completion_tokens=12)
        reasoning = [summary["text"] for chunk in model.stream(QUESTION) for block in chunk.content
                     if block["type"] == "reasoning" for summary in block["summary"]]
        whole = model.invoke(QUESTION).content[0]
        self.assertEqual("".join(reasoning), whole["summary"][0]["text"])
        self.assertTrue(reasoning[-1])

    def test_can_be_left_out(self):
        for fields in [{"reasoning_effort": "none"}, {"reasoning": {"effort": "none"}}]:
            with self.subTest(fields=fields):
                message = self.ask(self.model(max_completion_tokens=3, **fields))
                self.assertTrue(message.text)
                self.assertEqual(message.usage_metadata["output_token_details"].get("reasoning", 0), 0)


if __name__ == "__main__":
    main()
