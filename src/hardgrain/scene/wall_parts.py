"""Boxes and drums taken apart into the planes and cylinders that they are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from hardgrain.errors import InputError
from hardgrain.scene._checks import text, unit
from hardgrain.scene._checks import vector as checked
from hardgrain.scene.drive import compile_function, is_constant
from hardgrain.scene.spec import Box, Cylinder, Drum, Plane
from hardgrain.scene.wall_rows import Simple

__all__ = ["parts", "scaled"]


def parts(wall: Any, dim: int, at: str) -> Iterator[tuple[Simple, str]]:
    """A box or a drum as planes and cylinders; any other wall as itself."""
    if isinstance(wall, Box):
        low, high = checked(wall.min, dim, f"{at}.min"), checked(wall.max, dim, f"{at}.max")
        if not (high > low).all():
            raise InputError(
                f"{at}.max is {text(high)}; every component must exceed min, {text(low)}"
            )
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
        for across, pair in enumerate(sides):
            for side, point, sign in zip(pair, (low, high), (1.0, -1.0), strict=True):
                if side in wall.open:
                    continue
                normal = np.zeros(dim)
                normal[across] = sign
                velocity: list[Any] | None = wall.velocity
                if velocity is not None and side in wall.pistons:
                    velocity = [*velocity[:across], "free", *velocity[across + 1 :]]
                yield (
                    Plane(
                        name=prefix + side,
                        material=wall.material,
                        point=point.tolist(),
                        normal=normal.tolist(),
                        piston=wall.pistons.get(side),
                        velocity=velocity,
                    ),
                    f"{at}.{side}",
                )
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


def scaled(f: Callable[[float], float], sign: float) -> Callable[[float], float]:
    """A function of time times a number."""
    return lambda t: sign * f(t)
