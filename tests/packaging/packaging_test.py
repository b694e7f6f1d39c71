"""The systemd unit and the Dockerfile: what they start runs, says when it is ready, and ends as it should."""

import json
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/server"))
from support import LIMIT, POCKET, PROGRAM  # noqa: E402

UNIT = ROOT / "packaging/indexshare.service"
INSTALLED = "/usr/local/bin/indexshare"


class Packaging(unittest.TestCase):
    def serve(self, command):
        """The port at which a command serves."""
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

        def end():
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(LIMIT), 0)
            process.stdout.close()

        self.addCleanup(end)
        line = process.stdout.readline()
        self.assertRegex(line, r"^serving .* at http://[0-9.]+:\d+\n$")
        return int(line.rsplit(":", 1)[1])

    def test_the_unit_starts_the_server(self):
        environment = dict(line.split("=", 1) for line in (ROOT / "packaging/environment").read_text().splitlines()
                           if line and not line.startswith("#"))
        self.assertEqual(set(environment), {"MODEL", "OPTIONS"})
        (start,) = re.findall(r"^ExecStart=(.*)$", UNIT.read_text(), re.MULTILINE)
        self.assertEqual(start, f"{INSTALLED} serve ${{MODEL}} $OPTIONS")
        options = shlex.split(environment["OPTIONS"].replace("8080", "0"))
        self.serve([PROGRAM, "serve", POCKET, *options])

    @unittest.skipUnless(shutil.which("systemd-analyze"), "there is no systemd-analyze")
    def test_systemd_takes_the_unit(self):
        with tempfile.TemporaryDirectory() as directory:
            unit = pathlib.Path(directory, UNIT.name)
            unit.write_text(UNIT.read_text().replace(INSTALLED, PROGRAM))
            done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, timeout=LIMIT)
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_the_image_starts_the_server_and_knows_that_it_is_ready(self):
        file = (ROOT / "Dockerfile").read_text().replace("\\\n", "")
        self.assertEqual(json.loads(re.findall(r"^ENTRYPOINT (.*)$", file, re.MULTILINE)[0]), ["indexshare"])
        (command,) = re.findall(r"^CMD (\[.*\])$", file, re.MULTILINE)
        (check,) = re.findall(r"^HEALTHCHECK .*CMD (\[.*\])$", file, re.MULTILINE)
        arguments = [POCKET if argument == "/model" else argument for argument in json.loads(command)]
        port = self.serve([PROGRAM, *arguments, "--port", "0"])

        def is_ready(at):
            probe = [part.replace("8080", str(at)) for part in json.loads(check)]
            return subprocess.run(probe, capture_output=True, timeout=LIMIT).returncode == 0

        self.assertTrue(is_ready(port))
        self.assertFalse(is_ready(1))


if __name__ == "__main__":
    unittest.main(verbosity=1)
