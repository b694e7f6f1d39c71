"""The form that an answer is bound to, with vLLM's names."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, Dict, List, Optional, Tuple, Union

from . import _core

# What each field is called by the engine.
_KINDS = {
    "json": "json_schema",
    "regex": "regex",
    "choice": "choice",
    "grammar": "grammar",
    "json_object": "json_object",
    "structural_tag": "structural_tag",
}
_JSON = ("json", "structural_tag")


@dataclasses.dataclass
class StructuredOutputsParams:
    """What the answer must be, once it has reasoned: one field is given. An answer that max_tokens cuts off is only
    the beginning of it.

    Attributes:
        json: JSON by this schema, a dict or its text, without properties that it does not name.
        regex: a text that matches this regular expression as a whole.
        choice: one of these texts.
        grammar: the rule "root" of this EBNF grammar, in XGrammar's spelling.
        json_object: True: any object of JSON.
        structural_tag: XGrammar's structural tag, a dict or its text.
        disable_fallback: as it is: there is one library.
        disable_additional_properties: as it is: there are none.
        disable_any_whitespace: refused: space is free, up to a bound.
        whitespace_pattern: refused likewise.

    Raises:
        TypeError, ValueError: as soon as it is made; the sentence names the field. Whether a schema, an expression or
            a grammar can be kept to shows when a request is taken.
    """

    json: Union[None, str, Dict[str, Any]] = None
    regex: Optional[str] = None
    choice: Optional[List[str]] = None
    grammar: Optional[str] = None
    json_object: Optional[bool] = None
    disable_fallback: bool = False
    disable_any_whitespace: bool = False
    disable_additional_properties: bool = False
    whitespace_pattern: Optional[str] = None
    structural_tag: Union[None, str, Dict[str, Any]] = None

    def __post_init__(self) -> None:
        given = [name for name in _KINDS if getattr(self, name) not in (None, False)]
        if len(given) != 1:
            raise ValueError(f"structured_outputs gives {' and '.join(given) or 'nothing'}, expected one of {', '.join(_KINDS)}")
        if self.disable_any_whitespace or self.whitespace_pattern is not None:
            raise ValueError("disable_any_whitespace and whitespace_pattern are not supported: space is free, up to a bound")
        (name,) = given
        value = getattr(self, name)
        if name == "choice":
            if isinstance(value, str) or not all(isinstance(text, str) for text in value):
                raise TypeError(f"choice is {value!r}, expected a list of texts")
        elif name == "json_object":
            if value is not True:
                raise TypeError(f"json_object is {value!r}, expected True or False")
        elif not isinstance(value, (str, dict) if name in _JSON else str):
            raise TypeError(f"{name} is {value!r}, expected {'a dict or its text' if name in _JSON else 'a text'}")


def constraint(params: StructuredOutputsParams) -> _core.Constraint:
    """What the engine takes."""
    fields: List[Tuple[str, Any]] = [(kind, getattr(params, name)) for name, kind in _KINDS.items()]
    ((kind, value),) = [(kind, value) for kind, value in fields if value not in (None, False)]
    if kind == "choice":
        return _core.Constraint(kind, "", list(value))
    if kind == "json_object":
        return _core.Constraint(kind, "", [])
    return _core.Constraint(kind, value if isinstance(value, str) else json.dumps(value), [])
