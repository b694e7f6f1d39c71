"""A program as it is written for vLLM; only the import and the model's name differ.

Usage: python examples/python/vllm_style.py [MODEL_DIRECTORY]      default: the bundled model
"""

import pathlib
import sys

from indexshare import LLM, SamplingParams

POCKET = pathlib.Path(__file__).resolve().parents[2] / "models/pocket"

llm = LLM(model=sys.argv[1] if len(sys.argv) > 1 else POCKET, max_seq_len=1_048_576)
params = SamplingParams(temperature=0.7, max_tokens=64, seed=0)
outputs = llm.generate("What is a parrakeet?", params)
print(outputs[0].text)
