"""SGLang's shape."""

from __future__ import annotations

import indexshare
import indexshare.sglang as sgl
import pytest
from conftest import POCKET
from indexshare import LLM, SamplingParams

GREEDY = {"temperature": 0, "max_new_tokens": 6}


def test_answers_one_prompt_and_lists(llm: LLM) -> None:
    (expected,) = llm.generate("What is", SamplingParams(temperature=0, max_tokens=6))
    with sgl.LLM(POCKET, context_length=4096, mem_fraction_static=0.8) as engine:
        one = engine.generate("What is", max_new_tokens=6, temperature=0)
        assert one.text == one["text"] == expected.text
        assert one.output_ids == expected.outputs[0].token_ids
        assert one.meta_info["finish_reason"] == {"type": "length", "length": 6}
        assert one.meta_info["prompt_tokens"] == len(expected.prompt_token_ids)
        assert engine.generate("What is", GREEDY).text == expected.text
        assert engine.generate(input_ids=expected.prompt_token_ids, sampling_params=GREEDY).text == expected.text
        many = engine.generate(["What is", "Define"], [GREEDY, {**GREEDY, "max_new_tokens": 2}])
        assert [len(item.output_ids) for item in many] == [6, 2] and many[0].text == expected.text
        assert len(engine.generate("What is", {**GREEDY, "n": 2})) == 2
        with pytest.raises(AttributeError, match="an output has no 'txt', only text"):
            one.txt


def test_the_package_itself_has_that_shape(llm: LLM) -> None:
    output = llm.generate("What is", temperature=0, max_new_tokens=6)
    assert output.text == output["text"] == llm.generate("What is", GREEDY)["text"]
    with indexshare.Engine(model_path=POCKET, random_seed=3) as engine:
        drawn = engine.generate("What is", max_new_tokens=8)
        assert drawn.text == llm.generate("What is", max_new_tokens=8, sampling_seed=3).text


def test_streams_the_text_so_far(llm: LLM) -> None:
    long = {"temperature": 0, "max_new_tokens": 200, "ignore_eos": True}
    outputs = list(llm.generate("What is", long, stream=True))
    texts = [output.text for output in outputs]
    assert len(texts) > 2 and all(later.startswith(earlier) for earlier, later in zip(texts, texts[1:]))
    assert texts[-1] == llm.generate("What is", long).text
    assert outputs[0].meta_info["finish_reason"] is None and outputs[-1].meta_info["finish_reason"]["type"] == "length"
    for _ in llm.generate("What is", {"max_new_tokens": 100_000, "ignore_eos": True}, stream=True):
        break  # leaving it cancels the request, or this test would take minutes


def test_reports_logprobs(llm: LLM) -> None:
    output = llm.generate("What is", GREEDY, return_logprob=True, top_logprobs_num=2, logprob_start_len=0)
    meta = output.meta_info
    assert [id for _, id, _ in meta["output_token_logprobs"]] == output.output_ids
    assert all(top[0][0] == own[0] for top, own in zip(meta["output_top_logprobs"], meta["output_token_logprobs"]))
    assert meta["input_token_logprobs"][0][0] is None and len(meta["input_token_logprobs"]) == meta["prompt_tokens"]


def test_refuses_what_it_cannot_do(llm: LLM) -> None:
    with pytest.raises(ValueError, match="structured_outputs gives json and regex, expected one of"):
        llm.generate("x", {"json_schema": "{}", "regex": "a"})
    with pytest.raises(TypeError, match="sampling_params has no parameter 'nonsense'"):
        llm.generate("x", {"nonsense": 1})
    with pytest.raises(ValueError, match="stream is for one prompt"):
        llm.generate(["x", "y"], GREEDY, stream=True)
    with pytest.raises(TypeError, match="one of prompt and input_ids"):
        sgl.generate(llm.model, indexshare.requests.Seeds(1), None, GREEDY)
    with pytest.raises(TypeError, match="model_path is missing"):
        sgl.Engine()
