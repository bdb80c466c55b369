"""Figures as strict JSON."""

from __future__ import annotations

import json
import math
from typing import Any

__all__ = ["json_text", "plain"]


def json_text(facts: dict[str, Any], indent: int = 2) -> str:
    """Text that every reader takes: infinite and unknown figures become null."""
    return json.dumps(plain(facts), indent=indent, allow_nan=False, ensure_ascii=False)


def plain(value: Any) -> Any:
    """NumPy's numbers and arrays as Python's; JSON knows neither NaN nor inf, they become None."""
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value
