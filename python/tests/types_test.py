"""The package's types: mypy in its strict mode."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import indexshare
from conftest import ROOT

PACKAGE = pathlib.Path(str(indexshare.__file__)).parent


def check(*command: object) -> None:
    environment = {**os.environ, "MYPYPATH": str(PACKAGE.parent)}
    done = subprocess.run([sys.executable, "-m", *map(str, command)], capture_output=True, text=True, cwd=ROOT,
                          env=environment, timeout=300)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_mypy_is_content() -> None:
    check("mypy", "--strict", "--config-file", ROOT / "pyproject.toml", PACKAGE, ROOT / "python/tests", ROOT / "examples/python")
