"""The model for lm-eval: its three kinds of requests against the engine's own values.

Where lm-eval is not installed (it brings 60 packages), what the model uses of it stands in.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import types
from typing import Any, List, Tuple

import pytest
from conftest import PARROT, POCKET, QUESTION
from indexshare import LLM, SamplingParams

PREFIX = 4075  # <|endoftext|>, the first stop token: the pocket model has no bos_token_id


class _Registry(dict):  # type: ignore[type-arg]
    def register_model(self, name: str) -> Any:
        return lambda model: self.setdefault(name, model)


class _CacheHook:
    def __init__(self) -> None:
        self.kept: List[Tuple[str, Any, Any]] = []

    def add_partial(self, kind: str, request: Any, answer: Any) -> None:
        self.kept.append((kind, request, answer))


class _LM:
    def __init__(self) -> None:
        self.cache_hook = _CacheHook()


@pytest.fixture(scope="module")
def lm_eval() -> Any:
    if importlib.util.find_spec("lm_eval") is None:
        for name, members in (
            ("lm_eval", {}),
            ("lm_eval.api", {}),
            ("lm_eval.api.model", {"LM": _LM}),
            ("lm_eval.api.registry", {"register_model": _Registry().register_model}),
        ):
            sys.modules[name] = types.ModuleType(name)
            vars(sys.modules[name]).update(members)
    return importlib.import_module("indexshare.lm_eval")


@pytest.fixture(scope="module")
def lm(lm_eval: Any) -> Any:
    model = lm_eval.IndexShareLM(model=POCKET, batch_size=1, device="cpu", max_gen_toks=5)
    model.cache_hook = _CacheHook()
    return model


def request(*args: Any) -> Any:
    return types.SimpleNamespace(args=args)


def scores(llm: LLM, ids: List[int]) -> Tuple[List[float], List[bool]]:
    """Of each token but the first: its log-probability, and whether it is the best."""
    (output,) = llm.generate([ids], SamplingParams(max_tokens=0, prompt_logprobs=1))
    assert output.prompt_logprobs is not None
    places = [place[id] for id, place in zip(ids[1:], output.prompt_logprobs[1:]) if place is not None]
    return [place.logprob for place in places], [place.rank == 1 for place in places]


def test_scores_continuations_as_the_engine_does(lm: Any, llm: LLM) -> None:
    encode = llm.get_tokenizer().encode
    context = lm.apply_chat_template(QUESTION)
    before = len(encode(context))
    right, wrong, spaced, alone, nothing = lm.loglikelihood(
        [request(context, PARROT), request(context, "parrakeet: a stone"), request("What is ", "a stone"),
         request("", "What is a"), request(context, "")], disable_tqdm=True)  # fmt: skip
    assert right[1] is True and wrong[1] is False and right[0] > wrong[0]
    for answer, ids, first in (
        (right, encode(context + PARROT), before),
        (wrong, encode(context + "parrakeet: a stone"), before),
        (spaced, encode("What is a stone"), len(encode("What is"))),
        (alone, [PREFIX, *encode("What is a")], 1),
    ):
        logprobs, best = scores(llm, ids)
        assert answer == (sum(logprobs[first - 1 :]), all(best[first - 1 :]))
    assert nothing == (0, True)
    kept = lm.cache_hook.kept
    assert kept[:1] == [("loglikelihood", (context, PARROT), right)] and len(kept) == 5


def test_scores_whole_texts_window_by_window(lm_eval: Any, lm: Any, llm: LLM) -> None:
    ids = [PREFIX, *llm.get_tokenizer().encode(PARROT)]
    whole, none = lm.loglikelihood_rolling([request(PARROT), request("")], disable_tqdm=True)
    assert whole == sum(scores(llm, ids)[0]) and none == 0
    with pytest.warns(UserWarning, match="shortened to its last 6"):
        short = lm_eval.IndexShareLM(pretrained=str(POCKET), max_model_len=6)
        short.loglikelihood([request(PARROT, " of birds")], disable_tqdm=True)
    # Each token once, behind as many others as fit.
    expected = sum(scores(llm, ids[:6])[0])
    for end in range(11, len(ids), 5):
        expected += sum(scores(llm, ids[end - 6 : end])[0])
    rest = (len(ids) - 6) % 5 or 5
    expected += sum(scores(llm, ids[-6:])[0][-rest:])
    assert short.loglikelihood_rolling([request(PARROT)], disable_tqdm=True) == [pytest.approx(expected, abs=1e-5)]


def test_generates_until(lm: Any, llm: LLM) -> None:
    context = lm.apply_chat_template(QUESTION)
    texts = lm.generate_until(
        [request(context, {"until": ["\n"], "max_gen_toks": 64, "do_sample": False}),
         request(context, {"until": " slender", "max_gen_toks": 64}), request(context, {}),
         request("What is", {"temperature": 0.8, "seed": 3, "until": [], "max_gen_toks": 12})], disable_tqdm=True)  # fmt: skip
    drawn = llm.generate("What is", SamplingParams(temperature=0.8, seed=3, max_tokens=12))[0].text
    cut = llm.generate(context, SamplingParams(temperature=0, max_tokens=5))[0].text
    assert texts == [PARROT, PARROT[: PARROT.index(" slender")], cut, drawn]


def test_names_itself_and_refuses(lm_eval: Any, lm: Any) -> None:
    assert lm.tokenizer_name == str(POCKET)
    with pytest.raises(TypeError, match="model is missing"):
        lm_eval.IndexShareLM()
    with pytest.raises(ValueError, match="max_gen_toks is 10, but the context is 6"):
        lm_eval.IndexShareLM(POCKET, max_model_len=6).generate_until([request("a", {"max_gen_toks": 10})])
    with pytest.raises(TypeError, match="LLM has no parameter 'nonsense'"):
        lm_eval.IndexShareLM(POCKET, nonsense=1)
