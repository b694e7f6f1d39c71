"""The web page in a real browser, on the bundled model."""

import base64
import json
import pathlib
import re
import shutil
import sys

from support import LIMIT, PARROT, Server, TestCase, main

BROWSER = shutil.which("chromium-headless-shell") or shutil.which("chromium")
try:
    from axe_playwright_python.sync_playwright import Axe
    from playwright.sync_api import expect, sync_playwright
except ImportError:
    BROWSER = None
if BROWSER is None:
    print("needs chromium, playwright and axe-playwright-python")
    sys.exit(77)

QUESTION = "What is a parrakeet?"
NOTES = pathlib.Path(__file__).resolve().parents[2].joinpath("tools/demo/notes.txt").read_text().strip()
DESKTOP = {"width": 1200, "height": 760}
PHONE = {"width": 375, "height": 720}


def stream_of(*texts):
    """A stream of the server that answers with these pieces."""
    events = [{"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]} for text in texts]
    events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"


class PageTest(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.playwright = sync_playwright().start()
        cls.browser = cls.playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        expect.set_options(timeout=1000 * LIMIT)

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.playwright.stop()
        super().tearDownClass()

    def setUp(self):
        self.problems = []  # what the console said, and requests to elsewhere
        self.expected = []  # of these, patterns of what a test provokes
        self.page = self.open()

    def tearDown(self):
        for context in self.browser.contexts:
            context.close()
        unexpected = [p for p in self.problems if not any(re.search(e, p) for e in self.expected)]
        self.assertEqual(unexpected, [])

    def open(self, server=None, viewport=None, scheme="light"):
        context = self.browser.new_context(viewport=viewport or DESKTOP, color_scheme=scheme)
        page = context.new_page()
        page.set_default_timeout(1000 * LIMIT)
        origin = f"http://127.0.0.1:{(server or self.server).port}"
        page.on("console", lambda m: self.problems.append(f"{m.type}: {m.text}"))
        page.on("pageerror", lambda e: self.problems.append(f"error: {e}"))
        page.on("request", lambda r: r.url.startswith((origin + "/", "data:")) or self.problems.append(f"asks {r.url}"))
        page.goto(origin + "/")
        page.locator("#about:not(:empty)").wait_for()
        return page

    def ask(self, text, page=None):
        page = page or self.page
        page.get_by_label("Message", exact=True).fill(text)
        page.keyboard.press("Enter")
        self.answered(page)

    def answered(self, page=None):
        expect((page or self.page).locator("#stop")).to_be_hidden()

    def answers(self, page=None):
        return (page or self.page).get_by_role("article", name="Answer").locator(".text").all_inner_texts()

    def never_ends(self, page=None):
        """From now on answers go on until the context is full."""
        special = {str(id): -100 for id in range(4075, 4096)}
        def change(route):
            route.continue_(post_data=json.dumps({**json.loads(route.request.post_data), "logit_bias": special,
                                                  "max_completion_tokens": 100000}))
        (page or self.page).route("**/v1/chat/completions", change)

    def says(self, stream, page=None):
        """From now on answers are this one."""
        (page or self.page).route("**/v1/chat/completions",
                                  lambda route: route.fulfill(content_type="text/event-stream", body=stream))


class Page(PageTest):
    def test_is_kept_by_browsers_and_checked(self):
        status, headers, text = self.server.request("GET", "/")
        self.assertEqual((status, headers["Content-Type"]), (200, "text/html; charset=utf-8"))
        self.assertIn("default-src 'none'; script-src 'self'", headers["Content-Security-Policy"])
        status, again, text = self.server.request("GET", "/", headers={"If-None-Match": headers["ETag"]})
        self.assertEqual((status, text, again["ETag"]), (304, "", headers["ETag"]))
        status, headers, text = self.server.request("HEAD", "/assets/style.css")
        self.assertEqual((status, headers["Content-Type"], text), (200, "text/css; charset=utf-8", ""))
        self.refused(404, "the web page has no file", "/assets/../secret", None, method="GET")
        self.refused(405, "does not answer POST", "/assets/main.js", {})
        for name in ["Christopher Jeffrey", "Mario Heiderich", "Ivan Sagalaev", "Apache License"]:
            self.assertIn(name, self.server.request("GET", "/assets/licences.txt")[2])

    def test_answers_and_keeps_the_conversation(self):
        self.ask(QUESTION)
        self.assertEqual(self.answers(), [PARROT])
        self.ask("Define harbour")
        said = self.answers()
        self.assertEqual(len(said), 2)
        expect(self.page.get_by_role("status")).to_contain_text(said[1])
        expect(self.page.get_by_role("article", name="Answer").last).to_contain_text("tokens")
        self.page.reload()
        expect(self.page.get_by_role("heading", level=1)).to_have_text(QUESTION)
        self.assertEqual(self.answers(), said)

    def test_stops_and_goes_on(self):
        self.never_ends()
        self.page.get_by_label("Message", exact=True).fill(QUESTION)
        self.page.keyboard.press("Enter")
        expect(self.page.get_by_role("article", name="Answer")).to_contain_text("parrakeet")
        self.page.get_by_role("button", name="Stop").click()
        self.answered()
        expect(self.page.get_by_role("article", name="Answer")).to_contain_text("Stopped.")
        self.server.wait_for_log("client=gone")
        stopped = self.answers()
        self.page.reload()
        self.assertEqual(self.answers(), stopped)
        self.page.unroute_all()
        self.ask(QUESTION)
        self.assertEqual(self.answers()[1], PARROT)

    def test_keeps_what_came_before_a_reload(self):
        self.never_ends()
        self.page.get_by_label("Message", exact=True).fill(QUESTION)
        self.page.keyboard.press("Enter")
        self.page.wait_for_timeout(1500)
        self.page.reload()
        expect(self.page.get_by_role("article", name="Answer")).to_contain_text("parrakeet")
        expect(self.page.get_by_role("article", name="Answer")).to_contain_text("Stopped.")

    def test_regenerates_and_edits(self):
        self.ask("Define harbour")
        self.ask("And a castle?")
        before = self.answers()
        self.page.get_by_role("button", name="Regenerate").click()
        self.answered()
        self.assertEqual(len(self.answers()), 2)
        self.assertEqual(self.answers()[0], before[0])
        first = self.page.get_by_role("article", name="You").first
        first.hover()
        first.get_by_role("button", name="Edit").click()
        self.page.get_by_label("Edit the message").fill(QUESTION)
        self.page.keyboard.press("Enter")
        self.answered()
        self.assertEqual(self.answers(), [PARROT])

    def test_keeps_several_conversations(self):
        self.ask(QUESTION)
        self.page.get_by_role("button", name="New conversation").click()
        self.ask("Define castle")
        names = self.page.locator(".session")
        self.assertEqual(names.all_inner_texts(), ["Define castle", QUESTION])
        self.page.get_by_role("button", name="Rename Define castle").click()
        self.page.get_by_label("Name of the conversation").fill("Castles")
        self.page.keyboard.press("Enter")
        self.page.get_by_role("button", name=QUESTION, exact=True).click()
        self.assertEqual(self.answers(), [PARROT])
        self.page.get_by_role("button", name=f"Delete {QUESTION}").click()
        self.page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        expect(names).to_have_text(["Castles"])
        self.page.reload()
        expect(names).to_have_text(["Castles"])

    def test_sends_the_settings(self):
        self.page.get_by_role("button", name="Settings").click()
        self.page.get_by_label("Temperature").fill("0")
        self.page.get_by_label("Longest answer").fill("3")
        self.page.get_by_label("System prompt").fill("You are a dictionary.")
        self.page.get_by_role("button", name="Save").click()
        self.page.reload()
        with self.page.expect_request("**/v1/chat/completions") as request:
            self.ask(QUESTION)
        sent = request.value.post_data_json
        self.assertEqual((sent["temperature"], sent["max_completion_tokens"]), (0, 3))
        self.assertEqual([m["role"] for m in sent["messages"]], ["system", "user"])
        self.assertNotIn("top_p", sent)
        expect(self.page.get_by_role("article", name="Answer")).to_contain_text("longest length")

    def test_tells_errors_in_sentences(self):
        self.expected = ["status of 401", "net::ERR"]
        server = Server(environment={"INDEXSHARE_API_KEYS": "the-key"})
        try:
            page = self.open(server)
            expect(page.locator("#about")).to_have_text("This server wants an API key: enter it in the settings.")
            self.ask(QUESTION, page)
            expect(page.get_by_role("article", name="Answer")).to_contain_text("wants an API key")
            page.get_by_role("button", name="Settings").click()
            page.get_by_label("API key").fill("the-key")
            page.get_by_role("button", name="Save").click()
            page.get_by_role("button", name="Try again").click()
            self.answered(page)
            self.assertEqual(self.answers(page), [PARROT])
        finally:
            server.close()
        self.ask(QUESTION, page)
        expect(page.get_by_role("article", name="Answer").last).to_contain_text("The server cannot be reached.")

    def test_a_bad_setting_is_explained(self):
        self.expected = ["status of 400"]
        self.page.evaluate("localStorage.setItem('indexshare.settings', JSON.stringify({top_p: 9}))")
        self.page.reload()
        self.ask(QUESTION)
        expect(self.page.get_by_role("article", name="Answer")).to_contain_text("top_p is 9, expected a number from 0")

    def test_shows_markdown_and_runs_nothing(self):
        self.expected = ["Version 9 of Highlight.js"]  # it says so once
        self.says(stream_of("# Title\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```python\ndef f(x):\n    return x\n```\n\n",
                            "<script>alert(1)</script> <img src=x onerror=alert(2)> [link](javascript:alert(3)) ",
                            "![image](http://elsewhere.example/secret.png) **bold**"))
        self.page.on("dialog", lambda dialog: self.problems.append(f"dialog: {dialog.message}"))
        self.ask("Show me")
        answer = self.page.get_by_role("article", name="Answer")
        expect(answer.get_by_role("heading", name="Title")).to_be_visible()
        expect(answer.get_by_role("cell", name="2")).to_be_visible()
        expect(answer.locator("pre .hljs-keyword").first).to_have_text("def")
        expect(answer).to_contain_text("<script>alert(1)</script>")
        expect(answer.locator("script, img, [onerror]")).to_have_count(0)
        expect(answer.get_by_role("link", name="image")).to_have_attribute("href", "http://elsewhere.example/secret.png")
        self.assertNotIn("javascript:", answer.inner_html())

    def test_folds_reasoning(self):
        pieces = [{"reasoning_content": "Let me "}, {"reasoning_content": "think."}, {"content": "Done."}]
        events = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in pieces]
        self.says("".join(f"data: {json.dumps(e)}\n\n" for e in events) + "data: [DONE]\n\n")
        self.ask("Think")
        answer = self.page.get_by_role("article", name="Answer")
        expect(answer.get_by_text("Let me think.")).to_be_hidden()
        answer.get_by_text("Reasoning").click()
        expect(answer.get_by_text("Let me think.")).to_be_visible()
        self.assertEqual(self.answers(), ["Done."])

    def test_an_answer_that_breaks_off_says_so(self):
        self.says('data: {"choices": [{"index": 0, "delta": {"content": "Half an"}}]}\n\n')
        self.ask("Say")
        expect(self.page.get_by_role("article", name="Answer")).to_contain_text("Half an")
        expect(self.page.get_by_role("article", name="Answer")).to_contain_text("The answer broke off")

    def test_works_by_keyboard_alone(self):
        press = self.page.keyboard.press
        focused = lambda: self.page.evaluate(
            "document.activeElement.getAttribute('aria-label') ?? document.activeElement.id")
        self.assertEqual(focused(), "message")
        self.page.keyboard.type("Define harbour")
        press("Enter")
        self.answered()
        self.never_ends()
        self.page.keyboard.type("And?")
        press("Enter")
        expect(self.page.get_by_role("article", name="Answer")).to_have_count(2)
        expect(self.page.get_by_role("article", name="Answer").last.locator(".text")).not_to_be_empty()
        press("Escape")
        self.answered()
        expect(self.page.get_by_role("article", name="Answer").last).to_contain_text("Stopped.")
        self.page.unroute_all()
        self.page.reload()
        self.page.locator(".session").wait_for()
        self.page.get_by_role("link", name="Skip to the message field").focus()
        seen = []
        while "Send" not in seen and len(seen) < 40:
            press("Tab")
            seen.append(focused())
            self.assertNotEqual(self.page.evaluate(
                "getComputedStyle(document.activeElement.closest('.composer') ?? document.activeElement).outlineStyle + "
                "getComputedStyle(document.activeElement.closest('.composer') ?? document.activeElement).boxShadow"), "nonenone")
        for name in ["New conversation", "Rename Define harbour", "Delete Define harbour", "Settings", "Edit", "Copy",
                     "Regenerate", "Index lens", "message", "Send"]:
            self.assertIn(name, seen)
        self.page.get_by_role("button", name="Settings").focus()
        press("Enter")
        expect(self.page.get_by_role("dialog", name="Settings")).to_be_visible()
        press("Escape")
        expect(self.page.get_by_role("dialog", name="Settings")).to_be_hidden()
        self.assertEqual(focused(), "Settings")

    def test_is_light_and_dark(self):
        ground = lambda page: page.evaluate("getComputedStyle(document.body).backgroundColor")
        light, dark = ground(self.page), ground(self.open(scheme="dark"))
        self.assertNotEqual(light, dark)
        button = self.page.get_by_role("button", name="Colours:")
        button.click()
        self.assertEqual(ground(self.page), light)
        button.click()
        self.assertEqual(ground(self.page), dark)
        self.page.reload()
        self.assertEqual(ground(self.page), dark)
        expect(button).to_have_text("Colours: dark")

    def test_nothing_is_wrong_by_the_rules_of_accessibility(self):
        for viewport in [DESKTOP, PHONE]:
            for scheme in ["light", "dark"]:
                page = self.open(viewport=viewport, scheme=scheme)
                self.ask(QUESTION, page)
                self.check_accessibility(page)
                if viewport == PHONE:
                    page.get_by_role("button", name="Conversations").click()
                page.get_by_role("button", name="Settings").click()
                self.check_accessibility(page)
                page.keyboard.press("Escape")
                page.keyboard.press("Escape")  # the conversations too, on a phone
                page.get_by_role("button", name="Index lens").click()
                page.get_by_role("option").first.wait_for()
                self.check_accessibility(page)

    def open_lens(self, page=None):
        """What the server tells the lens, with each group's sets of positions in "rows"."""
        page = page or self.page
        with page.expect_response("**/v1/index-lens") as response:
            page.get_by_role("button", name="Index lens", exact=True).click()
        lens = response.value.json()
        stride = (len(lens["ids"]) + 7) // 8
        for group in lens["groups"]:
            data = base64.b64decode(group["selected"])
            rows = [data[i:i + stride] for i in range(0, len(data), stride)]
            group["rows"] = [{p for p in range(8 * stride) if row[p // 8] >> p % 8 & 1} for row in rows]
        page.get_by_role("option").first.wait_for()
        return lens

    def expect_lens_on(self, lens, row, group):
        """That the lens shows a token and what it selected, in the text of the conversation."""
        own, selected = lens["first"] + row, lens["groups"][group]["rows"][row]
        expect(self.page.locator("[role=option][aria-selected=true]")).to_have_count(1)
        self.assertEqual(self.page.locator("[role=option][aria-selected=true]").text_content(), lens["tokens"][own])
        expect(self.page.locator("#lens-chosen")).to_contain_text(f"selected {len(selected)} of the {own + 1} tokens up to itself in layer")
        runs = []
        for position in sorted(selected):
            if position - 1 not in selected:
                runs.append("")
            runs[-1] += lens["tokens"][position]
        self.assertEqual(self.page.locator("#lens-text mark").all_text_contents(), runs)

    def test_the_lens_shows_what_the_index_selected(self):
        self.ask(NOTES)
        lens = self.open_lens()
        press = self.page.keyboard.press
        count = len(lens["ids"]) - lens["first"]
        expect(self.page.get_by_role("option")).to_have_count(count)
        self.expect_lens_on(lens, 0, 2)  # of the layers that share a selection
        self.page.get_by_role("listbox").focus()
        press("End")
        self.expect_lens_on(lens, count - 1, 2)
        press("ArrowLeft")
        self.expect_lens_on(lens, count - 2, 2)
        self.page.get_by_role("radio", name="Layers 2 to 5").focus()
        press("ArrowDown")
        expect(self.page.get_by_role("radio", name="Layer 6")).to_be_checked()
        self.expect_lens_on(lens, count - 2, 3)
        self.page.get_by_role("option").nth(3).click()
        self.expect_lens_on(lens, 3, 3)
        picture = self.page.get_by_role("img", name="Heat map of layer 1")
        box = picture.bounding_box()
        picture.click(position={"x": 20, "y": box["height"] * 5.5 / count})
        self.expect_lens_on(lens, 5, 1)

    def test_the_lens_draws_what_was_selected(self):
        self.ask(NOTES)
        lens = self.open_lens()
        drawn = self.page.locator("canvas").evaluate_all("""(all) => all.map((canvas) => {
            const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
            return { width: canvas.width, height: canvas.height, opacity: Array.from(data).filter((_, i) => i % 4 === 3) };
        })""")
        for picture, group in zip(drawn, lens["groups"], strict=True):
            self.assertEqual((picture["width"], picture["height"]), (len(lens["ids"]), len(group["rows"])))
            for row, selected in enumerate(group["rows"]):
                own = lens["first"] + row
                opacity = picture["opacity"][row * picture["width"]:(row + 1) * picture["width"]]
                self.assertEqual({p for p, value in enumerate(opacity) if value == 255}, selected)
                self.assertEqual({p for p, value in enumerate(opacity) if value > 0}, set(range(own + 1)))

    def test_the_lens_compares_groups_and_tells_shares(self):
        self.ask(NOTES)
        lens = self.open_lens()
        groups = [group["rows"] for group in lens["groups"]]
        for a, row in zip(groups, self.page.locator(".overlap tbody tr").all(), strict=True):
            shares = [sum(len(x & y) / len(x) for x, y in zip(a, b)) / len(a) for b in groups]
            for cell, share in zip(row.locator("td").all_inner_texts(), shares, strict=True):
                self.assertAlmostEqual(float(cell.removesuffix(" %")), 100 * share, delta=0.5001)
        flops = lens["work"]["flops"]
        for name, share in [("of their FLOPs", flops["index"] / sum(flops.values())),
                            ("if every layer", lens["flops_per_token"]["unshared"]["index"] / lens["flops_per_token"]["unshared"]["total"])]:
            cell = self.page.get_by_role("row", name=name).get_by_role("cell")
            self.assertAlmostEqual(float(cell.inner_text().removesuffix(" %")), 100 * share, delta=0.0501)
        self.page.keyboard.press("Escape")
        expect(self.page.get_by_role("dialog")).to_be_hidden()
        self.assertEqual(self.page.evaluate("document.activeElement.getAttribute('aria-label')"), "Index lens")

    def test_the_lens_looks_at_an_answer_that_was_stopped_and_kept(self):
        self.never_ends()
        self.page.get_by_label("Message", exact=True).fill(QUESTION)
        self.page.keyboard.press("Enter")
        expect(self.page.get_by_role("article", name="Answer")).to_contain_text("parrakeet")
        expect(self.page.get_by_role("button", name="Index lens")).to_have_count(0)
        self.page.get_by_role("button", name="Stop").click()
        self.answered()
        self.page.reload()
        lens = self.open_lens()
        self.expect_lens_on(lens, 0, 2)
        said = "".join(lens["tokens"][lens["prompt_tokens"]:])
        self.assertTrue(said.startswith("parrakeet: any of numerous"), said)

    def test_the_lens_tells_errors_in_sentences(self):
        self.expected = ["status of 429"]
        self.ask(QUESTION)
        error = {"error": {"message": "another index lens is being made: try again later"}}
        self.page.route("**/v1/index-lens", lambda route: route.fulfill(status=429, json=error))
        self.page.get_by_role("button", name="Index lens").click()
        dialog = self.page.get_by_role("dialog", name="Index lens")
        expect(dialog.get_by_role("status")).to_have_text("Another index lens is being made: try again later.")
        dialog.get_by_role("button", name="Close").click()
        expect(dialog).to_be_hidden()

    def check_accessibility(self, page):
        found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
        self.assertEqual([(v["id"], [n["html"][:200] for n in v["nodes"]]) for v in found], [])

    def test_fits_a_phone(self):
        page = self.open(viewport=PHONE)
        self.ask("What is a " + "very" * 40 + " long parrakeet?", page)
        self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), PHONE["width"])
        expect(page.get_by_role("navigation")).to_be_hidden()
        page.get_by_role("button", name="Conversations").click()
        expect(page.get_by_role("navigation")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_role("navigation")).to_be_hidden()


if __name__ == "__main__":
    main()
