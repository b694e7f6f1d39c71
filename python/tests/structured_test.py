"""Answers that are bound to a form."""

from __future__ import annotations

import json
import re
from typing import Any, Dict, List, Mapping, Tuple

import jsonschema
import pytest
from conftest import QUESTION

from indexshare import LLM, SamplingParams, StructuredOutputsParams

PERSON: Dict[str, Any] = {
    "type": "object",
    "required": ["name", "kind", "sizes", "home"],
    "additionalProperties": False,
    "properties": {
        "name": {"type": "string", "pattern": "^[A-Z][a-z]{1,8}$"},
        "kind": {"enum": ["bird", "fish", None]},
        "sizes": {"type": "array", "items": {"type": "number", "minimum": 0, "maximum": 10}, "minItems": 1, "maxItems": 3},
        "home": {"anyOf": [{"type": "boolean"}, {"$ref": "#/$defs/place"}]},
    },
    "$defs": {"place": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}},
}


def params(**form: Any) -> SamplingParams:
    return SamplingParams(max_tokens=400, seed=1, n=3, structured_outputs=StructuredOutputsParams(**form))


@pytest.mark.parametrize("schema", [PERSON, json.dumps(PERSON)])
def test_json_by_a_schema(llm: LLM, schema: Any) -> None:
    (output,) = llm.chat(QUESTION, params(json=schema))
    for answer in output.outputs:
        assert answer.finish_reason == "stop"
        jsonschema.validate(json.loads(answer.text), PERSON)


@pytest.mark.parametrize(
    "form, pattern",
    [
        ({"regex": r"[a-f]{2}(-\d{3})?"}, r"[a-f]{2}(-\d{3})?"),
        ({"choice": ["a bird", "a fish"]}, "a bird|a fish"),
        ({"grammar": 'root ::= pair ("," pair){2}\npair ::= [0-9] ":" [xy]'}, r"\d:[xy],\d:[xy],\d:[xy]"),
        ({"structural_tag": {"type": "structural_tag", "format": {"type": "regex", "pattern": "a+b"}}}, "a+b"),
    ],
)
def test_other_forms(llm: LLM, form: Mapping[str, Any], pattern: str) -> None:
    for output in llm.generate(["What is a", "Define"], params(**form)):
        for answer in output.outputs:
            assert re.fullmatch(pattern, answer.text) or answer.finish_reason == "length"


def test_any_object(llm: LLM) -> None:
    (output,) = llm.generate("What is a", params(json_object=True))
    for answer in output.outputs:
        assert answer.text.startswith("{")
        if answer.finish_reason == "stop":
            assert isinstance(json.loads(answer.text), dict)


def test_the_form_is_that_of_what_follows_the_reasoning(llm: LLM) -> None:
    end = llm.model.tokenizer.encode("</think>")[0]
    bound = SamplingParams(max_tokens=60, logit_bias={end: -100}, thinking_token_budget=4, structured_outputs={"regex": "[xyz]{4}"})
    (output,) = llm.generate("What is a bird?<think>", bound)
    assert re.fullmatch("[xyz]{4}", output.outputs[0].text)
    assert output.outputs[0].reasoning


def test_with_the_names_of_sglang(llm: LLM) -> None:
    given = {"max_new_tokens": 200, "regex": "[ab]{3}"}
    assert re.fullmatch("[ab]{3}", llm.generate("What is", sampling_params=given)["text"])
    assert re.fullmatch("[0-9]{2}", llm.generate("What is", max_new_tokens=9, ebnf="root ::= [0-9]{2}")["text"])
    schema = json.dumps({"type": "object", "properties": {"n": {"enum": [1, 2]}}, "required": ["n"]})
    assert json.loads(llm.generate("What is", max_new_tokens=200, json_schema=schema)["text"])["n"] in (1, 2)


def test_what_is_no_form_is_refused_when_the_request_is_taken(llm: LLM) -> None:
    forms: List[Tuple[Dict[str, Any], str]] = [
        ({"regex": "("}, "regex was not understood"),
        ({"json": {"uniqueItems": True}}, 'json_schema has the keyword "uniqueItems"'),
        ({"json": "{"}, "json_schema"),
        ({"grammar": "root ::= other"}, "grammar was not understood"),
    ]
    for form, sentence in forms:
        with pytest.raises(ValueError, match=sentence):
            llm.generate("What is", params(**form))
