"""The contact laws of a scene as rows of parameters: of pairs of materials, and by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hardgrain.core import lawtable as table
from hardgrain.core.model import Floats, Ints
from hardgrain.errors import InputError
from hardgrain.scene._checks import material_number
from hardgrain.scene.spec import ContactLaw

__all__ = ["Laws"]

_COHESION_RANGE = 1e-4  # [mean diameter] far above rounding, and far below any gap that matters


@dataclass(frozen=True)
class Laws:
    """All laws of a scene. Rows of the whole table are the pairs of materials, then the names."""

    pairs: Floats  # (materials, materials, N_PARAMETERS)
    entry: Ints  # (materials, materials) which of scene.contacts a pair has, −1: the default
    named: Floats  # (k, N_PARAMETERS)
    named_entry: Ints  # (k,) which of scene.contacts it is
    row: dict[str, int]  # row of the whole table of each law that has a name

    @classmethod
    def of(
        cls, contacts: Sequence[ContactLaw], materials: Sequence[str], radius: Floats, dim: int
    ) -> Laws:
        """The laws that a scene's contacts say, for grains of these radii."""
        count = len(materials)
        pairs = np.zeros((count, count, table.N_PARAMETERS))
        entry = np.zeros((count, count), np.int32)
        named: dict[str, tuple[int, Floats]] = {}
        reach = _COHESION_RANGE * 2.0 * float(radius.mean()) if radius.size else 0.0
        # the first is a default for all pairs
        for k, law in enumerate([ContactLaw(), *contacts], start=-1):
            at = f"scene.contacts[{k}]"
            if law.torsion > 0.0 and dim == 2:
                raise InputError(f"{at}.torsion is {law.torsion:g}; torsion exists only in 3D")
            row = _parameters(law, reach)
            if law.name in named:
                raise InputError(
                    f"scene.contacts has two laws named {law.name!r}; give each a name of its own"
                )
            if law.name is not None:
                named[law.name] = k, row
            elif law.between is None:
                pairs[:], entry[:] = row, k
            else:
                a, b = (material_number(m, materials, f"{at}.between") for m in law.between)
                pairs[a, b] = pairs[b, a] = row
                entry[a, b] = entry[b, a] = k
        rows = np.array([row for _, row in named.values()]).reshape(-1, table.N_PARAMETERS)
        entries = np.array([k for k, _ in named.values()], np.int32)
        numbers = {name: count**2 + k for k, name in enumerate(named)}
        return cls(pairs, entry, rows, entries, numbers)

    @property
    def table(self) -> Floats:
        """(rows, N_PARAMETERS) every law, of pairs and by name."""
        return np.concatenate([self.pairs.reshape(-1, table.N_PARAMETERS), self.named])

    @property
    def entries(self) -> Ints:
        """(rows,) which of scene.contacts each row of the table came from, −1: the default."""
        return np.concatenate([self.entry.ravel(), self.named_entry])


def _parameters(law: ContactLaw, reach: float) -> Floats:
    """A row of the law table; ``reach`` is how far cohesion acts if the law does not say."""
    row = np.zeros(table.N_PARAMETERS)
    row[table.MU_STATIC] = law.friction
    dynamic = law.friction_dynamic
    row[table.MU_DYNAMIC] = law.friction if dynamic is None else dynamic
    row[table.E_NORMAL] = law.restitution
    row[table.E_SPEED] = law.restitution_speed or 0.0
    row[table.E_TANGENT] = law.restitution_tangential
    row[table.COHESION] = law.cohesion
    given = law.cohesion_range
    row[table.COHESION_RANGE] = reach if given is None else given
    row[table.ROLLING] = law.rolling
    row[table.TORSION] = law.torsion
    return row
