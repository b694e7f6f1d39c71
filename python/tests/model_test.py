"""The engine underneath: what it computes, its text, sessions, schedules, metrics."""

from __future__ import annotations

import json
import pathlib
import struct
import subprocess
import os
from typing import Any, Dict

import numpy as np
import pytest
from conftest import POCKET, QUESTION, TINY
from indexshare import LLM, Model, SamplingParams

IDS = [4077, 4079, 4082, 510, 364, 258, 500, 292, 1511, 30, 4083, 4085, 4086]


def read_safetensors(path: pathlib.Path) -> Dict[str, Any]:
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    kinds = {"F32": np.float32, "I32": np.int32}
    return {
        name: np.frombuffer(data[8 + length :][slice(*tensor["data_offsets"])], kinds[tensor["dtype"]]).reshape(tensor["shape"])
        for name, tensor in header.items()
        if name != "__metadata__"
    }  # fmt: skip


def test_shows_what_dump_writes_to_the_last_bit(model: Model, tmp_path: pathlib.Path) -> None:
    ids = IDS * 10  # longer than index_topk
    out = tmp_path / "dump.safetensors"
    subprocess.run([os.environ["INDEXSHARE"], "dump", POCKET, "--ids", ",".join(map(str, ids)), "--out", out],
                   check=True, capture_output=True, timeout=60)  # fmt: skip
    dump = read_safetensors(out)
    shown = model.forward(ids)
    assert shown.logits is not None and shown.selections is not None and shown.hidden is not None
    info = model.info
    assert shown.logits.shape == (len(ids), info.vocab_size)
    assert shown.selections.shape == (info.schedule.count("F"), len(ids), info.index_topk)
    assert shown.hidden.shape == (info.layers + 2, len(ids), 192)
    for name, here in (("logits", shown.logits), ("topk", shown.selections), ("hidden", shown.hidden)):
        assert here.dtype == dump[name].dtype and np.array_equal(here, dump[name]), name
    part = model.forward(np.array(ids), logits=False, selections=False)
    assert part.logits is None and part.selections is None and np.array_equal(part.hidden, shown.hidden)  # type: ignore[arg-type]


def test_keeps_arrays_when_the_model_has_gone() -> None:
    with Model(POCKET) as passing:
        logits = passing.forward(IDS).logits
    assert logits is not None and int(logits[-1].argmax()) == 73


def test_refuses_what_it_cannot_run(model: Model) -> None:
    for ids, kind, sentence in (
        ([], ValueError, "ids is empty"),
        ([5000], ValueError, "token id 5000 at place 0 is outside"),
        (np.zeros((2, 2), np.int64), ValueError, r"ids has the shape \(2, 2\)"),
        (np.zeros(2), TypeError, r"ids\[0\] is 0.0, expected a token id"),
        ("text", TypeError, "expected token ids"),
    ):
        with pytest.raises(kind, match=sentence):
            model.forward(ids)  # type: ignore[arg-type]


def test_runs_under_another_schedule(model: Model) -> None:
    assert model.schedule == "FFFSSSF"
    with model.with_schedule("FSSSSSS") as shared:
        assert shared.schedule == "FSSSSSS"
        ids = IDS * 10
        selections = shared.forward(ids, logits=False, hidden=False).selections
        assert selections is not None and selections.shape[0] == 1
        own = model.forward(ids)
        assert np.array_equal(selections[0], own.selections[0])  # type: ignore[index]
        assert not np.array_equal(shared.forward(ids).logits, own.logits)  # type: ignore[arg-type]
        assert shared.flops(1000)["index"] < model.flops(1000)["index"]
    with pytest.raises(ValueError, match="schedule makes layer 3 a full layer, but the model has no indexer there"):
        model.with_schedule("FFFFSSF")
    with pytest.raises(ValueError, match="schedule makes layer 0 a shared layer"):
        model.with_schedule("SFFSSSF")


def test_counts_flops_as_the_command_line_does(model: Model) -> None:
    done = subprocess.run([os.environ["INDEXSHARE"], "flops", POCKET, "--context", "100000", "--json"], check=True,
                          capture_output=True, timeout=60)  # fmt: skip
    (there,) = json.loads(done.stdout)["contexts"]
    for form in ("expanded", "latent"):
        here = model.flops(100_000, form=form)
        assert here == {name: there[form]["model"][name] for name in here}
        assert model.flops(100_000, full_layers=7, form=form)["total"] == there[form]["all_full"]["total"]
    with pytest.raises(ValueError, match="context is 0, expected 1"):
        model.flops(0)
    with pytest.raises(ValueError, match='form is "dense"'):
        model.flops(1, form="dense")


def test_has_a_tokenizer_and_a_template(model: Model) -> None:
    text = model.template(QUESTION)
    assert text == "[gMASK]<sop><|user|>What is a parrakeet?<|assistant|><think></think>"
    ids = model.tokenizer.encode(text)
    assert model.tokenizer.decode(ids, skip_special_tokens=False) == text
    assert model.tokenizer.decode(ids) == "What is a parrakeet?"
    assert model.tokenizer.token_bytes(ids[0]) == b"[gMASK]"
    assert model.tokenizer.encode("<|user|>", plain=True) != model.tokenizer.encode("<|user|>")
    assert model.template(QUESTION, add_generation_prompt=False).endswith("parrakeet?")
    empty = [{"role": "assistant", "content": None}]  # as OpenAI's clients write a call of a tool
    assert model.template(empty).startswith("[gMASK]<sop><|assistant|><think></think>")


def test_saves_and_restores_sequences(model: Model, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "sequence.session"
    model.save(file, IDS)
    with LLM(POCKET) as other:
        assert other.model.restore(file) == IDS
        (output,) = other.generate([[*IDS, 73]], SamplingParams(max_tokens=1))
        assert output.num_cached_tokens == len(IDS)
        with other.model.with_schedule("FSSSSSS") as foreign, pytest.raises(ValueError, match="sequence.session"):
            foreign.restore(file)
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(ValueError, match="sequence.session"):
        model.restore(file)
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        model.restore(tmp_path / "nothing")


def test_counts_what_it_does(model: Model) -> None:
    before = model.metrics()
    assert before["running"] == before["waiting"] == 0
    assert set(before["work"]["parts"]) == {"index", "attention", "projections", "experts", "head", "other"}
    assert model.info.context == 131072 and model.info.options.threads >= 1


def test_holds_no_more_than_the_model_it_was_given() -> None:
    with Model(TINY) as tiny:
        with pytest.raises(ValueError, match="no tokenizer.json"):
            tiny.tokenizer.encode("x")
