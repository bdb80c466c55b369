"""Vectors, spins and names as users write them, checked against the dimension of their scene."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from hardgrain.core.model import Drive, Floats
from hardgrain.errors import InputError
from hardgrain.scene.drive import TimeFunction, compile_function, is_constant

AXES = "xyz"


def spins(dim: int) -> int:
    """How many components a spin has."""
    return 1 if dim == 2 else 3


def vector(value: Sequence[float] | None, dim: int, at: str) -> Floats:
    """A vector as an array, shape (dim,); zero where none is given."""
    if value is None:
        return np.zeros(dim)
    if len(value) != dim:
        raise InputError(
            f"{at} is {list(value)}, with {len(value)} component(s); a scene of dimension {dim}"
            f" takes {dim}"
        )
    found = np.array(value, float)
    if not np.isfinite(found).all():
        raise InputError(f"{at} is {list(value)}; every component must be a finite number")
    return found


def spin_vector(value: Any, dim: int, at: str) -> Floats:
    """A spin as an array: one number in 2D, three in 3D; zero where none is given."""
    if value is None:
        return np.zeros(spins(dim))
    parts = value if isinstance(value, list) else [value]
    if len(parts) != spins(dim):
        raise InputError(
            f"{at} is {parts}, with {len(parts)} component(s); a scene of dimension {dim}"
            f" takes {spins(dim)}"
        )
    return vector(parts, spins(dim), at)


def unturned(n: int, dim: int) -> Floats:
    """Orientations of n bodies that are not turned: angles (n, 1) or unit quaternions (n, 4)."""
    found = np.zeros((n, 1 if dim == 2 else 4))
    if dim == 3:
        found[:, 3] = 1.0
    return found


def orientations(value: Any, n: int, dim: int, at: str, rng: np.random.Generator) -> Floats:
    """Orientations of n bodies: all alike, or drawn so that every one is as likely."""
    if value == "random":
        if dim == 2:
            return rng.uniform(-np.pi, np.pi, (n, 1))
        q = rng.normal(size=(n, 4))
        q /= np.linalg.norm(q, axis=1)[:, None]
        return q
    turned = spin_vector(value, dim, at)
    if dim == 2:
        return np.tile(turned, (n, 1))
    from scipy.spatial.transform import Rotation

    return np.tile(Rotation.from_rotvec(turned).as_quat(), (n, 1))


def unit(value: Sequence[float], dim: int, at: str) -> Floats:
    """The unit vector along a vector."""
    found = vector(value, dim, at)
    largest = float(np.abs(found).max())
    if largest == 0.0:
        raise InputError(f"{at} is the zero vector; give a direction")
    found = found / largest  # so that no square overflows
    return found / float(np.linalg.norm(found))


def material_number(name: str | None, names: Sequence[str], at: str) -> int:
    """The number of a material; the first where none is named."""
    if name is None:
        return 0
    if name not in names:
        raise InputError(f"{at} is {name!r}; materials are {', '.join(map(repr, names))}")
    return names.index(name)


def components(values: Any, count: int, at: str, what: str) -> Iterator[Drive]:
    """One drive for each component of a vector of functions of time."""
    if values is None:
        return
    if len(values) != count:
        raise InputError(f"{at} has {len(values)} component(s); this scene takes {count}")
    for axis, f in enumerate(values):
        if f != "free":
            yield Drive(what, slice(0), axis, compile_function(f), is_constant(f))


def as_spin(value: Any, dim: int, at: str) -> list[TimeFunction] | None:
    """A spin or torque as a list: one component in 2D, three in 3D."""
    if value is None:
        return None
    if not isinstance(value, list):
        if dim == 3:
            raise InputError(f"{at} is one number; in 3D it takes three components")
        return [value]
    return value


def text(vector: Floats) -> str:
    """A short vector as a user would write it."""
    return "[" + ", ".join(f"{x:g}" for x in vector) + "]"
