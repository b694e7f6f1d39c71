"""The parameters that vLLM and SGLang know and this engine has not: one table of what becomes of them.

A program written for them runs as it stands where a parameter only says how they should go about the work: it
is ignored, with one warning. Where ignoring it would change the result, it is refused with a sentence.
"""

from __future__ import annotations

import warnings
from typing import Any, Dict, Mapping, NamedTuple, Optional, Tuple


class Foreign(NamedTuple):
    """What becomes of a parameter: ``harmless`` are the values that ask for nothing, None where all do."""

    harmless: Optional[Tuple[Any, ...]]
    why: str = ""


_IGNORED = Foreign(None)
_NOTHING: Tuple[Any, ...] = (None, False, [], {}, ())


def _refused(why: str, *harmless: Any) -> Foreign:
    return Foreign(_NOTHING + harmless, why)


_NO_LORA = "adapters are not supported"
_AS_STORED = "weights are used in the format that they are stored in: give a checkpoint in another one"
_NO_DRAFTS = "speculative decoding is not supported"
_TEXT_ALONE = "the model reads text alone"
_NO_DOWNLOAD = "nothing is downloaded: give the directory of the model as it is wanted"

#: Of the engine: what LLM, AsyncLLM and Engine take besides their own.
ENGINE: Dict[str, Foreign] = {
    **dict.fromkeys(
        (
            # how the work is spread over devices and processes: one process uses the processors there are
            "tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size", "tp_size", "pp_size", "dp_size",
            "enable_expert_parallel", "ep_size", "distributed_executor_backend", "nnodes", "node_rank", "device",
            "base_gpu_id", "mm_processor_kwargs", "disable_custom_all_reduce", "worker_cls", "dist_init_addr",
            # of GPUs and their memory
            "gpu_memory_utilization", "mem_fraction_static", "swap_space", "cpu_offload_gb", "block_size", "page_size",
            "enforce_eager", "max_seq_len_to_capture", "disable_cuda_graph", "cuda_graph_max_bs", "compilation_config",
            "num_gpu_blocks_override", "enable_torch_compile", "enable_memory_saver", "attention_backend",
            "sampling_backend", "attention_config", "moe_runner_backend", "kv_cache_memory_bytes",
            # of schedulers
            "enable_chunked_prefill", "max_num_partial_prefills", "schedule_policy", "scheduling_policy",
            "schedule_conservativeness", "async_scheduling", "stream_interval", "max_prefill_tokens",
            "enable_mixed_chunk", "disable_overlap_schedule",
            # of loading and logging
            "trust_remote_code", "tokenizer_mode", "download_dir", "disable_log_stats", "disable_log_requests",
            "log_level", "log_requests", "show_time_cost", "skip_server_warmup", "use_tqdm_on_load", "random_seed_ids",
            "served_model_name", "allowed_local_media_path", "generation_config", "disable_async_output_proc",
            "hf_token", "tool_call_parser", "reasoning_parser", "enable_auto_tool_choice",
        ),
        _IGNORED,
    ),
    "quantization": _refused(_AS_STORED),
    "load_format": _refused("checkpoints are read as safetensors", "auto", "safetensors"),
    "revision": _refused(_NO_DOWNLOAD),
    "tokenizer_revision": _refused(_NO_DOWNLOAD),
    "code_revision": _refused(_NO_DOWNLOAD),
    "tokenizer": _refused("the tokenizer is that of the model's directory"),
    "tokenizer_path": _refused("the tokenizer is that of the model's directory"),
    "chat_template": _refused("the template is that of the model's directory"),
    "skip_tokenizer_init": _refused("give prompts as token ids, which need no tokenizer"),
    "hf_overrides": _refused("the configuration is that of the model's directory"),
    "json_model_override_args": _refused("the configuration is that of the model's directory", "{}"),
    "rope_scaling": _refused("the configuration is that of the model's directory"),
    "hf_config_path": _refused("the configuration is that of the model's directory"),
    "enable_lora": _refused(_NO_LORA),
    "lora_paths": _refused(_NO_LORA),
    "max_loras": _refused(_NO_LORA),
    "speculative_config": _refused(_NO_DRAFTS),
    "speculative_algorithm": _refused(_NO_DRAFTS),
    "speculative_draft_model_path": _refused(_NO_DRAFTS),
    "task": _refused("the model generates text", "auto", "generate"),
    "runner": _refused("the model generates text", "auto", "generate"),
    "is_embedding": _refused("the model generates text"),
    "override_pooler_config": _refused("the model generates text"),
    "limit_mm_per_prompt": _refused(_TEXT_ALONE),
    "logits_processors": _refused("logits processors are not supported"),
}

#: Of one request: what SamplingParams and generate() take besides their own.
REQUEST: Dict[str, Foreign] = {
    "spaces_between_special_tokens": Foreign((True, False)),
    "extra_args": _refused("there are no extra arguments"),
    "custom_params": _refused("there are no custom parameters"),
    "bad_words": _refused("bad_words are not supported: logit_bias keeps tokens out"),
    "allowed_token_ids": _refused("allowed_token_ids are not supported"),
    "guided_decoding": _refused("its newer name is structured_outputs"),
    "logits_processors": _refused("logits processors are not supported"),
    "logits_processor": _refused("logits processors are not supported"),
    "custom_logit_processor": _refused("logits processors are not supported"),
    "truncate_prompt_tokens": _refused("prompts are never cut: shorten them before"),
    "best_of": _refused("best_of is not supported: ask for n answers and choose", 1),
    "use_beam_search": _refused("beam search is not supported"),
    "lora_request": _refused(_NO_LORA),
    "lora_path": _refused(_NO_LORA),
    "image_data": _refused(_TEXT_ALONE),
    "audio_data": _refused(_TEXT_ALONE),
    "video_data": _refused(_TEXT_ALONE),
    "input_embeds": _refused(_TEXT_ALONE),
    "multi_modal_data": _refused(_TEXT_ALONE),
    "mm_processor_kwargs": _refused(_TEXT_ALONE),
    "tokenization_kwargs": _refused("the tokenizer has no settings"),
    "stop_regex": _refused("stop texts are plain texts"),
    "return_hidden_states": _refused("hidden states come from Model.forward"),
    "priority": Foreign((0, None), "priority is not supported here"),
    "rid": _IGNORED,
    "cache_salt": _IGNORED,
    "session_params": _refused("sessions are Model.save and Model.restore"),
    "chat_template": _refused("the template is that of the model's directory"),
    "chat_template_content_format": _IGNORED,
    "continue_final_message": _refused("the last message cannot be continued"),
}


def take_foreign(given: Mapping[str, Any], table: Mapping[str, Foreign], whose: str) -> None:
    """Ignores, with one warning, or refuses what nobody here knows what to do with.

    Raises TypeError for a name that nobody has, as Python does, and ValueError for what cannot be had.
    """
    for name in given:
        if name not in table:
            raise TypeError(f"{whose} has no parameter {name!r}")
    refuse_values(given, table)
    ignored = sorted(name for name in given if table[name].harmless is None)
    if ignored:
        warnings.warn(f"{whose} ignores {', '.join(ignored)}: no meaning here", UserWarning, stacklevel=4)


def refuse_values(given: Mapping[str, Any], table: Mapping[str, Foreign] = REQUEST) -> None:
    """Raises ValueError for the values that ask for what this engine has not."""
    for name, value in given.items():
        harmless = table[name].harmless if name in table else None
        if harmless is not None and not any(value is ok or value == ok for ok in harmless):
            raise ValueError(f"{name} is {value!r}: {table[name].why}")
