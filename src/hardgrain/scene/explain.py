"""Bad input explained in one sentence: the field, the value given and what would be valid."""

from __future__ import annotations

import difflib
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from hardgrain.errors import InputError

__all__ = ["explain"]

# What pydantic's errors ask for, in words; {…} are figures that it gives.
_WANTED = {
    "greater_than": "a number greater than {gt:g}",
    "greater_than_equal": "a number of at least {ge:g}",
    "less_than": "a number less than {lt:g}",
    "less_than_equal": "a number of at most {le:g}",
    "finite_number": "a finite number",
    "float_type": "a number",
    "float_parsing": "a number",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_parsing_size": "a whole number that is not so large",
    "int_from_float": "a whole number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "string_type": "a text",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
    "literal_error": "{expected}",
    "too_short": "a list of at least {min_length}",
    "too_long": "a list of at most {max_length}",
}
# What a required field should hold.
_REQUIRED = {
    "dt": "give a time step greater than 0",
    "scene": "give a [scene] table with grains",
}


def explain(error: ValidationError, model: type[BaseModel], data: Any) -> InputError:
    """The most helpful of pydantic's errors as one sentence: field, value, what is valid."""
    problems = error.errors(include_url=False)
    # A misspelt key explains more than the field that is missing because of it.
    problems.sort(key=lambda p: p["type"] != "extra_forbidden")
    paths = [_path(p["loc"], data, p["type"] in ("missing", "extra_forbidden")) for p in problems]
    # Each member of a union gives an error; the one that got deepest is the one that was meant.
    related = [k for k, path in enumerate(paths) if path.startswith(paths[0])]
    best = max(related, key=lambda k: len(paths[k]))
    where, first = paths[best], problems[best]
    value, kind = first.get("input"), first["type"]
    if kind == "extra_forbidden":
        known = sorted(
            {n for m in _models(_type_at(model, first["loc"][:-1])) for n in m.model_fields}
        )
        hint = _nearest(str(first["loc"][-1]), known, "keys")
        return InputError(f"{where} is not a known key; {hint}")
    if kind == "missing":
        key = first["loc"][-1]
        hint = _REQUIRED.get(str(key), "it is required")
        if isinstance(key, int):
            hint = "the list is too short"
        return InputError(f"{where} is missing; {hint}")
    if kind == "union_tag_invalid":
        given = first["ctx"]["tag"]
        known = [tag.strip(" '") for tag in first["ctx"]["expected_tags"].split(",")]
        return InputError(f"{where}.kind is {given!r}; {_nearest(given, known, 'kinds')}")
    if kind == "union_tag_not_found":
        known = [_kind(m) for m in _models(_type_at(model, first["loc"]))]
        return InputError(f"{where}.kind is missing; {_nearest('', known, 'kinds')}")
    message = first["msg"].removeprefix("Value error, ")
    if kind == "value_error":
        return InputError(message if message.startswith(where) else f"{where}: {message}")
    wanted = [
        _WANTED[p["type"]].format(**p.get("ctx", {}))
        for p, path in zip(problems, paths)
        if path == where and p["type"] in _WANTED
    ]
    if kind == "list_type" and isinstance(value, dict):
        wanted = [f"a list of tables, each headed [[{where}]]"]
    message = f"give {' or '.join(dict.fromkeys(wanted))}" if wanted else message
    return InputError(f"{where} is {_short(value)}; {message.replace('should be', 'give', 1)}")


def _short(value: Any) -> str:
    """A value as TOML would write it, cut where it is long."""
    if isinstance(value, dict):
        return "a table"
    try:
        text = str(value).lower() if isinstance(value, bool) else repr(value)
    except ValueError:  # Python does not write numbers with thousands of digits
        return "too large a number"
    return text if len(text) <= 60 else text[:57] + "..."


def _path(loc: tuple[int | str, ...], data: Any, named: bool) -> str:
    """A path such as scene.grains[0].count, from a pydantic location.

    A location also holds names of union members. They are recognised by following it through the
    data, where they do not lead anywhere; ``named`` says that its last part is a key, present or
    not.
    """
    text = ""
    for k, part in enumerate(loc):
        if isinstance(part, int):
            text += f"[{part}]"
            data = data[part] if isinstance(data, list | tuple) and part < len(data) else None
        elif isinstance(data, dict) and part in data:
            text, data = f"{text}.{_key(part)}", data[part]
        elif named and k == len(loc) - 1:
            text += f".{_key(part)}"
    return text.removeprefix(".")


def _key(name: str) -> str:
    """A key in a form that fits a sentence."""
    return name if name.isprintable() and 0 < len(name) <= 60 else _short(name)


def _nearest(word: str, known: list[str], what: str) -> str:
    near = difflib.get_close_matches(word, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"known {what} are {', '.join(known)}"


def _type_at(model: type[BaseModel], loc: tuple[int | str, ...]) -> Any:
    """Type of the value at a location, as annotated."""
    here: Any = model
    for part in loc:
        if isinstance(part, int):
            here = _items(here)
        else:
            members = [m for m in _models(here) if part in (_kind(m), m.__name__)]
            here = members[0] if members else _field(here, part)
    return here


def _types(annotation: Any) -> list[Any]:
    """All plain types within Annotated, unions and optionals."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _types(get_args(annotation)[0])
    if origin in (Union, UnionType):
        return [t for a in get_args(annotation) for t in _types(a)]
    return [annotation]


def _models(annotation: Any) -> list[type[BaseModel]]:
    return [t for t in _types(annotation) if isinstance(t, type) and issubclass(t, BaseModel)]


def _field(annotation: Any, name: str) -> Any:
    for m in _models(annotation):
        if name in m.model_fields:
            return m.model_fields[name].annotation
    for t in _types(annotation):  # dict[str, X]
        if get_origin(t) is dict:
            return get_args(t)[1]
    return Any


def _items(annotation: Any) -> Any:
    for t in _types(annotation):
        if get_origin(t) in (list, tuple):
            return get_args(t)[0]
    return Any


def _kind(model: type[BaseModel]) -> str:
    kind = model.model_fields.get("kind")
    return str(kind.default) if kind is not None else ""
