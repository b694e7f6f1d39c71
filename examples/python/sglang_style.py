"""A program as it is written for SGLang; only the import and the model's name differ.

Usage: python examples/python/sglang_style.py [MODEL_DIRECTORY]      default: the bundled model
"""

import pathlib
import sys

import indexshare as sgl

POCKET = pathlib.Path(__file__).resolve().parents[2] / "models/pocket"

llm = sgl.LLM(sys.argv[1] if len(sys.argv) > 1 else POCKET, max_seq_len=1_048_576)
result = llm.generate("What is a parrakeet?", max_new_tokens=64, temperature=0.7, seed=0)
print(result.text)
