"""A scenario as the TOML text that would run it again: what differs from the defaults."""

from __future__ import annotations

import json
import math
from typing import Any

from pydantic import BaseModel

from hardgrain.errors import InputError
from hardgrain.run.scenario import Scenario, parse

__all__ = ["scenario_text", "tables_text", "value_text"]


def scenario_text(scenario: Scenario) -> str:
    """TOML that gives the same scenario, which is checked."""
    import tomllib

    text = tables_text(_plain(scenario))
    try:
        same = scenario.stop is None or parse(tomllib.loads(text)) == scenario
    except (InputError, ValueError):
        same = False
    if not same:  # some default depends on others, as for a kind of wall, so all fields are written
        whole = json.loads(scenario.model_dump_json(exclude_none=True))
        text = tables_text(whole)
    return text


def tables_text(tables: dict[str, Any]) -> str:
    """Nested tables as TOML."""
    return "\n".join(_table(tables, "")).strip() + "\n"


def _plain(value: Any) -> Any:
    """Models as tables of the fields that differ from their defaults, always with ``kind``."""
    if isinstance(value, BaseModel):
        fields = {name: getattr(value, name) for name in type(value).model_fields}
        return {
            name: _plain(one)
            for name, one in fields.items()
            if one is not None
            and (name in ("kind", "title") or one != type(value).model_fields[name].get_default(call_default_factory=True))  # noqa: E501
        }  # fmt: skip
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value


def _table(table: dict[str, Any], path: str) -> list[str]:
    """Lines of a table: plain values first, then tables and lists of tables under their headers."""
    inner = {k: v for k, v in table.items() if _is_table(v) or _is_tables(v)}
    lines = [f"{_key(k)} = {value_text(v)}" for k, v in table.items() if k not in inner]
    for name, value in inner.items():
        full = f"{path}.{_key(name)}" if path else _key(name)
        if _is_table(value):
            lines += ["", f"[{full}]", *_table(value, full)]
        else:
            for one in value:
                lines += [
                    "",
                    f"[[{full}]]",
                    *(f"{_key(k)} = {value_text(v)}" for k, v in one.items()),
                ]
    return lines


def _is_table(value: Any) -> bool:
    return isinstance(value, dict) and bool(value)


def _is_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(v, dict) for v in value)


def _key(name: str) -> str:
    bare = name.replace("_", "").replace("-", "")
    return name if bare.isascii() and bare.isalnum() else json.dumps(name)


def value_text(value: Any) -> str:
    """A value as TOML has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(k)} = {value_text(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(value_text(v) for v in value) + "]"
    return json.dumps(value, ensure_ascii=False)
