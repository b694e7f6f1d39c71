"""Help, wrong usage and bad input: for each mistake one clear error and the right exit code."""

import os
import re
import unittest

from support import POCKET, TINY, TestCase, indexshare


class Help(TestCase):
    def test_lists_every_command_and_each_has_its_own(self):
        text = self.succeeds("--help").out
        commands = re.findall(r"^  ([a-z]+) +\w", text.split("Subcommands:")[1], re.M)
        self.assertGreaterEqual(set(commands), {"run", "chat", "inspect", "tokenize", "template"})
        for command in commands:
            with self.subTest(command):
                own = self.succeeds(command, "--help").out
                self.assertIn(f"Usage: indexshare {command} ", own)

    def test_groups_flags_under_the_names_that_users_know(self):
        for command, groups in [("run", ["Chat", "Sampling", "Engine"]), ("plan", ["Engine"]), ("bench", ["Engine"])]:
            headings = re.findall(r"^(\w+).*:$", self.succeeds(command, "--help").out, re.M)
            for group in groups:
                with self.subTest(command=command, group=group):
                    self.assertEqual(headings.count(group), 1)
            self.assertNotIn("ModelRunner", headings)

    def test_version(self):
        self.assertRegex(self.succeeds("--version").out, r"^indexshare \d+\.\d+\.\d+\n$")


class WrongUsage(TestCase):
    def test_each_mistake_is_named(self):
        run = ["run", POCKET, "hi"]
        for arguments, sentence in [
            ([], "a command is missing"),
            (["fly"], 'there is no command "fly"'),
            (["--fly"], "there is no flag --fly"),
            (["run"], "MODEL is required"),
            (["run", POCKET], "no prompt was given"),
            (["run", POCKET, "a", "b"], 'one argument too many: "b"'),
            ([*run, "--fly"], "there is no flag --fly"),
            ([*run, "--ids", "1"], "more than one prompt was given"),
            (["run", POCKET, "--ids", "1,x"], "--ids is \"1,x\", expected token ids"),
            (["run", POCKET, "--ids", ""], "--ids is \"\", expected token ids"),
            (["run", POCKET, "--ids", "-1"], "--ids is \"-1\", expected token ids"),
            ([*run, "--raw", "--system", "s"], "leave out the chat template"),
            ([*run, "--thinking", "--no-thinking"], "exclude each other"),
            ([*run, "--reasoning-effort", "some"], "expected max, xhigh, high"),
            ([*run, "--threads", "0"], "--threads is \"0\", expected a whole number from 1 to 1024"),
            ([*run, "--threads", "two"], "--threads is \"two\", expected a whole number"),
            ([*run, "--threads"], "--threads needs a value"),
            ([*run, "--compute", "f64"], "expected f32 or bf16"),
            ([*run, "--cache-dtype", "f16"], "expected f32 or bf16"),
            ([*run, "--context", "0"], "--context is \"0\""),
            ([*run, "--cache-memory", "8Q"], "expected a size such as 512M or 8G"),
            ([*run, "--cache-memory", "-1"], "expected a size"),
            ([*run, "--chunk", "0"], "--chunk is \"0\", expected a whole number from 1 to 1048576"),
            ([*run, "--latent-norm-eps", "1"], "--latent-norm-eps is \"1\""),
            ([*run, "--temperature", "-1"], "--temperature is \"-1\", expected a number of at least 0"),
            ([*run, "--temperature", "nan"], "--temperature is \"nan\""),
            ([*run, "--temperature", "1", "--temperature", "2"], "--temperature was given more than once"),
            ([*run, "--top-k", "1.5"], "--top-k is \"1.5\", expected a whole number"),
            ([*run, "--top-p", "1.1"], "--top-p is \"1.1\", expected a number from 0 to 1"),
            ([*run, "--min-p", "-0.1"], "--min-p is \"-0.1\", expected a number from 0 to 1"),
            ([*run, "--repetition-penalty", "0"], "--repetition-penalty is \"0\""),
            ([*run, "--frequency-penalty", "3"], "expected a number from -2 to 2"),
            ([*run, "--presence-penalty", "-3"], "expected a number from -2 to 2"),
            ([*run, "--logit-bias", "5"], "expected ID=BIAS"),
            ([*run, "--logit-bias", "5=101"], "expected ID=BIAS"),
            ([*run, "--seed", "-1"], "--seed is \"-1\""),
            ([*run, "--max-tokens", "0"], "--max-tokens is \"0\", expected a whole number from 1"),
            ([*run, "--min-tokens", "-1"], "--min-tokens is \"-1\""),
            ([*run, "--stop", ""], "--stop is \"\""),
            ([*run, "--stop-id", "x"], "--stop-id is \"x\""),
            ([*run, "--logprobs", "21", "--json"], "--logprobs is \"21\", expected a whole number from 0 to 20"),
            ([*run, "--logprobs", "2"], "--logprobs requires --json"),
            (["chat"], "MODEL is required"),
            (["chat", POCKET, "hi"], "one argument too many"),
            (["inspect"], "MODEL is required"),
            (["inspect", POCKET, "--fly"], "there is no flag --fly"),
            (["tokenize"], "MODEL is required"),
            (["tokenize", POCKET, "a", "--ids", "1"], "exclude each other"),
            (["tokenize", POCKET, "--jsonl", "--json"], "exclude each other"),
            (["template", POCKET], "--messages is required"),
        ]:
            with self.subTest(arguments[:1] + arguments[3:]):
                self.fails(2, sentence, *arguments)


class BadInput(TestCase):
    def test_what_is_no_model(self):
        empty = str(self.directory)
        config = self.file("config.json", "{}")
        for command in ["run", "chat", "inspect"]:
            prompt = ["hi"] if command == "run" else []
            with self.subTest(command):
                self.fails(1, "/nowhere", command, "/nowhere", *prompt)
                self.fails(1, "config.json", command, empty, *prompt)
        self.fails(1, config, "run", config, "hi")
        self.fails(1, "/nowhere", "tokenize", "/nowhere", "hi")
        self.fails(1, "tokenizer.json", "tokenize", TINY, "hi")
        self.fails(1, "/nowhere", "template", "/nowhere", "--messages", config)
        self.fails(1, "no chat template", "template", TINY, "--messages", config)

    def test_prompts(self):
        self.fails(1, "PROMPT is empty", "run", POCKET, "")
        self.fails(1, "is empty", "run", POCKET, "--prompt-file", self.file("empty", ""))
        self.fails(1, "is not UTF-8 text (byte 2)", "run", POCKET, "--prompt-file", self.file("binary", b"ab\xff"))
        self.fails(1, "PROMPT is not UTF-8", "run", POCKET, os.fsdecode(b"\xff"))
        self.fails(1, "/nowhere: cannot open", "run", POCKET, "--prompt-file", "/nowhere")
        self.fails(1, "is a directory", "run", POCKET, "--prompt-file", str(self.directory))
        self.fails(1, "the standard input is empty", "run", POCKET, "--prompt-file", "-")
        self.fails(1, "no room in the context of 8", "run", POCKET, "a rather long prompt", "--context", "8")
        self.fails(1, "made for at most 131072", "run", POCKET, "a", "--context", "200000")
        self.fails(1, "4096 is outside the vocabulary of 4096", "run", POCKET, "--ids", "4096")
        self.fails(1, "logit_bias names the token 4096", "run", POCKET, "a", "--logit-bias", "4096=1")

    def test_models_without_a_part(self):
        self.fails(1, "has no tokenizer.json", "run", TINY, "hi")
        self.fails(1, "has no tokenizer.json", "run", TINY, "hi", "--raw")
        self.fails(1, "has no tokenizer.json", "chat", TINY)
        for name in ["config.json", "generation_config.json", "model.safetensors", "tokenizer.json"]:
            (self.directory / name).symlink_to(os.path.join(POCKET, name))
        base = str(self.directory)
        self.fails(1, "add --raw to have the prompt continued", "run", base, "hi")
        self.fails(1, "no chat template", "chat", base)
        self.succeeds("run", base, "hi", "--raw", "--max-tokens", "2")

    def test_text_commands(self):
        self.fails(1, "line 1 of the standard input is an integer", "tokenize", POCKET, "--jsonl", stdin="1\n")
        self.fails(1, "line 1 of the standard input: not valid JSON", "tokenize", POCKET, "--jsonl", stdin="a\n")
        self.fails(1, "is outside the vocabulary", "tokenize", POCKET, "--ids", "99999")
        self.fails(1, "TEXT is empty", "tokenize", POCKET, "")
        self.fails(1, "not valid JSON", "template", POCKET, "--messages", self.file("broken", "{"))
        self.fails(1, 'no "messages"', "template", POCKET, "--messages", self.file("none", "{}"))
        self.fails(1, "messages must be an array", "template", POCKET, "--messages", "-", stdin='{"messages": 1}')

    def test_a_full_disk(self):
        with open("/dev/full", "wb") as full:
            for arguments in [["run", POCKET, "hi", "-q"], ["run", POCKET, "hi", "--json"], ["inspect", POCKET],
                              ["tokenize", POCKET, "hi"], ["--help"]]:
                with self.subTest(arguments[0]):
                    outcome = indexshare(*arguments, stdout=full)
                    self.assertEqual(outcome.code, 1, outcome)
                    self.assertEqual(outcome.err, "indexshare: error: cannot write to the standard output: "
                                                  "No space left on device\n")


if __name__ == "__main__":
    unittest.main()
