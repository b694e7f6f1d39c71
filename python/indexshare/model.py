"""The engine itself: a loaded model, what it computes, and what it is doing."""

from __future__ import annotations

import dataclasses
import json
import os
from types import TracebackType
from typing import TYPE_CHECKING, Any, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Type, Union

from . import _core

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: A path of a model directory or of a session file.
Path = Union[str, "os.PathLike[str]"]
#: One message of a conversation, as OpenAI's interface writes it: "role", "content", "tool_calls"...
Message = Mapping[str, Any]


class Forward(NamedTuple):
    """What one pass over S tokens showed; None where it was not asked for.

    The arrays are the engine's own buffers, handed over without a copy.
    """

    #: Before softmax, [S, vocab_size] float32.
    logits: Optional[NDArray[np.float32]]
    #: What each full layer selected for each token, [full layers, S, index_topk] int32: positions in the
    #: sequence, ascending, then -1. The shared layers behind a full layer attend to the same positions.
    selections: Optional[NDArray[np.int32]]
    #: The residual stream, [layers + 2, S, hidden_size] float32: the embedding, the stream after each layer,
    #: and the last one after the final norm.
    hidden: Optional[NDArray[np.float32]]


@dataclasses.dataclass(frozen=True)
class Tokenizer:
    """Text to token ids and back, by the model's tokenizer.json.

    Its methods raise ValueError where the model has none, and for what is no token id.
    """

    _engine: _core.Engine

    def encode(self, text: str, *, plain: bool = False) -> List[int]:
        """The ids of a text. ``plain``: the text of a special token is text like any other."""
        return self._engine.encode(checked_text(text, "text"), plain)

    def decode(self, ids: Iterable[int], *, skip_special_tokens: bool = True) -> str:
        """The text of ids, without that of special tokens unless ``skip_special_tokens`` is false; what is no
        whole UTF-8 becomes U+FFFD."""
        return self._engine.decode(token_ids(ids, "ids"), skip_special_tokens)

    def token_bytes(self, id: int) -> bytes:
        """The bytes that the token ``id`` stands for, perhaps part of a character."""
        return self._engine.token_bytes(id)


class Model:
    """A loaded model. All methods may be called from any thread, and let other threads run while they compute.

    Args:
        path: a model directory as published: config.json, safetensors, tokenizer.json, chat template.
        threads: to compute with; 0: one per processor.
        numa_nodes: memory nodes to share work and caches over; 0: all that the machine has.
        compute: how activations are held, "auto", "f32" or "bf16"; auto: bf16 for bf16 and fp8 checkpoints.
        cache_dtype: how the cache is held, "auto" (as compute), "f32" or "bf16".
        index_keys: how index keys are held, "plain" (as the cache), "int8" or "screened".
        schedule: a letter per layer, F (builds an index) or S (shares the last one); empty: the model's own.
        latent_norm_eps: epsilon of q_a_layernorm and kv_a_layernorm.
        context: tokens that a sequence may have; 0: max_position_embeddings, or what fits into memory.
        cache_bytes: bound of all caches; 0: what fits into memory.
        chunk: tokens in one forward pass.
        ram_bytes: memory to stay inside; 0: what the machine has available.
        max_running: requests that are worked on at once; others wait.
        max_waiting: requests that may wait; one more raises RuntimeError; 0: any number.
        reuse_prefixes: keep the cache of finished requests for those that begin alike.

    Raises:
        FileNotFoundError: there is no such directory.
        ValueError: a file of the model or an argument is not as expected; the sentence says which and how.
        TypeError: an argument has another type.
        MemoryError: it does not fit.
    """

    def __init__(
        self,
        path: Path,
        *,
        threads: int = 0,
        numa_nodes: int = 0,
        compute: str = "auto",
        cache_dtype: str = "auto",
        index_keys: str = "plain",
        schedule: str = "",
        latent_norm_eps: float = 1e-6,
        context: int = 0,
        cache_bytes: int = 0,
        chunk: int = 512,
        ram_bytes: int = 0,
        max_running: int = 64,
        max_waiting: int = 0,
        reuse_prefixes: bool = True,
    ) -> None:
        self._settings = {
            "threads": threads,
            "numa_nodes": numa_nodes,
            "compute": compute,
            "cache_dtype": cache_dtype,
            "index_keys": index_keys,
            "schedule": schedule,
            "latent_norm_eps": latent_norm_eps,
            "context": context,
            "cache_bytes": cache_bytes,
            "chunk": chunk,
            "ram_bytes": ram_bytes,
            "max_running": max_running,
            "max_waiting": max_waiting,
            "reuse_prefixes": reuse_prefixes,
        }
        options = _core.Options()
        for name, value in self._settings.items():
            set_field(options, name, value)
        self._path = os.fspath(path)
        if not isinstance(self._path, str):
            raise TypeError(f"model is {self._path!r}, expected the path of a directory")
        if not os.path.isdir(self._path):
            raise FileNotFoundError(
                f"{self._path}: there is no such directory (a model is a local directory; nothing is downloaded)"
            )
        self._engine = _core.Engine(self._path, options)

    @property
    def path(self) -> str:
        """The directory that it was loaded from."""
        return self._path

    @property
    def info(self) -> _core.Info:
        """What was loaded, with every default resolved."""
        return self._engine.info

    @property
    def schedule(self) -> str:
        """A letter per layer: F builds an index, S shares that of the last F."""
        return self._engine.info.schedule

    def with_schedule(self, schedule: str) -> Model:
        """The same weights under another schedule, as another model (the files are mapped, not copied).

        A full layer may become a shared one; a shared one has no indexer to build an index with: ValueError.
        """
        return Model(self._path, **{**self._settings, "schedule": schedule})  # type: ignore[arg-type]

    @property
    def tokenizer(self) -> Tokenizer:
        """Text to ids and back."""
        return Tokenizer(self._engine)

    def template(self, messages: Sequence[Message], **variables: Any) -> str:
        """The text of a prompt by the model's chat template.

        ``variables`` are what else the template reads: tools, enable_thinking, reasoning_effort...
        add_generation_prompt is true unless given. Raises ValueError where the model has no template or the
        template refuses the messages.
        """
        given = {"messages": [_plain_message(message) for message in messages], **variables}
        if "reasoning_effort" in given:
            given.update(_effort(given.pop("reasoning_effort")))
        return self._engine.render_chat(json.dumps(given))

    def forward(
        self, ids: Iterable[int], *, logits: bool = True, selections: bool = True, hidden: bool = True
    ) -> Forward:
        """Runs S tokens as a sequence of its own and shows what the model computed: those of ``logits``,
        ``selections`` and ``hidden`` that are asked for; see Forward for shapes.

        It runs between two steps of what else the engine does, which waits for it. Ctrl-C stops it after
        the chunk that it is at. Raises ValueError for ids that are no tokens, or too many, and MemoryError
        where the arrays do not fit.
        """
        return Forward(*self._engine.forward(token_ids(ids, "ids"), logits, selections, hidden))

    def flops(
        self, context: int, *, full_layers: Optional[float] = None, form: str = "expanded"
    ) -> Mapping[str, int]:
        """FLOPs of one token at the end of a context, by part ("index", "attention", "projections", "experts",
        "head") and in all ("total"), 2 per multiply-add.

        Args:
            context: tokens, the one itself among them.
            full_layers: layers that build an index; none: as the schedule says. It may be a fraction.
            form: "expanded" as published, or "latent" as this engine computes attention.
        """
        if form not in ("expanded", "latent"):
            raise ValueError(f'form is "{form}", expected "expanded" or "latent"')
        if full_layers is None:
            full_layers = self.schedule.count("F")
        return self._engine.flops(context, full_layers, form == "latent")

    def save(self, file: Path, ids: Iterable[int]) -> None:
        """Writes a sequence to a session file: its ids and all that the cache holds of them, which is computed
        first where it is not held. The file is written whole or not at all. Raises OSError, or MemoryError
        where the cache has no room."""
        self._engine.save_session(os.fspath(file), token_ids(ids, "ids"))

    def restore(self, file: Path) -> List[int]:
        """Brings a session file back and returns its ids: a request that begins with them goes on from there,
        bit for bit. Raises ValueError for a file that is damaged, or of another model or version."""
        if not os.path.exists(file):
            raise FileNotFoundError(f"{os.fspath(file)}: there is no such file")
        return self._engine.restore_session(os.fspath(file))

    def metrics(self) -> Mapping[str, Any]:
        """Counts since the model was loaded, and what it is doing now: requests ("running", "waiting",
        "submitted", "finished", "failed", "cancelled", "preempted"), tokens ("prompt_tokens",
        "cached_tokens", "generated_tokens"), forward passes ("steps", "step_tokens"), the cache
        ("pages_in_use", "pages_kept", "page_tokens", "page_bytes", "cache_bytes", "cache_budget_bytes"), and
        "work": seconds and FLOPs in all and by part."""
        return self._engine.statistics()

    def close(self) -> None:
        """Cancels what is running and gives the memory back. Whatever else is asked of it then raises
        RuntimeError."""
        self._engine.close()

    def __enter__(self) -> Model:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Model({self._path!r}{', closed' if self._engine.closed else ''})"


def set_field(target: object, name: str, value: object) -> None:
    """Sets an attribute of an object of the engine, and names it where the type is wrong."""
    try:
        setattr(target, name, value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}, of a wrong type or out of range") from None


def token_ids(ids: Iterable[int], name: str) -> List[int]:
    """A list of plain integers, from a list, a tuple, an array..."""
    if isinstance(ids, (str, bytes)) or not isinstance(ids, Iterable):
        raise TypeError(f"{name} is {ids!r}, expected token ids")
    if getattr(ids, "ndim", 1) != 1:
        raise ValueError(f"{name} has the shape {getattr(ids, 'shape', None)}, expected one dimension")
    plain: List[int] = ids.tolist() if hasattr(ids, "tolist") else list(ids)
    for place, token in enumerate(plain):
        if isinstance(token, bool) or not isinstance(token, int):
            raise TypeError(f"{name}[{place}] is {token!r}, expected a token id")
        if not 0 <= token < 2**31:
            raise ValueError(f"{name}[{place}] is {token}, expected a token id")
    return plain


def checked_text(text: str, name: str) -> str:
    """A string that is Unicode."""
    if not isinstance(text, str):
        raise TypeError(f"{name} is {text!r}, expected a string")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{name} is no Unicode text: it has half a surrogate pair at place {error.start}") from None
    return text


def _plain_message(message: Message) -> Message:
    """What clients write in two ways, in the one that templates read."""
    plain = dict(message)
    if plain.get("content", "") is None:
        plain["content"] = ""
    if plain.get("tool_calls"):
        plain["tool_calls"] = [_plain_call(call) for call in plain["tool_calls"]]
    return plain


def _plain_call(call: Mapping[str, Any]) -> Mapping[str, Any]:
    function = dict(call.get("function", call))
    if isinstance(function.get("arguments"), str):
        try:
            function["arguments"] = json.loads(function["arguments"] or "{}")
        except json.JSONDecodeError as error:
            raise ValueError(f"the arguments of the tool call {function.get('name')!r} are no JSON: {error}") from None
    return {**call, "function": function} if "function" in call else function


def _effort(effort: object) -> Mapping[str, Any]:
    if effort is None:
        return {}
    level = _core.effort_for_template(effort) if isinstance(effort, str) else None
    if level is None:
        raise ValueError(
            f"reasoning_effort is {effort!r}, expected one of max, xhigh, high, medium, low, minimal, none"
        )
    return {"enable_thinking": True, "reasoning_effort": level} if level else {"enable_thinking": False}
