"""What IndexShare saves: FLOPs by the formula, and the time of the same tokens under three schedules.

Usage: python examples/python/measure_index_share.py [MODEL_DIRECTORY]      default: the bundled model
"""

import pathlib
import sys

from indexshare import LLM, SamplingParams

POCKET = pathlib.Path(__file__).resolve().parents[2] / "models/pocket"
PROMPT_TOKENS, ANSWER_TOKENS = 8192, 16

path = sys.argv[1] if len(sys.argv) > 1 else POCKET
own = LLM(path)
layers = own.model.info.layers
print(f"{own.model.schedule}: FLOPs per token against an index in each layer")
for context in (32_768, 131_072, 1_048_576):
    all_full = own.model.flops(context, full_layers=layers)["total"]
    print(f"  {context:>9,} tokens  {all_full / own.model.flops(context)['total']:.2f} times less")

params = SamplingParams(temperature=0, max_tokens=ANSWER_TOKENS, ignore_eos=True)
print(f"\n{PROMPT_TOKENS} tokens read, {ANSWER_TOKENS} generated; seconds in the index, in all")
for schedule in (own.model.schedule, "F" + "S" * (layers - 1)):
    with LLM(path, schedule=schedule) as llm:
        (output,) = llm.generate([[token % 1000 for token in range(PROMPT_TOKENS)]], params)
        assert output.metrics is not None
        phases = [output.metrics[phase] for phase in ("prefill", "decode")]
        index = sum(phase["parts"]["index"]["seconds"] for phase in phases)
        print(f"  {schedule}  {index:.3f}  {sum(phase['seconds'] for phase in phases):.3f}")
