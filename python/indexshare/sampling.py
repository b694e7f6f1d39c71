"""How one request chooses its tokens, with vLLM's names and defaults."""

from __future__ import annotations

import dataclasses
import math
from enum import Enum
from typing import Any, Dict, List, Mapping, Optional, Tuple, Type, Union

from . import _core
from .foreign import refuse_values
from .structured import StructuredOutputsParams


class RequestOutputKind(Enum):
    """What AsyncLLM yields: all text so far each time, what is new, or the end alone."""

    CUMULATIVE = 0
    DELTA = 1
    FINAL_ONLY = 2


_NUMBER: Tuple[Type[Any], ...] = (int, float)
# Of each field: its types, None among them where that is allowed, and its bounds.
_FIELDS: Dict[str, Tuple[Tuple[Type[Any], ...], Optional[float], Optional[float]]] = {
    "n": ((int,), 1, 4096),
    "temperature": (_NUMBER, 0, None),
    "top_p": (_NUMBER, 0, 1),
    "top_k": ((int,), -1, 2**31 - 1),
    "min_p": (_NUMBER, 0, 1),
    "presence_penalty": (_NUMBER, -2, 2),
    "frequency_penalty": (_NUMBER, -2, 2),
    "repetition_penalty": (_NUMBER, 0, None),
    "seed": ((int, type(None)), 0, 2**64 - 1),
    "max_tokens": ((int, type(None)), 0, 2**31 - 1),
    "min_tokens": ((int,), 0, 2**31 - 1),
    "logprobs": ((int, type(None)), 0, _core.MAX_LOGPROBS),
    "thinking_token_budget": ((int, type(None)), 0, 2**31 - 1),
    "prompt_logprobs": ((int, type(None)), 0, _core.MAX_LOGPROBS),
}


@dataclasses.dataclass
class SamplingParams:
    """The parameters of one request.

    Attributes:
        n: answers to the same prompt. The i-th has the seed ``seed + i``.
        presence_penalty: taken off a token's logit once the answer had it, from -2 to 2.
        frequency_penalty: taken off a token's logit each time the answer had it, from -2 to 2.
        repetition_penalty: above 1: less of what prompt and answer hold already; above 0.
        temperature: 0: always the most probable token.
        top_p: keep the fewest tokens that hold this share, from 0 to 1.
        top_k: keep so many tokens; 0 or -1: all.
        min_p: keep tokens at least this probable, in shares of the most probable one.
        seed: of the random choices; None: the engine's, or another one each time.
        stop: texts that an answer ends before.
        stop_token_ids: tokens that it ends with, beside the model's own.
        include_stop_str_in_output: the stop text is part of the answer.
        ignore_eos: the model's own stop tokens do not stop.
        max_tokens: longest answer; None: as many as the context holds; 0: the prompt is only read.
        min_tokens: shortest answer.
        logprobs: report the log-probability of each token, and so many of the best (at most 20).
        prompt_logprobs: the same of the prompt's tokens.
        structured_outputs: the form that the answer must have: StructuredOutputsParams, or a dict of its fields.
        thinking_token_budget: most tokens of reasoning: then it is closed, once; None: any number.
        detokenize: False: leave the answer's text empty.
        skip_special_tokens: False: the text is that of all tokens, reasoning and its markers included.
        output_kind: what AsyncLLM yields.
        logit_bias: added to the logits of these ids, from -100 to 100.

    Of vLLM's others, spaces_between_special_tokens changes nothing, and bad_words, allowed_token_ids,
    logits_processors, truncate_prompt_tokens and extra_args are refused: what they ask for
    this engine has not.

    Raises:
        TypeError, ValueError: as soon as it is made; the sentence names the field.
    """

    n: int = 1
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    repetition_penalty: float = 1.0
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    seed: Optional[int] = None
    stop: Union[None, str, List[str]] = None
    stop_token_ids: Optional[List[int]] = None
    include_stop_str_in_output: bool = False
    ignore_eos: bool = False
    max_tokens: Optional[int] = 16
    min_tokens: int = 0
    logprobs: Optional[int] = None
    prompt_logprobs: Optional[int] = None
    thinking_token_budget: Optional[int] = None
    detokenize: bool = True
    skip_special_tokens: bool = True
    spaces_between_special_tokens: bool = True
    output_kind: RequestOutputKind = RequestOutputKind.CUMULATIVE
    logit_bias: Optional[Mapping[int, float]] = None
    bad_words: Optional[List[str]] = None
    allowed_token_ids: Optional[List[int]] = None
    structured_outputs: Union[None, StructuredOutputsParams, Mapping[str, Any]] = None
    logits_processors: Optional[Any] = None
    truncate_prompt_tokens: Optional[int] = None
    extra_args: Optional[Dict[str, Any]] = None

    def __post_init__(self) -> None:
        for name, (types, low, high) in _FIELDS.items():
            _check_number(name, getattr(self, name), types, low, high)
        if not self.repetition_penalty > 0:
            raise ValueError("repetition_penalty is 0, expected a number above 0")
        self.stop = [self.stop] if isinstance(self.stop, str) else list(self.stop or [])
        for text in self.stop:
            if not isinstance(text, str) or not text:
                raise ValueError(f"stop has {text!r}, expected texts that are not empty")
        self.stop_token_ids = list(self.stop_token_ids or [])
        if isinstance(self.structured_outputs, Mapping):
            self.structured_outputs = StructuredOutputsParams(**self.structured_outputs)
        if not isinstance(self.structured_outputs, (StructuredOutputsParams, type(None))):
            raise TypeError(f"structured_outputs is {self.structured_outputs!r}, expected StructuredOutputsParams")
        refuse_values({field.name: getattr(self, field.name) for field in dataclasses.fields(self)})

    def clone(self) -> SamplingParams:
        """A copy."""
        return dataclasses.replace(self)


def _check_number(
    name: str, value: Any, types: Tuple[Type[Any], ...], low: Optional[float], high: Optional[float]
) -> None:
    if not isinstance(value, types) or isinstance(value, bool):
        kind = "a whole number" if float not in types else "a number"
        raise TypeError(f"{name} is {value!r}, expected {kind}{' or None' if type(None) in types else ''}")
    if value is None:
        return
    if not math.isfinite(value) or (low is not None and value < low) or (high is not None and value > high):
        bounds = f"at least {low}" if high is None else f"from {low} to {high}"
        raise ValueError(f"{name} is {value!r}, expected a number {bounds}")
