"""The package's types, and the oldest Python that its sources are for."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import indexshare
from conftest import ROOT

PACKAGE = pathlib.Path(str(indexshare.__file__)).parent


def check(tool: str, *arguments: object) -> None:
    """Runs a tool that is installed beside this Python, which must be content."""
    program = pathlib.Path(sys.executable).with_name(tool)
    environment = {**os.environ, "MYPYPATH": str(PACKAGE.parent)}
    done = subprocess.run([str(program), *map(str, arguments)], capture_output=True, text=True, cwd=ROOT,
                          env=environment, timeout=300)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_mypy_is_content() -> None:
    check("mypy", "--strict", "--config-file", ROOT / "pyproject.toml", PACKAGE, ROOT / "python/tests", ROOT / "examples/python")


def test_the_stub_says_what_the_module_has() -> None:
    # All other modules are their own stubs.
    check("stubtest", "indexshare._core", "--mypy-config-file", ROOT / "pyproject.toml",
          "--allowlist", ROOT / "python/tests/stubtest_allowlist.txt")  # fmt: skip


def test_nothing_is_newer_than_python_3_9() -> None:
    sources = (ROOT / "python/indexshare", ROOT / "python/tests", ROOT / "examples/python")
    check("vermin", "--target=3.9-", "--violations", *sources)
