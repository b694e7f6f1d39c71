"""What comes back, in vLLM's shapes."""

from __future__ import annotations

import dataclasses
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from . import _core

#: How a finish is called there, where they call it by another name.
_FINISH_REASONS = {"cancelled": "abort", "timeout": "abort"}


@dataclasses.dataclass
class Logprob:
    """A token's log-probability under the model's own distribution (natural logarithm)."""

    #: At most 0.
    logprob: float
    #: 1: the most probable.
    rank: Optional[int] = None
    #: The token's text; half of a character shows as U+FFFD. None where the model has no tokenizer.
    decoded_token: Optional[str] = None


#: Of one place: the token that stands there, and the best ones, by id.
LogprobsOfToken = Dict[int, Logprob]


@dataclasses.dataclass
class CompletionOutput:
    """One answer to a prompt."""

    #: Its number among the n answers to the prompt.
    index: int
    #: Without stop token, stop text and reasoning.
    text: str
    #: All that were generated, the stop token among them.
    token_ids: List[int]
    #: The sum over token_ids, where logprobs were asked for.
    cumulative_logprob: Optional[float]
    #: For each of token_ids, where they were asked for.
    logprobs: Optional[List[LogprobsOfToken]]
    #: "stop" (a stop token or text), "length" (max_tokens or the context), "abort"; None while it comes.
    finish_reason: Optional[str] = None
    #: The stop text, or the one of stop_token_ids, that ended it; None where a token of the model's own did.
    stop_reason: Union[int, str, None] = None
    #: What stood between <think> and </think>.
    reasoning: str = ""

    def finished(self) -> bool:
        """Whether it has ended."""
        return self.finish_reason is not None


@dataclasses.dataclass
class RequestOutput:
    """A prompt and its answers."""

    #: The one that AsyncLLM.generate was given, or a number.
    request_id: str
    #: The prompt's text; None where it came as token ids.
    prompt: Optional[str]
    #: As the model read them.
    prompt_token_ids: List[int]
    #: For each prompt token, where they were asked for; None for the first, which nothing predicts.
    prompt_logprobs: Optional[List[Optional[LogprobsOfToken]]]
    #: n of them.
    outputs: List[CompletionOutput]
    #: False: more will come (AsyncLLM).
    finished: bool = True
    #: Tokens of the prompt that did not have to be read again.
    num_cached_tokens: Optional[int] = None
    #: "queue_seconds", and of "prefill" and "decode" the seconds, in all and by part, and FLOPs by part; of
    #: all passes that the first answer had a part in, its batch mates' work included.
    metrics: Optional[Mapping[str, Any]] = None

    @property
    def text(self) -> str:
        """The text of the first answer."""
        return self.outputs[0].text


def completion(
    index: int, result: _core.Result, engine: _core.Engine, stop_token_ids: Sequence[int], detokenize: bool
) -> CompletionOutput:
    """One answer as the engine gave it."""
    ids = result.ids
    logprobs = result.logprobs
    stopped = result.finish_reason == "stop" and bool(ids)
    return CompletionOutput(
        index=index,
        text=result.text if detokenize else "",
        token_ids=ids,
        cumulative_logprob=sum(token.logprob for token in logprobs) if logprobs else None,
        logprobs=[logprobs_of(id, token, engine) for id, token in zip(ids, logprobs)] if logprobs else None,
        finish_reason=_FINISH_REASONS.get(result.finish_reason, result.finish_reason),
        stop_reason=result.stop_text or (ids[-1] if stopped and ids[-1] in stop_token_ids else None),
        reasoning=result.reasoning if detokenize else "",
    )


def logprobs_of(id: int, token: _core.TokenLogprobs, engine: _core.Engine) -> LogprobsOfToken:
    """The log-probabilities of one place by token id: the best first, and the one that stands there."""
    at = {other: Logprob(logprob, rank, token_text(other, engine)) for rank, (other, logprob) in enumerate(token.top, 1)}
    at.setdefault(id, Logprob(token.logprob, token.rank, token_text(id, engine)))
    return at


def token_text(id: int, engine: _core.Engine) -> Optional[str]:
    """The text of a token, as in Logprob.decoded_token."""
    return engine.token_bytes(id).decode(errors="replace") if engine.info.has_tokenizer else None
