"""SGLang's shape: ``import indexshare.sglang as sgl`` or ``import indexshare as sgl``."""

from __future__ import annotations

import itertools
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence

from . import _core
from .foreign import REQUEST, take_foreign
from .llm import ModelOwner, load_model
from .model import Model, Path
from .outputs import completion, token_text
from .requests import ReadPrompt, Seeds, answer_all, is_single, read_prompt, submit, wait
from .sampling import SamplingParams

__all__ = ["LLM", "Engine", "Output"]

# Their names of what SamplingParams has.
_NAMES = {"max_new_tokens": "max_tokens", "min_new_tokens": "min_tokens", "sampling_seed": "seed",
          "no_stop_trim": "include_stop_str_in_output"}  # fmt: skip
_SAME = {"n", "temperature", "top_p", "top_k", "min_p", "presence_penalty", "frequency_penalty", "repetition_penalty",
         "stop", "stop_token_ids", "ignore_eos", "skip_special_tokens", "logit_bias", "seed"}  # fmt: skip
# What binds an answer to a form, by the field of StructuredOutputsParams.
_FORMS = {"json_schema": "json", "regex": "regex", "ebnf": "grammar", "structural_tag": "structural_tag"}
_CALL = {"return_logprob", "top_logprobs_num", "logprob_start_len", "stream", "input_ids"}
_DEFAULT_MAX_NEW_TOKENS = 128


class Output(Dict[str, Any]):
    """One answer: ``output["text"]`` or ``output.text``, "output_ids" and "meta_info" (see Engine.generate)."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"an output has no {name!r}, only {', '.join(self)}") from None


class Engine(ModelOwner):
    """A loaded model that answers prompts, with SGLang's names.

    Args:
        model_path: a model directory as published (or ``model``).
        random_seed: of the requests that bring none: the k-th has ``random_seed + k`` (or ``seed``).
        parameters: as of LLM.
    """

    def __init__(
        self,
        model_path: Optional[Path] = None,
        *,
        model: Optional[Path] = None,
        random_seed: Optional[int] = None,
        seed: Optional[int] = None,
        **parameters: Any,
    ) -> None:
        path = model_path if model_path is not None else model
        if path is None:
            raise TypeError("model_path is missing: the directory of a model")
        self._seeds = Seeds(random_seed if random_seed is not None else seed)
        self._model = load_model(path, parameters, "Engine")

    def generate(self, prompt: Any = None, sampling_params: Any = None, **parameters: Any) -> Any:
        """Continues a prompt, or each of a list.

        Args:
            prompt: a text or a list of texts; or ``input_ids``: token ids, or a list of such.
            sampling_params: a dict with SGLang's names (max_new_tokens, 128 unless given, temperature, top_p,
                top_k, min_p, stop, stop_token_ids, n, ...), for all or one for each prompt. They may stand as
                keywords too.
            parameters: these, and of a call return_logprob and top_logprobs_num (report log-probabilities),
                logprob_start_len=0 (the prompt's too), stream (yield the answer as it comes).

        Returns:
            An Output for one prompt with n = 1, else a list of them; with ``stream`` an iterator of Outputs
            with the text so far. "meta_info" has "id", "finish_reason" ({"type": "stop" | "length" | "abort",
            "matched": token or text}, None while it comes), "prompt_tokens", "completion_tokens",
            "cached_tokens", "e2e_latency" in seconds, "reasoning" (the text between <think> and </think>) and,
            where asked for, "output_token_logprobs", "output_top_logprobs", "input_token_logprobs":
            (logprob, id, text) for each token.

        Raises:
            ValueError, TypeError: a prompt or a parameter is not as expected; then nothing has run.
            KeyboardInterrupt: Ctrl-C; what was running has been cancelled.
        """
        return generate(self._model, self._seeds, prompt, sampling_params, **parameters)


class LLM(Engine):
    """The same, as SGLang's documents write it: ``sgl.LLM("path", max_seq_len=...)``.

    ``model_path``, ``model``, ``random_seed``, ``seed`` and ``parameters`` are those of Engine.
    """


def is_call(parameters: Mapping[str, Any]) -> bool:
    """Whether a call of generate is written for SGLang."""
    return any(name in _NAMES or name in _SAME or name in _CALL or name in _FORMS for name in parameters)


def generate(model: Model, seeds: Seeds, prompt: Any, sampling_params: Any, **parameters: Any) -> Any:
    """Engine.generate on a model."""
    call = {name: parameters.pop(name) for name in _CALL & set(parameters)}
    inline = {name: parameters.pop(name) for name in (_SAME | set(_NAMES) | set(_FORMS)) & set(parameters)}
    take_foreign(parameters, REQUEST, "generate")
    if (prompt is None) == (call.get("input_ids") is None):
        raise TypeError("expected one of prompt and input_ids")
    given = prompt if prompt is not None else call["input_ids"]
    single = is_single(given)
    prompts = [read_prompt(item, model) for item in ([given] if single else given)]
    params = _params(sampling_params, inline, call, len(prompts))
    if call.get("stream"):
        if not single or params[0].n != 1:
            raise ValueError("stream is for one prompt and n = 1")
        return _stream(model, seeds, prompts[0], params[0])
    results = answer_all(model, prompts, params, seeds)
    outputs = [
        _output(model, one, its, result) for one, its, answers in zip(prompts, params, results) for result in answers
    ]
    return outputs[0] if single and len(outputs) == 1 else outputs


def _params(
    sampling_params: Any, inline: Mapping[str, Any], call: Mapping[str, Any], count: int
) -> List[SamplingParams]:
    several = isinstance(sampling_params, Sequence) and not isinstance(sampling_params, str)
    dicts: Sequence[Any] = sampling_params if several else [sampling_params] * count
    if len(dicts) != count:
        raise ValueError(f"there are {count} prompts and {len(dicts)} sampling_params")
    return [_one_params(one, inline, call) for one in dicts]


def _one_params(given: Any, inline: Mapping[str, Any], call: Mapping[str, Any]) -> SamplingParams:
    if isinstance(given, SamplingParams):
        return given
    if given is not None and not isinstance(given, Mapping):
        raise TypeError(f"sampling_params is {given!r}, expected a dict")
    fields: Dict[str, Any] = {"max_tokens": _DEFAULT_MAX_NEW_TOKENS}
    foreign: Dict[str, Any] = {}
    form: Dict[str, Any] = {}
    for name, value in {**(given or {}), **inline}.items():
        if name in _NAMES or name in _SAME:
            fields[_NAMES.get(name, name)] = value
        elif name in _FORMS:
            form[_FORMS[name]] = value
        else:
            foreign[name] = value
    take_foreign(foreign, REQUEST, "sampling_params")
    if any(value is not None for value in form.values()):
        fields["structured_outputs"] = form
    if call.get("return_logprob"):
        fields["logprobs"] = int(call.get("top_logprobs_num") or 0)
        start = call.get("logprob_start_len")
        if start not in (None, -1, 0):
            raise ValueError(f"logprob_start_len is {start!r}, expected 0 (all of the prompt) or -1 (none of it)")
        if start == 0:
            fields["prompt_logprobs"] = fields["logprobs"]
    return SamplingParams(**fields)


def _output(model: Model, prompt: ReadPrompt, params: SamplingParams, result: _core.Result) -> Output:
    engine = model._engine
    one = completion(0, result, engine, params.stop_token_ids or [], params.detokenize)
    reason: Dict[str, Any] = {"type": one.finish_reason}
    if one.finish_reason == "stop":
        reason["matched"] = one.stop_reason if one.stop_reason is not None else one.token_ids[-1]
    elif one.finish_reason == "length":
        reason["length"] = len(one.token_ids)
    timings = result.timings
    seconds = timings["queue_seconds"] + timings["prefill"]["seconds"] + timings["decode"]["seconds"]
    meta = _meta(model, prompt, len(one.token_ids), reason)
    meta.update(cached_tokens=result.cached_tokens, e2e_latency=seconds, reasoning=one.reasoning)
    if params.logprobs is not None:
        meta["output_token_logprobs"] = _triples(one.token_ids, result.logprobs, model)
        meta["output_top_logprobs"] = [_top(token, model) for token in result.logprobs]
    if params.prompt_logprobs is not None:
        meta["input_token_logprobs"] = [
            (None, prompt.ids[0], token_text(prompt.ids[0], engine)),
            *_triples(prompt.ids[1:], result.prompt_logprobs, model),
        ]
        meta["input_top_logprobs"] = [None, *(_top(token, model) for token in result.prompt_logprobs)]
    return Output(text=one.text, output_ids=one.token_ids, meta_info=meta)


_numbers = itertools.count()


def _meta(model: Model, prompt: ReadPrompt, tokens: int, reason: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
    return {
        "id": str(next(_numbers)),
        "finish_reason": reason,
        "prompt_tokens": len(prompt.ids),
        "completion_tokens": tokens,
    }


def _triples(ids: Sequence[int], logprobs: Sequence[_core.TokenLogprobs], model: Model) -> List[Any]:
    return [(token.logprob, id, token_text(id, model._engine)) for id, token in zip(ids, logprobs)]


def _top(token: _core.TokenLogprobs, model: Model) -> List[Any]:
    return [(logprob, id, token_text(id, model._engine)) for id, logprob in token.top]


def _stream(model: Model, seeds: Seeds, prompt: ReadPrompt, params: SamplingParams) -> Iterator[Output]:
    """The text so far whenever there is more of it, and the whole output last."""
    (answer,) = submit(model, prompt.ids, params, seeds, pieces=True)
    text: List[str] = []
    ids: List[int] = []
    try:
        while True:
            wait(answer)
            done = answer.done
            pieces = answer.take()
            if done:
                break
            ids += [piece.id for piece in pieces]
            fresh = "".join(piece.text for piece in pieces if not piece.reasoning)
            if fresh:
                text.append(fresh)
                meta = _meta(model, prompt, len(ids), None)
                yield Output(text="".join(text), output_ids=list(ids), meta_info=meta)
        yield _output(model, prompt, params, answer.result())
    finally:
        answer.cancel()
