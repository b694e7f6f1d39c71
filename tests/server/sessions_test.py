"""The routes below /v1/sessions: sequences that outlive the server, and files that are none."""

import http.client
import json
import threading
import time

from support import QUESTION, DirectoryTestCase, Server, TestCase, main

IDS = [(7 * i * i + i) % 4000 for i in range(700)]
GREEDY = {"temperature": 0, "max_tokens": 20, "ignore_eos": True, "logprobs": 3}


class Sessions(DirectoryTestCase):
    def setUp(self):
        super().setUp()
        self.start()

    def start(self, *arguments):
        self.server = Server("--session-dir", str(self.directory), *arguments)
        self.addCleanup(self.server.close)

    def restart(self, *arguments):
        self.server.close()
        self.start(*arguments)

    def call(self, method, path, body=None):
        status, _, text = self.server.request(method, path, body)
        self.assertEqual(status, 200, text)
        return json.loads(text)

    def put(self, name, body):
        return self.call("PUT", f"/v1/sessions/{name}", body)

    def restore(self, name):
        return self.call("POST", f"/v1/sessions/{name}/restore")

    def listed(self):
        return [session["id"] for session in self.call("GET", "/v1/sessions")["data"]]

    def test_a_sequence_goes_on_in_another_server_bit_for_bit(self):
        body = {**GREEDY, "prompt": IDS}
        expected = self.post("/v1/completions", body)["choices"]
        self.restart()
        self.assertEqual(self.put("work.1", {"prompt": IDS}), {"id": "work.1", "object": "session", "tokens": 700})
        (session,) = self.call("GET", "/v1/sessions")["data"]
        self.assertEqual(session["id"], "work.1")
        self.assertEqual(session["bytes"], (self.directory / "work.1.session").stat().st_size)
        self.assertLess(abs(session["created"] - time.time()), 600)
        self.restart()
        self.assertEqual(self.restore("work.1"), {"id": "work.1", "object": "session", "tokens": 700})
        answer = self.post("/v1/completions", body)
        self.assertEqual(answer["usage"]["prompt_tokens_details"]["cached_tokens"], 699)
        self.assertEqual(answer["choices"], expected)

    def test_a_conversation_goes_on(self):
        turns = [*QUESTION, {"role": "assistant", "content": "A bird."}]
        self.assertGreater(self.put("chat", {"messages": turns})["tokens"], 10)
        self.restart()
        tokens = self.restore("chat")["tokens"]
        chat = {"messages": [*turns, {"role": "user", "content": "What is a zebra?"}], "temperature": 0, "max_tokens": 10}
        answer = self.post("/v1/chat/completions", chat)
        self.assertGreaterEqual(answer["usage"]["prompt_tokens_details"]["cached_tokens"], tokens)

    def test_saving_replaces_and_deleting_forgets(self):
        self.put("a", {"prompt": "What is a lamp?"})
        self.put("b", {"prompt": IDS})
        self.assertEqual(self.put("a", {"prompt": IDS[:300]})["tokens"], 300)
        (self.directory / "notes.txt").write_text("not a session")
        (self.directory / ".c.session").write_text("not a name")
        self.assertEqual(self.listed(), ["a", "b"])
        self.assertEqual(self.restore("a")["tokens"], 300)
        self.assertEqual(self.call("DELETE", "/v1/sessions/a"), {"id": "a", "object": "session", "deleted": True})
        self.assertEqual(self.listed(), ["b"])
        for method, path in [("POST", "/v1/sessions/a/restore"), ("DELETE", "/v1/sessions/a")]:
            self.refused(404, "there is no session a", path, None, method=method)

    def test_names_cannot_leave_the_directory(self):
        body = {"prompt": IDS[:10]}
        for name in ["..", "%2e%2e", ".hidden", "a%2Fb", "..%2Fa", "a:b", "a\\b", "a*", "x" * 65, "%00", "caf%C3%A9"]:
            with self.subTest(name=name):
                for method, path in [("PUT", name), ("DELETE", name), ("POST", f"{name}/restore")]:
                    self.refused(400, "is no name of a session", f"/v1/sessions/{path}", body, method=method)
        for path in ["../a", "a/b", "", "/"]:
            self.refused(404, "there is no route", f"/v1/sessions/{path}", body, method="PUT")
        self.assertEqual(list(self.directory.iterdir()), [])
        self.put("x" * 64, body)

    def test_files_that_are_no_sessions_are_refused_and_left(self):
        self.put("work", {"prompt": IDS})
        file = self.directory / "work.session"
        good = file.read_bytes()
        damaged, older = bytearray(good), bytearray(good)
        damaged[-100] ^= 1
        older[8] = 0
        for content, sentence in [(damaged, "session work: is damaged: the checksum of page 2 does not match"), (b"x" * 99, "is not a session file"),
                                  (older, "is in version 0 of the format of session files"), (good[:-1], "truncated or damaged"), (b"", "session work: ")]:
            file.write_bytes(content)
            self.refused(400, sentence, "/v1/sessions/work/restore", None)
            self.assertEqual(file.read_bytes(), content)
        file.write_bytes(good)
        for arguments, sentence in [(["--latent-norm-eps", "1e-5"], "session work: was saved by another model"),
                                    (["--cache-dtype", "f32"], "session work: holds a cache in")]:
            self.restart(*arguments)
            self.refused(400, sentence, "/v1/sessions/work/restore", None)
            self.alive()

    def test_what_cannot_be_saved_is_refused(self):
        for body, field, sentence in [({}, "messages", "messages"), ({"prompt": 5}, "prompt", "a text or a list of token ids"),
                                      ({"prompt": [1], "messages": QUESTION}, "prompt", "both given"), ({"prompt": [1.5]}, "prompt", "prompt is an array"),
                                      ({"prompt": []}, None, "the prompt is empty"), ({"prompt": [99999999]}, None, "outside the vocabulary"),
                                      ({"prompt": [5] * 131073}, None, "leaves no room")]:
            with self.subTest(body=str(body)[:40]):
                self.refused(400, sentence, "/v1/sessions/a", body, field=field, method="PUT")
        self.restart("--session-dir-size", "100K")
        self.put("small", {"prompt": IDS[:5]})
        self.refused(400, "session large would make", "/v1/sessions/large", {"prompt": IDS}, method="PUT")
        self.assertEqual(self.listed(), ["small"])

    def test_a_server_that_is_killed_leaves_whole_files(self):
        self.put("work", {"prompt": IDS[:100]})
        saved = {100}
        for i in range(4):
            length = 200 + 100 * i
            saved.add(length)
            self.post("/v1/completions", {"prompt": IDS[:length], "max_tokens": 0})
            thread = threading.Thread(target=lambda n=length: self.put_quietly("work", {"prompt": IDS[:n]}))
            thread.start()
            time.sleep(0.002 * (i + 1))
            self.restart()
            thread.join()
            self.assertIn(self.restore("work")["tokens"], saved)
            self.assertEqual(self.listed(), ["work"])

    def put_quietly(self, name, body):
        try:
            self.server.request("PUT", f"/v1/sessions/{name}", body)
        except (OSError, http.client.HTTPException):
            pass  # it was killed


class Without(TestCase):
    def test_without_a_directory_there_are_no_sessions(self):
        for method, path in [("GET", ""), ("PUT", "/a"), ("DELETE", "/a"), ("POST", "/a/restore")]:
            self.refused(404, "has no --session-dir", f"/v1/sessions{path}", {"prompt": "a"}, method=method)


if __name__ == "__main__":
    main()
