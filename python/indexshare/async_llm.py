"""vLLM's AsyncLLM: answers as they come, in an asyncio program."""

from __future__ import annotations

import asyncio
import itertools
import weakref
from typing import Any, AsyncIterator, Dict, List, Mapping, Optional, Sequence, Set, Tuple

from . import _core
from .foreign import REQUEST, take_foreign
from .llm import ModelOwner, load_model, request_output
from .model import Message, Path, Tokenizer
from .outputs import CompletionOutput, RequestOutput
from .requests import Prompt, ReadPrompt, Seeds, read_prompt, spread_params, submit
from .sampling import RequestOutputKind, SamplingParams


class _Bell:
    """Wakes the tasks of one event loop when the engine has something for any of them."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.waker = _core.Waker()
        self._events: Set[asyncio.Event] = set()
        loop.add_reader(self.waker.fileno(), self._ring)

    def _ring(self) -> None:
        self.waker.clear()
        for event in self._events:
            event.set()

    def listen(self) -> asyncio.Event:
        event = asyncio.Event()
        self._events.add(event)
        return event

    def leave(self, event: asyncio.Event) -> None:
        self._events.discard(event)


class AsyncLLM(ModelOwner):
    """A loaded model that answers prompts in an asyncio program, any number at once.

    ``model``, ``seed``, ``parameters`` and what it raises are those of LLM. Loading blocks: do it before the loop
    begins, or in an executor.
    """

    def __init__(self, model: Path, *, seed: Optional[int] = None, **parameters: Any) -> None:
        self._seeds = Seeds(seed)
        self._model = load_model(model, parameters, "AsyncLLM")
        self._numbers = itertools.count()
        self._bells: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Bell] = weakref.WeakKeyDictionary()
        self._running: Dict[str, List[_core.Answer]] = {}

    def get_tokenizer(self) -> Tokenizer:
        """Text to ids and back."""
        return self._model.tokenizer

    async def generate(
        self,
        prompt: Prompt,
        sampling_params: Optional[SamplingParams] = None,
        request_id: Optional[str] = None,
        **parameters: Any,
    ) -> AsyncIterator[RequestOutput]:
        """Continues a prompt: ``async for output in llm.generate("...")``.

        Args:
            prompt: a text, token ids, ``{"prompt": text}``, ``{"prompt_token_ids": ids}``.
            sampling_params: None: what the model's files ask for.
            request_id: what abort() calls it, and the output; None: a number.
            parameters: of vLLM's; ignored with one warning, or refused.

        Yields:
            By ``sampling_params.output_kind``, whenever there is more, all that there is so far (CUMULATIVE) or
            what is new (DELTA), and last the finished output; or this alone (FINAL_ONLY). Leaving the loop,
            cancelling the task or abort() ends the request within a step.

        Raises:
            ValueError, TypeError: a parameter is not as expected, or a request of this id is running.
        """
        take_foreign(parameters, REQUEST, "generate")
        (params,) = spread_params(sampling_params, 1, self._model)
        read = read_prompt(prompt, self._model)
        number = request_id if request_id is not None else str(next(self._numbers))
        if number in self._running:
            raise ValueError(f"request_id is {number!r}, of a request that is running")
        loop = asyncio.get_running_loop()
        bell = self._bells.get(loop) or self._bells.setdefault(loop, _Bell(loop))
        whole = params.output_kind is RequestOutputKind.FINAL_ONLY
        answers = submit(self._model, read.ids, params, self._seeds, pieces=not whole, waker=bell.waker)
        self._running[number] = answers
        event = bell.listen()
        parts = [_Part(index) for index in range(params.n)]
        try:
            while True:
                done = all(answer.done for answer in answers)
                fresh = [part.take(answer) for part, answer in zip(parts, answers)]
                if done:
                    break
                if any(fresh):
                    yield self._so_far(number, read, params, parts)
                await event.wait()
                event.clear()
            output = request_output(number, self._model, read, params, [answer.result() for answer in answers])
            if params.output_kind is RequestOutputKind.DELTA:
                for part, completed in zip(parts, output.outputs):
                    completed.text, completed.token_ids = part.rest(completed)
            yield output
        finally:
            bell.leave(event)
            self._running.pop(number, None)
            for answer in answers:
                answer.cancel()

    def _so_far(
        self, number: str, prompt: ReadPrompt, params: SamplingParams, parts: Sequence[_Part]
    ) -> RequestOutput:
        delta = params.output_kind is RequestOutputKind.DELTA
        return RequestOutput(
            request_id=number,
            prompt=prompt.text,
            prompt_token_ids=prompt.ids,
            prompt_logprobs=None,
            outputs=[part.output(delta, params.detokenize) for part in parts],
            finished=False,
        )

    async def chat(
        self,
        messages: Sequence[Message],
        sampling_params: Optional[SamplingParams] = None,
        request_id: Optional[str] = None,
        *,
        tools: Optional[Sequence[Mapping[str, Any]]] = None,
        chat_template_kwargs: Optional[Mapping[str, Any]] = None,
    ) -> AsyncIterator[RequestOutput]:
        """Answers a conversation through the model's chat template.

        ``messages``, ``tools`` and ``chat_template_kwargs`` are those of LLM.chat, ``sampling_params`` and
        ``request_id`` those of generate, as which it yields and raises.
        """
        variables = dict(chat_template_kwargs or {})
        if tools:
            variables["tools"] = list(tools)
        text = self._model.template(messages, **variables)
        async for output in self.generate(text, sampling_params, request_id):
            yield output

    async def abort(self, request_id: str) -> None:
        """Ends the request ``request_id`` within a step, with the finish reason "abort". One that has ended, or
        never was, raises nothing."""
        for answer in self._running.get(request_id, ()):
            answer.cancel()


class _Part:
    """What has come of one answer."""

    def __init__(self, index: int) -> None:
        self._index = index
        self._text: List[str] = []
        self._reasoning: List[str] = []
        self._ids: List[int] = []
        self._shown_text = self._shown_ids = 0

    def take(self, answer: _core.Answer) -> bool:
        pieces = answer.take()
        for piece in pieces:
            (self._reasoning if piece.reasoning else self._text).append(piece.text)
            self._ids.append(piece.id)
        return bool(pieces)

    def output(self, delta: bool, detokenize: bool) -> CompletionOutput:
        text, ids = "".join(self._text), list(self._ids)
        if delta:
            text, ids = text[self._shown_text :], ids[self._shown_ids :]
            self._shown_text += len(text)
            self._shown_ids += len(ids)
        reasoning = "".join(self._reasoning)
        return CompletionOutput(
            index=self._index,
            text=text if detokenize else "",
            token_ids=ids,
            cumulative_logprob=None,
            logprobs=None,
            reasoning=reasoning if detokenize else "",
        )

    def rest(self, whole: CompletionOutput) -> Tuple[str, List[int]]:
        return whole.text[self._shown_text :], whole.token_ids[self._shown_ids :]
