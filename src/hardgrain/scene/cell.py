"""How the periodic cell of a scene deforms: by given rates, or under given stresses.

Each component of the velocity gradient L of the cell has a rate, in 1/time and positive where the
cell grows, or it is free and the cell bears a stress along it, positive where it is pressed
together. Shear has the signs that follow from these: ``xy`` is the rate dv_x/dy, and a cell that is
sheared with a positive one bears a negative stress (`hardgrain.measure.stress`).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Discriminator, Tag, model_validator

from hardgrain.core.cell import PLACES, Cell
from hardgrain.core.lawtable import COHESION
from hardgrain.core.model import SPIN, VELOCITY, Drive, Model, State, Stress
from hardgrain.core.wall_kinds import CELL, PLANE
from hardgrain.errors import InputError
from hardgrain.scene._base import Finite, Positive, Spec
from hardgrain.scene.drive import TimeFunction, compile_function, is_constant

__all__ = [
    "Biaxial", "CellControl", "Control", "CyclicShear", "Isotropic", "MixedControl", "Oedometer",
    "SimpleShear", "with_cell",
]  # fmt: skip

AXES = "xyz"
# Names of the components, in the order of Voigt.
COMPONENTS = {
    dim: [AXES[a] if a == b else AXES[a] + AXES[b] for a, b in places]
    for dim, places in PLACES.items()
}
NAME = "cell"  # of the body that the cell is

# [mass × diameter²] A cell that is lighter than this, in units of the heaviest grain and its own
# diameter, is thrown about by single contacts, and sweeps do not converge.
LIGHTEST = 1.0


def _refuse_both(given: Control | Oedometer) -> None:
    """Refuse a component that has both a stress and a rate, or none of them."""
    if (given.stress is None) == (given.rate is None):
        raise ValueError(
            "give stress or rate for a component of the cell, "
            + ("not both" if given.rate is not None else "one of the two")
        )


class Control(Spec):
    """One component of the cell's motion: its rate is given, or the stress that it bears."""

    # stress that is put on the cell, positive where it is pressed together [force/length^(d−1)]
    stress: TimeFunction | None = None
    rate: TimeFunction | None = None  # rate of strain, positive where the cell grows [1/time]

    @model_validator(mode="after")
    def _one(self) -> Control:
        _refuse_both(self)
        return self


HELD = Control(rate=0.0)


class _Cell(Spec):
    """What all ways to deform a cell share."""

    # inertia of the cell, in units of the mass of all grains times the square of their mean
    # diameter [1]: with 1 it answers to stress that is not balanced as quickly as single grains do
    inertia: Positive = 1.0

    def controls(self, dim: int) -> dict[str, Control]:
        """What is asked of each component that is not held."""
        raise NotImplementedError

    def stress_field(self, name: str) -> str:
        """Where a user gave the stress that a component bears."""
        return "scene.cell.pressure"


class MixedControl(_Cell):
    """Each component by itself; those that are not given are held."""

    kind: Literal["mixed"] = "mixed"
    x: Control | None = None  # the cell's length along x
    y: Control | None = None  # the cell's length along y
    z: Control | None = None  # the cell's length along z
    yz: Control | None = None  # shear dv_y/dz
    xz: Control | None = None  # shear dv_x/dz
    xy: Control | None = None  # shear dv_x/dy

    def controls(self, dim: int) -> dict[str, Control]:
        given = {name: getattr(self, name) for name in COMPONENTS[3]}
        return {name: control for name, control in given.items() if control is not None}

    def stress_field(self, name: str) -> str:
        return f"scene.cell.{name}.stress"


class Isotropic(_Cell):
    """The same pressure from all sides; the cell stays straight."""

    kind: Literal["isotropic"] = "isotropic"
    pressure: TimeFunction  # pressure that is put on the cell [force/length^(d−1)]

    def controls(self, dim: int) -> dict[str, Control]:
        return {name: Control(stress=self.pressure) for name in AXES[:dim]}


class Oedometer(_Cell):
    """Compression along one axis, all others held."""

    kind: Literal["oedometer"] = "oedometer"
    axis: Literal["x", "y", "z"] = "y"  # axis that is compressed
    rate: TimeFunction | None = None  # rate of strain, negative in compression [1/time]
    # stress along the axis, in place of the rate [force/length^(d−1)]
    stress: TimeFunction | None = None

    @model_validator(mode="after")
    def _one(self) -> Oedometer:
        _refuse_both(self)
        return self

    def controls(self, dim: int) -> dict[str, Control]:
        return {self.axis: Control(rate=self.rate, stress=self.stress)}

    def stress_field(self, name: str) -> str:
        return "scene.cell.stress"


class Biaxial(_Cell):
    """Compression along one axis under a lateral pressure, or at constant volume (3D: triaxial)."""

    kind: Literal["biaxial", "triaxial"] = "biaxial"
    axis: Literal["x", "y", "z"] | None = None  # axis that is compressed; default: the last one
    rate: Finite  # rate of strain along it, negative in compression [1/time]
    # lateral pressure of a drained test [force/length^(d−1)]; default: the volume stays constant
    pressure: TimeFunction | None = None

    def controls(self, dim: int) -> dict[str, Control]:
        if (self.kind == "triaxial") != (dim == 3):
            raise InputError(
                f"scene.cell.kind is {self.kind!r} in a scene of dimension {dim}; give 'biaxial' in"
                " 2D, 'triaxial' in 3D, and each component by itself for plane strain"
            )
        axis = self.axis or AXES[dim - 1]
        lateral = Control(rate=-self.rate / (dim - 1))
        if self.pressure is not None:
            lateral = Control(stress=self.pressure)
        return {name: Control(rate=self.rate) if name == axis else lateral for name in AXES[:dim]}


class SimpleShear(_Cell):
    """Simple shear dv_x/dy, under a pressure along y, or at constant volume."""

    kind: Literal["simple-shear"] = "simple-shear"
    rate: TimeFunction  # rate of shear, dv_x/dy [1/time]
    # pressure along y [force/length^(d−1)]; default: the volume stays constant
    pressure: TimeFunction | None = None

    def controls(self, dim: int) -> dict[str, Control]:
        return _sheared(self.rate, self.pressure)


class CyclicShear(_Cell):
    """Simple shear to and fro, by a sine of time."""

    kind: Literal["cyclic"] = "cyclic"
    amplitude: Positive  # largest shear strain [1]
    period: Positive  # time that a cycle takes [time]
    # pressure along y [force/length^(d−1)]; default: the volume stays constant
    pressure: TimeFunction | None = None

    def controls(self, dim: int) -> dict[str, Control]:
        omega = 2.0 * math.pi / self.period
        return _sheared(f"{self.amplitude * omega!r} * cos({omega!r} * t)", self.pressure)


def _sheared(rate: TimeFunction, pressure: TimeFunction | None) -> dict[str, Control]:
    controls = {"xy": Control(rate=rate)}
    if pressure is not None:
        controls["y"] = Control(stress=pressure)
    return controls


def _kind(value: Any) -> str:
    """Which way to deform a cell is meant."""
    if isinstance(value, dict):
        return str(value.get("kind", "mixed"))
    return str(getattr(value, "kind", "mixed"))


CellControl = Annotated[
    Annotated[MixedControl, Tag("mixed")]
    | Annotated[Isotropic, Tag("isotropic")]
    | Annotated[Oedometer, Tag("oedometer")]
    | Annotated[Biaxial, Tag("biaxial")]
    | Annotated[Biaxial, Tag("triaxial")]
    | Annotated[SimpleShear, Tag("simple-shear")]
    | Annotated[CyclicShear, Tag("cyclic")],
    Discriminator(_kind),
]


def with_cell(spec: _Cell, model: Model, state: State) -> tuple[Model, State]:
    """The model and the state with the cell as one more body, the last one."""
    dim, names = model.dim, COMPONENTS[model.dim]
    controls = spec.controls(dim)
    _check(spec, controls, model, names)
    cell, one = model.bodies, slice(model.bodies, model.bodies + 1)
    drives, stresses, free = list(model.drives), [], np.zeros(len(names))
    for k, name in enumerate(names):
        control = controls.get(name, HELD)
        if control.stress is not None:
            asked = compile_function(control.stress)
            stresses.append(Stress(k, asked, is_constant(control.stress)))
            free[k] = 1.0
        elif control.rate is not None:
            what, axis = (VELOCITY, k) if k < dim else (SPIN, k - dim)
            rate = compile_function(control.rate)
            drives.append(Drive(what, one, axis, rate, is_constant(control.rate)))
    inertia = spec.inertia * _scale(model)
    if free.any():
        _check_inertia(spec.inertia, inertia, model)
    inverse = free / inertia
    new = replace(
        model,
        **{
            name: _longer(getattr(model, name), row)
            for name, row in {
                "inv_mass": inverse[:dim],
                "inv_inertia": inverse[dim:],
                "mass": 0.0,
                "inertia": 0.0,
                "material": 0,
                "carrier": cell,
                "wall_kind": CELL,
                "wall_axis": np.zeros(dim),
                "wall_size": 0.0,
                "wall_offset": np.zeros(dim),
                "wall_side": np.zeros(dim),
            }.items()
        },
        moments=_longer(model.moments, np.zeros(3)) if len(model.moments) else model.moments,
        wall_names=(*model.wall_names, NAME),
        drives=tuple(drives),
        stresses=tuple(stresses),
        cell_walls=_walls_along_open_axes(model, state, bool(stresses)),
    )
    at_rest = {
        "position": np.zeros(dim),
        "velocity": np.zeros(dim),
        "spin": np.zeros(len(names) - dim),
        "orientation": np.zeros(1) if dim == 2 else np.array([0.0, 0.0, 0.0, 1.0]),
    }
    longer = {name: _longer(getattr(state, name), row) for name, row in at_rest.items()}
    return new, replace(state, **longer, cell=Cell.straight(model.periodic).numbers)


def _longer(array: Any, row: Any) -> Any:
    """An array with one more row."""
    return np.concatenate([array, np.asarray(row, array.dtype)[None]])


def _scale(model: Model) -> float:
    """The unit of the cell's inertia: mass of all grains × square of their mean diameter."""
    mean = float((model.volume / (math.pi if model.dim == 2 else 4.0 / 3.0 * math.pi)).mean())
    diameter = 2.0 * math.pow(mean, 1.0 / model.dim)
    return float(model.mass[: model.n].sum()) * diameter**2


def _check(spec: _Cell, controls: dict[str, Control], model: Model, names: list[str]) -> None:
    """Refuse what cannot be asked of a cell."""
    if not (model.periodic > 0.0).any():
        raise InputError(
            "scene.cell is given, but scene.periodic is empty; name the axes along which the scene"
            " repeats"
        )
    if NAME in model.wall_names:
        raise InputError(
            f"a wall is named {NAME!r}, as the periodic cell is; give the wall another name"
        )
    for name, control in controls.items():
        asked = f"this kind of scene.cell deforms {name}"
        if isinstance(spec, MixedControl):
            asked = f"scene.cell.{name} is given"
        if name not in names:
            raise InputError(
                f"{asked} in a scene of dimension {model.dim}, which has {', '.join(names)}"
            )
        for letter in name:
            if model.periodic[AXES.index(letter)] == 0.0:
                raise InputError(
                    f"{asked}, but the scene does not repeat along {letter};"
                    f" give scene.periodic.{letter}, or let the cell deform along other axes"
                )
        stress = control.stress
        if stress is not None and len(name) == 1 and is_constant(stress):
            value = compile_function(stress)(0.0)
            if value < 0.0 and not model.law_table[:, COHESION].any():
                raise InputError(
                    f"{spec.stress_field(name)} is {value:g}, a tension, which rigid grains without"
                    " cohesion cannot bear; compression is positive"
                )


def _check_inertia(given: float, inertia: float, model: Model) -> None:
    """Refuse a cell that single contacts would throw about."""
    heaviest = int(model.mass[: model.n].argmax())
    least = LIGHTEST * float(model.mass[heaviest] * (2.0 * model.radius[heaviest]) ** 2)
    if inertia < least:
        raise InputError(
            f"scene.cell.inertia is {given:g}; with these grains it must be at least"
            f" {given * least / inertia:.3g}, so that no single grain throws the cell about"
        )


def _walls_along_open_axes(
    model: Model, state: State, needed: bool
) -> tuple[tuple[int, int, int], ...]:
    """The two planes that bound the scene along each axis that is not periodic."""
    found = []
    for axis in np.flatnonzero(model.periodic == 0.0):
        ends = [
            [
                w
                for w in np.flatnonzero(model.wall_kind == PLANE)
                if np.allclose(model.wall_axis[w], sign * np.eye(model.dim)[axis])
            ]
            for sign in (1.0, -1.0)
        ]
        if len(ends[0]) == len(ends[1]) == 1:
            found.append((int(ends[0][0]), int(ends[1][0]), int(axis)))
        elif needed:
            raise InputError(
                f"scene.cell asks for a stress, and the scene does not repeat along {AXES[axis]};"
                " its volume is not known unless two planes face each other there"
            )
    return tuple(found)
