"""From prompts and parameters to what the engine takes, and waiting for what it says."""

from __future__ import annotations

import itertools
import random
import threading
from typing import Any, Callable, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from . import _core
from .model import Model, set_field, token_ids
from .sampling import SamplingParams
from .structured import StructuredOutputsParams, constraint

#: A text, token ids, {"prompt": text} or {"prompt_token_ids": ids}.
Prompt = Union[str, Sequence[int], Mapping[str, Any]]

#: How long Python waits before it looks whether Ctrl-C was pressed.
SLICE_SECONDS = 0.05


class ReadPrompt(NamedTuple):
    """A prompt as it was given, and its tokens."""

    text: Optional[str]
    ids: List[int]


class Seeds:
    """The seeds of requests that bring none: the k-th one of an engine with seed S has S + k, counted from 0."""

    def __init__(self, seed: Optional[int]) -> None:
        if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int)):
            raise TypeError(f"seed is {seed!r}, expected a whole number or None")
        if seed is not None and not 0 <= seed < 2**64:
            raise ValueError(f"seed is {seed}, expected a whole number from 0 to {2**64 - 1}")
        self._next = seed
        self._lock = threading.Lock()

    def next(self) -> int:
        """A seed of 64 bits."""
        with self._lock:
            if self._next is None:
                return random.SystemRandom().getrandbits(64)
            seed = self._next
            self._next = (seed + 1) % 2**64
            return seed


def is_single(prompts: object) -> bool:
    """Whether this is one prompt rather than a list of them."""
    if isinstance(prompts, (str, Mapping)) or hasattr(prompts, "dtype"):
        return True
    return isinstance(prompts, Sequence) and len(prompts) > 0 and all(isinstance(item, int) for item in prompts)


def read_prompt(prompt: Any, model: Model) -> ReadPrompt:
    """The tokens of a prompt. Raises TypeError for what is none, ValueError for one without tokens."""
    if isinstance(prompt, Mapping):
        if prompt.get("multi_modal_data"):
            raise ValueError("multi_modal_data is given, but the model reads text alone")
        if "prompt_token_ids" in prompt:
            return ReadPrompt(prompt.get("prompt"), token_ids(prompt["prompt_token_ids"], "prompt_token_ids"))
        if "prompt" not in prompt:
            raise ValueError('the prompt is a mapping without "prompt" and "prompt_token_ids"')
        prompt = prompt["prompt"]
    if isinstance(prompt, str):
        return ReadPrompt(prompt, model.tokenizer.encode(prompt))
    return ReadPrompt(None, token_ids(prompt, "prompt"))


def make_request(engine: _core.Engine, ids: List[int], params: SamplingParams, seed: int) -> _core.Request:
    """What the engine takes."""
    request = engine.default_request()
    fields = {
        "prompt": ids,
        "temperature": params.temperature,
        "top_p": params.top_p,
        "top_k": max(params.top_k, 0),
        "min_p": params.min_p,
        "presence_penalty": params.presence_penalty,
        "frequency_penalty": params.frequency_penalty,
        "repetition_penalty": params.repetition_penalty,
        "logit_bias": [(int(id), float(bias)) for id, bias in (params.logit_bias or {}).items()],
        "seed": seed,
        "min_tokens": params.min_tokens,
        "max_tokens": params.max_tokens,
        "max_reasoning_tokens": params.thinking_token_budget,
        "logprobs": params.logprobs,
        "prompt_logprobs": params.prompt_logprobs,
        "stop": params.stop,
        "stop_ids": params.stop_token_ids,
        "ignore_eos": params.ignore_eos,
        "include_stop": params.include_stop_str_in_output,
        "whole_text": not params.skip_special_tokens,
    }
    for name, value in fields.items():
        set_field(request, name, value)
    if isinstance(params.structured_outputs, StructuredOutputsParams):
        engine.bind(request, constraint(params.structured_outputs))
    return request


def default_params(model: Model) -> SamplingParams:
    """What the model's generation_config.json asks for."""
    request = model._engine.default_request()
    return SamplingParams(
        temperature=request.temperature,
        top_p=request.top_p,
        top_k=request.top_k,
        min_p=request.min_p,
        repetition_penalty=request.repetition_penalty,
        max_tokens=request.max_tokens,
    )


def submit(
    model: Model, ids: List[int], params: SamplingParams, seeds: Seeds, *, pieces: bool = False, waker: Optional[_core.Waker] = None
) -> List[_core.Answer]:
    """Hands the n requests of a prompt to the engine."""
    first = seeds.next() if params.seed is None else params.seed
    engine = model._engine
    return [
        engine.submit(make_request(engine, ids, params, (first + index) % 2**64), pieces, waker)
        for index in range(params.n)
    ]


def answer_all(
    model: Model,
    prompts: Sequence[ReadPrompt],
    params: Sequence[SamplingParams],
    seeds: Seeds,
    on_done: Callable[[], object] = lambda: None,
) -> List[List[_core.Result]]:
    """The n results of each prompt, once all are there; ``on_done`` is called for each. Whatever interrupts
    it, Ctrl-C for one, cancels those that have not ended."""
    asked: List[List[_core.Answer]] = []
    try:
        for prompt, one in zip(prompts, params):
            asked.append(submit(model, prompt.ids, one, seeds))
        for answer in itertools.chain.from_iterable(asked):
            wait(answer)
            on_done()
    except BaseException:
        for answer in itertools.chain.from_iterable(asked):
            answer.cancel()
        raise
    return [[answer.result() for answer in answers] for answers in asked]


def wait(answer: _core.Answer) -> None:
    """Waits until there is something to take or the answer has ended, and lets Ctrl-C through."""
    while not answer.wait(SLICE_SECONDS):
        pass


def spread_params(
    params: Union[None, SamplingParams, Sequence[SamplingParams]], count: int, model: Model
) -> Tuple[SamplingParams, ...]:
    """The parameters of each prompt."""
    if params is None:
        params = default_params(model)
    if isinstance(params, SamplingParams):
        return (params,) * count
    if not isinstance(params, Sequence) or not all(isinstance(item, SamplingParams) for item in params):
        raise TypeError(f"sampling_params is {params!r}, expected SamplingParams or a list of them")
    if len(params) != count:
        raise ValueError(f"there are {count} prompts and {len(params)} sampling_params")
    return tuple(params)
