"""What is wrong is told at once, by the right exception and a sentence."""

from __future__ import annotations

import pathlib
import warnings
from typing import Any, Dict, Type

import indexshare
import pytest
from conftest import POCKET, QUESTION
from indexshare import LLM, Model, SamplingParams

SAMPLING = [
    ({"temperature": -1}, ValueError, "temperature is -1, expected a number at least 0"),
    ({"temperature": float("nan")}, ValueError, "temperature is nan"),
    ({"temperature": "hot"}, TypeError, "temperature is 'hot', expected a number"),
    ({"top_p": 1.5}, ValueError, "top_p is 1.5, expected a number from 0 to 1"),
    ({"top_k": 2.5}, TypeError, "top_k is 2.5, expected a whole number"),
    ({"max_tokens": True}, TypeError, "max_tokens is True, expected a whole number or None"),
    ({"n": 0}, ValueError, "n is 0"),
    ({"seed": -1}, ValueError, "seed is -1"),
    ({"logprobs": 21}, ValueError, "logprobs is 21, expected a number from 0 to 20"),
    ({"repetition_penalty": 0}, ValueError, "repetition_penalty is 0"),
    ({"stop": [""]}, ValueError, "stop has ''"),
    ({"structured_outputs": {}}, ValueError, "structured_outputs gives nothing, expected one of json, regex"),
    ({"structured_outputs": {"json": "{}", "regex": "a"}}, ValueError, "structured_outputs gives json and regex"),
    ({"structured_outputs": {"regex": 5}}, TypeError, "regex is 5, expected a text"),
    ({"structured_outputs": {"choice": "yes"}}, TypeError, "choice is 'yes', expected a list of texts"),
    ({"structured_outputs": {"regex": "a", "whitespace_pattern": " "}}, ValueError, "whitespace_pattern are not supported"),
    ({"structured_outputs": 5}, TypeError, "structured_outputs is 5, expected StructuredOutputsParams"),
    ({"bad_words": ["x"]}, ValueError, "bad_words are not supported"),
    ({"nonsense": 1}, TypeError, "nonsense"),
]


@pytest.mark.parametrize("given, kind, sentence", SAMPLING)
def test_refuses_sampling_parameters(given: Dict[str, Any], kind: Type[Exception], sentence: str) -> None:
    with pytest.raises(kind, match=sentence):
        SamplingParams(**given)


LOADING = [
    ({"model": "/nowhere"}, FileNotFoundError, "/nowhere: there is no such directory"),
    ({"model": 7}, TypeError, "PathLike"),
    ({"threads": -1}, ValueError, "threads is -1, expected 0"),
    ({"threads": "two"}, TypeError, "threads is 'two'"),
    ({"dtype": "float16"}, ValueError, "dtype is 'float16', expected auto, float32 or bfloat16"),
    ({"kv_cache_dtype": "fp8"}, ValueError, "kv_cache_dtype is 'fp8'"),
    ({"index_keys": "none"}, ValueError, "index_keys is \"none\", expected plain, int8 or screened"),
    ({"schedule": "FFF"}, ValueError, "schedule is \"FFF\", expected 7 letters"),
    ({"ram_bytes": 1000}, MemoryError, "leave no cache in 1 kB of ram"),
    ({"max_model_len": 100, "max_seq_len": 100}, ValueError, "give one of them"),
    ({"quantization": "awq"}, ValueError, "quantization is 'awq': weights are used in the format"),
    ({"speculative_config": {"n": 2}}, ValueError, "speculative decoding is not supported"),
    ({"seed": "one"}, TypeError, "seed is 'one'"),
    ({"nonsense": 1}, TypeError, "LLM has no parameter 'nonsense'"),
]


@pytest.mark.parametrize("given, kind, sentence", LOADING)
def test_refuses_to_load(given: Dict[str, Any], kind: Type[Exception], sentence: str) -> None:
    with pytest.raises(kind, match=sentence):
        LLM(**{"model": POCKET, **given})


def test_refuses_a_damaged_model(tmp_path: pathlib.Path) -> None:
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ValueError, match="config.json"):
        Model(tmp_path)


def test_ignores_what_is_harmless_with_one_warning() -> None:
    with pytest.warns(UserWarning) as caught:
        LLM(POCKET, tensor_parallel_size=8, gpu_memory_utilization=0.9, quantization=None).shutdown()
    assert [str(one.message) for one in caught] == [
        "LLM ignores gpu_memory_utilization, tensor_parallel_size: no meaning here"
    ]
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="the context is 131072 tokens, all that the model has, not 1048576"):
        LLM(POCKET, max_seq_len=1_048_576).shutdown()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LLM(POCKET, max_model_len=4096, dtype="bfloat16", load_format="auto", max_num_seqs=4).shutdown()


PROMPTS = [
    (7, TypeError, "'int' object is not iterable"),
    ([], None, ""),
    ("", ValueError, "the prompt is empty"),
    ([[1, "two"]], TypeError, r"prompt\[1\] is 'two', expected a token id"),
    ([[1, -1]], ValueError, r"prompt\[1\] is -1, expected a token id"),
    ([[4096]], ValueError, "prompt token id 4096 is outside the vocabulary of 4096 tokens"),
    ({"text": "x"}, ValueError, 'without "prompt"'),
    ("half \ud800", ValueError, "half a surrogate pair at place 5"),
    ([0] * 131073, ValueError, "leaves no room in the context of 131072"),
]


@pytest.mark.parametrize("prompt, kind, sentence", PROMPTS)
def test_refuses_prompts(llm: LLM, prompt: Any, kind: Type[Exception], sentence: str) -> None:
    if kind is None:
        assert llm.generate(prompt) == []
        return
    with pytest.raises(kind, match=sentence):
        llm.generate(prompt)


def test_refuses_calls(llm: LLM) -> None:
    with pytest.raises(TypeError, match="generate has no parameter 'nonsense'"):
        llm.generate("x", nonsense=1)
    with pytest.raises(TypeError, match="sampling_params is 7, expected SamplingParams"):
        llm.generate("x", 7)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="adapters are not supported"):
        llm.generate("x", lora_request="adapter")
    with pytest.raises(ValueError, match="reasoning_effort is 'some', expected one of max"):
        llm.chat(QUESTION, chat_template_kwargs={"reasoning_effort": "some"})
    with pytest.raises(ValueError, match="min_tokens is 5, more than max_tokens 2"):
        llm.generate("x", SamplingParams(min_tokens=5, max_tokens=2))
    with pytest.raises(ValueError, match="stop token id 4096 is outside"):
        llm.generate("x", SamplingParams(stop_token_ids=[4096]))


def test_says_that_it_is_closed() -> None:
    llm = indexshare.LLM(POCKET)
    llm.shutdown()
    llm.shutdown()
    with pytest.raises(RuntimeError, match="the engine is closed"):
        llm.generate("x")
    assert repr(llm.model).endswith("closed)")
