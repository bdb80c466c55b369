"""Figures as strict JSON."""

from __future__ import annotations

import json
import math
from typing import Any

__all__ = ["json_text"]


def json_text(facts: dict[str, Any]) -> str:
    """Text that every reader takes: infinite and unknown figures become null."""
    return json.dumps(_plain(facts), indent=2, allow_nan=False, ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
