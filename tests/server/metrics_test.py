"""What GET /metrics says of a few requests, read by Prometheus' own parser and held against the documents."""

import json
import pathlib
import re
import time

from prometheus_client.parser import text_string_to_metric_families

from support import LIMIT, QUESTION, TestCase, main, raw

DOCUMENT = pathlib.Path(__file__).resolve().parent.parent.parent / "docs/SERVER.md"
PROMPT = {"prompt": "Kakapos sleep all day. " * 60, "max_tokens": 20, "ignore_eos": True, "temperature": 0}


class Scrape:
    def __init__(self, server):
        status, headers, text = server.request("GET", "/metrics")
        assert status == 200, text
        self.content_type = headers["Content-Type"]
        self.families = list(text_string_to_metric_families(text))
        self.samples = {(s.name, tuple(sorted(s.labels.items()))): s.value for f in self.families for s in f.samples}

    def __call__(self, name, **labels):
        return self.samples.get((name, tuple(sorted(labels.items()))), 0)


class Metrics(TestCase):
    def change(self, *calls):
        """What some calls change."""
        before = Scrape(self.server)
        for call in calls:
            call()
        after = Scrape(self.server)
        return lambda name, **labels: after(name, **labels) - before(name, **labels)

    def wait_for(self, condition):
        deadline = time.monotonic() + LIMIT
        while not condition(now := Scrape(self.server)):
            self.assertLess(time.monotonic(), deadline)
        return now

    def test_counts_requests_by_route_and_status(self):
        change = self.change(lambda: self.post("/v1/completions", {"prompt": "What", "max_tokens": 1}),
                             lambda: self.server.request("POST", "/v1/completions", {"prompt": 1}),
                             lambda: self.server.request("GET", "/v1/nothing-a"),
                             lambda: self.server.request("GET", "/v1/nothing-b"))
        requests = "indexshare_http_requests_total"
        self.assertEqual(change(requests, route="/v1/completions", status="200"), 1)
        self.assertEqual(change(requests, route="/v1/completions", status="400"), 1)
        self.assertEqual(change(requests, route="none", status="404"), 2)
        self.assertEqual(change("indexshare_http_request_duration_seconds_count", route="/v1/completions"), 2)

    def test_counts_tokens_passes_and_what_was_cached(self):
        change = self.change(lambda: self.post("/v1/completions", PROMPT), lambda: self.post("/v1/completions", PROMPT))
        self.assertEqual(change("indexshare_generated_tokens_total"), 40)
        self.assertEqual(change("indexshare_time_to_first_token_seconds_count"), 2)
        self.assertEqual(change("indexshare_time_between_tokens_seconds_count"), 38)
        self.assertEqual(change("indexshare_queue_seconds_count"), 2)
        self.assertEqual(change("indexshare_requests_ended_total", outcome="finished"), 2)
        self.assertEqual(change("indexshare_prefix_lookups_total"), 2)
        self.assertEqual(change("indexshare_prefix_hits_total"), 1)
        # The second prompt's last token alone is read again.
        self.assertEqual(change("indexshare_prompt_tokens_total"), change("indexshare_cached_tokens_total") + 2)
        self.assertGreater(change("indexshare_cached_tokens_total"), 300)
        # The last token of an answer is never run.
        self.assertEqual(change("indexshare_step_tokens_sum"), change("indexshare_prompt_tokens_total") + 38)
        self.assertEqual(change("indexshare_step_tokens_count"), change("indexshare_step_tokens_bucket", le="+Inf"))
        self.assertEqual(change("indexshare_step_tokens_bucket", le="1"), 39)
        seconds = change("indexshare_step_seconds_total", part="index")
        self.assertTrue(0 < seconds < change("indexshare_http_request_duration_seconds_sum", route="/v1/completions"))
        self.assertGreater(change("indexshare_flops_total", part="index"), 1000)

    def test_shows_what_runs_and_who_left(self):
        body = {**PROMPT, "max_tokens": 100000, "stream": True}
        with self.server.connect() as connection:
            connection.sendall(raw("POST", "/v1/completions", json.dumps(body).encode()))
            self.wait_for(lambda now: now("indexshare_requests_running") == 1)
        now = self.wait_for(lambda now: now("indexshare_requests_ended_total", outcome="cancelled") >= 1)
        self.assertEqual(now("indexshare_requests_running"), 0)
        self.assertGreater(now("indexshare_cache_pages_in_use"), 0)
        self.assertGreaterEqual(now("indexshare_cache_budget_bytes"), now("indexshare_cache_bytes"))
        self.assertGreater(now("process_resident_memory_bytes"), 1e6)
        self.assertLess(abs(now("process_start_time_seconds") - time.time()), 600)

    def test_is_documented_and_named_by_the_conventions(self):
        self.post("/v1/chat/completions", {"messages": QUESTION, "max_tokens": 2})
        scrape = Scrape(self.server)
        self.assertEqual(scrape.content_type, "text/plain; version=0.0.4; charset=utf-8")
        found = set()
        for family in scrape.families:
            name = family.name + ("_total" if family.type == "counter" else "")
            found.add(name)
            self.assertRegex(name, "^(indexshare|process)_[a-z_]+$")
            self.assertTrue(family.documentation.endswith("."), name)
            self.assertNotIn(family.type, ["unknown", "untyped"], name)
        table = re.findall(r"`((?:indexshare|process)_\w+)`", DOCUMENT.read_text())
        self.assertEqual(sorted(found), sorted(table))


if __name__ == "__main__":
    main()
