"""Figures as strict JSON."""

from __future__ import annotations

import json
import math
from typing import Any

__all__ = ["json_text", "plain"]


def json_text(facts: dict[str, Any], indent: int = 2) -> str:
    """JSON that every reader accepts, with null for infinite and unknown figures."""
    return json.dumps(plain(facts), indent=indent, allow_nan=False, ensure_ascii=False)


def plain(value: Any) -> Any:
    """Turn NumPy's numbers and arrays into Python's; NaN and inf, which JSON lacks, become None."""
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value
