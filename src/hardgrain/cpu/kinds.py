"""Which functions belong to which kind of packed problem.

Loops are written once and call the functions below. When a loop is compiled, each of them becomes
the one of the kind of problem it meets: `lean`, `full` or `blocks`, in 2D or 3D, or one of these
in a cell that deforms.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from hardgrain.kernels import chosen, ordered, scalar
from hardgrain.point.blocks import Blocks2D, Blocks3D, make_blocks_2d, make_blocks_3d
from hardgrain.point.cell import CELLED, make_celled
from hardgrain.point.full_2d import Full2D, make_full_2d
from hardgrain.point.full_3d import Full3D, make_full_3d
from hardgrain.point.lean_2d import Lean2D, make_lean_2d
from hardgrain.point.lean_3d import Lean3D, make_lean_3d

KINDS = {
    Lean2D: make_lean_2d(scalar),
    Lean3D: make_lean_3d(scalar),
    Full2D: make_full_2d(scalar),
    Full3D: make_full_3d(scalar),
    Blocks2D: make_blocks_2d(scalar),
    Blocks3D: make_blocks_3d(scalar),
}
KINDS |= {
    CELLED[Lean2D]: make_celled(scalar, ordered, make_lean_2d, 2, lean=True),
    CELLED[Lean3D]: make_celled(scalar, ordered, make_lean_3d, 3, lean=True),
    CELLED[Full2D]: make_celled(scalar, ordered, make_full_2d, 2, lean=False),
    CELLED[Full3D]: make_celled(scalar, ordered, make_full_3d, 3, lean=False),
}


@scalar
def nothing(p):
    """What problems do that no third body feels."""


def _of_kind(name: str, *otherwise: Any) -> Any:
    """The function of this name of whichever kind of problem it is called with."""
    return chosen(lambda kind: getattr(KINDS[kind], name, *otherwise))


relax_contact = _of_kind("relax_contact")
wanted = _of_kind("wanted")
present = _of_kind("present")
set_impulse = _of_kind("set_impulse")
speed_squared = _of_kind("speed_squared")
pack_body = _of_kind("pack_body")
pack_contact = _of_kind("pack_contact")
start = _of_kind("start")
unpack_body = _of_kind("unpack_body")
unpack_contact = _of_kind("unpack_contact")
settle = _of_kind("settle", nothing)

ANY = SimpleNamespace(wanted=wanted, present=present, speed_squared=speed_squared)
