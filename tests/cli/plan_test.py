"""The command plan: what it says of a published model, and that what the engine takes is what it says."""

import json
import os
import unittest

from support import POCKET, ROOT, TINY, TestCase

GLM = str(ROOT / "models/glm-5.2/config.json")


class Plan(TestCase):
    def plan(self, *arguments):
        return json.loads(self.succeeds("plan", *arguments, "--json").out)

    def test_glm_5_2_does_not_fit_a_workstation(self):
        plan = self.plan(GLM, "--context", "1M", "--ram", "192G")
        self.assertEqual(plan["latent_cache_bytes"], 78 * 576 * 2 << 20)
        self.assertEqual(plan["index_cache_bytes"], 21 * 128 * 2 << 20)
        self.assertEqual(plan["ram_bytes"], 192 << 30)
        self.assertEqual(plan["total_bytes"], plan["weights_bytes"] + plan["latent_cache_bytes"] +
                         plan["index_cache_bytes"] + plan["workspace_bytes"] + plan["process_bytes"])
        self.assertEqual(sum(plan["weights"].values()), plan["weights_bytes"])
        self.assertEqual(sum(plan["workspace"].values()), plan["workspace_bytes"])
        self.assertFalse(plan["fits"])
        self.assertTrue(plan["fits_without_experts"])
        self.assertEqual((plan["largest_context"], plan["largest_batch"]), (0, 0))
        changes = {change["flags"]: change for change in plan["changes"]}
        self.assertLess(changes["--dtype fp8"]["total_bytes"], 0.6 * plan["total_bytes"])
        self.assertFalse(changes["--dtype fp8"]["fits"])
        text = self.succeeds("plan", GLM, "--context", "1M", "--ram", "192G").out
        self.assertIn("Does not fit", text)
        self.assertIn("reads experts from disk", text)

    def test_the_largest_that_fits_is_the_largest(self):
        common = ["--ram", "2T", "--threads", "2", "--dtype", "bf16"]
        plan = self.plan(GLM, "--batch", "16", "--context", "1M", *common)
        self.assertFalse(plan["fits"])
        context, batch = plan["largest_context"], plan["largest_batch"]
        self.assertGreater(context, 100000)
        self.assertTrue(self.plan(GLM, "--batch", "16", "--context", context, *common)["fits"])
        self.assertFalse(self.plan(GLM, "--batch", "16", "--context", context + 1, *common)["fits"])
        self.assertTrue(self.plan(GLM, "--batch", batch, "--context", "1M", *common)["fits"])
        self.assertFalse(self.plan(GLM, "--batch", batch + 1, "--context", "1M", *common)["fits"])
        for change in plan["changes"]:
            with self.subTest(change["flags"]):
                flags = [*common, "--batch", "16", "--context", "1M"]
                name, value = change["flags"].split()
                if name in flags:
                    flags[flags.index(name) + 1] = value
                else:
                    flags += [name, value]
                changed = self.plan(GLM, *flags)
                self.assertEqual((changed["total_bytes"], changed["fits"]), (change["total_bytes"], change["fits"]))

    def test_a_checkpoint_is_planned_as_it_is_stored(self):
        plan = self.plan(POCKET, "--ram", "1G")
        self.assertTrue(plan["fits"])
        self.assertEqual((plan["changes"], plan["largest_context"]), ([], 131072))
        facts = json.loads(self.succeeds("inspect", POCKET, "--json").out)
        self.assertAlmostEqual(plan["weights_bytes"] + plan["mtp_bytes"], facts["weights"]["bytes"],
                               delta=0.01 * facts["weights"]["bytes"])
        self.assertEqual(self.plan(TINY)["cache_dtype"], "f32")
        self.assertEqual(self.plan(TINY, "--dtype", "bf16")["cache_dtype"], "bf16")
        self.assertIn("Fits, with", self.succeeds("plan", POCKET, "--ram", "1G").out)

    def test_mistakes(self):
        self.fails(2, "MODEL_OR_CONFIG is required", "plan")
        self.fails(2, '--dtype is "int4", expected bf16, f16, f32 or fp8', "plan", GLM, "--dtype", "int4")
        self.fails(2, '--batch is "0"', "plan", GLM, "--batch", "0")
        self.fails(2, '--ram is "-1", expected a size', "plan", GLM, "--ram", "-1")
        self.fails(1, "--context is 2097152, but the model was made for at most 1048576", "plan", GLM, "--context", "2M")
        self.fails(1, "/nowhere", "plan", "/nowhere")
        huge = self.file("config.json", json.dumps({"model_type": "glm_moe_dsa", "num_hidden_layers": 512,
                                                    "kv_lora_rank": 65536, "max_position_embeddings": 1 << 30}))
        self.fails(1, "--batch is 1048576, and the caches of so many sequences", "plan", huge, "--batch", "1048576")
        self.assertEqual(self.plan(huge, "--batch", "1048576", "--context", "1")["largest_context"], 0)


class TooLarge(TestCase):
    """What does not fit is refused before anything is computed, or bounded where nobody asked for it."""

    def test_a_context_that_was_asked_for(self):
        self.fails(1, "--context is 131072, whose cache takes 180.4 MB; the ", "run", POCKET, "hi", "--ram", "100M",
                   "--context", "128K")
        self.fails(1, "1.049 MB of --cache-memory hold at most ", "run", POCKET, "hi", "--cache-memory", "1M", "--context", "1K")

    def test_a_context_that_nobody_asked_for(self):
        outcome = self.succeeds("run", POCKET, "hi", "--ram", "100M", "--max-tokens", "2")
        self.assertRegex(outcome.err, r"indexshare: note: memory bounds the context to \d+ of 131072 tokens\n")

    def test_a_workspace(self):
        self.fails(1, "for the workspace of --chunk 65536 leave no cache in 104.9 MB of --ram", "run", POCKET, "hi",
                   "--ram", "100M", "--chunk", "65536")

    def test_a_cache(self):
        self.fails(1, "--cache-memory is 1.074 TB, but beside weights and workspace", "run", POCKET, "hi",
                   "--cache-memory", "1000G", "--ram", "1G")

    def test_random_weights(self):
        self.fails(1, "of memory are available", "bench", "--geometry", "glm-5.2")


class PeakMemory(TestCase):
    """What the engine takes at its peak is within 10 % of the plan."""

    def check(self, config, plan_flags, bench_flags):
        model = {"model_type": "glm_moe_dsa", "dtype": "bfloat16", "vocab_size": 2048, "hidden_size": 128,
                 "intermediate_size": 256, "moe_intermediate_size": 64, "num_hidden_layers": 4,
                 "num_attention_heads": 8, "q_lora_rank": 128, "kv_lora_rank": 512, "qk_nope_head_dim": 192,
                 "qk_rope_head_dim": 64, "v_head_dim": 256, "index_n_heads": 8, "index_head_dim": 128,
                 "index_topk": 256, "index_topk_freq": 4, "n_routed_experts": 16, "num_experts_per_tok": 2,
                 "n_shared_experts": 1, "first_k_dense_replace": 1, "max_position_embeddings": 131072,
                 "num_nextn_predict_layers": 0, "eos_token_id": [1],
                 "rope_parameters": {"rope_theta": 10000, "rope_type": "default"}, **config}
        path = self.file("config.json", json.dumps(model))
        plan = json.loads(self.succeeds("plan", path, *plan_flags, "--threads", "2", "--json").out)
        bench = json.loads(self.succeeds("bench", "--geometry", path, *bench_flags, "--threads", "2", "--json").out)
        peak = max(result["peak_rss_bytes"] for result in bench["results"])
        self.assertGreater(plan["total_bytes"], 300e6, "too small to tell")
        self.assertAlmostEqual(peak / plan["total_bytes"], 1, delta=0.1, msg=f"peak {peak}, plan {plan}")

    def test_of_weights(self):
        self.check({"hidden_size": 1024, "moe_intermediate_size": 1024}, ["--context", "64"],
                   ["--decode", "2", "--prefill", "0"])

    def test_of_deep_caches(self):
        self.check({"num_hidden_layers": 8}, ["--context", "20K", "--batch", "2", "--chunk", "64"],
                   ["--depth", "20400", "--batch", "2", "--decode", "2", "--prefill", "0", "--chunk", "64"])

    def test_of_long_chunks(self):
        self.check({"num_attention_heads": 64, "qk_nope_head_dim": 64, "v_head_dim": 64, "index_topk": 64,
                    "num_hidden_layers": 2}, ["--context", "1K", "--chunk", "1024"],
                   ["--prefill", "1024", "--decode", "0", "--repeat", "1", "--chunk", "1024"])


if __name__ == "__main__":
    unittest.main()
