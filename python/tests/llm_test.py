"""vLLM's shape, and that Python hears what the command line says."""

from __future__ import annotations

import json
import threading
import time
from typing import Any, List

import numpy as np
import pytest
from conftest import PARROT, POCKET, QUESTION, TINY, command_line
from indexshare import LLM, SamplingParams


def test_answers_the_goldens_as_the_command_line_does(llm: LLM) -> None:
    prompts = json.loads((POCKET / "goldens/goldens.json").read_text())["prompts"]
    params = SamplingParams(temperature=0, max_tokens=64)
    outputs = llm.generate([{"prompt_token_ids": prompt["input_ids"]} for prompt in prompts], params)
    for number, (prompt, output) in enumerate(zip(prompts, outputs)):
        assert (output.outputs[0].token_ids, output.text) == (prompt["output_ids"], prompt["text"])
        assert output.prompt_token_ids == prompt["input_ids"] and output.prompt is None
        if number < 3:  # the program loads the model each time
            ids = ",".join(map(str, prompt["input_ids"]))
            said = command_line(POCKET, "--ids", ids, "--temperature", 0)
            assert (output.outputs[0].token_ids, output.text) == (said["ids"], said["text"])


def test_draws_what_the_command_line_draws_to_the_last_bit(llm: LLM) -> None:
    params = SamplingParams(temperature=0.9, top_p=0.95, top_k=50, seed=11, max_tokens=24, logprobs=3,
                            presence_penalty=0.5, frequency_penalty=0.25, repetition_penalty=1.1)  # fmt: skip
    (output,) = llm.generate("What is a", params)
    said = command_line(POCKET, "What is a", "--raw", "--temperature", 0.9, "--top-p", 0.95, "--top-k", 50, "--seed", 11,
                        "--max-tokens", 24, "--logprobs", 3, "--presence-penalty", 0.5, "--frequency-penalty", 0.25,
                        "--repetition-penalty", 1.1)  # fmt: skip
    answer = output.outputs[0]
    assert (answer.token_ids, answer.text) == (said["ids"], said["text"])
    for id, here, there in zip(answer.token_ids, answer.logprobs or [], said["logprobs"]):
        assert np.float32(here[id].logprob) == np.float32(there["logprob"])
        best = [(token["id"], np.float32(token["logprob"])) for token in there["top"]]
        assert [(id, np.float32(one.logprob)) for id, one in list(here.items())[:3]] == best
    assert answer.cumulative_logprob == pytest.approx(sum(token["logprob"] for token in said["logprobs"]))


def test_chats_through_the_template(llm: LLM) -> None:
    outputs = llm.chat(QUESTION)
    assert outputs[0].text == outputs[0].outputs[0].text == PARROT == command_line(POCKET, QUESTION[0]["content"])["text"]
    assert outputs[0].outputs[0].finish_reason == "stop" and outputs[0].outputs[0].stop_reason is None
    both = llm.chat([QUESTION, QUESTION], SamplingParams(temperature=0, max_tokens=3))
    assert [one.outputs[0].finish_reason for one in both] == ["length", "length"]


def test_takes_prompts_of_all_kinds_and_parameters_for_each(llm: LLM) -> None:
    ids = llm.get_tokenizer().encode("What is")
    greedy = SamplingParams(temperature=0, max_tokens=4)
    prompts: List[Any] = ["What is", ids, np.array(ids), {"prompt": "What is"}, ["What is"]]
    texts = [llm.generate(prompt, greedy)[0].text for prompt in prompts]
    assert len(set(texts)) == 1
    short, long = llm.generate(["What is", "What is"], [SamplingParams(max_tokens=1), SamplingParams(max_tokens=6)])
    assert [len(one.outputs[0].token_ids) for one in (short, long)] == [1, 6]
    with pytest.raises(ValueError, match="2 prompts and 1 sampling_params"):
        llm.generate(["a", "b"], [greedy])


def test_gives_n_answers_of_consecutive_seeds(llm: LLM) -> None:
    (three,) = llm.generate("What is", SamplingParams(n=3, seed=5, max_tokens=8))
    alone = [llm.generate("What is", SamplingParams(seed=5 + i, max_tokens=8))[0].text for i in range(3)]
    assert [answer.text for answer in three.outputs] == alone and len(set(alone)) > 1
    assert [answer.index for answer in three.outputs] == [0, 1, 2]


def test_counts_seeds_from_the_engines(llm: LLM) -> None:
    with LLM(POCKET, seed=5) as seeded:
        params = SamplingParams(max_tokens=8)
        texts = [one.text for one in seeded.generate(["What is", "What is"], params)]
    assert texts == [llm.generate("What is", SamplingParams(seed=5 + i, max_tokens=8))[0].text for i in range(2)]


def test_stops_and_reports(llm: LLM) -> None:
    (cut,) = llm.chat(QUESTION, SamplingParams(temperature=0, max_tokens=64, stop=" slender"))
    assert cut.text == PARROT[: PARROT.index(" slender")]
    assert (cut.outputs[0].finish_reason, cut.outputs[0].stop_reason) == ("stop", " slender")
    (shown,) = llm.chat(QUESTION, SamplingParams(temperature=0, max_tokens=64, stop=[" slender"],
                                                 include_stop_str_in_output=True))  # fmt: skip
    assert shown.text.endswith(" slender")
    token = cut.outputs[0].token_ids[2]
    (ended,) = llm.chat(QUESTION, SamplingParams(temperature=0, stop_token_ids=[token]))
    assert ended.outputs[0].stop_reason == token and ended.outputs[0].token_ids[-1] == token
    (scored,) = llm.generate("What is a parrakeet?", SamplingParams(max_tokens=1, prompt_logprobs=2))
    assert scored.prompt_logprobs is not None and scored.prompt_logprobs[0] is None
    for id, place in zip(scored.prompt_token_ids[1:], scored.prompt_logprobs[1:]):
        assert place is not None and id in place and len(place) in (2, 3)
    (biased,) = llm.generate("What is", SamplingParams(temperature=0, max_tokens=2, logit_bias={300: 100}))
    assert biased.outputs[0].token_ids == [300, 300]
    (whole,) = llm.chat(QUESTION, SamplingParams(temperature=0, max_tokens=64, skip_special_tokens=False))
    assert PARROT in whole.text
    (silent,) = llm.chat(QUESTION, SamplingParams(temperature=0, max_tokens=4, detokenize=False))
    assert silent.text == "" and len(silent.outputs[0].token_ids) == 4


def test_serves_a_hundred_threads(llm: LLM) -> None:
    params = [SamplingParams(seed=i, max_tokens=12) for i in range(100)]
    together = [one.text for one in llm.generate(["What is a"] * 100, params)]
    texts: List[Any] = [None] * 100

    def ask(i: int) -> None:
        texts[i] = llm.generate("What is a", params[i])[0].text

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert texts == together and len(set(texts)) > 50


def test_shows_progress_where_it_is_asked_to(llm: LLM) -> None:
    class Bar:
        def __init__(self, total: int, desc: str) -> None:
            self.total, self.done = total, 0
            bars.append(self)

        def update(self, count: int) -> None:
            self.done += count

        def __enter__(self) -> Bar:
            return self

        def __exit__(self, *_: object) -> None:
            pass

    bars: List[Bar] = []
    llm.generate(["a", "b", "c"], SamplingParams(max_tokens=1), use_tqdm=Bar)
    assert (bars[0].total, bars[0].done) == (3, 3)


def test_runs_without_a_tokenizer_on_ids_alone() -> None:
    with LLM(TINY) as tiny:
        (output,) = tiny.generate([1, 2, 3], SamplingParams(temperature=0, max_tokens=4, logprobs=1, ignore_eos=True))
        assert len(output.outputs[0].token_ids) == 4
        with pytest.raises(ValueError, match="no tokenizer.json"):
            tiny.generate("text")
        with pytest.raises(ValueError, match="no chat template"):
            tiny.chat(QUESTION)


def test_python_takes_less_than_two_per_cent_of_decoding_sixteen_answers() -> None:
    params = SamplingParams(temperature=0, max_tokens=200, ignore_eos=True)
    with LLM(POCKET, threads=1) as one:  # the engine computes in a thread of its own
        everything, python = time.process_time(), time.thread_time()
        one.generate([[token] for token in range(100, 116)], params, use_tqdm=False)
        assert time.thread_time() - python < 0.02 * (time.process_time() - everything)
