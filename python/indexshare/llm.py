"""vLLM's LLM on this engine."""

from __future__ import annotations

import itertools
import json
import pathlib
import warnings
from types import TracebackType
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Type, TypeVar, Union, cast

from . import _core
from .foreign import ENGINE, REQUEST, take_foreign
from .model import Message, Model, Path, Tokenizer
from .outputs import RequestOutput, completion, logprobs_of
from .requests import Prompt, ReadPrompt, Seeds, answer_all, is_single, read_prompt, spread_params
from .sampling import SamplingParams

# Names that their programs use, and ours.
_ALIASES = {
    "max_model_len": "context",
    "max_seq_len": "context",
    "context_length": "context",
    "max_num_seqs": "max_running",
    "max_running_requests": "max_running",
    "max_queued_requests": "max_waiting",
    "max_num_batched_tokens": "chunk",
    "chunked_prefill_size": "chunk",
    "enable_prefix_caching": "reuse_prefixes",
    "dtype": "compute",
    "kv_cache_dtype": "cache_dtype",
}
_FLOAT_TYPES = {"float32": "f32", "float": "f32", "bfloat16": "bf16", "bf16": "bf16", "f32": "f32", "auto": "auto"}
_OWN = {
    "threads", "numa_nodes", "compute", "cache_dtype", "index_keys", "schedule", "latent_norm_eps", "context",
    "cache_bytes", "chunk", "ram_bytes", "max_running", "max_waiting", "reuse_prefixes",
}  # fmt: skip


def load_model(path: Path, given: Mapping[str, Any], whose: str) -> Model:
    """A model, with settings by the names of vLLM, of SGLang or of Model."""
    settings: Dict[str, Any] = {}
    foreign: Dict[str, Any] = {}
    for name, value in given.items():
        own = _ALIASES.get(name, name)
        if name == "disable_radix_cache":
            own, value = "reuse_prefixes", not value
        if own not in _OWN:
            foreign[name] = value
            continue
        if value is None:
            continue
        if own in settings:
            raise ValueError(f"{name} says again what another parameter said: give one of them")
        if name in ("dtype", "kv_cache_dtype"):
            value = _float_type(name, value)
        settings[own] = value
    take_foreign(foreign, ENGINE, whose)
    if isinstance(settings.get("context"), int):
        settings["context"] = _bounded_context(path, settings["context"])
    return Model(path, **settings)


def _float_type(name: str, value: object) -> str:
    spelled = str(value).replace("torch.", "")  # torch.bfloat16 too
    if spelled not in _FLOAT_TYPES:
        raise ValueError(f"{name} is {value!r}, expected auto, float32 or bfloat16: values are held in these alone")
    return _FLOAT_TYPES[spelled]


def _bounded_context(path: Path, asked: int) -> int:
    """A program that asks for a million tokens runs with a smaller model too."""
    try:
        config = json.loads((pathlib.Path(path) / "config.json").read_text(encoding="utf-8"))
        positions = int(config["max_position_embeddings"])
    except (OSError, ValueError, KeyError, TypeError):
        return asked  # loading finds out what is wrong, and says so
    if asked > positions > 0:
        warnings.warn(f"the context is {positions} tokens, all that the model has, not {asked}", stacklevel=4)
        return positions
    return asked


_Owner = TypeVar("_Owner", bound="ModelOwner")


class ModelOwner:
    """What owns a model, under the names of whoever it stands in for."""

    _model: Model

    @property
    def model(self) -> Model:
        """The engine underneath."""
        return self._model

    def shutdown(self) -> None:
        """Cancels what is running and gives the memory back."""
        self._model.close()

    def __enter__(self: _Owner) -> _Owner:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.shutdown()


class LLM(ModelOwner):
    """A loaded model that answers prompts, with vLLM's names.

    Args:
        model: a model directory as published; nothing is downloaded.
        seed: of the requests that bring none: the k-th has ``seed + k``. None: another one each time.
        parameters: of vLLM (``max_model_len`` or ``max_seq_len``, ``dtype``, ``kv_cache_dtype``,
            ``max_num_seqs``, ``max_num_batched_tokens``, ``enable_prefix_caching``) or of Model. More context
            than the model has becomes what it has, with a warning. Others of vLLM or SGLang are ignored with
            one warning where that is harmless, and refused where it is not.

    Raises:
        FileNotFoundError, ValueError, TypeError, MemoryError: as Model does.

    All methods may be called from any thread. Called with SGLang's keywords (``max_new_tokens``,
    ``temperature``... or ``sampling_params`` as a dict), generate answers in SGLang's shape.
    """

    def __init__(self, model: Path, *, seed: Optional[int] = None, **parameters: Any) -> None:
        self._seeds = Seeds(seed)
        self._model = load_model(model, parameters, "LLM")
        self._numbers = itertools.count()

    def get_tokenizer(self) -> Tokenizer:
        """Text to ids and back."""
        return self._model.tokenizer

    def get_default_sampling_params(self) -> SamplingParams:
        """What the model's generation_config.json asks for: what generate takes where it is given none."""
        return spread_params(None, 1, self._model)[0]

    def generate(
        self,
        prompts: Union[Prompt, Sequence[Prompt]],
        sampling_params: Union[None, SamplingParams, Sequence[SamplingParams], Mapping[str, Any]] = None,
        *,
        use_tqdm: Union[bool, Callable[..., Any]] = True,
        **parameters: Any,
    ) -> Any:
        """Continues prompts.

        Args:
            prompts: one or a list: a text, token ids, ``{"prompt": text}``, ``{"prompt_token_ids": ids}``.
            sampling_params: for all, or one for each; None: what the model's files ask for.
            use_tqdm: show a progress bar on a terminal, or the function that makes one.
            parameters: of vLLM's; ignored with one warning, or refused. With SGLang's it is SGLang's call.

        Returns:
            A list with a RequestOutput for each prompt, in their order; what SGLang's Engine.generate returns
            where it was called as that is.

        Raises:
            ValueError, TypeError: a prompt or a parameter is not as expected; then nothing has run.
            KeyboardInterrupt: Ctrl-C; what was running has been cancelled.
        """
        from . import sglang

        if isinstance(sampling_params, Mapping) or sglang.is_call(parameters):
            return sglang.generate(self._model, self._seeds, prompts, sampling_params, **parameters)
        take_foreign(parameters, REQUEST, "generate")
        items = [prompts] if is_single(prompts) else list(cast(Iterable[Prompt], prompts))
        return self._answer([read_prompt(item, self._model) for item in items], sampling_params, use_tqdm)

    def chat(
        self,
        messages: Union[Sequence[Message], Sequence[Sequence[Message]]],
        sampling_params: Union[None, SamplingParams, Sequence[SamplingParams]] = None,
        use_tqdm: Union[bool, Callable[..., Any]] = True,
        *,
        add_generation_prompt: bool = True,
        tools: Optional[Sequence[Mapping[str, Any]]] = None,
        chat_template_kwargs: Optional[Mapping[str, Any]] = None,
        **parameters: Any,
    ) -> List[RequestOutput]:
        """Answers a conversation, or each of several, through the model's chat template.

        Args:
            messages: of one conversation, or a list of conversations.
            sampling_params, use_tqdm, parameters: as of generate.
            add_generation_prompt: let the model answer, rather than go on with the last message.
            tools: that the model may call, as OpenAI's interface describes them.
            chat_template_kwargs: what else the template reads: enable_thinking, reasoning_effort...

        Returns and raises as generate does.
        """
        take_foreign(parameters, REQUEST, "chat")
        single = bool(messages) and isinstance(messages[0], Mapping)
        conversations = cast(Sequence[Sequence[Message]], [messages] if single else messages)
        variables = dict(chat_template_kwargs or {}, add_generation_prompt=add_generation_prompt)
        if tools:
            variables["tools"] = list(tools)
        texts = [self._model.template(conversation, **variables) for conversation in conversations]
        return self._answer([read_prompt(text, self._model) for text in texts], sampling_params, use_tqdm)

    def _answer(
        self,
        prompts: Sequence[ReadPrompt],
        sampling_params: Union[None, SamplingParams, Sequence[SamplingParams]],
        use_tqdm: Union[bool, Callable[..., Any]],
    ) -> List[RequestOutput]:
        params = spread_params(sampling_params, len(prompts), self._model)
        with progress_bar(use_tqdm, sum(one.n for one in params)) as bar:
            results = answer_all(self._model, prompts, params, self._seeds, lambda: bar.update(1))
        return [
            request_output(str(next(self._numbers)), self._model, prompt, one, its)
            for prompt, one, its in zip(prompts, params, results)
        ]


def request_output(
    number: str, model: Model, prompt: ReadPrompt, params: SamplingParams, results: Sequence[_core.Result]
) -> RequestOutput:
    """A prompt with its finished answers."""
    engine = model._engine
    stops = params.stop_token_ids or []
    scored = results[0].prompt_logprobs if params.prompt_logprobs is not None else None
    return RequestOutput(
        request_id=number,
        prompt=prompt.text,
        prompt_token_ids=prompt.ids,
        prompt_logprobs=None
        if scored is None
        else [None, *(logprobs_of(id, token, engine) for id, token in zip(prompt.ids[1:], scored))],
        outputs=[completion(i, result, engine, stops, params.detokenize) for i, result in enumerate(results)],
        num_cached_tokens=results[0].cached_tokens,
        metrics=results[0].timings,
    )


def progress_bar(use_tqdm: Union[bool, Callable[..., Any]], total: int) -> Any:
    """A bar on a terminal or in a notebook, or what behaves like one and shows nothing."""
    if callable(use_tqdm):
        return use_tqdm(total=total, desc="answers")
    from tqdm.auto import tqdm

    return tqdm(total=total, desc="answers", unit="", disable=None if use_tqdm else True)
