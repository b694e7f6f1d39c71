"""The routes of OpenAI's API on the bundled model."""

import concurrent.futures
import json
import subprocess

from support import LIMIT, PARROT, POCKET, PROGRAM, QUESTION, REASONING, TestCase, call_of_lamp, main

CHAT = "/v1/chat/completions"
COMPLETIONS = "/v1/completions"


def run(*arguments):
    done = subprocess.run([PROGRAM, "run", POCKET, "--json", *arguments], capture_output=True, timeout=LIMIT, check=True)
    return json.loads(done.stdout)


class Completions(TestCase):
    def test_says_what_the_command_line_says(self):
        for seed in [1, 2, 3]:
            expected = run("--raw", "What is a", "--seed", str(seed), "--max-tokens", "20")
            answer = self.post(COMPLETIONS, {"prompt": "What is a", "seed": seed, "max_tokens": 20})
            self.assertEqual(answer["choices"][0]["text"], expected["text"])
            self.assertEqual(answer["usage"]["completion_tokens"], len(expected["ids"]))

    def test_streams_what_it_says_at_once(self):
        body = {"prompt": "What is a", "seed": 5, "max_tokens": 30, "logprobs": 2, "n": 2}
        whole = self.post(COMPLETIONS, body)
        events = [data for _, data in self.server.events(COMPLETIONS, {**body, "stream_options": {"include_usage": True}})]
        self.assertEqual(events[-1], "[DONE]")
        self.assertEqual(events[-2]["choices"], [])
        self.assertEqual(events[-2]["usage"]["completion_tokens"], whole["usage"]["completion_tokens"])
        for choice in whole["choices"]:
            parts = [c for e in events[:-1] for c in e["choices"] if c["index"] == choice["index"]]
            self.assertEqual("".join(p["text"] for p in parts), choice["text"])
            self.assertEqual([p["finish_reason"] for p in parts if p["finish_reason"]], [choice["finish_reason"]])
            for key in ["tokens", "token_logprobs", "text_offset", "top_logprobs"]:
                self.assertEqual(sum((p["logprobs"][key] for p in parts), []), choice["logprobs"][key])

    def test_prompts_of_all_forms(self):
        ids = list(map(int, subprocess.run([PROGRAM, "tokenize", POCKET, "What is a"], capture_output=True,
                                           check=True).stdout.split()))
        body = {"max_tokens": 5, "temperature": 0}
        text = self.post(COMPLETIONS, {**body, "prompt": "What is a"})["choices"][0]["text"]
        self.assertEqual(self.post(COMPLETIONS, {**body, "prompt": ids})["choices"][0]["text"], text)
        for prompt in [["What is a", "Define"], [ids, ids[:1]]]:
            choices = self.post(COMPLETIONS, {**body, "prompt": prompt, "n": 2})["choices"]
            self.assertEqual([c["index"] for c in choices], [0, 1, 2, 3])
            self.assertEqual([c["text"] for c in choices][:2], [text, text])

    def test_echo_with_logprobs_scores_a_prompt(self):
        body = {"prompt": "What is a parrakeet", "echo": True, "logprobs": 1, "temperature": 0}
        scored = self.post(COMPLETIONS, {**body, "max_tokens": 0})
        choice = scored["choices"][0]
        self.assertEqual(choice["text"], "What is a parrakeet")
        self.assertEqual("".join(choice["logprobs"]["tokens"]), choice["text"])
        self.assertIsNone(choice["logprobs"]["token_logprobs"][0])
        self.assertTrue(all(p <= 0 for p in choice["logprobs"]["token_logprobs"][1:]))
        self.assertEqual(scored["usage"]["completion_tokens"], 0)
        one = self.post(COMPLETIONS, {**body, "max_tokens": 1})["choices"][0]["logprobs"]
        self.assertEqual(one["token_logprobs"][:-1], choice["logprobs"]["token_logprobs"])
        streamed = self.server.events(COMPLETIONS, {**body, "max_tokens": 1})[0][1]["choices"][0]
        self.assertEqual(streamed["logprobs"], one)

    def test_names_the_field_that_is_wrong(self):
        for field, value, sentence in [
                ("prompt", None, "prompt is missing"), ("prompt", 5, "prompt is 5"), ("prompt", [1, "a"], "prompt is an array"),
                ("prompt", [], "prompt is an array"), ("prompt", "", "empty text"), ("prompt", [99999999], None),
                ("temperature", "hot", 'temperature is "hot", expected a number from 0'), ("temperature", -1, "-1"),
                ("top_p", 1.5, "from 0 to 1"), ("n", 0, "from 1 to 128"), ("max_tokens", -1, "max_tokens is -1"),
                ("max_tokens", 1.5, "a whole number"), ("logprobs", 21, "from 0 to 20"), ("best_of", 3, "best_of is 3"),
                ("suffix", "x", "suffix"), ("stop", [""], "stop is an array"), ("stop", 3, "stop is 3"),
                ("logit_bias", {"x": 1}, "logit_bias"), ("logit_bias", {"1": 101}, "logit_bias"), ("seed", 1.5, "seed is 1.5"),
                ("stream", "yes", "true or false"), ("stream_options", {"include_usage": 1}, "include_usage is 1"),
                ("stop_token_ids", [-1], "token ids"), ("ignore_eos", 1, "true or false")]:
            with self.subTest(field=field, value=value):
                if sentence is None:
                    self.refused(400, "outside the vocabulary", COMPLETIONS, {field: value})
                else:
                    self.refused(400, sentence, COMPLETIONS, {"prompt": "a", field: value}, field=field)

    def test_takes_unknown_fields_and_nulls(self):
        self.post(COMPLETIONS, {"prompt": "a", "max_tokens": 1, "user": "me", "whatever": [1], "temperature": None,
                                "stop": None, "logit_bias": None, "suffix": None, "model": "another"})

    def test_stops_and_biases(self):
        body = {"prompt": "What is a", "max_tokens": 50, "temperature": 0}
        text = self.post(COMPLETIONS, body)["choices"][0]["text"]
        stop = text[8:11]
        choice = self.post(COMPLETIONS, {**body, "stop": [stop]})["choices"][0]
        self.assertEqual((choice["text"], choice["finish_reason"]), (text[:text.index(stop)], "stop"))
        token = self.post(COMPLETIONS, {**body, "max_tokens": 3, "logit_bias": {"100": 100}, "logprobs": 0})
        self.assertEqual(len(set(token["choices"][0]["logprobs"]["tokens"])), 1)


class Chats(TestCase):
    def test_says_what_the_command_line_says(self):
        for seed in [1, 2]:
            expected = run("What is a zebra?", "--seed", str(seed), "--temperature", "1")
            answer = self.post(CHAT, {"messages": [{"role": "user", "content": "What is a zebra?"}], "seed": seed,
                                      "temperature": 1})
            self.assertEqual(answer["choices"][0]["message"], {"role": "assistant", "content": expected["text"]})
            self.assertEqual(answer["usage"]["prompt_tokens"], expected["usage"]["prompt_tokens"])

    def test_streams_what_it_says_at_once(self):
        body = {"messages": QUESTION, "seed": 3, "logprobs": True, "top_logprobs": 2, "n": 2}
        whole = self.post(CHAT, body)
        self.assertEqual(whole["choices"][0]["message"]["content"], PARROT)
        events = [data for _, data in self.server.events(CHAT, {**body, "stream_options": {"include_usage": True}})]
        self.assertEqual(events[-1], "[DONE]")
        self.assertEqual(events[-2]["usage"]["total_tokens"], whole["usage"]["total_tokens"])
        self.assertEqual(len({e["id"] for e in events[:-1]}), 1)
        for choice in whole["choices"]:
            parts = [c for e in events[:-1] for c in e["choices"] if c["index"] == choice["index"]]
            self.assertEqual(parts[0]["delta"], {"role": "assistant", "content": ""})
            self.assertEqual("".join(p["delta"].get("content", "") for p in parts), choice["message"]["content"])
            self.assertEqual(parts[-1]["finish_reason"], choice["finish_reason"])
            self.assertEqual(sum((p["logprobs"]["content"] for p in parts), []), choice["logprobs"]["content"])
            self.assertEqual(len(choice["logprobs"]["content"][0]["top_logprobs"]), 2)

    def test_a_long_beginning_is_not_read_twice(self):
        notes = "\n".join(f"word{i}: a small thing of the kind {i}" for i in range(300))
        first = [{"role": "system", "content": notes}, {"role": "user", "content": "What is a parrakeet?"}]
        second = [*first[:1], {"role": "user", "content": "What is a zebra?"}]
        body = {"temperature": 0, "max_tokens": 10}
        cold = self.post(CHAT, {**body, "messages": first})["usage"]
        self.assertGreater(cold["prompt_tokens"], 2000)
        self.assertLess(cold["prompt_tokens_details"]["cached_tokens"], 20)
        warm = self.post(CHAT, {**body, "messages": second})
        cached = warm["usage"]["prompt_tokens_details"]["cached_tokens"]
        self.assertGreater(cached, 0.9 * warm["usage"]["prompt_tokens"])
        again = self.post(CHAT, {**body, "messages": second})
        self.assertEqual(again["choices"][0]["message"], warm["choices"][0]["message"])

    def test_names_the_field_that_is_wrong(self):
        for field, value in [("messages", None), ("messages", []), ("messages", ["a"]), ("messages", [{"content": "a"}]),
                             ("messages", [{"role": "user", "content": 5}]), ("top_logprobs", 3), ("logprobs", 3),
                             ("reasoning_effort", "much"), ("thinking", {"type": "perhaps"}), ("max_completion_tokens", "a"),
                             ("chat_template_kwargs", [])]:
            with self.subTest(field=field, value=value):
                self.refused(400, field, CHAT, {"messages": QUESTION, field: value}, field=field)

    def test_refuses_what_the_context_cannot_hold(self):
        self.refused(400, "leaves no room in the context", COMPLETIONS, {"prompt": [5] * 131072})

    def test_answers_many_at_once_as_alone(self):
        words = ["parrakeet", "zebra", "lamp", "tool", "river", "king", "moon", "festival"]
        bodies = [{"messages": [{"role": "user", "content": f"What is a {w}?"}], "seed": i, "temperature": 1,
                   "max_tokens": 20} for i, w in enumerate(words)]
        alone = [self.post(CHAT, body)["choices"][0]["message"] for body in bodies]
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            together = list(pool.map(lambda body: self.post(CHAT, body)["choices"][0]["message"], bodies * 4))
        self.assertEqual(together, alone * 4)


class Reasoning(TestCase):
    template = REASONING

    def test_reasoning_is_told_apart(self):
        body = {"messages": QUESTION, "enable_thinking": True, "max_tokens": 5, "ignore_eos": True, "temperature": 0,
                "logit_bias": {"4086": -100}}
        answer = self.post(CHAT, body)
        message = answer["choices"][0]["message"]
        self.assertTrue(message["reasoning_content"])
        self.assertEqual(message["reasoning"], message["reasoning_content"])
        self.assertFalse(message["content"])
        self.assertEqual(answer["choices"][0]["finish_reason"], "length")
        self.assertEqual(answer["usage"]["completion_tokens_details"]["reasoning_tokens"], 5)
        parts = [c["delta"] for _, e in self.server.events(CHAT, body)[:-1] for c in e["choices"]]
        self.assertEqual("".join(p.get("reasoning_content", "") for p in parts), message["reasoning_content"])

    def test_all_the_ways_to_ask_for_it(self):
        for fields, thinks in [({}, True), ({"enable_thinking": False}, False), ({"enable_thinking": True}, True),
                               ({"thinking": {"type": "disabled"}}, False), ({"thinking": {"type": "enabled"}}, True),
                               ({"reasoning_effort": "none"}, False), ({"reasoning_effort": "minimal"}, False),
                               ({"reasoning_effort": "low"}, True),
                               ({"chat_template_kwargs": {"enable_thinking": False}}, False)]:
            with self.subTest(fields=fields):
                message = self.post(CHAT, {"messages": QUESTION, "max_tokens": 3, "temperature": 0,
                                           "logit_bias": {"4086": -100}, **fields})["choices"][0]["message"]
                self.assertEqual(bool(message.get("reasoning_content")), thinks)
                self.assertEqual(bool(message["content"]), not thinks)


    def test_a_budget_closes_it_once(self):
        # Were it not closed, it would go on: 4086 is </think>, which is never the model's own choice here.
        body = {"messages": QUESTION, "max_tokens": 20, "ignore_eos": True, "temperature": 0, "logit_bias": {"4086": -100}}
        whole = self.post(CHAT, body)["choices"][0]["message"]["reasoning_content"]
        for fields in [{"thinking_token_budget": 4}, {"thinking_budget": 4},
                       {"thinking": {"type": "enabled", "budget_tokens": 4}}]:
            with self.subTest(fields=fields):
                answer = self.post(CHAT, {**body, **fields})
                message = answer["choices"][0]["message"]
                self.assertEqual(answer["usage"]["completion_tokens_details"]["reasoning_tokens"], 4)
                self.assertTrue(whole.startswith(message["reasoning_content"]))
                self.assertTrue(message["content"])
                self.assertNotIn("think>", message["content"] + message["reasoning_content"])
        prompt = {"prompt": "What is a bird?<think>", "max_tokens": 9, "temperature": 0, "ignore_eos": True}
        text = self.post(COMPLETIONS, {**prompt, "logit_bias": {"4086": 100}, "thinking_token_budget": 0,
                                       "skip_special_tokens": False})["choices"][0]["text"]
        self.assertTrue(text.startswith("</think>"))
        self.assertEqual(text.count("think>"), 1)

    def test_a_form_is_that_of_the_answer_alone(self):
        schema = {"type": "object", "properties": {"n": {"type": "integer", "maximum": 99, "minimum": 0}}, "required": ["n"]}
        body = {"messages": QUESTION, "max_tokens": 200, "logit_bias": {"4086": -100}, "thinking_token_budget": 5, "seed": 1,
                "response_format": {"type": "json_schema", "json_schema": {"schema": schema}}}
        message = self.post(CHAT, body)["choices"][0]["message"]
        self.assertTrue(message["reasoning_content"])
        self.assertEqual(list(json.loads(message["content"])), ["n"])


class Tools(TestCase):
    CALL = {"tools": [{"type": "function", "function": {"name": "lamp", "parameters": {"type": "object"}}}],
            "messages": QUESTION, "temperature": 0, **call_of_lamp()}

    def test_a_call_without_arguments(self):
        answer = self.post(CHAT, self.CALL)["choices"][0]
        self.assertEqual(answer["finish_reason"], "tool_calls")
        self.assertEqual(answer["message"]["content"], "")
        call = answer["message"]["tool_calls"][0]
        self.assertEqual((call["type"], call["function"]), ("function", {"name": "lamp", "arguments": "{}"}))

        parts = [c for _, e in self.server.events(CHAT, self.CALL)[:-1] for c in e["choices"]]
        self.assertEqual(parts[-1]["finish_reason"], "tool_calls")
        deltas = [d for p in parts for d in p["delta"].get("tool_calls", [])]
        self.assertEqual((deltas[0]["index"], deltas[0]["type"], deltas[0]["function"]["name"]), (0, "function", "lamp"))
        self.assertTrue(deltas[0]["id"].startswith("call_"))
        self.assertEqual("".join(d["function"]["arguments"] for d in deltas), "{}")
        self.assertEqual("".join(p["delta"].get("content", "") for p in parts), "")

    def test_without_tools_it_is_text(self):
        for fields in [{"tools": None}, {"tool_choice": "none"}]:
            answer = self.post(CHAT, {**self.CALL, **fields})["choices"][0]
            self.assertEqual((answer["message"]["content"], answer["finish_reason"]),
                             ("<tool_call>lamp</tool_call>", "stop"))

    def test_refuses_what_is_none(self):
        for field, value in [("tool_choice", {"type": "function", "function": {"name": "other"}}),
                             ("tool_choice", "perhaps"), ("tools", [{"type": "web_search"}]), ("tools", 5),
                             ("thinking_token_budget", -1), ("thinking_budget", "much")]:
            with self.subTest(field=field, value=value):
                self.refused(400, field, CHAT, {**self.CALL, field: value}, field=field)
        self.post(CHAT, {**self.CALL, "response_format": {"type": "text"}, "tool_choice": "auto"})


class ForcedCalls(TestCase):
    WEATHER = {"type": "function", "function": {"name": "weather", "parameters": {
        "type": "object", "required": ["city", "days", "code"], "properties": {
            "city": {"type": "string", "maxLength": 12}, "days": {"type": "integer", "minimum": 1, "maximum": 9},
            "unit": {"enum": ["C", "F"]}, "code": {"type": "string", "pattern": "^[a-c]{3}$"}, "places": {"type": "array", "items": {"type": "boolean"}, "maxItems": 2}}}}}
    LAMP = {"type": "function", "function": {"name": "lamp"}}
    BODY = {"messages": QUESTION, "tools": [WEATHER, LAMP], "max_tokens": 300}

    def check(self, call):
        arguments = json.loads(call["function"]["arguments"])
        if call["function"]["name"] == "lamp":
            self.assertEqual(arguments, {})
            return
        self.assertEqual(call["function"]["name"], "weather")
        self.assertLessEqual({"city", "days", "code"}, set(arguments))
        self.assertLessEqual(set(arguments), {"city", "days", "unit", "code", "places"})
        self.assertLessEqual(len(arguments["city"]), 12)
        self.assertRegex(arguments["code"], "^[a-c]{3}\\Z")
        self.assertIn(arguments["days"], range(1, 10))
        self.assertIn(arguments.get("unit", "C"), ["C", "F"])
        self.assertTrue(all(isinstance(place, bool) for place in arguments.get("places", [])))

    def test_a_call_is_made_whole_and_streamed(self):
        for choice in ["required", {"type": "function", "function": {"name": "weather"}}]:
            for seed in range(6):
                with self.subTest(choice=choice, seed=seed):
                    body = {**self.BODY, "tool_choice": choice, "seed": seed, "parallel_tool_calls": False}
                    answer = self.post(CHAT, body)["choices"][0]
                    self.assertEqual(answer["finish_reason"], "tool_calls")
                    self.assertEqual(answer["message"]["content"], "")
                    (call,) = answer["message"]["tool_calls"]
                    self.check(call)
                    if choice != "required":
                        self.assertEqual(call["function"]["name"], "weather")
                    deltas = [d for _, e in self.server.events(CHAT, body)[:-1] for c in e["choices"]
                              for d in c["delta"].get("tool_calls", [])]
                    self.assertEqual(deltas[0]["function"]["name"], call["function"]["name"])
                    self.assertEqual("".join(d["function"]["arguments"] for d in deltas), call["function"]["arguments"])

    def test_one_or_more_where_several_may_be_made(self):
        for seed in range(4):
            answer = self.post(CHAT, {**self.BODY, "tool_choice": "required", "seed": seed})["choices"][0]
            self.assertTrue(answer["message"]["tool_calls"])
            complete = answer["finish_reason"] == "tool_calls"
            for call in answer["message"]["tool_calls"] if complete else answer["message"]["tool_calls"][:-1]:
                self.check(call)

    def test_a_form_or_a_call_where_both_may_be(self):
        form = {"type": "json_schema", "json_schema": {"name": "f", "schema": {"enum": [1, 2]}}}
        for bias, calls in [({"4087": 100}, True), ({"4087": -100}, False)]:  # of <tool_call>
            answer = self.post(CHAT, {**self.BODY, "response_format": form, "logit_bias": bias, "parallel_tool_calls": False})
            message = answer["choices"][0]["message"]
            self.assertEqual(bool(message.get("tool_calls")), calls)
            self.assertIn(message["content"], [""] if calls else ["1", "2"])


class Forms(TestCase):
    SCHEMA = {"type": "object", "required": ["bird", "legs"], "additionalProperties": False, "properties": {
        "bird": {"type": "boolean"}, "legs": {"type": "integer", "minimum": 0, "maximum": 99}}}
    # As each client says it, and what the text then is.
    ASKED = [({"response_format": {"type": "json_schema", "json_schema": {"name": "animal", "strict": True, "schema": SCHEMA}}}, None),
             ({"structured_outputs": {"json": SCHEMA}}, None), ({"guided_json": json.dumps(SCHEMA)}, None),
             ({"json_schema": json.dumps(SCHEMA)}, None),
             ({"structured_outputs": {"regex": "[ab]{3}!"}}, "^[ab]{3}!$"), ({"guided_regex": "[ab]{3}!"}, "^[ab]{3}!$"),
             ({"regex": "[ab]{3}!"}, "^[ab]{3}!$"), ({"structured_outputs": {"choice": ["bird", "fish"]}}, "^(bird|fish)$"),
             ({"guided_choice": ["bird", "fish"]}, "^(bird|fish)$"), ({"guided_grammar": 'root ::= "x" [0-9]'}, "^x[0-9]$"),
             ({"ebnf": 'root ::= "x" [0-9]'}, "^x[0-9]$"),
             ({"response_format": {"type": "structural_tag", "format": {"type": "const_string", "value": "yes"}}}, "^yes$")]

    def check(self, text, pattern):
        if pattern:
            self.assertRegex(text, pattern)
            return
        animal = json.loads(text)
        self.assertEqual(set(animal), {"bird", "legs"})
        self.assertIsInstance(animal["bird"], bool)
        self.assertIn(animal["legs"], range(100))

    def test_answers_have_the_form_that_is_asked_for(self):
        for fields, pattern in self.ASKED:
            for seed in [1, 2]:
                with self.subTest(fields=fields, seed=seed):
                    body = {"max_tokens": 200, "seed": seed, **fields}
                    answer = self.post(CHAT, {**body, "messages": QUESTION})["choices"][0]
                    self.assertEqual(answer["finish_reason"], "stop")
                    self.check(answer["message"]["content"], pattern)
                    self.check(self.post(COMPLETIONS, {**body, "prompt": "What is"})["choices"][0]["text"], pattern)
                    streamed = [c["delta"].get("content", "") for _, e in self.server.events(CHAT, {**body, "messages": QUESTION})[:-1]
                                for c in e["choices"]]
                    self.assertEqual("".join(streamed), answer["message"]["content"])

    def test_any_object(self):
        body = {"messages": QUESTION, "response_format": {"type": "json_object"}, "logit_bias": {"93": 5}, "max_tokens": 500}
        answer = self.post(CHAT, {**body, "seed": 3})["choices"][0]
        if answer["finish_reason"] == "stop":
            self.assertIsInstance(json.loads(answer["message"]["content"]), dict)
        self.assertEqual(answer["message"]["content"][0], "{")

    def test_refuses_what_is_no_form(self):
        for fields, field, sentence in [
                ({"response_format": 1}, "response_format", "response_format is an integer"),
                ({"response_format": {"type": "xml"}}, "response_format", "response_format.type is"),
                ({"response_format": {"type": "json_schema"}}, "response_format", "response_format.schema is missing"),
                ({"response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "thing"}}}}, "response_format",
                 "response_format.json_schema.schema: json_schema was not understood"),
                ({"guided_json": "{"}, "guided_json", "guided_json: json_schema"),
                ({"guided_regex": "("}, "guided_regex", "guided_regex: regex was not understood"),
                ({"structured_outputs": {"regex": "((((a{99}){99}){99}){99})"}}, "structured_outputs", "repeats too much"),
                ({"structured_outputs": {"choice": []}}, "structured_outputs", "choice is empty"),
                ({"guided_choice": "yes"}, "guided_choice", "guided_choice is"),
                ({"ebnf": "root ::= other"}, "ebnf", "ebnf: grammar was not understood"),
                ({"guided_regex": "a", "guided_choice": ["a"]}, "guided_choice", "given beside guided_regex")]:
            with self.subTest(fields=fields):
                self.refused(400, sentence, CHAT, {"messages": QUESTION, **fields}, field=field)
                self.refused(400, sentence, COMPLETIONS, {"prompt": "a", **fields}, field=field)


class Models(TestCase):
    def test_lists_the_model(self):
        status, _, text = self.server.request("GET", "/v1/models")
        models = json.loads(text)["data"]
        self.assertEqual((status, [m["id"] for m in models]), (200, ["pocket"]))
        self.assertEqual(models[0]["max_model_len"], 131072)
        self.assertEqual(self.server.request("GET", "/ready")[0], 200)


if __name__ == "__main__":
    main()
