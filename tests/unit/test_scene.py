"""From a scene to arrays: masses, locks, laws, walls, drives as documented; clear refusals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import hardgrain as hg
from hardgrain.core import lawtable as table
from hardgrain.core.model import Model, State

PLANE, SEGMENT, INSIDE, OUTSIDE = range(4)


def at(*points: list[float], **options: Any) -> hg.Grains:
    """Grains of diameter 1 at given points."""
    return hg.Grains(place=hg.At(positions=list(points)), **options)


def build(
    dim: int = 2, grains: list[hg.Grains] | None = None, **options: Any
) -> tuple[Model, State]:
    if grains is None:
        grains = [at([0.5] * dim)]
    return hg.Scene(dimension=dim, grains=grains, **options).build(seed=1)


def drives(model: Model, what: str) -> dict[tuple[int, int], Any]:
    """Drives of a kind by (body, axis); value at time zero."""
    every = np.arange(model.bodies)
    return {
        (int(body), d.axis): d.value(0.0)
        for d in model.drives
        if d.what == what
        for body in every[d.bodies]
    }


# ---------------------------------------------------------------------- grains
@pytest.mark.parametrize("dim", [2, 3])
def test_masses_and_inertia(dim: int) -> None:
    model, state = build(
        dim,
        [
            at([0.0] * dim, [5.0] * dim, diameter=[1.0, 3.0], material="heavy"),
            at([10.0] * dim, diameter=2.0, material="light"),
        ],
        materials={"light": hg.Material(density=0.5), "heavy": hg.Material(density=7.0)},
    )
    r, density = np.array([0.5, 1.5, 1.0]), np.array([7.0, 7.0, 0.5])
    mass = density * (math.pi * r**2 if dim == 2 else 4 / 3 * math.pi * r**3)
    inertia = (1 / 2 if dim == 2 else 2 / 5) * mass * r**2
    np.testing.assert_array_equal(model.radius, r)
    np.testing.assert_allclose(model.mass, mass, rtol=1e-15)
    np.testing.assert_allclose(model.inertia, inertia, rtol=1e-15)
    np.testing.assert_allclose(model.inv_mass, np.tile(1 / mass, (dim, 1)).T, rtol=1e-15)
    ns = 1 if dim == 2 else 3
    np.testing.assert_allclose(model.inv_inertia, np.tile(1 / inertia, (ns, 1)).T, rtol=1e-15)
    assert model.material.tolist() == [1, 1, 0]
    assert model.group.tolist() == [0, 0, 1]
    assert (model.dim, model.n, model.bodies) == (dim, 3, 3)
    assert state.position.tolist() == [[0.0] * dim, [5.0] * dim, [10.0] * dim]
    assert state.orientation.tolist() == [[0.0] if dim == 2 else [0.0, 0.0, 0.0, 1.0]] * 3
    assert (state.step, state.time, len(state.contacts)) == (0, 0.0, 0)


@pytest.mark.parametrize("dim", [2, 3])
def test_arrays_are_what_kernels_take(dim: int) -> None:
    model, state = build(dim, walls=[hg.Box(min=[0.0] * dim, max=[9.0] * dim)])
    for owner in (model, state, state.contacts):
        for name, value in vars(owner).items():
            if isinstance(value, np.ndarray):
                assert value.flags.c_contiguous, name
                assert value.dtype in (np.float64, np.int32), name


@pytest.mark.parametrize(
    ("dim", "lock", "mass", "inertia"),
    [
        (2, ["x"], [0, 1], [1]),
        (2, ["x", "y"], [0, 0], [1]),
        (2, ["rotation"], [1, 1], [0]),
        (3, ["y", "z", "rotation"], [1, 0, 0], [0, 0, 0]),
        (3, ["z", "rx", "ry"], [1, 1, 0], [0, 0, 1]),
    ],
)
def test_locks(dim: int, lock: list[Any], mass: list[int], inertia: list[int]) -> None:
    """Locked axes have no inverse mass and start at rest; the true mass stays."""
    fast = [2.0, 3.0, 4.0][:dim]
    spin = 5.0 if dim == 2 else [5.0, 6.0, 7.0]
    model, state = build(dim, [at([0.0] * dim, lock=lock, velocity=fast, spin=spin)])
    free, _ = build(dim, [at([0.0] * dim)])
    np.testing.assert_array_equal(model.inv_mass, free.inv_mass * mass)
    np.testing.assert_array_equal(model.inv_inertia, free.inv_inertia * inertia)
    np.testing.assert_array_equal(state.velocity[0], np.array(fast) * mass)
    np.testing.assert_array_equal(state.spin[0], np.array(spin) * inertia)
    assert model.mass == free.mass


def test_velocities_from_the_seed() -> None:
    scene = hg.Scene(
        grains=[
            at([0, 0], velocity=[1.0, 2.0], spin=3.0),
            hg.Grains(
                count=4000, diameter=0.1, speed=0.5, velocity=[0, 9.0],
                place=hg.Grid(min=[10, 0], max=[20, 20]),
            ),
        ]
    )  # fmt: skip
    _, state = scene.build(seed=3)
    assert state.velocity[0].tolist() == [1.0, 2.0]
    assert state.spin[0].tolist() == [3.0]
    np.testing.assert_allclose(state.velocity[1:].std(axis=0), 0.5, rtol=0.05)
    np.testing.assert_allclose(state.velocity[1:].mean(axis=0), [0.0, 9.0], atol=0.03)
    assert (scene.build(seed=3)[1].velocity == state.velocity).all()
    assert (scene.build(seed=4)[1].velocity[1:] != state.velocity[1:]).all()


def test_drives_of_grains() -> None:
    model, _ = build(
        2,
        [
            at([0, 0], [2, 0]),
            at(
                [4, 0], force=["2*t + 1", 0.5], torque=0.25,
                driven_velocity=["free", "cos(t)"], driven_spin=2,
            ),
        ],
    )  # fmt: skip
    assert drives(model, "force") == {(2, 0): 1.0, (2, 1): 0.5}
    assert drives(model, "torque") == {(2, 0): 0.25}
    assert drives(model, "velocity") == {(2, 1): 1.0}
    assert drives(model, "spin") == {(2, 0): 2.0}
    assert (model.inv_mass[2] > 0.0).tolist() == [True, False]  # driven axes obey no force
    assert model.inv_inertia[2] == 0.0
    assert {(d.what, d.axis) for d in model.drives if not d.constant} == {
        ("force", 0),
        ("velocity", 1),
    }


# ---------------------------------------------------------------------- laws
def test_law_table() -> None:
    """Later entries win, pairs count both ways, the dynamic coefficient defaults to the static."""
    model, _ = build(
        3,
        [at([0, 0, 0], diameter=2.0)],
        materials={name: hg.Material() for name in ("steel", "glass", "cork")},
        contacts=[
            hg.ContactLaw(friction=0.5, cohesion=0.1),
            hg.ContactLaw(
                between=("glass", "steel"), friction=0.4, friction_dynamic=0.2, restitution=0.9,
                restitution_speed=8.0, cohesion=3.0, cohesion_range=0.7, rolling=0.06,
                torsion=0.05,
            ),
            hg.ContactLaw(between=("cork", "cork"), friction=1.0, restitution_tangential=0.6),
        ],
    )  # fmt: skip
    reach = 1e-4 * 2.0
    common = [0.5, 0.5, 0.0, 0.0, 0.1, reach, 0.0, 0.0, 0.0]
    pair = [0.4, 0.2, 0.9, 0.0, 3.0, 0.7, 0.06, 0.05, 8.0]
    cork = [1.0, 1.0, 0.0, 0.6, 0.0, reach, 0.0, 0.0, 0.0]
    expected = np.array([[common, pair, common], [pair, common, common], [common, common, cork]])
    np.testing.assert_allclose(model.laws, expected, rtol=1e-15)
    assert (model.laws == model.laws.transpose(1, 0, 2)).all()


def test_default_law() -> None:
    model, _ = build()
    assert model.laws.shape == (1, 1, table.N_PARAMETERS)
    row = model.laws[0, 0]
    assert row[[table.MU_STATIC, table.MU_DYNAMIC]].tolist() == [0.3, 0.3]
    others = [table.E_NORMAL, table.E_TANGENT, table.COHESION, table.ROLLING, table.TORSION]
    assert not row[others].any()


def test_pairs_without_an_entry_have_the_default_law() -> None:
    """An entry for one pair says nothing about the others: friction 0.3, not none at all."""
    model, _ = build(
        materials={name: hg.Material() for name in ("a", "b", "c")},
        contacts=[hg.ContactLaw(between=("a", "b"), friction=0.7, restitution=0.5)],
    )
    default = hg.Scene(grains=[at([0, 0])]).build(seed=1)[0].laws[0, 0]
    for i, j in np.ndindex(3, 3):
        if {i, j} == {0, 1}:
            assert model.laws[i, j, table.MU_STATIC] == 0.7
        else:
            np.testing.assert_array_equal(model.laws[i, j], default)
    assert default[table.MU_STATIC] == 0.3


def test_shock() -> None:
    assert build(shock="g")[0].remove_overlaps
    assert not build(shock="g+")[0].remove_overlaps
    assert not build()[0].remove_overlaps


@pytest.mark.parametrize(
    ("lean", "options"),
    [
        (True, {}),
        (True, {"restitution": 0.5}),
        (True, {"friction": 0.5, "friction_dynamic": 0.5}),
        (False, {"friction": 0.5, "friction_dynamic": 0.4}),
        (False, {"restitution_tangential": 0.5}),
        (False, {"cohesion": 0.5}),
        (False, {"rolling": 0.5}),
        (False, {"torsion": 0.5}),
    ],
)
def test_lean_laws(lean: bool, options: dict[str, float]) -> None:
    assert build(3, contacts=[hg.ContactLaw(**options)])[0].lean is lean


@pytest.mark.parametrize(
    ("lean", "options"),
    [
        (True, {"lock": ["rotation"]}),
        (True, {"lock": ["x", "y", "z"]}),
        (True, {"driven_spin": [0, 0, 1]}),
        (False, {"lock": ["x"]}),
        (False, {"lock": ["rx"]}),
        (False, {"driven_velocity": [1, "free", "free"]}),
    ],
)
def test_lean_bodies(lean: bool, options: dict[str, Any]) -> None:
    """The quick path is for bodies that are alike in every direction."""
    assert build(3, [at([0, 0, 0], **options)])[0].lean is lean


# ---------------------------------------------------------------------- walls
def test_box_2d() -> None:
    model, state = build(
        walls=[hg.Box(min=[-1, -2], max=[3, 4], open=["top"], material="felt", name="tray")],
        materials={"grain": hg.Material(), "felt": hg.Material()},
    )
    assert model.wall_names == ("tray-left", "tray-right", "tray-bottom")
    assert model.wall_kind.tolist() == [PLANE] * 3
    assert model.wall_axis.tolist() == [[1, 0], [-1, 0], [0, 1]]
    assert (state.position[1:] + model.wall_offset).tolist() == [[-1, -2], [3, 4], [-1, -2]]
    assert model.material.tolist() == [0, 1, 1, 1]
    assert not model.inv_mass[1:].any()
    assert not model.inv_inertia[1:].any()
    assert not model.mass[1:].any()


def test_box_3d() -> None:
    """x from left to right, y from front to back, z from bottom to top."""
    model, _ = build(3, walls=[hg.Box(min=[0, 0, 0], max=[1, 2, 3])])
    assert model.wall_names == ("left", "right", "front", "back", "bottom", "top")
    assert model.wall_axis.tolist() == [
        [1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1],
    ]  # fmt: skip


def test_planes_segments_cylinders() -> None:
    model, state = build(
        walls=[
            hg.Plane(point=[0, -1], normal=[3, 4]),
            hg.Segment(start=[2, 1], end=[5, 3], name="ramp", pivot=[2, 0]),
            hg.Cylinder(point=[0, 0], radius=9),
            hg.Cylinder(point=[5, 5], radius=1, side="outside", velocity=[0, "sin(t)"], spin=3),
        ]
    )
    assert model.wall_names == ("plane0", "ramp", "cylinder2", "cylinder3")
    assert model.wall_kind.tolist() == [PLANE, SEGMENT, INSIDE, OUTSIDE]
    np.testing.assert_allclose(model.wall_axis, [[0.6, 0.8], [3, 2], [0, 0], [0, 0]])
    assert model.wall_size.tolist() == [0, 0, 9, 1]
    assert state.position[1:].tolist() == [[0, -1], [2, 0], [0, 0], [5, 5]]  # where they turn
    assert model.wall_offset.tolist() == [[0, 0], [0, 1], [0, 0], [0, 0]]
    assert drives(model, "velocity") == {(4, 0): 0.0, (4, 1): 0.0}
    assert drives(model, "spin") == {(4, 0): 3.0}


def test_drum_2d() -> None:
    model, state = build(walls=[hg.Drum(center=[1, 2], radius=5, spin=-0.5)])
    assert model.wall_names == ("drum",)
    assert model.wall_kind.tolist() == [INSIDE]
    assert model.wall_size.tolist() == [5]
    assert state.position[1].tolist() == [1, 2]
    assert drives(model, "spin") == {(1, 0): -0.5}


@pytest.mark.parametrize("turn", [False, True])
def test_drum_3d(turn: bool) -> None:
    """Around y by default, its ends half a length away, looking inwards."""
    model, state = build(
        3, walls=[hg.Drum(center=[0, 1, 0], radius=5, length=4, spin=0.5, ends_turn=turn)]
    )
    assert model.wall_names == ("drum", "drum-front", "drum-back")
    assert model.wall_kind.tolist() == [INSIDE, PLANE, PLANE]
    assert model.wall_axis.tolist() == [[0, 1, 0], [0, 1, 0], [0, -1, 0]]
    assert state.position[1:].tolist() == [[0, 1, 0], [0, -1, 0], [0, 3, 0]]
    turning = (1, 2, 3) if turn else (1,)
    spins = drives(model, "spin")
    assert {key: value for key, value in spins.items() if value} == {(b, 1): 0.5 for b in turning}


def test_drum_about_a_tilted_axis_with_a_changing_spin() -> None:
    model, _ = build(3, walls=[hg.Drum(center=[0, 0, 0], radius=5, axis=[3, 0, 4], spin="1 + t")])
    assert model.wall_names == ("drum",)  # endless
    found = {d.axis: d.value(1.0) for d in model.drives}
    assert found == pytest.approx({0: 1.2, 1: 0.0, 2: 1.6})
    assert [d.constant for d in model.drives] == [False, True, False]


def test_piston_with_a_force() -> None:
    """A piston moves along its normal only; its force points to the grains."""
    model, _ = build(
        walls=[
            hg.Box(
                min=[0, 0], max=[4, 4],
                pistons={"top": hg.Piston(mass=2, force=3), "left": hg.Piston(mass=5, force="t+1")},
            )
        ]
    )  # fmt: skip
    left, top = 1 + model.wall_names.index("left"), 1 + model.wall_names.index("top")
    assert model.inv_mass[left].tolist() == [0.2, 0.0]
    assert model.inv_mass[top].tolist() == [0.0, 0.5]
    assert not model.inv_inertia[1:].any()
    assert model.mass[[left, top]].tolist() == [5.0, 2.0]
    assert drives(model, "force") == {(left, 0): 1.0, (top, 1): -3.0}
    assert model.lean


def test_piston_with_a_pressure() -> None:
    sides = [("left", "right"), ("front", "back")]
    model, _ = build(
        3,
        walls=[
            hg.Box(
                min=[0, 0, 0], max=[1, 2, 3],
                pistons={"top": hg.Piston(mass=1, pressure=4, between=sides)},
            ),
            hg.Plane(
                point=[9, 0, 0], normal=[-1, 0, 0], name="far",
                piston=hg.Piston(mass=1, pressure="t", area=6),
            ),
        ],
    )  # fmt: skip
    spanned, given = model.pressures
    assert spanned.body == 1 + model.wall_names.index("top")
    assert spanned.direction.tolist() == [0, 0, -1]
    assert spanned.pressure(7.0) == 4.0
    assert spanned.between == ((1, 2, 0), (3, 4, 1))
    assert (given.area, given.between, given.pressure(7.0)) == (6.0, (), 7.0)
    assert given.direction.tolist() == [-1, 0, 0]
    assert not drives(model, "force")


def test_periods_and_gravity() -> None:
    model, _ = build(3, periodic={"y": (-3.0, 4.5)}, gravity=[0, 0, -9.81])
    assert model.periodic.tolist() == [0, 7.5, 0]
    assert model.gravity.tolist() == [0, 0, -9.81]
    assert build()[0].gravity.tolist() == [0, 0]


# ---------------------------------------------------------------------- refusals
PISTON = hg.Piston(mass=1, force=1)
BOX = {"min": [0, 0], "max": [9, 9]}


def pressed(*pairs: tuple[str, str], side: str = "top") -> dict[str, Any]:
    return {side: hg.Piston(mass=1, pressure=1, between=list(pairs))}


def plane(**keys: Any) -> hg.Plane:
    return hg.Plane(point=[0, 0], normal=[0, 1], **keys)


def disk(**keys: Any) -> hg.Disk:
    return hg.Disk(center=[0, 0, -5], normal=[0, 0, 1], radius=2, **keys)


def rectangle(a: list[float], b: list[float], **keys: Any) -> hg.Rectangle:
    return hg.Rectangle(corner=[0, 0, -5], sides=(a, b), **keys)


REFUSED: list[tuple[int, dict[str, Any], str]] = [
    (2, {"grains": []}, r"scene\.grains is empty; .* at least one grain"),
    (2, {"materials": {}}, r"scene\.materials is empty; give at least one"),
    (2, {"gravity": [0, 0, -1]}, r"scene\.gravity is \[0\.0, 0\.0, -1\.0\], with 3 .* takes 2"),
    (3, {"gravity": [0, -1]}, r"scene\.gravity is .* with 2 component\(s\).* takes 3"),
    (2, {"gravity": [0, math.nan]}, r"gravity\[1\] is nan; give a finite number"),
    (2, {"periodic": {"z": (0, 9)}}, r"scene\.periodic\.z needs a scene of dimension 3"),
    (2, {"periodic": {"x": (9, 0)}}, r"scene\.periodic\.x is \[9, 0\]; .* low < high"),
    (2, {"periodic": {"x": (0, math.inf)}}, r"periodic\.x\[1\] is inf; give a finite number"),
    (2, {"periodic": {"x": (0, 1.9)}}, r"periodic\.x spans 1\.9; .* diameter 1 .* at least 2"),
    (
        2,
        {"periodic": {"x": (0, 9)}, "walls": [hg.Box(**BOX, open=["right"])]},
        r"scene\.walls\[0\]\.left faces along x, .* repeats",
    ),
    (2, {"contacts": [hg.ContactLaw(torsion=0.1)]}, r"contacts\[0\]\.torsion is 0\.1; .* 3D"),
    (
        2,
        {"contacts": [hg.ContactLaw(between=("grain", "gran"))]},
        r"scene\.contacts\[0\]\.between is 'gran'; materials are 'grain'",
    ),
    (2, {"grains": [at([0, 0], material="sand")]}, r"grains\[0\]\.material is 'sand'; .* 'grain'"),
    (2, {"grains": [at([0, 0], lock=["z"])]}, r"grains\[0\]\.lock holds 'z'; in 2D"),
    (2, {"grains": [at([0, 0], lock=["rx"])]}, r"grains\[0\]\.lock holds 'rx'; in 2D"),
    (2, {"grains": [at([0, 0], velocity=[1])]}, r"grains\[0\]\.velocity is \[1\.0\], with 1"),
    (3, {"grains": [at([0, 0, 0], spin=1)]}, r"grains\[0\]\.spin is \[1\.0\], with 1 .* takes 3"),
    (2, {"grains": [at([0, 0], spin=[1, 2, 3])]}, r"grains\[0\]\.spin is .* with 3"),
    (2, {"grains": [at([0, 0], force=[1])]}, r"grains\[0\]\.force has 1 component\(s\).* takes 2"),
    (3, {"grains": [at([0, 0, 0], torque=1)]}, r"grains\[0\]\.torque is one number; in 3D"),
    (2, {"grains": [at([0, 0], driven_velocity=["free"])]}, r"driven_velocity has 1 component"),
    (2, {"grains": [at([0, 0], driven_spin=[1, 1])]}, r"driven_spin has 2 .* takes 1"),
    (2, {"grains": [at([0, 0, 0])]}, r"scene\.grains\[0\]\.place\.positions\[0\] has 3"),
    (
        2,
        {"grains": [hg.Grains(place=hg.Loose(min=[0, 0], max=[1, 1]))]},
        r"scene\.grains\[0\]\.count is missing",
    ),
    (2, {"walls": [hg.Plane(point=[0], normal=[0, 1])]}, r"walls\[0\]\.point is \[0\.0\], with 1"),
    (2, {"walls": [hg.Plane(point=[0, 0], normal=[0, 0])]}, r"walls\[0\]\.normal is the zero"),
    (
        2,
        {"walls": [hg.Plane(point=[0, 0], normal=[0, 1], name="a")] * 2},
        r"two walls named 'a'; give each a name",
    ),
    (2, {"walls": [hg.Box(**BOX)] * 2}, r"two walls named 'left'; give each a name"),
    (3, {"walls": [hg.Segment(start=[0, 0], end=[1, 1])]}, r"walls\[0\] is a segment; .* 2D"),
    (2, {"walls": [hg.Segment(start=[1, 1], end=[1, 1])]}, r"walls\[0\]\.end equals start"),
    (2, {"walls": [hg.Cylinder(point=[0, 0], radius=9, axis=[0, 0, 1])]}, r"axis is given"),
    (3, {"walls": [hg.Cylinder(point=[0] * 3, radius=9, axis=[0] * 3)]}, r"axis is the zero"),
    (2, {"walls": [hg.Drum(center=[0, 0], radius=9, length=3)]}, r"walls\[0\] has an axis or"),
    (3, {"walls": [hg.Drum(center=[0] * 3, radius=9, axis=[0] * 3)]}, r"axis is the zero"),
    (2, {"walls": [hg.Box(min=[0, 0], max=[9, 0])]}, r"max is \[9, 0\]; every component .* min"),
    (2, {"walls": [hg.Box(**BOX, open=["front"])]}, r"the side 'front'; sides are left, right"),
    (2, {"walls": [hg.Box(**BOX, pistons={"lid": PISTON})]}, r"names the side 'lid'"),
    (2, {"walls": [hg.Box(**BOX, pistons={"top": PISTON}, open=["top"])]}, r"'top'.* open"),
    (2, {"walls": [hg.Box(**BOX, material="wood")]}, r"walls\[0\]\.left\.material is 'wood'"),
    (
        2,
        {"walls": [hg.Plane(point=[0, 0], normal=[0, 1], velocity=[0, 1], piston=PISTON)]},
        r"walls\[0\]\.velocity is 1\.0 along y, along which its piston moves; give 'free' there",
    ),
    (2, {"walls": [plane(velocity=[0, "free"])]}, r"'free' along y, .* give its mass"),
    (2, {"walls": [plane(velocity=[0, 0], mass=2)]}, r"mass is 2, but the wall is free along no"),
    (2, {"walls": [plane(velocity=[0])]}, r"velocity has 1 component\(s\); this scene takes 2"),
    (2, {"walls": [plane(piston=PISTON, mass=2)]}, r"mass is 2 and piston\.mass is 1; give one"),
    (2, {"walls": [plane(piston=PISTON, spin=1)]}, r"has a piston and a spin; give one"),
    (
        2,
        {"walls": [plane(velocity=[0, "free"], mass=2, force=["1", "0"])]},
        r"walls\[0\]\.force acts along x, along which the wall is not free",
    ),
    (2, {"walls": [plane(piston=PISTON, lock={"x": "1 - t"})]}, r"lock holds 'x', .* is not free"),
    (2, {"walls": [hg.Box(**BOX, velocity=["0"])]}, r"velocity has 1 component\(s\); .* takes 2"),
    (2, {"walls": [plane(glued_to="lid")]}, r"walls\[0\]\.glued_to is 'lid'; walls are 'plane0'"),
    (
        2,
        {"walls": [plane(), plane(glued_to="plane0"), plane(glued_to="plane1")]},
        r"glued_to is 'plane1', which is itself glued to 'plane0'; name that",
    ),
    (
        2,
        {"walls": [plane(), plane(glued_to="plane0", spin=1)]},
        r"walls\[1\]\.spin is given, but a wall glued to another moves as that one does",
    ),
    (
        2,
        {"grains": [at([0, 1], glued_to="plane0", lock=["x"])], "walls": [plane()]},
        r"grains\[0\]\.lock is given, but grains glued to a wall move as it does",
    ),
    (
        2,
        {
            "grains": [at([0, 1], glued_to="plane0", material="b")],
            "walls": [plane()],
            "materials": {"a": hg.Material(), "b": hg.Material()},
        },
        r"grains\[0\]\.material is 'b', but grains glued to wall 'plane0' are .* of 'a'",
    ),
    (
        2,
        {
            "grains": [at([0, 1], glued_to="plane0")],
            "walls": [plane()],
            "contacts": [hg.ContactLaw(rolling=0.1)],
        },
        r"scene\.contacts\[0\]\.rolling is 0\.1 but must be 0 where anything is glued",
    ),
    (2, {"grains": [at([0, 1], lock={"z": "t"})]}, r"lock holds 'z'; in 2D it takes"),
    (2, {"walls": [hg.Disk(center=[0, 0], normal=[0, 1], radius=2)]}, r"is a disk; .* use a segm"),
    (3, {"walls": [disk(hole=2)]}, r"walls\[0\]\.hole is 2 but must be less than radius, 2"),
    (3, {"walls": [disk(hole=0.4)]}, r"hole is 0\.4, but the largest grain has the radius 0\.5"),
    (3, {"walls": [rectangle([2, 0, 0], [1, 1, 0])]}, r"sides are \[2, 0, 0\] and \[1, 1, 0\]; .*"),
    (3, {"walls": [rectangle([2, 0, 0], [4, 0, 0])]}, r"sides lie on one line; a rectangle needs"),
    (3, {"walls": [rectangle([4, 0, 0], [0, 2, 0], hole=1)]}, r"half of the shorter side, 1"),
    (
        3,
        {"walls": [hg.Triangle(corners=[[0, 0, 0], [1, 1, 1], [2, 2, 2]])]},
        r"walls\[0\]\.corners lie on one line; a triangle needs an area",
    ),
    (
        2,
        {"walls": [hg.Plane(point=[0, 0], normal=[1, 1], piston=PISTON)]},
        r"normal is \[0\.707107, 0\.707107\]; a piston's normal must lie along an axis",
    ),
    (
        2,
        {"walls": [hg.Box(**BOX, pistons=pressed(("left", "rigt")))]},
        r"piston of wall 'top' names wall 'rigt' in between; walls are 'left'",
    ),
    (2, {"walls": [hg.Box(**BOX, pistons=pressed(("left", "bottom")))]}, r"not .* face each other"),
    (2, {"walls": [hg.Box(**BOX, pistons=pressed(("left", "left")))]}, r"not .* face each other"),
    (2, {"walls": [hg.Box(**BOX, pistons=pressed(("bottom", "top")))]}, r"across its own motion"),
    (
        2,
        {"walls": [hg.Box(**BOX, pistons=pressed(("left", "right"), ("left", "right")))]},
        r"has 2 pair\(s\) in between; in 2D it takes 1",
    ),
    (
        3,
        {"walls": [hg.Box(min=[0] * 3, max=[9] * 3, pistons=pressed(("left", "right")))]},
        r"has 1 pair\(s\) in between; in 3D it takes 2",
    ),
    (
        3,
        {"walls": [hg.Box(min=[0] * 3, max=[9] * 3, pistons=pressed(*[("left", "right")] * 2))]},
        r"across its own motion",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("dim", "options", "message"), REFUSED)
def test_refusals(dim: int, options: dict[str, Any], message: str) -> None:
    """One sentence that names the field, what was given and what would do."""
    with pytest.raises(hg.InputError, match=message) as caught:
        build(dim, **options)
    text = str(caught.value)
    assert "\n" not in text
    assert len(text) < 200
    assert "array(" not in text
    assert "np." not in text


@pytest.mark.parametrize(
    ("walls", "word"),
    [
        ([hg.Plane(name="lid", point=[0, 5], normal=[0, -1], spin=1.0)], "turns"),
        ([hg.Cylinder(name="ring", point=[5, 5], radius=6.0)], "needs 12 along x"),
        ([hg.Cylinder(name="post", point=[5, 5], radius=4.5, side="outside")], "needs 11 along x"),
        ([hg.Segment(name="ramp", start=[0, 2], end=[9.5, 3])], "needs 11.5 along x"),
        ([hg.Segment(name="floor", start=[0, 2], end=[10, 2])], None),
        ([hg.Cylinder(name="post", point=[5, 5], radius=2.0, side="outside")], None),
    ],
)
def test_walls_that_would_meet_their_own_image_are_refused(walls, word):
    scene = hg.Scene(
        periodic={"x": (0, 10)},
        grains=[hg.Grains(place=hg.At(positions=[[5, 9]]))],
        walls=walls,
    )
    if word is None:
        scene.build(0)
    else:
        with pytest.raises(hg.InputError, match=word):
            scene.build(0)


@pytest.mark.parametrize(
    ("wall", "word"),
    [
        (hg.Disk(name="tray", center=[5, 0, 0], normal=[0, 0, 1], radius=4.5), "needs 11 along x"),
        (hg.Disk(name="tray", center=[5, 0, 0], normal=[1, 0, 0], radius=4.5), None),
        (
            hg.Triangle(name="fin", corners=[[0, 0, 0], [9, 0, 0], [0, 0, 5]]),
            "needs 11 along x",
        ),
        (
            hg.Rectangle(name="step", corner=[0, 0, 0], sides=([9, 0, 0], [0, 0, 5])),
            "needs 11 along x",
        ),
        (hg.Rectangle(name="floor", corner=[0, 0, 0], sides=([10, 0, 0], [0, 4, 0])), None),
    ],
)
def test_flat_walls_that_would_meet_their_own_image_are_refused(wall, word):
    scene = hg.Scene(
        dimension=3,
        periodic={"x": (0, 10)},
        grains=[hg.Grains(place=hg.At(positions=[[5, 0, 9]]))],
        walls=[wall],
    )
    if word is None:
        scene.build(0)
    else:
        with pytest.raises(hg.InputError, match=word):
            scene.build(0)
