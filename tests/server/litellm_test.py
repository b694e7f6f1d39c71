"""The routes of OpenAI's and Anthropic's APIs on the bundled model, by litellm."""

import os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it asks the network for prices

import litellm  # noqa: E402
from support import PARROT, QUESTION, REASONING, TestCase, call_of_lamp, main  # noqa: E402

litellm.suppress_debug_info = True
LAMP = {"type": "function", "function": {"name": "lamp", "description": "Lights.",
                                         "parameters": {"type": "object", "properties": {}}}}


class LiteLlm(TestCase):
    provider = "openai"

    def ask(self, messages=QUESTION, sampling=None, **fields):
        """The choice at once, after checking that it comes the same in a stream."""
        address = f"http://127.0.0.1:{self.server.port}" + ("/v1" if self.provider == "openai" else "")
        fields = {"model": f"{self.provider}/pocket", "api_base": address, "api_key": "any", "messages": messages,
                  "temperature": 0, "max_tokens": 30, "num_retries": 0,
                  "allowed_openai_params": list(sampling or {}), **(sampling or {}), **fields}
        whole = litellm.completion(**fields)
        chunks = list(litellm.completion(**fields, stream=True, stream_options={"include_usage": True}))
        streamed = litellm.stream_chunk_builder(chunks, messages=messages)
        self.assertEqual(self.said(streamed), self.said(whole))
        self.assertEqual(streamed.usage.completion_tokens, whole.usage.completion_tokens)
        return whole

    @staticmethod
    def said(answer):
        choice = answer.choices[0]
        calls = [(c.function.name, c.function.arguments) for c in choice.message.tool_calls or []]
        return choice.message.content or "", getattr(choice.message, "reasoning_content", None) or "", calls, choice.finish_reason


class OpenAi(LiteLlm):
    def test_answers(self):
        self.assertEqual(self.said(self.ask()), (PARROT, "", [], "stop"))
        self.assertEqual(self.ask(max_tokens=3).choices[0].finish_reason, "length")
        self.assertEqual(self.ask().usage.prompt_tokens_details.cached_tokens, 13)

    def test_a_call(self):
        answer = self.ask(tools=[LAMP], sampling=call_of_lamp())
        self.assertEqual(self.said(answer), ("", "", [("lamp", "{}")], "tool_calls"))
        message = answer.choices[0].message
        result = {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "It is light."}
        self.ask([*QUESTION, message, result], tools=[LAMP])

    def test_errors_are_its_own(self):
        with self.assertRaisesRegex(litellm.BadRequestError, "temperature is -1"):
            self.ask(temperature=-1)

    def test_responses(self):
        fields = {"model": "openai/pocket", "api_base": f"http://127.0.0.1:{self.server.port}/v1", "api_key": "any",
                  "input": "What is a parrakeet?", "temperature": 0}
        whole = litellm.responses(**fields)
        self.assertEqual((whole.status, whole.output[0].content[0].text), ("completed", PARROT))
        events = list(litellm.responses(**fields, stream=True))
        self.assertEqual("".join(e.delta for e in events if e.type == "response.output_text.delta"), PARROT)
        self.assertEqual(events[-1].type, "response.completed")


class Anthropic(LiteLlm):
    provider = "anthropic"

    def test_answers(self):
        self.assertEqual(self.said(self.ask()), (PARROT, "", [], "stop"))

    def test_a_call(self):
        answer = self.ask(tools=[LAMP], sampling=call_of_lamp())
        self.assertEqual(self.said(answer), ("", "", [("lamp", "{}")], "tool_calls"))


class Reasoning(LiteLlm):
    template = REASONING
    SAMPLING = {"logit_bias": {"100": 99, "4086": 60}, "repetition_penalty": 1e6}  # one token of reasoning

    def test_is_told_apart(self):
        for provider in ["openai", "anthropic"]:
            with self.subTest(provider=provider):
                self.provider = provider
                answer = self.ask(sampling={**self.SAMPLING, "enable_thinking": True}, max_tokens=12)
                content, reasoning, _, finish = self.said(answer)
                self.assertTrue(content and reasoning)
                self.assertEqual(finish, "length")


if __name__ == "__main__":
    main(warnings="ignore")  # which the package gives of itself
