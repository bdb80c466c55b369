"""A law for each contact, chosen by a function of the user's in place of the materials."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, PlainSerializer
from pydantic_core import PydanticCustomError

from hardgrain.core.brief import brief
from hardgrain.core.model import Contacts, Floats, Ints, Model, Rows
from hardgrain.errors import InputError, RunError
from hardgrain.scene.drive import PYTHON, function_name

__all__ = ["Candidates", "ContactRule", "LawChoice", "as_stored"]


@brief
@dataclass(frozen=True)
class Candidates:
    """The m contact candidates of a step, as a rule that chooses their laws sees them.

    The arrays can be read only. What a rule returns must follow from them alone: a run that is
    resumed asks it again.
    """

    first: Ints  # (m,) number of the first grain
    second: Ints  # (m,) number of the second grain, or of a wall: walls follow all grains
    feature: Ints  # (m,) which of the contact points of its two bodies it is
    normal: Floats  # (m, dim) from first to second
    gap: Floats  # (m,) negative where the two overlap [length]
    position: Floats  # (m, dim) the contact point, on the surface of the first grain [length]
    width: Floats  # (m,) diameter of the smaller grain [length]
    group_first: Ints  # (m,) set of grains that the first belongs to, from 0
    group_second: Ints  # (m,) that of the second, −1: it is a wall
    wall: NDArray[np.str_]  # (m,) name of the wall, empty where the second is a grain
    by_material: Ints  # (m,) row of the law that the two materials have
    row: Mapping[str, int]  # row of each law that has a name

    def __len__(self) -> int:
        return self.first.size


def _rule(value: Any) -> Any:
    if callable(value) or (isinstance(value, str) and value.startswith(PYTHON)):
        return value
    raise PydanticCustomError("rule", "should be a Python function of the contact candidates")


ContactRule = Annotated[
    Any,
    BeforeValidator(_rule),
    PlainSerializer(
        lambda f: f if isinstance(f, str) else PYTHON + function_name(f),
        return_type=str,
        when_used="json",
    ),
]


@dataclass(frozen=True)
class LawChoice:
    """A user's rule, asked for all contacts at once, whose answer is checked: `Model.rule`."""

    rule: Callable[[Candidates], Any]
    row: Mapping[str, int]  # row of each law that has a name

    @classmethod
    def of(cls, rule: Any, row: Mapping[str, int]) -> LawChoice | None:
        """The rule of a scene with these named laws; None where it has neither."""
        if rule is None and not row:
            return None
        if rule is None:
            raise InputError(
                f"scene.contacts has a law named {next(iter(row))!r}, which nothing chooses; give"
                " scene.contact_rule in Python, or leave out the name"
            )
        if isinstance(rule, str):
            raise InputError(
                f"the function {rule.removeprefix(PYTHON)!r} was given in Python and is not"
                " stored; build the scene in Python again"
            )
        if not row:
            raise InputError(
                "scene.contact_rule is given, but no law in scene.contacts has a name that it"
                " could choose; name those that it is for"
            )
        return cls(rule, row)

    def __call__(self, model: Model, position: Floats, contacts: Contacts, law: Ints) -> Ints:
        """Row of the law table of each contact, (m,); ``law`` has those by material."""
        if not len(contacts):
            return law
        name = f"scene.contact_rule, the function {function_name(self.rule)},"
        try:
            shown, rows = self._shown(model, position, contacts, law)
            found = np.asarray(self.rule(shown))
        except Exception as error:
            raise RunError(f"{name} failed: {type(error).__name__}: {error}") from error
        if found.shape != law.shape:
            raise RunError(
                f"{name} returned an array of shape {found.shape} for {law.size} contacts; it must"
                f" return the row of a law for each, shape {law.shape}"
            )
        if found.dtype.kind not in "iu":
            raise RunError(f"{name} returned {found.dtype.name}; rows of laws are integers")
        most = len(model.law_table)
        if (odd := (found < 0) | (found >= most)).any():
            raise RunError(
                f"{name} returned the row {found[odd][0]}; there are the rows 0 to {most - 1}"
            )
        chosen = np.empty_like(law)
        chosen[rows] = found
        return chosen

    def _shown(
        self, model: Model, position: Floats, contacts: Contacts, law: Ints
    ) -> tuple[Candidates, Rows]:
        """What the rule sees, whatever the order of the bodies; and which rows these are."""
        c, rows = contacts.seen_by(model.number)
        number, walls = model.number, model.bodies - model.n
        group = np.append(model.group, np.full(walls, -1, np.int32))
        names = np.array(["", *model.wall_names])
        shown = Candidates(
            first=number[c.first],
            second=number[c.second],
            feature=c.feature,
            normal=c.normal,
            gap=c.gap,
            position=position[c.first] + c.arm_first,
            width=c.width,
            group_first=group[c.first],
            group_second=group[c.second],
            wall=names[np.maximum(c.second - model.n + 1, 0)],
            by_material=law[rows],
            row=self.row,
        )
        for f in fields(shown):
            if isinstance(values := getattr(shown, f.name), np.ndarray):
                values.setflags(write=False)
        return shown, rows


def as_stored(model: Model, position: Floats, contacts: Contacts, law: Ints) -> Ints:
    """The rule of a run file, which keeps the row that each contact had."""
    return contacts.law
