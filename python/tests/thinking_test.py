"""The budget of reasoning."""

from __future__ import annotations

import pytest

from indexshare import LLM, SamplingParams


def test_a_budget_closes_the_reasoning_once(llm: LLM) -> None:
    end = llm.model.tokenizer.encode("</think>")[0]
    params = SamplingParams(max_tokens=12, temperature=0, ignore_eos=True, logit_bias={end: -100}, thinking_token_budget=3)
    (output,) = llm.generate("What is a parrakeet?<think>", params)
    assert output.outputs[0].token_ids.count(end) == 1
    assert output.outputs[0].reasoning
    assert output.outputs[0].text


def test_a_budget_is_a_count() -> None:
    with pytest.raises(ValueError, match="thinking_token_budget is -1, expected a number from 0"):
        SamplingParams(thinking_token_budget=-1)
