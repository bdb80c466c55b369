"""The CPU backend: it compiles the physics of one contact (`law`, `point`) and schedules it.

The loops over pairs, contacts and bodies are here: `contacts` (narrow phase), `placing` and
`points` (that of shapes), `packing` (rows that sweeps read), `kinds` (which functions belong to
which rows), `order` (permutations and colours), `sweep` (one contact after another, by colours on
all threads, or all at once; the residual and the stopping rules), `relaxation` (all of a step's
contacts), `blocks` (problems given as matrices) and `ledger`.

On all threads: `tiles` (which contacts belong to which tile of space), `tile_packing`,
`tile_sweeps` and `tiled` (all of a step's contacts, tile by tile), `contact_blocks`,
`ledger_blocks` and `motion_blocks` (the rest of a step); `atomic` has what threads tell each other.

Another backend is a package with the same functions; `solve.problem.Problem.backend` names it.
"""

from hardgrain.cpu.contacts import candidates, neighbourhood_max, round_rows
from hardgrain.cpu.ledger import (
    contact_work,
    kinetic_energy,
    largest_speed,
    load_work,
    overlaps,
)
from hardgrain.cpu.packing import LAYOUTS
from hardgrain.cpu.relaxation import RELAXED, RELAXED_IN_CELL
from hardgrain.cpu.tiled import relaxed_in_tiles

__all__ = [
    "LAYOUTS", "RELAXED", "RELAXED_IN_CELL", "candidates", "contact_work", "kinetic_energy",
    "largest_speed", "load_work", "neighbourhood_max", "overlaps", "relaxed_in_tiles", "round_rows",
]  # fmt: skip
