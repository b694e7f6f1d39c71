"""indexshare run and inspect on the bundled model and on golden checkpoints."""

import json
import os
import pathlib
import signal
import subprocess
import unittest

from support import LIMIT, PARROT, POCKET, PROGRAM, ROOT, SHARED, TINY, TestCase, Terminal

QUESTION = "What is a parrakeet?"
END_THINK = 4086  # </think>


class Run(TestCase):
    def answer(self, *arguments, **options):
        return json.loads(self.succeeds("run", POCKET, *arguments, "--json", **options).out)

    def test_prints_the_answer_and_statistics_beside_it(self):
        outcome = self.succeeds("run", POCKET, QUESTION)
        self.assertEqual(outcome.out, PARROT + "\n")
        self.assertRegex(outcome.err, r"^\d+ prompt tokens \(0 cached\) at \d+ tokens/s, \d+ generated at [\d.]+ tokens/s; "
                                      r"index [\d.]+ % of the time, [\d.]+ % of the FLOPs\n$")
        self.assertEqual(self.succeeds("run", POCKET, QUESTION, "--quiet").err, "")

    def test_reads_the_prompt_from_anywhere(self):
        for arguments, stdin in [(["--prompt-file", self.file("prompt", QUESTION)], ""), (["--prompt-file", "-"], QUESTION)]:
            self.assertEqual(self.succeeds("run", POCKET, *arguments, stdin=stdin).out, PARROT + "\n")

    def test_json(self):
        answer = self.answer(QUESTION)
        self.assertEqual(list(answer), ["text", "reasoning", "ids", "finish_reason", "usage", "seed", "timings"])
        self.assertEqual(answer["text"], PARROT)
        self.assertEqual(answer["finish_reason"], "stop")
        usage = answer["usage"]
        self.assertEqual(usage["completion_tokens"], len(answer["ids"]))
        self.assertEqual((usage["cached_tokens"], usage["reasoning_tokens"]), (0, 0))
        prefill, decode = answer["timings"]["prefill"], answer["timings"]["decode"]
        self.assertEqual(prefill["tokens"], usage["prompt_tokens"])
        self.assertEqual(decode["tokens"], len(answer["ids"]) - 1)
        self.assertEqual(list(decode["parts"]), ["index", "attention", "projections", "experts", "head", "other"])
        self.assertGreater(prefill["parts"]["experts"]["flops"], 0)
        self.assertGreater(decode["tokens_per_second"], 0)

    def test_raw_and_ids_are_what_the_template_makes(self):
        text = "[gMASK]<sop><|user|>" + QUESTION + "<|assistant|><think></think>"
        answer = self.answer(QUESTION)
        self.assertEqual(self.answer("--raw", text)["ids"], answer["ids"])
        ids = self.succeeds("tokenize", POCKET, text).out.strip().replace(" ", ",")
        self.assertEqual(self.answer("--ids", ids)["ids"], answer["ids"])

    def test_the_system_message_is_read(self):
        notes = "zorbling: a small lamp made of ice\nquamp: a tool for cutting bread"
        plain = self.answer("What is a zorbling?")
        told = self.answer("What is a zorbling?", "--system", notes)
        self.assertGreater(told["usage"]["prompt_tokens"], plain["usage"]["prompt_tokens"])

    def test_reasoning_is_kept_apart(self):
        prompt = "[gMASK]<sop><|user|>" + QUESTION + "<|assistant|><think>"
        arguments = ["--raw", prompt, "--max-tokens", "5", "--ignore-eos",
                     "--logit-bias", f"{END_THINK}=-100"]
        answer = self.answer(*arguments)
        self.assertEqual(answer["text"], "")
        self.assertTrue(answer["reasoning"])
        self.assertEqual(answer["usage"]["reasoning_tokens"], 5)
        self.assertEqual(self.succeeds("run", POCKET, *arguments).out.strip(), "")
        with Terminal("run", POCKET, *arguments, state=self.directory) as terminal:
            terminal.wait_for("\x1b[2m" + answer["reasoning"].replace("\n", "\r\n") + "\x1b[0m")
            self.assertEqual(terminal.end(), 0)

    def test_the_template_hears_how_much_to_reason(self):
        for name in ["config.json", "generation_config.json", "model.safetensors", "tokenizer.json"]:
            (self.directory / name).symlink_to(os.path.join(POCKET, name))
        self.file("chat_template.jinja", "{{ raise_exception('effort %s, thinking %s' % (reasoning_effort or '-', "
                                         "enable_thinking if enable_thinking is defined else '-')) }}")
        for flags, heard in [([], "effort -, thinking -"), (["--thinking"], "effort -, thinking True"),
                             (["--no-thinking"], "effort -, thinking False"),
                             *[(["--reasoning-effort", e], "effort max, thinking True") for e in ["max", "xhigh"]],
                             *[(["--reasoning-effort", e], "effort high, thinking True") for e in ["high", "medium", "low"]],
                             *[(["--reasoning-effort", e], "effort -, thinking False") for e in ["minimal", "none"]]]:
            with self.subTest(flags):
                self.fails(1, heard, "run", self.directory, "hi", *flags)

    def test_an_answer_has_the_form_that_it_is_bound_to(self):
        schema = self.file("schema.json", '{"type": "object", "properties": {"n": {"enum": [1, 2]}}, "required": ["n"]}')
        grammar = self.file("sum.ebnf", 'root ::= [0-9] "+" [0-9]')
        self.assertIn(json.loads(self.answer(QUESTION, "--json-schema", schema)["text"])["n"], [1, 2])
        self.assertRegex(self.answer(QUESTION, "--regex", "[a-c]{4}")["text"], "^[a-c]{4}$")
        self.assertRegex(self.answer(QUESTION, "--grammar", grammar)["text"], r"^[0-9]\+[0-9]$")
        self.fails(2, "expected one of", "run", POCKET, QUESTION, "--regex", "a", "--grammar", grammar)
        self.fails(2, "cannot open", "run", POCKET, QUESTION, "--grammar", self.directory / "none")
        self.fails(1, "regex was not understood", "run", POCKET, QUESTION, "--regex", "(")

    def test_one_seed_one_answer(self):
        sampled = ["Define bird.", "--temperature", "3", "--max-tokens", "12", "--ignore-eos"]
        first = self.answer(*sampled, "--seed", "7")
        self.assertEqual(first["seed"], 7)
        self.assertEqual(self.answer(*sampled, "--seed", "7", "--threads", "1", "--chunk", "3")["ids"], first["ids"])
        self.assertNotEqual(self.answer(*sampled, "--seed", "8")["ids"], first["ids"])
        self.assertNotEqual(self.answer(*sampled)["ids"], self.answer(*sampled)["ids"])

    def test_the_answer_ends_where_it_is_told_to(self):
        short = self.answer(QUESTION, "--max-tokens", "3")
        self.assertEqual((len(short["ids"]), short["finish_reason"]), (3, "length"))
        before = self.answer(QUESTION, "--stop", " slender")
        self.assertEqual((before["text"], before["finish_reason"]), (PARROT.split(" slender")[0], "stop"))
        stop_id = self.answer(QUESTION)["ids"][1]
        self.assertEqual(len(self.answer(QUESTION, "--stop-id", stop_id)["ids"]), 2)
        self.assertEqual(len(self.answer(QUESTION, "--ignore-eos", "--max-tokens", "30")["ids"]), 30)

    def test_a_bias_forbids_a_token(self):
        first = self.answer(QUESTION)["ids"][0]
        self.assertNotEqual(self.answer(QUESTION, "--logit-bias", f"{first}=-100", "--max-tokens", "1")["ids"], [first])

    def test_logprobs(self):
        answer = self.answer(QUESTION, "--logprobs", "3")
        self.assertEqual([token["id"] for token in answer["logprobs"]], answer["ids"])
        for token in answer["logprobs"]:
            self.assertEqual(len(token["top"]), 3)
            self.assertEqual(token["top"][0]["id"], token["id"])  # greedy
            self.assertAlmostEqual(token["top"][0]["logprob"], token["logprob"], places=5)
            self.assertLessEqual(token["logprob"], 0)

    def test_a_model_without_text_speaks_in_ids(self):
        arguments = ["run", TINY, "--ids", "1,2,3", "--temperature", "0", "--max-tokens", "5", "--ignore-eos"]
        ids = json.loads(self.succeeds(*arguments, "--json").out)["ids"]
        self.assertEqual(len(ids), 5)
        self.assertEqual(self.succeeds(*arguments).out, " ".join(map(str, ids)) + "\n")

    LONG = ["Define bird.", "--ignore-eos", "--max-tokens", "100000"]

    def test_ctrl_c_stops_after_the_current_token(self):
        process = subprocess.Popen([PROGRAM, "run", POCKET, *self.LONG], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        with process:
            begun = os.read(process.stdout.fileno(), 1)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=LIMIT)
        self.assertEqual(process.returncode, 130)
        self.assertTrue((begun + out).endswith(b"\n"))
        self.assertIn(b" generated", err)

    def test_ctrl_c_leaves_whole_json(self):
        process = subprocess.Popen([PROGRAM, "run", POCKET, *self.LONG, "--json"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        with process:
            os.read(process.stderr.fileno(), 1)  # progress, after a second
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=LIMIT)
        self.assertEqual(process.returncode, 130)
        self.assertEqual(json.loads(out)["finish_reason"], "cancelled")

    def test_a_reader_that_leaves_early_is_no_crash(self):
        for arguments in [self.LONG, [*self.LONG[:-1], "300", "--json"]]:
            process = subprocess.Popen([PROGRAM, "run", POCKET, *arguments], stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE)
            with process:
                if "--json" not in arguments:
                    os.read(process.stdout.fileno(), 1)
                process.stdout.close()
                err = process.stderr.read()
                self.assertEqual(process.wait(timeout=LIMIT), 1)
            self.assertNotIn(b"error", err)

    def test_a_terminal_shows_the_same_answer(self):
        with Terminal("run", POCKET, QUESTION, state=self.directory) as terminal:
            terminal.wait_for(PARROT + "\r\n")
            self.assertEqual(terminal.end(), 0)


class Inspect(TestCase):
    def test_the_pocket_model(self):
        text = self.succeeds("inspect", POCKET).out
        self.assertIn("F F FSSS F", text)
        facts = json.loads(self.succeeds("inspect", POCKET, "--json").out)
        self.assertEqual((facts["schedule"], facts["full_layers"]), ("FFFSSSF", 4))
        parameters = facts["parameters"]
        # As its training reported, without the correction biases of 7 layers of 8 experts.
        self.assertEqual(parameters["total"] + parameters["mtp"], 6788672 + 7 * 8)
        self.assertLess(parameters["active"], parameters["total"])
        # 7 layers of 64 + 16 values, 4 index keys of 32, 2 bytes each
        self.assertEqual(facts["cache_bytes_per_token"]["bf16"], {"latent": 1120, "index": 256})
        self.assertEqual(facts["cache_bytes_per_token"]["f32"], {"latent": 2240, "index": 512})
        self.assertTrue(facts["weights"]["mtp"])
        self.assertEqual(facts["tokenizer"]["special_tokens"]["<|user|>"], 4082)
        self.assertTrue(facts["chat_template"])
        self.assertEqual(facts["eos_token_ids"], [4075, 4082, 4084])

    def test_a_lone_configuration(self):
        path = pathlib.Path(POCKET) / "config.json"
        facts = json.loads(self.succeeds("inspect", path, "--json").out)
        self.assertEqual((facts["schedule"], facts["weights"], facts["tokenizer"]), ("FFFSSSF", None, None))
        self.assertIn("none here", self.succeeds("inspect", path).out)

    def test_golden_checkpoints(self):
        for name in ["fp8", "odd", "tiny-5.1-sharded"]:
            facts = json.loads(self.succeeds("inspect", ROOT / "tests/golden/data" / name, "--json").out)
            self.assertEqual(sum(facts["weights"]["bytes_by_dtype"].values()), facts["weights"]["bytes"])
            self.assertEqual(facts["weights"]["files"], 3 if name.endswith("sharded") else 1)

    @unittest.skipUnless((SHARED / "config-GLM-5.2.json").exists(), "no configuration of GLM-5.2 here")
    def test_glm_5_2(self):
        facts = json.loads(self.succeeds("inspect", SHARED / "config-GLM-5.2.json", "--json").out)
        self.assertEqual(facts["full_layers"], 21)
        self.assertEqual(facts["cache_bytes_per_token"]["bf16"], {"latent": 89856, "index": 21 * 256})


if __name__ == "__main__":
    unittest.main()
