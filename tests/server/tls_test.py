"""The server over TLS, with a certificate made for the test."""

import http.client
import json
import pathlib
import ssl
import subprocess
import tempfile
import time

from support import LIMIT, PARROT, QUESTION, Server, TestCase, main, raw, read_all, read_event

CHAT = {"messages": QUESTION, "seed": 1}


def make_identity(directory, name):
    """A certificate for localhost that signs itself, and its key: their files."""
    certificate, key = str(directory / f"{name}.pem"), str(directory / f"{name}.key")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
                    "-keyout", key, "-out", certificate], check=True, capture_output=True)
    return certificate, key


class Tls(TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.directory = pathlib.Path(directory.name)
        certificate, key = make_identity(cls.directory, "server")
        cls.arguments = ["--tls-certificate", certificate, "--tls-key", key, "--request-timeout", "2"]
        cls.context = ssl.create_default_context(cafile=certificate)
        super().setUpClass()

    def tls(self, context=None):
        return (context or self.context).wrap_socket(self.server.connect(), server_hostname="localhost")

    def request(self, method, path, body=None):
        connection = http.client.HTTPSConnection("localhost", self.server.port, timeout=LIMIT, context=self.context)
        connection.sock = self.tls()
        connection.request(method, path, json.dumps(body) if body else None)
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        return response.status, text

    def alive(self):
        self.assertEqual(self.request("GET", "/health"), (200, '{"status":"ok"}'))

    def test_answers_whole_and_as_a_stream(self):
        status, text = self.request("POST", "/v1/chat/completions", CHAT)
        self.assertEqual((status, json.loads(text)["choices"][0]["message"]["content"]), (200, PARROT))
        status, text = self.request("POST", "/v1/chat/completions", {**CHAT, "stream": True})
        events = [read_event(event)[1] for event in text.removesuffix("\n\n").split("\n\n")]
        self.assertEqual(events.pop(), "[DONE]")
        self.assertEqual("".join(event["choices"][0]["delta"].get("content", "") for event in events), PARROT)

    def test_ends_a_connection_as_tls_should(self):
        strict = ssl.create_default_context(cafile=self.arguments[1])
        with strict.wrap_socket(self.server.connect(), server_hostname="localhost",
                                suppress_ragged_eofs=False) as connection:
            connection.sendall(raw("GET", "/health", b"", "Connection: close"))
            self.assertTrue(read_all(connection).endswith(b'{"status":"ok"}'))

    def test_takes_requests_at_once_and_large_ones(self):
        body = json.dumps({"prompt": "a " * 500_000}).encode()
        with self.tls() as connection:
            connection.sendall(raw("GET", "/health") * 20 + raw("POST", "/v1/completions", body, "Connection: close"))
            answers = read_all(connection)
        self.assertEqual(answers.count(b"HTTP/1.1 200 OK"), 20)
        self.assertIn(b"HTTP/1.1 400 ", answers)
        self.assertIn(b"leaves no room in the context", answers)

    def test_a_client_that_leaves_ends_its_request(self):
        body = json.dumps({"prompt": "What is", "max_tokens": 100000, "ignore_eos": True, "stream": True}).encode()
        for request_id, leave in [("leaves-politely", lambda c: c.unwrap()), ("leaves", lambda c: c.close())]:
            connection = self.tls()
            connection.sendall(raw("POST", "/v1/completions", body, f"X-Request-Id: {request_id}"))
            connection.recv(4096)
            try:
                leave(connection)
            except (ssl.SSLError, OSError):  # data that was under way
                pass
            connection.close()
            self.server.wait_for_log(f"request={request_id} ")
        self.assertRegex(self.server.log(), "request=leaves .* client=gone")

    def test_speaks_nothing_but_tls(self):
        with self.server.connect() as connection:
            connection.sendall(raw("GET", "/health"))
            self.assertNotIn(b"200 OK", read_all(connection))
        old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
        old.set_ciphers("ALL:@SECLEVEL=0")
        old.minimum_version = ssl.TLSVersion.TLSv1
        old.maximum_version = ssl.TLSVersion.TLSv1_1
        with self.assertRaises((ssl.SSLError, ConnectionError)):
            self.tls(old)
        self.alive()

    def test_cuts_a_handshake_off_that_stalls(self):
        begin = time.monotonic()
        silent = [self.server.connect() for _ in range(50)]
        silent[0].sendall(b"\x16\x03\x01\x02\x00\x01")  # the beginning of a greeting
        self.alive()
        for connection in silent:
            self.assertEqual(connection.recv(1), b"")
            connection.close()
        self.assertLess(time.monotonic() - begin, 20)

    def test_files_that_are_no_certificate_or_key_are_refused_by_name(self):
        certificate, key = make_identity(self.directory, "other")
        junk = self.directory / "junk"
        junk.write_text("no certificate\n")
        for arguments, sentence in [
                (["--tls-certificate", certificate], "need each other"),
                (["--tls-certificate", str(junk), "--tls-key", key], "junk: no certificate that can be used"),
                (["--tls-certificate", certificate, "--tls-key", self.arguments[3]],
                 "server.key: no key of the certificate in "),
                (["--tls-certificate", str(self.directory / "none"), "--tls-key", key], "none: ")]:
            with self.subTest(sentence=sentence), self.assertRaisesRegex(AssertionError, sentence):
                Server(*arguments)


if __name__ == "__main__":
    main()
