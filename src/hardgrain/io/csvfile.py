"""Packings as tables: a line of names, then a line for each grain.

Columns x, y, z (3D), radius or diameter; also vx, vy, vz, the spin (2D) or wx, wy, wz, and type, in
any order; others are ignored. Values are separated by commas, semicolons, tabs or blanks; lines
that begin with # are comments.
"""

from __future__ import annotations

from pathlib import Path

from hardgrain.errors import InputError
from hardgrain.io.foreign import Foreign, pick_frame
from hardgrain.io.textrows import at_line, grains_of, split_rows

__all__ = ["read_csv"]


def read_csv(path: Path, frame: int) -> Foreign:
    """Grains of a table, which has one frame."""
    pick_frame(path, frame, 1)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{path} is not a text file") from None
    lines = [(k, line.strip()) for k, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not lines:
        raise InputError(f"{path} is empty")
    header, head = lines[0]
    head = head.lstrip("# ").replace('"', "")
    separator = next((mark for mark in ",;\t" if mark in head), None)
    names = [name.strip().lower() for name in head.split(separator)]
    if any(_is_number(name) for name in names):
        raise at_line(path, header, f"{head[:40]!r} is no header; name the columns, as x,y,radius")
    for name in names:
        if names.count(name) > 1:
            raise at_line(path, header, f"the column {name} is named twice")
    kept = [(k, line) for k, line in lines[1:] if not line.startswith("#")]
    return grains_of(path, names, split_rows(path, kept, len(names), separator), header)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
