"""What the package says of itself: every public name, and every parameter of it, is documented."""

from __future__ import annotations

import enum
import inspect
import re
import types
from typing import Any, Iterator, List, Tuple

import indexshare
import indexshare.sglang
import pytest
from conftest import ROOT


def public_names() -> Iterator[Tuple[str, Any]]:
    """The public names of the package and of its SGLang shape, but for plain values."""
    for module in (indexshare, indexshare.sglang):
        for name in module.__all__:
            if not isinstance(getattr(module, name), str):
                yield f"{module.__name__}.{name}", getattr(module, name)


def members(owner: type) -> Iterator[Tuple[str, Any]]:
    """The public methods and properties of a class, those of the package's base classes among them."""
    for base in owner.__mro__:
        if base.__module__.startswith("indexshare."):
            for name, member in vars(base).items():
                if not name.startswith("_") and isinstance(member, (types.FunctionType, property)):
                    yield name, member


PUBLIC = dict(public_names())
CLASSES = {path: owner for path, owner in PUBLIC.items() if isinstance(owner, type)}
# With the class that each belongs to, None for a function of the package.
METHODS = {
    **{path: (None, function) for path, function in PUBLIC.items() if path not in CLASSES},
    **{f"{path}.{name}": (owner, member) for path, owner in CLASSES.items() for name, member in members(owner)},
}


def own_docstring(thing: Any) -> str:
    """Its docstring, unless Python made one up."""
    text = inspect.getdoc(thing) or ""
    generated = text.startswith(f"{getattr(thing, '__name__', '')}(") or text == inspect.getdoc(enum.Enum)
    return "" if generated else text


def names(text: str, parameter: str) -> bool:
    return re.search(rf"\b{parameter}\b", text) is not None


@pytest.mark.parametrize("path", CLASSES)
def test_a_public_class_is_documented_with_its_parameters(path: str) -> None:
    owner = CLASSES[path]
    text = own_docstring(owner)
    assert text
    if issubclass(owner, (enum.Enum, dict)):
        return
    source = inspect.getsource(owner)
    for parameter in inspect.signature(owner).parameters:
        commented = re.search(rf"^ +#:[^\n]*\n +{parameter}: ", source, re.MULTILINE)  # "#: what it is", above a field
        assert commented or names(text, parameter) or parameter.startswith("_"), parameter


@pytest.mark.parametrize("path", METHODS)
def test_a_public_method_is_documented_with_its_parameters(path: str) -> None:
    owner, method = METHODS[path]
    text = own_docstring(method)
    assert text
    parameters: List[str] = [] if isinstance(method, property) else list(inspect.signature(method).parameters)
    parameters = [parameter for parameter in parameters if parameter != "self"]
    for parameter in parameters:
        assert names(text, parameter), parameter
    assert not parameters or "aise" in text + own_docstring(owner), "it does not say what it raises"


def test_the_page_lists_every_public_name() -> None:
    page = (ROOT / "docs/PYTHON.md").read_text(encoding="utf-8")
    for name in indexshare.__all__:
        assert name.startswith("__") or re.search(rf"`(sgl\.)?{name}\b", page), name
