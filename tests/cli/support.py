"""What the tests of the program share: starting it, in pipes or on a terminal of its own."""

import os
import pathlib
import pty
import select
import signal
import subprocess
import tempfile
import termios
import time
import unittest

PROGRAM = os.environ["INDEXSHARE"]
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
POCKET = str(ROOT / "models/pocket")
TINY = str(ROOT / "tests/golden/data/tiny-5.2")  # no tokenizer, no template
SHARED = ROOT.parent / "shared"
PARROT = "parrakeet: any of numerous small slender long-tailed parrots"
LIMIT = 60  # seconds that anything may take, on a busy machine too


class Outcome:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def __repr__(self):
        return f"exit code {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


def indexshare(*arguments, stdin=b"", stdout=subprocess.PIPE, environment=None):
    """Runs the program to its end."""
    if isinstance(stdin, str):
        stdin = stdin.encode()
    done = subprocess.run([PROGRAM, *map(os.fsencode, map(str, arguments))], input=stdin, stdout=stdout,
                          stderr=subprocess.PIPE, timeout=LIMIT, env={**os.environ, **(environment or {})})
    return Outcome(done.returncode, (done.stdout or b"").decode(), done.stderr.decode())


class TestCase(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def file(self, name, content):
        path = self.directory / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    def succeeds(self, *arguments, **options):
        outcome = indexshare(*arguments, **options)
        self.assertEqual(outcome.code, 0, outcome)
        return outcome

    def fails(self, code, sentence, *arguments, **options):
        """One error, with its exit code, and nothing on stdout."""
        outcome = indexshare(*arguments, **options)
        self.assertEqual(outcome.code, code, outcome)
        self.assertEqual(outcome.out, "", outcome)
        lines = outcome.err.splitlines()
        self.assertTrue(lines[0].startswith("indexshare: error: "), outcome)
        self.assertIn(sentence, lines[0])
        if code == 2:
            self.assertEqual(len(lines), 2, outcome)
            self.assertRegex(lines[1], r"^see indexshare .*--help$")
        else:
            self.assertEqual(len(lines), 1, outcome)


class Terminal:
    """The program on a terminal of its own."""

    def __init__(self, *arguments, state):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(XDG_STATE_HOME=str(state), TERM="xterm", LC_ALL="C.UTF-8", HOME=str(state))
            os.execv(PROGRAM, [PROGRAM, *arguments])
        self.shown = ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)

    def type(self, text):
        os.write(self.fd, text.encode())

    def _read(self, deadline):
        ready, _, _ = select.select([self.fd], [], [], max(0, deadline - time.monotonic()))
        if not ready:
            raise AssertionError(f"nothing more came; shown so far:\n{self.shown}")
        try:
            data = os.read(self.fd, 65536)
        except OSError:  # how Linux tells that the program has left
            data = b""
        self.shown += data.decode(errors="replace")
        return data

    def wait_for(self, text):
        """Until `text` is shown; returns all up to it and forgets that."""
        deadline = time.monotonic() + LIMIT
        while text not in self.shown:
            if not self._read(deadline):
                raise AssertionError(f"ended without {text!r}; shown:\n{self.shown}")
        before, self.shown = self.shown.split(text, 1)
        return before

    def wait_for_prompt(self):
        """Until the program reads keys; it shows its prompt a moment before."""
        self.wait_for("> ")
        deadline = time.monotonic() + LIMIT
        while termios.tcgetattr(self.fd)[3] & termios.ICANON:
            if time.monotonic() > deadline:
                raise AssertionError("the terminal still edits lines itself")
            time.sleep(0.001)

    def end(self):
        """The exit code, once the program ends by itself."""
        deadline = time.monotonic() + LIMIT
        while self._read(deadline):
            pass
        _, status = os.waitpid(self.pid, 0)
        self.pid = 0
        return os.waitstatus_to_exitcode(status)
