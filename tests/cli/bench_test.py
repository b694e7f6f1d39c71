"""indexshare bench: what it measures, compares and draws. Speeds themselves are nobody's to test."""

import json
import pathlib
import unittest
import xml.etree.ElementTree as ElementTree

from support import POCKET, TestCase

CONFIG = POCKET + "/config.json"
GEOMETRY = json.loads(pathlib.Path(CONFIG).read_text())
SMALL = ["--geometry", CONFIG, "--layers", "4", "--experts", "4", "--vocab", "64"]
ROUNDS = ["--decode", "2", "--repeat", "2"]
DECODE = [*ROUNDS, "--prefill", "0"]
BOTH = [*ROUNDS, "--prefill", "8"]
QUICK = [*BOTH, "--threads", "1"]
PARTS = ["index", "attention", "projections", "experts", "head", "other"]
SVG = "{http://www.w3.org/2000/svg}"


class Bench(TestCase):
    def results(self, *arguments):
        return json.loads(self.succeeds("bench", *arguments, "--json").out)

    def test_reports_each_phase_depth_and_batch(self):
        report = self.results(*SMALL, *QUICK, "--depth", "0,600", "--batch", "1,3")
        rows = [(r["phase"], r["depth"], r["batch"]) for r in report["results"]]
        self.assertEqual(rows, [("prefill", 0, 1), ("decode", 0, 1), ("decode", 0, 3),
                                ("prefill", 600, 1), ("decode", 600, 1), ("decode", 600, 3)])
        for r in report["results"]:
            self.assertEqual((r["threads"], r["pattern"], r["dtype"]), (1, "FSSS", "bf16"))
            self.assertEqual(list(r["parts_ms"]), PARTS)
            self.assertLessEqual(sum(r["parts_ms"].values()), 2 * r["ms_per_token"])
            self.assertEqual(r["runs"], 4 if r["phase"] == "decode" else 2)
            for field in ["ms_per_token", "cpu_ms_per_token", "least_cpu_ms_per_token", "flops_per_token",
                          "bytes_per_token", "gflops_per_second", "gb_per_second", "peak_rss_bytes"]:
                self.assertGreater(r[field], 0, field)
            self.assertTrue(r["isa"])
            self.assertNotIn("limit_gb_per_second", r)
        self.assertEqual(report["ratios"], [])

    def test_counts_each_byte_once_in_a_pass(self):
        rows = self.results(*SMALL, *DECODE, "--threads", "1", "--depth", "0,600", "--batch", "1,3")["results"]
        one, three, deep, _ = [r["bytes_per_token"] for r in rows]
        self.assertLess(abs(one - rows[0]["weight_bytes_per_step"]), 0.01 * one)
        self.assertLess(three, one)  # only the experts differ between the three
        self.assertGreater(3 * three, one)
        # 600 tokens more: the selected rows of four layers, and the keys of one when they are scored.
        row = 2 * (GEOMETRY["kv_lora_rank"] + GEOMETRY["qk_rope_head_dim"])
        selected = min(GEOMETRY["index_topk"], 601)
        self.assertGreater(deep - one, 4 * row * selected * 0.95)
        self.assertLess(deep - one, 4 * row * selected * 1.05 + 601 * 2 * GEOMETRY["index_head_dim"] * 1.05)

    def test_measures_schedules_and_threads_by_turns(self):
        report = self.results(*SMALL, *DECODE, "--threads", "1,2", "--pattern", "FSSS,FFFF")
        rows = [(r["pattern"], r["threads"]) for r in report["results"]]
        self.assertEqual(rows, [("FSSS", 1), ("FSSS", 2), ("FFFF", 1), ("FFFF", 2)])
        self.assertEqual([(r["pattern"], r["slow_pattern"], r["threads"]) for r in report["ratios"]],
                         [("FSSS", "FFFF", 1), ("FSSS", "FFFF", 2)])
        for ratio in report["ratios"]:
            self.assertEqual(ratio["formula_index"], 4.0)
            self.assertGreater(ratio["formula_step"], 1.0)
            for field in ["index", "attention_stack", "step"]:
                self.assertGreater(ratio[field], 0)

    def test_schedules_share_their_weights(self):
        one = self.results(*SMALL, *DECODE, "--threads", "1", "--pattern", "FFFF")["results"]
        both = self.results(*SMALL, *DECODE, "--threads", "1", "--pattern", "FSSS,FFFF")["results"]
        self.assertEqual(both[1]["weight_bytes_per_step"], one[0]["weight_bytes_per_step"])
        self.assertLess(both[0]["weight_bytes_per_step"], both[1]["weight_bytes_per_step"])

    def test_random_weights_have_no_longest_context(self):
        depth = 2 * GEOMETRY["max_position_embeddings"]
        rows = self.results(*SMALL, *DECODE, "--threads", "1", "--depth", str(depth))["results"]
        self.assertEqual(rows[0]["depth"], depth)

    def test_measures_a_checkpoint(self):
        rows = self.results(POCKET, *BOTH, "--threads", "1,2")["results"]
        self.assertEqual([r["threads"] for r in rows], [1, 2, 1, 2])
        self.assertEqual(rows[0]["weight_bytes_per_step"], rows[1]["weight_bytes_per_step"])

    def test_the_table_names_what_it_compares(self):
        text = self.succeeds("bench", *SMALL, *QUICK, "--pattern", "FSSS,FFFF").out
        for word in ["pattern", "FSSS", "FFFF", "ms/token", "GB/s", "by FLOPs", "Peak memory", *PARTS]:
            self.assertIn(word, text)

    def test_each_mistake_is_named(self):
        for arguments, sentence in [
            ([], "name a model directory, a --geometry, or --machine"),
            ([POCKET, *SMALL], "not both"),
            ([POCKET, "--pattern", "FS"], "--pattern changes a --geometry"),
            ([POCKET, "--batch", "0"], '--batch is "0", expected a whole number from 1 to'),
            ([POCKET, "--batch", "1,,2"], '--batch is "", expected a whole number'),
            ([POCKET, "--threads", "0"], '--threads is "0", expected a whole number from 1 to 1024'),
            ([POCKET, "--threads", "1,2,1"], "--threads has 1 twice"),
            ([POCKET, "--depth", "-1"], '--depth is "-1", expected a number of tokens from 0'),
            ([*SMALL, "--pattern", "FSSS,SFFF"], '--pattern is "SFFF", expected F (full) and S (shared)'),
            ([*SMALL, "--pattern", "FS,"], '--pattern is "", expected F (full) and S (shared)'),
            ([POCKET, "--disk-file", CONFIG], "--disk-file is a part of --machine"),
            (["--machine", "--plot", "x.svg"], "--plot draws what is measured of a model"),
            ([POCKET, "--decode", "0", "--prefill", "0"], "there is nothing to measure"),
        ]:
            with self.subTest(arguments):
                self.fails(2, sentence, "bench", *arguments)

    def test_what_cannot_be_done_is_said(self):
        self.fails(1, "tokens, more than the context of 4096", "bench", POCKET, "--context", "4K", "--depth", "4K")
        self.fails(1, "no-such.json", "bench", "--geometry", "no-such.json")
        self.fails(1, "nowhere/x.svg", "bench", *SMALL, *QUICK, "--plot", str(self.directory / "nowhere/x.svg"))


class Machine(TestCase):
    def test_limits_are_positive_and_belong_to_threads(self):
        file = self.file("weights", bytes(1 << 20))
        report = json.loads(self.succeeds("bench", "--machine", "--threads", "2", "--disk-file", file, "--json").out)
        machine = report["machine"]
        self.assertEqual(report["results"], [])
        self.assertEqual([limits["threads"] for limits in machine["limits"]], [1, 2])
        for limits in machine["limits"]:
            for field in ["read_gb_per_second", "read_gb_per_second_wall", "barrier_us", "barriers_ms_per_step",
                          "barriers_share_of_step"]:
                self.assertGreater(limits[field], 0, field)
            self.assertIn(("scalar", "f32"), [(peak["isa"], peak["type"]) for peak in limits["peaks"]])
            for peak in limits["peaks"]:
                self.assertGreater(peak["gops_per_second"], 0)
                self.assertGreater(peak["gops_per_second_wall"], 0)
                self.assertTrue(peak["instruction"])
        self.assertGreater(machine["disk"]["gb_per_second"], 0)
        self.assertEqual(machine["disk"]["bytes"], 1 << 20)
        self.assertIn(file, machine["disk"]["what"])

    def test_figures_are_set_against_the_limits(self):
        file = self.file("weights", bytes(4096))
        rows = json.loads(self.succeeds("bench", *SMALL, *QUICK, "--machine", "--disk-file", file, "--json").out)["results"]
        for r in rows:
            self.assertGreater(r["limit_gb_per_second"], 0)
            self.assertGreater(r["limit_gflops_per_second"], 0)
            self.assertIn(r["bound"], ["memory", "arithmetic"])
            self.assertGreater(r["share_of_bound"], 0)

    def test_a_disk_file_that_is_none_is_named(self):
        for file in [self.directory, self.directory / "none", self.file("empty", "")]:
            with self.subTest(file):
                self.fails(1, str(file), "bench", "--machine", "--threads", "1", "--disk-file", file)


class Plot(TestCase):
    def test_curves_stand_where_the_figures_are(self):
        path = self.directory / "curves.svg"
        depths = ["0", "64", "256", "1024"]
        report = json.loads(self.succeeds("bench", *SMALL, *QUICK, "--depth", ",".join(depths), "--pattern", "FSSS,FFFF",
                                          "--plot", path, "--json").out)
        root = ElementTree.parse(path).getroot()
        self.assertEqual(root.tag, SVG + "svg")
        texts = [text.text for text in root.iter(SVG + "text")]
        for text in ["decode", "prefill", "decode with FFFF, against this schedule",
                     "prefill with FFFF, against this schedule", "depth, tokens", "ms per token", "times as long", "FSSS", "FFFF, index",
                     "FSSS, step by FLOPs", "0", "64", "256", "1K"]:
            self.assertIn(text, texts)
        marks = {}
        for circle in root.iter(SVG + "circle"):
            name, value = circle.find(SVG + "title").text.rsplit(": ", 1)
            self.assertGreater(float(value), 0)
            marks.setdefault(name, []).append((float(circle.get("cx")), float(circle.get("cy")), float(value)))
        decode = [r for r in report["results"] if r["phase"] == "decode" and r["pattern"] == "FFFF"]
        label = {"1024": "1K"}
        points = [marks[f"FFFF, {label.get(depth, depth)}"][0] for depth in depths]
        for point, row in zip(points, decode):
            self.assertAlmostEqual(point[2], row["ms_per_token"], delta=2e-3 * row["ms_per_token"])
        # 64, 256 and 1024 are two doublings apart; 0 stands one left of 64.
        x = [point[0] for point in points]
        self.assertAlmostEqual(x[2] - x[1], x[3] - x[2], delta=0.3)
        self.assertAlmostEqual(x[1] - x[0], (x[2] - x[1]) / 2, delta=0.3)
        for a, b in zip(points, points[1:]):
            self.assertEqual(a[2] < b[2], a[1] > b[1])  # more is higher


if __name__ == "__main__":
    unittest.main()
