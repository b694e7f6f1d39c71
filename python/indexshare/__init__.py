"""GLM-5-family models on the CPU, with IndexShare: vLLM's and SGLang's interfaces, and the engine underneath.

    from indexshare import LLM, SamplingParams

    llm = LLM("models/pocket")
    outputs = llm.chat([{"role": "user", "content": "What is a parrakeet?"}])
    print(outputs[0].text)
"""

from __future__ import annotations

from ._core import __version__
from .async_llm import AsyncLLM
from .llm import LLM
from .model import Forward, Model, Tokenizer
from .outputs import CompletionOutput, Logprob, RequestOutput
from .sampling import RequestOutputKind, SamplingParams
from .sglang import Engine
from .structured import StructuredOutputsParams
from .tools import ToolAnswer, ToolCall, read_tool_calls

__all__ = [
    "AsyncLLM",
    "CompletionOutput",
    "Engine",
    "Forward",
    "LLM",
    "Logprob",
    "Model",
    "RequestOutput",
    "RequestOutputKind",
    "SamplingParams",
    "StructuredOutputsParams",
    "Tokenizer",
    "ToolAnswer",
    "ToolCall",
    "__version__",
    "read_tool_calls",
]
