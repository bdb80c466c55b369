"""Boxes and drums taken apart into the planes and cylinders that they are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from hardgrain.errors import InputError
from hardgrain.scene._checks import AXES, text, unit
from hardgrain.scene._checks import vector as checked
from hardgrain.scene.drive import compile_function, is_constant
from hardgrain.scene.spec import Box, Cylinder, Drum, Piston, Plane
from hardgrain.scene.wall_rows import Simple

__all__ = ["parts", "scaled"]


def parts(wall: Any, dim: int, at: str) -> Iterator[tuple[Simple, str]]:
    """A box or a drum as planes and cylinders; any other wall as itself."""
    if isinstance(wall, Box):
        yield from _sides(wall, dim, at)
    elif isinstance(wall, Drum):
        center = checked(wall.center, dim, f"{at}.center")
        if dim == 2:
            if wall.axis is not None or wall.length is not None:
                raise InputError(f"{at} has an axis or a length; a drum in 2D is a circle")
            yield (
                Cylinder(
                    name=wall.name,
                    material=wall.material,
                    point=center.tolist(),
                    radius=wall.radius,
                    spin=wall.spin,
                ),
                at,
            )
            return
        axis = unit(wall.axis or [0.0, 1.0, 0.0], 3, f"{at}.axis")
        f = compile_function(wall.spin)
        spin: list[Any]
        if is_constant(wall.spin):
            spin = (f(0.0) * axis).tolist()
        else:
            spin = [scaled(f, float(a)) if a else 0.0 for a in axis]
        yield (
            Cylinder(
                name=wall.name,
                material=wall.material,
                point=center.tolist(),
                axis=axis.tolist(),
                radius=wall.radius,
                spin=spin,
            ),
            at,
        )
        if wall.length is not None:
            for side, sign in (("front", 1.0), ("back", -1.0)):
                yield (
                    Plane(
                        name=f"{wall.name}-{side}",
                        material=wall.material,
                        point=(center - 0.5 * sign * wall.length * axis).tolist(),
                        normal=(sign * axis).tolist(),
                        spin=spin if wall.ends_turn else None,
                    ),
                    f"{at}.{side}",
                )
    else:
        yield wall, at


def _sides(wall: Box, dim: int, at: str) -> Iterator[tuple[Simple, str]]:
    """The sides of a box as planes."""
    low, high = checked(wall.min, dim, f"{at}.min"), checked(wall.max, dim, f"{at}.max")
    if not (high > low).all():
        raise InputError(f"{at}.max is {text(high)}; every component must exceed min, {text(low)}")
    sides = [("left", "right"), ("bottom", "top")]
    if dim == 3:
        sides.insert(1, ("front", "back"))
    known = [name for pair in sides for name in pair]
    for given in (*wall.open, *wall.pistons):
        if given not in known:
            raise InputError(f"{at} names the side {given!r}; sides are {', '.join(known)}")
    for given in wall.pistons:
        if given in wall.open:
            raise InputError(f"{at} has a piston at {given!r}, a side that is open")
    prefix = f"{wall.name}-" if wall.name else ""
    if wall.velocity is not None and len(wall.velocity) != dim:
        raise InputError(
            f"{at}.velocity has {len(wall.velocity)} component(s); this scene takes {dim}"
        )
    faces = {AXES.index(name): f for name in AXES if (f := getattr(wall, name)) is not None}
    for axis in faces:
        _check_faces(wall, axis, sides, at)
    for across, pair in enumerate(sides):
        for side, point, sign in zip(pair, (low, high), (1.0, -1.0), strict=True):
            if side in wall.open:
                continue
            normal = np.zeros(dim)
            normal[across] = sign
            velocity: list[Any] | None = wall.velocity
            piston = wall.pistons.get(side)
            if velocity is not None and piston is not None:
                velocity = [*velocity[:across], "free", *velocity[across + 1 :]]
            moved = faces.get(across)
            if moved is not None and moved.fixed != side:
                if moved.pressure is not None:
                    between = [
                        (prefix + a, prefix + b) for k, (a, b) in enumerate(sides) if k != across
                    ]
                    piston = Piston(mass=moved.mass, pressure=moved.pressure, between=between)
                else:
                    velocity = [0.0] * dim
                    velocity[across] = _times(moved.velocity, -sign)
            yield (
                Plane(
                    name=prefix + side,
                    material=wall.material,
                    point=point.tolist(),
                    normal=normal.tolist(),
                    piston=piston,
                    velocity=velocity,
                ),
                f"{at}.{side}",
            )


def _check_faces(wall: Box, axis: int, sides: list[tuple[str, str]], at: str) -> None:
    """Refuse sides of a box that cannot move as they should."""
    given, here = getattr(wall, AXES[axis]), f"{at}.{AXES[axis]}"
    if axis >= len(sides):
        raise InputError(f"{here} is given in a scene of dimension 2, which has x and y")
    if wall.velocity is not None:
        raise InputError(f"{here} and {at}.velocity are given; give one of the two")
    if given.fixed is not None and given.fixed not in sides[axis]:
        one, other = sides[axis]
        raise InputError(f"{here}.fixed is {given.fixed!r}; sides across it are {one} and {other}")
    for side in sides[axis]:
        for what, names in (("is open", wall.open), ("has a piston", wall.pistons)):
            if side in names:
                raise InputError(f"{here} is given, but the side {side!r} {what}; give one of both")
    if given.pressure is None:
        return
    if is_constant(given.pressure) and compile_function(given.pressure)(0.0) < 0.0:
        raise InputError(
            f"{here}.pressure is {compile_function(given.pressure)(0.0):g}, which pulls; give a"
            " number from 0, or a function of time"
        )
    for pair in sides[:axis] + sides[axis + 1 :]:
        for side in pair:
            if side in wall.open:
                raise InputError(
                    f"{here}.pressure acts on the area between the sides across, but {side!r} is"
                    " open; close it, or give pistons with an area"
                )


def _times(f: Any, sign: float) -> Any:
    """A function of time, as a user gives it, times a sign."""
    value = compile_function(f)
    return sign * value(0.0) if is_constant(f) else scaled(value, sign)


def scaled(f: Callable[[float], float], sign: float) -> Callable[[float], float]:
    """A function of time times a number."""
    return lambda t: sign * f(t)
