"""The server's own OpenAPI document, and what schemathesis makes of it: requests as described and not, to all routes."""

import os
import pathlib
import subprocess
import sys
import tempfile

from support import TestCase, main

SECONDS = os.environ.get("SCHEMA_SECONDS", "20")


class OpenApi(TestCase):
    # Answers are short, whatever is asked for.
    arguments = ["--context", "96", "--max-waiting", "4096"]

    def test_holds_under_generated_requests(self):
        with tempfile.TemporaryDirectory() as directory:
            run = subprocess.run(
                [pathlib.Path(sys.executable).parent / "schemathesis", "run",
                 f"http://127.0.0.1:{self.server.port}/openapi.json", "--checks", "not_a_server_error,content_type_conformance,response_schema_conformance",
                 "--max-time", SECONDS, "--max-examples", "20", "--seed", "1", "--phases", "examples,coverage,fuzzing", "--request-timeout", "30",
                 "--generation-database", "none", "--no-shrink", "--no-color"],
                cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=240)
        self.assertEqual(run.returncode, 0, run.stdout.decode())
        self.alive()
        self.assertNotIn("status=500", self.server.log())


if __name__ == "__main__":
    main()
