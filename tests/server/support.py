"""What the tests of the server share: a server of their own, and clients that see every byte."""

import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = os.environ["INDEXSHARE"]
POCKET = str(pathlib.Path(__file__).resolve().parent.parent.parent / "models/pocket")
PARROT = "parrakeet: any of numerous small slender long-tailed parrots"
QUESTION = [{"role": "user", "content": "What is a parrakeet?"}]
# A template by which the bundled model, which never does, begins with reasoning where that is on.
REASONING = ("[gMASK]<sop>{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}<|assistant|><think>"
             "{% if enable_thinking is defined and not enable_thinking %}</think>{% endif %}")
LIMIT = 60  # seconds that anything may take, on a busy machine too


def call_of_lamp():
    """Fields, beside a temperature of 0, by which the bundled model, which calls no tools, says the tokens of
    <tool_call>lamp</tool_call>, one after the other, since each is worth nothing once it is out, and then one that stops."""
    return {"repetition_penalty": 1e6, "stop_token_ids": [100],
            "logit_bias": {"4087": 100, "75": 85, "948": 70, "4088": 55, "100": 40}}


class Server:
    """`indexshare serve` on a port of its own; its log is kept."""

    def __init__(self, *arguments, model=POCKET, port=0, environment=None):
        self.log_file = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [PROGRAM, "serve", model, "--model-name", "pocket", "--port", str(port), "--threads", "2", *arguments], stdout=subprocess.PIPE,
            stderr=self.log_file, env={**os.environ, **(environment or {})})
        line = self.process.stdout.readline().decode()
        if not line.startswith(("serving pocket at http://127.0.0.1:", "serving pocket at https://127.0.0.1:")):
            self.process.wait(LIMIT)
            log = self.log()
            self.close()
            raise AssertionError(f"the server did not start: {line!r} {log}")
        self.port = int(line.rsplit(":", 1)[1])

    def log(self):
        self.log_file.seek(0)
        return self.log_file.read().decode()

    def wait_for_log(self, text):
        deadline = time.monotonic() + LIMIT
        while text not in self.log():
            if time.monotonic() > deadline:
                raise AssertionError(f"the log never said {text!r}:\n{self.log()}")
            time.sleep(0.01)

    def resident_bytes(self):
        """Memory that the server has in use."""
        pages = pathlib.Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGESIZE")

    def signal(self, number):
        self.process.send_signal(number)

    def end(self):
        """Its exit code, once it ends by itself."""
        return self.process.wait(LIMIT)

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()
        self.log_file.close()

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=LIMIT)

    def request(self, method, path, body=None, headers=None):
        """(status, headers, body as text); `body` is sent as JSON unless it is bytes."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT)
        try:
            data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
            connection.request(method, path, data, headers or {})
            response = connection.getresponse()
            return response.status, response.headers, response.read().decode()
        finally:
            connection.close()

    def events(self, path, body, headers=None):
        """The events of a stream: (name or None, data)."""
        status, headers, text = self.request("POST", path, {**body, "stream": True}, headers)
        if status != 200 or headers["Content-Type"] != "text/event-stream":
            raise AssertionError(f"{status}: {text}")
        return [read_event(event) for event in text.removesuffix("\n\n").split("\n\n") if not event.startswith(":")]


def read_event(text):
    name, data = None, None
    for line in text.split("\n"):
        key, value = line.split(": ", 1)
        if key == "event":
            name = value
        elif key == "data" and data is None:
            data = value if value == "[DONE]" else json.loads(value)
        else:
            raise AssertionError(f"not an event: {text!r}")
    return name, data


def raw(method, path, body=b"", *headers):
    """A request as bytes."""
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def read_all(connection):
    """Until the server closes."""
    text = b""
    while data := connection.recv(65536):
        text += data
    return text


class TestCase(unittest.TestCase):
    maxDiff = None
    arguments = []
    environment = {}
    template = None  # a chat template in place of the model's own

    @classmethod
    def setUpClass(cls):
        model = POCKET
        if cls.template is not None:
            directory = tempfile.TemporaryDirectory()
            cls.addClassCleanup(directory.cleanup)
            model = directory.name
            for name in ["config.json", "generation_config.json", "model.safetensors", "tokenizer.json"]:
                os.symlink(os.path.join(POCKET, name), os.path.join(model, name))
            pathlib.Path(model, "chat_template.jinja").write_text(cls.template)
        cls.server = Server(*cls.arguments, model=model, environment=cls.environment)
        cls.addClassCleanup(cls.server.close)

    def post(self, path, body, **options):
        status, _, text = self.server.request("POST", path, body, **options)
        self.assertEqual(status, 200, text)
        return json.loads(text)

    def refused(self, status, sentence, path, body, field=None, method="POST", **options):
        """An error in OpenAI's form."""
        found, _, text = self.server.request(method, path, body, **options)
        self.assertEqual(found, status, text)
        error = json.loads(text)["error"]
        self.assertIn(sentence, error["message"])
        self.assertEqual(error["param"], field, text)

    def alive(self):
        self.assertEqual(self.server.request("GET", "/health")[0], 200)


class DirectoryTestCase(TestCase):
    """Each test has servers of its own, and a directory that is not there yet."""

    @classmethod
    def setUpClass(cls):
        pass

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name, "kept")


def main(**options):
    unittest.main(verbosity=1, argv=sys.argv, **options)
