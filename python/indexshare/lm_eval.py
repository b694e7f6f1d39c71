"""The model "indexshare" of lm-eval, EleutherAI's evaluation harness.

    python -m indexshare.lm_eval --model indexshare --model_args model=models/pocket --tasks ...

is lm-eval's own command line with that model among its own; a program has it once it has imported this module.
Needs lm-eval (``pip install lm-eval``), and neither PyTorch nor transformers.
"""

from __future__ import annotations

import warnings
from typing import Any, Iterator, List, Mapping, Optional, Sequence, Tuple

try:
    from lm_eval.api.model import LM
    from lm_eval.api.registry import register_model
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(f"indexshare.lm_eval needs lm-eval: pip install lm-eval ({error})") from None

from . import _core
from .llm import LLM
from .model import Path
from .requests import ReadPrompt, Seeds, answer_all
from .sampling import SamplingParams

_BLOCK = 1024  # requests that are handed over at once: bounds the memory of what comes back
_SCORE = SamplingParams(max_tokens=0, prompt_logprobs=0)


@register_model("indexshare")
class IndexShareLM(LM):  # type: ignore[misc,unused-ignore]
    """A model for lm-eval.

    Args:
        model: its directory (or ``pretrained``).
        max_gen_toks: longest answer where a task does not say.
        prefix_token_id: the token that a text without context is scored behind; None: the model's
            bos_token_id, or where it has none the first of its stop tokens.
        batch_size, max_batch_size, device: ignored; the engine batches by itself.
        parameters: as of LLM (``max_model_len``, ``dtype``...).

    What does not fit into the context is shortened at its beginning, with a warning. An Instance of lm-eval
    is anything with ``args``.
    """

    def __init__(
        self,
        model: Optional[Path] = None,
        *,
        pretrained: Optional[Path] = None,
        max_gen_toks: int = 256,
        prefix_token_id: Optional[int] = None,
        batch_size: object = None,
        max_batch_size: object = None,
        device: object = None,
        **parameters: Any,
    ) -> None:
        super().__init__()
        path = model if model is not None else pretrained
        if path is None:
            raise TypeError("model is missing: the directory of a model, as in --model_args model=models/pocket")
        self._llm = LLM(path, **parameters)
        self._max_gen_toks = max_gen_toks
        info = self._llm.model.info
        self._context = info.context
        if self._context < 2:
            raise ValueError(f"the context is {self._context} tokens, expected at least 2")
        ends = [*([] if info.bos_id is None else [info.bos_id]), *info.stop_ids]
        if prefix_token_id is None and not ends:
            raise ValueError("prefix_token_id is missing: the model has neither bos_token_id nor stop tokens")
        self._prefix = ends[0] if prefix_token_id is None else prefix_token_id

    def loglikelihood(self, requests: Sequence[Any], disable_tqdm: bool = False) -> List[Tuple[float, bool]]:
        """Of each (context, continuation): the log-probability of the continuation (natural logarithm), and
        whether each of its tokens is the most probable one."""
        parts = [self._split(*request.args) for request in requests]
        scored = self._score(parts, "scoring", not disable_tqdm)
        answers = [(sum(token.logprob for token in tokens), all(token.rank == 1 for token in tokens)) for tokens in scored]
        for request, answer in zip(requests, answers):
            self.cache_hook.add_partial("loglikelihood", request.args, answer)
        return answers

    def loglikelihood_rolling(self, requests: Sequence[Any], disable_tqdm: bool = False) -> List[float]:
        """Of each text: its log-probability behind the prefix token. A text longer than the context is scored
        window by window, each token once and with as much before it as the context holds."""
        windows = [
            (place, window)
            for place, request in enumerate(requests)
            for window in _windows([self._prefix, *self._encode(request.args[0])], self._context)
        ]
        sums = [0.0] * len(requests)
        scored = self._score([window for _, window in windows], "scoring texts", not disable_tqdm)
        for (place, _), tokens in zip(windows, scored):
            sums[place] += sum(token.logprob for token in tokens)
        for request, answer in zip(requests, sums):
            self.cache_hook.add_partial("loglikelihood_rolling", request.args, answer)
        return sums

    def generate_until(self, requests: Sequence[Any], disable_tqdm: bool = False) -> List[str]:
        """Of each (context, settings): the text that the model goes on with, up to one of the texts in
        "until". Greedy unless "temperature" says otherwise; "max_gen_toks", "top_p", "seed" and what else
        SamplingParams has are taken too."""
        prompts, params = [], []
        for request in requests:
            context, settings = request.args
            params.append(self._params(settings))
            prompts.append(self._fitting(self._encode(context), params[-1].max_tokens or 0))
        texts = [result.text for result in self._ask(prompts, params, "answering", not disable_tqdm)]
        for request, text in zip(requests, texts):
            self.cache_hook.add_partial("generate_until", request.args, text)
        return texts

    def apply_chat_template(self, chat_history: Sequence[Mapping[str, str]], add_generation_prompt: bool = True) -> str:
        """The text of a prompt by the model's chat template."""
        return self._llm.model.template(chat_history, add_generation_prompt=add_generation_prompt)

    @property
    def tokenizer_name(self) -> str:
        """By which lm-eval tells apart what it has prepared for different models: the model's directory."""
        return self._llm.model.path

    def _encode(self, text: str) -> List[int]:
        return self._llm.model.tokenizer.encode(text)

    def _split(self, context: str, continuation: str) -> Tuple[List[int], int]:
        """The tokens of both, and how many belong to the continuation. As in all models of lm-eval, spaces
        between them belong to it, and the context ends after as many tokens as it has alone."""
        before = self._encode(context.rstrip()) or [self._prefix]
        whole = self._encode(context + continuation)
        if not context.rstrip() and whole[:1] != before:
            whole = before + whole
        return whole, max(len(whole) - len(before), 0)

    def _score(
        self, parts: Sequence[Tuple[List[int], int]], what: str, show: bool
    ) -> Iterator[List[_core.TokenLogprobs]]:
        """Of each sequence: the log-probabilities of its last tokens, as many as stand beside it."""
        prompts = [self._fitting(ids, 0) for ids, _ in parts]
        for (_, count), result in zip(parts, self._ask(prompts, [_SCORE] * len(prompts), what, show)):
            yield result.prompt_logprobs[-count:] if count else []

    def _ask(
        self, prompts: Sequence[List[int]], params: Sequence[SamplingParams], what: str, show: bool
    ) -> Iterator[_core.Result]:
        from tqdm.auto import tqdm

        with tqdm(total=len(prompts), desc=what, disable=not show) as bar:
            for start in range(0, len(prompts), _BLOCK):
                block = [ReadPrompt(None, ids) for ids in prompts[start : start + _BLOCK]]
                given = params[start : start + _BLOCK]
                for (result,) in answer_all(self._llm.model, block, given, Seeds(0), lambda: bar.update(1)):
                    yield result

    def _fitting(self, ids: List[int], answer: int) -> List[int]:
        most = self._context - answer
        if most < 1:
            raise ValueError(f"max_gen_toks is {answer}, but the context is {self._context} tokens")
        if len(ids) > most:
            warnings.warn(f"a prompt of {len(ids)} tokens is shortened to its last {most}", stacklevel=2)
        return ids[-most:]

    def _params(self, settings: Mapping[str, Any]) -> SamplingParams:
        given = dict(settings)
        given.pop("do_sample", None)  # the temperature says it
        until = given.pop("until", None) or []
        stop = [until] if isinstance(until, str) else [text for text in until if text]
        tokens = [given.pop(name, None) for name in ("max_gen_toks", "max_tokens")]
        most = next((count for count in tokens if count is not None), self._max_gen_toks)
        return SamplingParams(**{"temperature": 0, **given, "stop": stop, "max_tokens": most})


def _windows(sequence: List[int], longest: int) -> Iterator[Tuple[List[int], int]]:
    """A sequence in windows of at most so many tokens, and how many at the end of each no window before it
    has; the first token counts for none."""
    done = 1
    while done < len(sequence):
        end = min(done + longest - 1, len(sequence))
        yield sequence[max(end - longest, 0) : end], end - done
        done = end


if __name__ == "__main__":
    from lm_eval.__main__ import cli_evaluate

    cli_evaluate()
