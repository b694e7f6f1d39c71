"""HTTP as it should not be, clients that leave, keys, limits, and the end of the server."""

import json
import os
import pathlib
import select
import signal
import socket
import tempfile
import threading
import time
import unittest

from support import LIMIT, Server, TestCase, main, raw, read_all

ENDLESS = {"prompt": "What is", "max_tokens": 100000, "ignore_eos": True, "stream": True, "temperature": 0}


class Http(TestCase):
    arguments = ["--max-request", "1M", "--cors-origin", "https://example.org"]

    def answer_to(self, *pieces):
        """All that the server says to some bytes, until it closes."""
        with self.server.connect() as connection:
            for piece in pieces:
                connection.sendall(piece)
                time.sleep(0.01)
            connection.shutdown(1)  # no more is sent
            return read_all(connection)

    def test_answers_requests_that_come_all_at_once_in_order(self):
        bodies = [json.dumps({"prompt": "What is", "max_tokens": n, "temperature": 0}).encode() for n in (1, 2, 3)]
        with self.server.connect() as connection:
            connection.sendall(b"".join(raw("POST", "/v1/completions", body) for body in bodies) +
                               raw("GET", "/health", b"", "Connection: close"))
            answers = read_all(connection)
        self.assertEqual(answers.count(b"HTTP/1.1 200 OK"), 4, answers)
        counts = [part.split(b",")[0] for part in answers.split(b'"completion_tokens":')[1:]]
        self.assertEqual(counts, [b"1", b"2", b"3"])
        self.assertTrue(answers.endswith(b'{"status":"ok"}'))

    def test_reads_a_request_cut_at_every_byte(self):
        request = raw("POST", "/v1/embeddings", b"{}", "Connection: close")
        with self.server.connect() as connection:
            connection.setsockopt(6, 1, 1)  # TCP_NODELAY
            for i in range(len(request)):
                connection.sendall(request[i:i + 1])
            self.assertIn(b"makes no embeddings", read_all(connection))

    def test_refuses_what_is_not_http(self):
        for request, status in [
                (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 10, 400),
                (b"GET /health\r\n\r\n", 400),
                (b"GET /health HTTP/1.1\r\n\r\n", 400),  # no Host
                (b"GET /health HTTP/3.7\r\nHost: a\r\n\r\n", 505),
                (b"GET /health HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n", 400),
                (b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400),
                (b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 400),
                (b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
                 400),
                (b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", 400),
                (b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", 431),
                (b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X: y\r\n" * 20000 + b"\r\n", 431)]:
            with self.subTest(request=request[:80]):
                answer = self.answer_to(request)
                self.assertTrue(answer.startswith(f"HTTP/1.1 {status} ".encode()), answer[:200])
                json.loads(answer.split(b"\r\n\r\n", 1)[1])["error"]["message"]
        self.alive()

    def test_chunked_bodies(self):
        head = b"POST /v1/embeddings HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
        self.assertIn(b"makes no embeddings", self.answer_to(head, b"1\r\n{\r\n", b"1\r\n}\r\n0\r\n\r\n"))
        too_much = b"40000\r\n" + b" " * 0x40000 + b"\r\n"
        with self.server.connect() as connection:
            connection.sendall(head + too_much * 4 + b"1\r\n")
            self.assertIn(b"HTTP/1.1 413 ", read_all(connection))

    def test_refuses_a_large_body_before_it_comes(self):
        with self.server.connect() as connection:
            connection.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\n"
                               b"Expect: 100-continue\r\n\r\n")
            self.assertTrue(connection.recv(4096).startswith(b"HTTP/1.1 413 "))
        with self.server.connect() as connection:
            connection.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n"
                               b"Expect: 100-continue\r\n\r\n")
            self.assertEqual(connection.recv(4096), b"HTTP/1.1 100 Continue\r\n\r\n")
            connection.sendall(b"{}")
            self.assertTrue(connection.recv(4096).startswith(b"HTTP/1.1 400 "))

    def test_refuses_bodies_that_are_no_objects(self):
        for body, sentence in [(b"", "not valid JSON"), (b"{", "not valid JSON"), (b"[]", "an array, expected an object"),
                               (b'{"prompt": "\xff"}', "not UTF-8"), (b'{"a": 1, "a": 2}', "stands twice"),
                               (b"[" * 10000 + b"]" * 10000, "nesting deeper than"),
                               (b'{"a":' * 10000 + b"1" + b"}" * 10000, "nesting deeper than")]:
            with self.subTest(body=body[:40]):
                self.refused(400, sentence, "/v1/completions", body)

    def test_routes_and_methods(self):
        self.refused(404, "there is no route", "/v1/nothing", {})
        status, headers, _ = self.server.request("GET", "/v1/completions")
        self.assertEqual((status, headers["Allow"]), (405, "OPTIONS, POST"))
        status, headers, text = self.server.request("HEAD", "/health")
        self.assertEqual((status, headers["Content-Length"], text), (200, "15", ""))
        self.assertEqual(self.server.request("GET", "/health?a=b")[0], 200)
        self.refused(400, "makes no embeddings", "/v1/embeddings", {}, field="model")

    def test_pages_of_another_origin_may_ask(self):
        status, headers, _ = self.server.request("OPTIONS", "/v1/completions", headers={"Origin": "https://example.org"})
        self.assertEqual((status, headers["Access-Control-Allow-Origin"]), (204, "https://example.org"))
        self.assertIn("POST", headers["Access-Control-Allow-Methods"])
        for path in ["/health", "/v1/nothing"]:
            headers = self.server.request("GET", path)[1]
            self.assertEqual(headers["Access-Control-Allow-Origin"], "https://example.org")

    def test_request_ids(self):
        ids = {self.server.request("GET", "/health")[1]["X-Request-Id"] for _ in range(3)}
        self.assertEqual(len(ids), 3)
        self.assertEqual(self.server.request("GET", "/health", headers={"X-Request-Id": "mine-1"})[1]["X-Request-Id"], "mine-1")
        self.assertNotIn('"', self.server.request("GET", "/health", headers={"X-Request-Id": 'a"b'})[1]["X-Request-Id"])
        self.server.wait_for_log('request=mine-1 method=GET path="/health" status=200')

    def test_a_client_that_leaves_ends_its_request(self):
        body = json.dumps(ENDLESS).encode()
        with self.server.connect() as connection:
            connection.sendall(raw("POST", "/v1/completions", body, "X-Request-Id: leaves-stream"))
            connection.recv(4096)
        self.server.wait_for_log("request=leaves-stream method=POST path=\"/v1/completions\" status=200")
        with self.server.connect() as connection:
            connection.sendall(raw("POST", "/v1/completions", json.dumps({**ENDLESS, "stream": False}).encode(),
                                   "X-Request-Id: leaves-whole"))
            time.sleep(0.1)
        self.server.wait_for_log('request=leaves-whole method=POST path="/v1/completions" status=0')
        self.assertIn("client=gone", self.server.log())

    def test_a_reader_that_does_not_read_is_cut_off(self):
        connection = socket.socket()
        self.addCleanup(connection.close)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)  # little waits in the system
        connection.connect(("127.0.0.1", self.server.port))
        connection.sendall(raw("POST", "/v1/completions", json.dumps({**ENDLESS, "logprobs": 20, "n": 8}).encode(),
                               "X-Request-Id: lazy"))
        self.server.wait_for_log("request=lazy ")
        self.assertRegex(self.server.log(), "request=lazy .* client=gone")

    def test_many_idle_and_half_sent_connections_keep_nobody_from_being_served(self):
        before = self.server.resident_bytes()
        idle = [self.server.connect() for _ in range(1000)]
        half = [self.server.connect() for _ in range(100)]
        for connection in half:
            connection.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n{")
        self.post("/v1/completions", {"prompt": "What is", "max_tokens": 2})
        self.assertLess(self.server.resident_bytes() - before, 1100 * 64 * 1024)
        for connection in idle + half:
            connection.close()
        self.alive()


class LargeBodies(TestCase):
    arguments = ["--max-request", "200M", "--max-buffered", "20M"]

    def send_part(self, size, length=100_000_000):
        connection = self.server.connect()
        self.addCleanup(connection.close)
        connection.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % length)
        try:
            connection.sendall(b" " * size)
        except OSError:  # refused already
            pass
        return connection

    def test_bodies_of_all_connections_together_are_bounded(self):
        before = self.server.resident_bytes()
        sent = [self.send_part(6_000_000) for _ in range(4)]
        refused = select.select(sent, [], [], LIMIT)[0]  # the one whose bytes were read last
        self.assertEqual(len(refused), 1)
        answer = read_all(refused[0])
        self.assertTrue(answer.startswith(b"HTTP/1.1 503 "), answer[:200])
        self.assertIn(b"Retry-After: 2", answer)
        self.assertIn(b"hold the 20971520 bytes", answer)
        self.assertLess(self.server.resident_bytes() - before, 100 << 20)
        self.post("/v1/completions", {"prompt": "What is", "max_tokens": 2})
        for connection in sent:
            connection.close()
        self.server.wait_for_log("status=503")
        for _ in range(5):  # what was held is free again
            self.refused(400, "a string, expected an object", "/v1/completions", b'"' + b"a" * 15_000_000 + b'"')

    def test_a_body_of_100_megabytes_is_cut_off(self):
        with self.send_part(100_000_000) as connection:
            self.assertTrue(read_all(connection).startswith(b"HTTP/1.1 503 "))
        self.alive()


class SlowRequests(TestCase):
    arguments = ["--request-timeout", "2"]

    def drip(self, head):
        """The answer to a request whose bytes come one by one, and for how long it was listened to."""
        begin = time.monotonic()
        with self.server.connect() as connection:
            connection.sendall(head)
            connection.settimeout(0.05)
            while True:
                try:
                    return read_all(connection), time.monotonic() - begin
                except TimeoutError:
                    connection.sendall(b"a")

    def test_requests_that_drip_are_cut_off(self):
        for head in [b"GET /health HTTP/1.1\r\nHost: ",
                     b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n"]:
            answer, seconds = self.drip(head)
            self.assertTrue(answer.startswith(b"HTTP/1.1 408 "), answer[:200])
            self.assertIn(b"2 seconds for its head", answer)
            self.assertTrue(1.5 < seconds < 20, seconds)
        self.alive()

    def test_a_body_may_take_longer_the_longer_it_is(self):
        with self.server.connect() as connection:
            connection.sendall(b"POST /v1/embeddings HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 300002\r\n\r\n{")
            for _ in range(10):
                time.sleep(0.3)
                connection.sendall(b" " * 30_000)
            connection.sendall(b"}")
            self.assertIn(b"makes no embeddings", read_all(connection))


class JsonLog(TestCase):
    arguments = ["--log-format", "json"]

    def test_is_an_object_a_line(self):
        body = json.dumps({"prompt": "What is", "max_tokens": 2, "ignore_eos": True}).encode()
        with self.server.connect() as connection:
            connection.sendall(raw("POST", "/v1/completions", body, "X-Request-Id: mine") + b"no HTTP\r\n\r\n")
            read_all(connection)
        self.server.wait_for_log('"status":400')
        lines = [json.loads(line) for line in self.server.log().splitlines()]
        answered = next(line for line in lines if line["request"] == "mine")
        self.assertEqual((answered["level"], answered["method"], answered["path"], answered["status"]),
                         ("info", "POST", "/v1/completions", 200))
        self.assertEqual((answered["generated"], answered["finish"]), (2, "length"))
        self.assertGreater(answered["ms"], 0)
        refused = next(line for line in lines if line["status"] == 400)
        self.assertIn("not HTTP as it should be", refused["note"])


class Keys(TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        keys = pathlib.Path(directory.name) / "keys"
        keys.write_text("first-key\n\nsecond-key\n")
        cls.arguments = ["--api-key-file", str(keys)]
        cls.environment = {"INDEXSHARE_API_KEYS": "third-key"}
        super().setUpClass()

    def test_only_the_keys_open(self):
        for key in ["first-key", "second-key", "third-key"]:
            for headers in [{"Authorization": f"Bearer {key}"}, {"x-api-key": key}]:
                self.assertEqual(self.server.request("GET", "/v1/models", headers=headers)[0], 200)
        for headers in [{}, {"Authorization": "Bearer first-ke"}, {"Authorization": "Bearer first-key2"},
                        {"Authorization": "Basic first-key"}, {"x-api-key": ""}]:
            self.refused(401, "an API key is needed", "/v1/models", None, method="GET", headers=headers)
        self.assertEqual(self.server.request("GET", "/health")[0], 200)


class Ends(unittest.TestCase):
    def start(self, *arguments):
        server = Server(*arguments)
        self.addCleanup(server.close)
        return server

    def endless(self, server, **fields):
        connection = server.connect()
        self.addCleanup(connection.close)
        connection.sendall(raw("POST", "/v1/completions", json.dumps({**ENDLESS, **fields}).encode()))
        self.assertTrue(connection.recv(10).startswith(b"HTTP/1.1 2"))
        return connection

    def test_ends_after_the_running_answers(self):
        server = self.start()
        running = self.endless(server, max_tokens=3000)
        idle = server.connect()
        server.signal(signal.SIGTERM)
        server.wait_for_log("ending:")
        status, headers, text = server.request("POST", "/v1/completions", {"prompt": "a"})
        self.assertEqual((status, headers["Retry-After"]), (503, "2"), text)
        self.assertEqual(server.request("GET", "/ready")[0], 503)
        self.assertEqual(idle.recv(10), b"")
        idle.close()
        self.assertTrue(read_all(running).endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n"))
        self.assertEqual(server.end(), 0)

    def test_ends_at_once_when_asked_twice(self):
        server = self.start()
        self.endless(server)
        server.signal(signal.SIGINT)
        server.wait_for_log("ending:")
        server.signal(signal.SIGINT)
        self.assertEqual(server.end(), 130)

    def test_refuses_more_than_may_wait(self):
        server = self.start("--max-running", "1", "--max-waiting", "1")
        self.endless(server)
        waits = server.connect()
        self.addCleanup(waits.close)
        waits.sendall(raw("POST", "/v1/completions", json.dumps(ENDLESS).encode()))
        self.assertTrue(waits.recv(10).startswith(b"HTTP/1.1 2"))
        status, headers, text = server.request("POST", "/v1/completions", {"prompt": "a"})
        self.assertEqual((status, headers["Retry-After"]), (429, "2"), text)
        self.assertEqual(json.loads(text)["error"]["type"], "rate_limit_error")

    def test_refuses_an_address_that_is_taken(self):
        server = self.start()
        with self.assertRaisesRegex(AssertionError, f"port {server.port} cannot be listened at"):
            Server(port=server.port)


if __name__ == "__main__":
    main()
