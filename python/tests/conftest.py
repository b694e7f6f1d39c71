"""What the tests share: the bundled model, once loaded, and the program to compare with."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
from typing import Any, Dict, Iterator

import indexshare
import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
POCKET = ROOT / "models/pocket"
TINY = ROOT / "tests/golden/data/tiny-5.2"  # no tokenizer, no template
PARROT = "parrakeet: any of numerous small slender long-tailed parrots"
QUESTION = [{"role": "user", "content": "What is a parrakeet?"}]


def command_line(*arguments: object) -> Dict[str, Any]:
    """What `indexshare run --json` says."""
    done = subprocess.run(
        [os.environ["INDEXSHARE"], "run", *map(str, arguments), "--json"], check=True, capture_output=True, timeout=60
    )
    answer: Dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.fixture(scope="session")
def llm() -> Iterator[indexshare.LLM]:
    with indexshare.LLM(POCKET) as loaded:
        yield loaded


@pytest.fixture(scope="session")
def model(llm: indexshare.LLM) -> indexshare.Model:
    return llm.model
