"""indexshare tokenize and template, on the bundled model and against the reference's recorded results."""

import concurrent.futures
import json
import lzma
import os
import unittest

from support import POCKET, SHARED, TestCase, indexshare

QUESTION = "What is a parrakeet?"
PROMPT = "[gMASK]<sop><|user|>What is a parrakeet?<|assistant|><think></think>"
EVERY = 4  # of the recorded templates: all of them belong to the interpreter's own tests


def recorded(path):
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


class Tokenize(TestCase):
    def test_there_and_back(self):
        ids = self.succeeds("tokenize", POCKET, PROMPT).out
        self.assertRegex(ids, r"^\d+( \d+)*\n$")
        text = self.succeeds("tokenize", POCKET, "--ids", ids.strip().replace(" ", ",")).out
        self.assertEqual(text, PROMPT + "\n")

    def test_reads_the_standard_input_and_a_bare_file(self):
        ids = self.succeeds("tokenize", POCKET, QUESTION).out
        self.assertEqual(self.succeeds("tokenize", POCKET, stdin=QUESTION).out, ids)
        self.assertEqual(self.succeeds("tokenize", POCKET + "/tokenizer.json", QUESTION).out, ids)

    def test_json(self):
        answer = json.loads(self.succeeds("tokenize", POCKET, PROMPT, "--json").out)
        self.assertEqual("".join(answer["tokens"]), PROMPT)
        self.assertEqual(len(answer["ids"]), len(answer["tokens"]))

    def test_lines(self):
        texts = [QUESTION, "", "two\nlines", "\u00e9\u4e2d\U0001f99c"]
        out = self.succeeds("tokenize", POCKET, "--jsonl", stdin="".join(json.dumps(t) + "\n" for t in texts)).out
        lists = [json.loads(line) for line in out.splitlines()]
        self.assertEqual(len(lists), len(texts))
        self.assertEqual(lists[1], [])
        for text, ids in zip(texts[2:], lists[2:]):
            self.assertEqual(self.succeeds("tokenize", POCKET, "--ids", ",".join(map(str, ids))).out, text + "\n")

    @unittest.skipUnless((SHARED / "tokenizers").exists(), "no recorded encodings here")
    def test_recorded_encodings(self):
        for folder in sorted((SHARED / "tokenizers").iterdir()):
            with self.subTest(folder.name):
                tokenizer = self.file("tokenizer.json", lzma.open(folder / "tokenizer.json.xz").read())
                cases = recorded(folder / "encodings.jsonl.xz")
                stdin = "".join(json.dumps(case["text"]) + "\n" for case in cases)
                lines = self.succeeds("tokenize", tokenizer, "--jsonl", stdin=stdin).out.splitlines()
                self.assertEqual(len(lines), len(cases))
                for case, line in zip(cases, lines):
                    self.assertEqual(json.loads(line), case["ids"], case["text"][:80])


class Template(TestCase):
    MESSAGES = json.dumps({"messages": [{"role": "user", "content": QUESTION}], "add_generation_prompt": True})

    def test_of_a_model_and_of_its_tokenizer_config(self):
        messages = self.file("messages.json", self.MESSAGES)
        for model in [POCKET, POCKET + "/tokenizer_config.json"]:
            self.assertEqual(self.succeeds("template", model, "--messages", messages).out, PROMPT)
        self.assertEqual(self.succeeds("template", POCKET, "--messages", "-", stdin=self.MESSAGES).out, PROMPT)

    def test_special_tokens_come_from_beside_the_template_unless_given(self):
        template = self.file("chat_template.jinja", "{{ bos_token }}{{ eos_token }}{{ name }}")
        self.file("tokenizer_config.json", '{"bos_token": "<b>", "eos_token": {"content": "<e>"}}')
        for model in [template, str(self.directory)]:
            out = self.succeeds("template", model, "--messages", "-",
                                stdin='{"messages": [], "eos_token": "<E>", "name": "n"}').out
            self.assertEqual(out, "<b><E>n")

    @unittest.skipUnless((SHARED / "templates").exists(), "no recorded templates here")
    def test_recorded_renderings(self):
        cases = recorded(SHARED / "templates/renders.jsonl.xz")[::EVERY]

        def render(case):
            return indexshare("template", SHARED / "templates" / case["template"], "--messages", "-",
                              stdin=json.dumps(case["variables"]))

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for case, outcome in zip(cases, pool.map(render, cases)):
                with self.subTest(template=case["template"], case=case["case"]):
                    if "rendered" in case:
                        self.assertEqual((outcome.code, outcome.out), (0, case["rendered"]), outcome)
                    else:
                        self.assertIn(outcome.code, (0, 1), outcome)


if __name__ == "__main__":
    unittest.main()
