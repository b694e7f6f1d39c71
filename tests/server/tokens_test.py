"""The routes that tell what tokens texts and conversations are."""

from support import QUESTION, TestCase, main

PROMPT = "[gMASK]<sop><|user|>What is a parrakeet?<|assistant|><think></think>"


class Tokens(TestCase):
    def test_text_and_back(self):
        for text in ["What is a zebra?", "", "héllo\n 世界 🦜", "<|user|>a"]:
            with self.subTest(text=text):
                answer = self.post("/tokenize", {"prompt": text, "add_special_tokens": False})
                self.assertEqual((answer["count"], answer["max_model_len"]), (len(answer["tokens"]), 131072))
                self.assertIsNone(answer["token_strs"])
                self.assertEqual(self.post("/tokenize", {"prompt": text})["tokens"], answer["tokens"])
                self.assertEqual(self.post("/detokenize", {"tokens": answer["tokens"]}), {"prompt": text})

    def test_tells_each_tokens_text(self):
        answer = self.post("/tokenize", {"prompt": "What is a zebra?", "return_token_strs": True})
        self.assertEqual("".join(answer["token_strs"]), "What is a zebra?")
        self.assertEqual(len(answer["token_strs"]), answer["count"])

    def test_special_tokens_are_text_where_asked(self):
        special = self.post("/tokenize", {"prompt": "<|user|>"})["tokens"]
        plain = self.post("/tokenize", {"prompt": "<|user|>", "parse_special": False})["tokens"]
        self.assertEqual(len(special), 1)
        self.assertGreater(len(plain), 1)
        self.assertEqual(self.post("/detokenize", {"tokens": plain, "skip_special_tokens": True})["prompt"], "<|user|>")
        self.assertEqual(self.post("/detokenize", {"tokens": special, "skip_special_tokens": True})["prompt"], "")

    def test_a_conversation_is_its_templates_text(self):
        chat = self.post("/apply-template", {"messages": QUESTION, "enable_thinking": False})
        self.assertEqual(chat["prompt"], PROMPT)
        self.assertEqual(chat["tokens"], self.post("/tokenize", {"prompt": PROMPT})["tokens"])
        self.assertEqual(chat["count"], len(chat["tokens"]))
        tokens = self.post("/tokenize", {"messages": QUESTION, "enable_thinking": False})
        self.assertEqual(tokens["tokens"], chat["tokens"])
        counted = self.post("/v1/chat/completions", {"messages": QUESTION, "enable_thinking": False, "max_tokens": 1})
        self.assertEqual(counted["usage"]["prompt_tokens"], chat["count"])

    def test_a_conversation_may_end_where_it_stands(self):
        for fields in [{"add_generation_prompt": False}, {"chat_template_kwargs": {"add_generation_prompt": False}}]:
            self.assertEqual(self.post("/apply-template", {"messages": QUESTION, **fields})["prompt"],
                             "[gMASK]<sop><|user|>What is a parrakeet?")

    def test_names_the_field_that_is_wrong(self):
        for path, field, body, sentence in [
                ("/tokenize", "prompt", {}, "prompt and messages are not given"),
                ("/tokenize", "prompt", {"prompt": "a", "messages": QUESTION}, "prompt and messages are both given"),
                ("/tokenize", "prompt", {"prompt": 5}, "prompt is 5, expected a text"),
                ("/tokenize", "add_special_tokens", {"prompt": "a", "add_special_tokens": 1}, "expected true or false"),
                ("/tokenize", "messages", {"messages": []}, "messages is empty"),
                ("/detokenize", "tokens", {}, "tokens is missing, expected a list of token ids"),
                ("/detokenize", "tokens", {"tokens": "a"}, 'tokens is "a"'),
                ("/detokenize", "tokens", {"tokens": [1, -1]}, "tokens is an array, expected a list of token ids"),
                ("/detokenize", "tokens", {"tokens": [1, 99999999]}, "tokens holds 99999999, which is outside the vocabulary"),
                ("/detokenize", "tokens", {"tokens": [1] * 131073}, "tokens has 131073 ids, expected 131072 at most"),
                ("/apply-template", "messages", {}, "messages is missing"),
                ("/apply-template", "add_generation_prompt", {"messages": QUESTION, "add_generation_prompt": "no"}, "true or false")]:
            with self.subTest(path=path, sentence=sentence):
                self.refused(400, sentence, path, body, field=field)


if __name__ == "__main__":
    main()
