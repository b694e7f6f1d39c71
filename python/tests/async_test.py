"""Answers as they come, in an asyncio program."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Iterator, List

import pytest
from conftest import PARROT, POCKET, QUESTION
from indexshare import LLM, AsyncLLM, RequestOutput, RequestOutputKind, SamplingParams


@pytest.fixture(scope="module")
def async_llm() -> Iterator[AsyncLLM]:
    loaded = AsyncLLM(POCKET)
    yield loaded
    loaded.shutdown()


async def outputs_of(llm: AsyncLLM, params: SamplingParams, prompt: str = "What is a") -> List[RequestOutput]:
    return [output async for output in llm.generate(prompt, params)]


def test_yields_all_so_far_what_is_new_or_the_end(async_llm: AsyncLLM, llm: LLM) -> None:
    # Long enough that it does not come in one or two pieces, however late this thread is.
    long = SamplingParams(seed=3, max_tokens=400, ignore_eos=True)
    expected = llm.generate("What is a", long)[0].outputs[0]
    for kind in RequestOutputKind:
        outputs = asyncio.run(outputs_of(async_llm, dataclasses.replace(long, output_kind=kind)))
        assert [output.finished for output in outputs] == [False] * (len(outputs) - 1) + [True]
        texts = [output.text for output in outputs]
        if kind is RequestOutputKind.CUMULATIVE:
            assert texts[-1] == expected.text and len(texts) > 2
            assert all(later.startswith(earlier) for earlier, later in zip(texts, texts[1:]))
        elif kind is RequestOutputKind.DELTA:
            assert "".join(texts) == expected.text and len(texts) > 2
            assert [id for output in outputs for id in output.outputs[0].token_ids] == expected.token_ids
        else:
            assert texts == [expected.text]


def test_serves_a_hundred_tasks(async_llm: AsyncLLM, llm: LLM) -> None:
    params = [SamplingParams(seed=i, max_tokens=12) for i in range(100)]
    expected = [one.text for one in llm.generate(["What is a"] * 100, params)]

    async def ask() -> List[List[RequestOutput]]:
        return await asyncio.gather(*(outputs_of(async_llm, one) for one in params))

    assert [outputs[-1].text for outputs in asyncio.run(ask())] == expected


def test_chats(async_llm: AsyncLLM) -> None:
    async def ask() -> str:
        text = ""
        async for output in async_llm.chat(QUESTION):
            text = output.text
        return text

    assert asyncio.run(ask()) == PARROT


def test_ends_what_is_cancelled(async_llm: AsyncLLM) -> None:
    endless = SamplingParams(max_tokens=100_000, ignore_eos=True)

    async def abort() -> RequestOutput:
        async for output in async_llm.generate("What", endless, request_id="mine"):
            if output.finished:
                break
            with pytest.raises(ValueError, match="request_id is 'mine'"):
                async for _ in async_llm.generate("What", endless, request_id="mine"):
                    pass
            await async_llm.abort("mine")
        return output

    assert asyncio.run(abort()).outputs[0].finish_reason == "abort"

    async def cancel() -> None:
        await asyncio.wait_for(outputs_of(async_llm, endless), timeout=0.2)

    with pytest.raises(asyncio.TimeoutError):
        asyncio.run(cancel())

    async def settled() -> None:
        while async_llm.model.metrics()["running"]:
            await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(settled(), timeout=30))
