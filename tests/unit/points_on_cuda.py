"""The physics of one contact on CUDA and on the CPU backend, against the same source in Python.

    python tests/unit/points_on_cuda.py

runs small random problems through a backend of a few lines (`small_backend.py`), once with plain
functions and once compiled for CUDA, and through `hardgrain.cpu`. It prints the worst difference of
each result from plain Python. It runs on a GPU; without one, on Numba's simulator
(NUMBA_ENABLE_CUDASIM=1).
"""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from numba import cuda
from small_backend import KINDS, RELAXATION, Backend, in_cuda, in_python, make_tasks
from small_problems import CONTACTS, GRAINS, WALLS, Case, random_given, random_sites, tops
from small_shapes import of_shapes, shapes_on_cpu

import hardgrain.point
from hardgrain import cpu
from hardgrain.contact.arms import torque
from hardgrain.contact.shapes import Listed
from hardgrain.cpu import packing, sweep
from hardgrain.cpu.inertia import inverses_in_space, kicked
from hardgrain.cpu.order import shuffle
from hardgrain.cpu.packing import levers
from hardgrain.law.contact import make_contact
from hardgrain.law.coupled import BLOCKED
from hardgrain.point.given import RoundBodies
from hardgrain.point.ledger import Means
from hardgrain.point.order import SEQUENTIAL, Visits, make_random
from hardgrain.point.residual import make_residual
from hardgrain.point.stopping import GLOBAL, LOCAL, RESIDUAL, SWEEPS, Until
from hardgrain.point.tiles import Tiling
from hardgrain.solve import blocks

# The simulator takes 0.05 s a sweep. Some kinds stop before this many sweeps, others do not.
LIMIT = 22
RULES = {
    "sweeps": Until(SWEEPS, 4, 0.0, 0.0, 0.0),
    "local": Until(LOCAL, LIMIT, 2e-2, 1e-2, 0.0),
    "global": Until(GLOBAL, LIMIT, 1e-2, 0.0, 0.0),
    "residual": Until(RESIDUAL, LIMIT, 1e-2, 0.0, 0.0),
}
AT_ONCE = ("lean 2D", "full 3D")  # what the CPU compiles Jacobi sweeps for here: each takes seconds
Found = dict[str, Any]


def of_backend(backend: Backend) -> Found:
    """All results of a backend that is made of the factories."""
    found: Found = {}
    for name in KINDS:
        case = Case(name)
        order, starts = case.order, case.starts

        def packed() -> Any:
            if case.form is not None:  # noqa: B023
                return blocks.pack(case.form, order, case.form.start)  # noqa: B023
            return backend.pack(case.given, order, starts, name)  # noqa: B023

        for rule, until in RULES.items():
            p = packed()
            sweeps, residual = backend.relax(p, starts, until, case.paths, name)
            found[f"{name}, {rule}"] = np.concatenate([p.c.ravel(), [sweeps], residual])
        if case.form is None:
            parts = backend.unpack(p, order, case.given, name)
            found[f"{name}, unpacked"] = np.concatenate([part.ravel() for part in parts])
        p = packed()
        backend.parallel(p, starts, name)
        found[f"{name}, all at once"] = p.c.ravel()
    return found | of_contacts(backend) | of_ledger(backend) | of_shapes(backend)


def of_contacts(backend: Backend) -> Found:
    tasks, found = make_tasks(backend.jit), {}
    for dim in (2, 3):
        sites, first, second = random_sites(dim)
        out = np.empty((first.size, 4))
        backend.launch(tasks.gap, 0, first.size, sites, first, second, 0.4, out)
        near = np.flatnonzero(out[:, 0] < 0.4)
        found[f"pairs {dim}D"] = np.column_stack([near, out[near, : dim + 1]]).ravel()
        rows = random_given(dim, False).rows
        material = (np.arange(GRAINS + WALLS) % 3).astype(np.int32)
        bodies = RoundBodies(*sites[:3], material, 3)
        sizes, arms = np.empty((CONTACTS, 3)), np.empty((2, CONTACTS, dim))
        backend.launch(tasks.sizes, 0, CONTACTS, bodies, rows, sizes)
        backend.launch(tasks.arms, 0, CONTACTS, bodies, rows, arms[0], arms[1])
        found[f"rows {dim}D"] = np.concatenate([arms.ravel(), sizes.T.ravel()])
        found |= of_places(backend, sites.position)
    drawn = np.empty(40, np.int64)
    backend.launch(tasks.draw, 1, drawn.size, drawn)
    order = np.arange(drawn.size)
    for k in range(drawn.size - 1, 0, -1):
        order[[k, drawn[k]]] = order[[drawn[k], k]]
    return found | {"random order": order}


def of_places(backend: Backend, position: Any) -> Found:
    """Which tile contacts belong to, how walls and balls turn, and how far bodies come."""
    tasks, (nb, dim) = make_tasks(backend.jit), position.shape
    tiling = Tiling(np.full(dim, 1.5), np.full(dim, 4), np.array([6.0] + [0.0] * (dim - 1)))
    shared, out = np.arange(nb) >= GRAINS, np.empty((nb, 3))
    backend.launch(tasks.tile, 0, nb, tiling, position, shared, out)
    rng = np.random.default_rng(4)
    angles = rng.normal(size=(nb, 1 if dim == 2 else 4))
    if dim == 3:
        angles /= np.linalg.norm(angles, axis=1, keepdims=True)
    spin, kind = rng.normal(size=(nb, 1 if dim == 2 else 3)), np.arange(WALLS, dtype=np.int32) % 4
    walls = np.empty((WALLS, dim + 1))
    backend.launch(tasks.wall, 0, WALLS, position, angles, spin, kind, walls)
    none = np.zeros(0, np.int32)
    listed = Listed(
        none, none, position + 0.3 * rng.normal(size=position.shape), rng.random(WALLS),
        rng.uniform(0.5, 1.5, nb),
    )  # fmt: skip
    reach, velocity = np.empty((nb, 4)), rng.normal(size=position.shape)
    velocity[0, 0] = np.nan
    backend.launch(tasks.reach, 0, nb, listed, position, velocity, rng.random(GRAINS), reach)
    parts = out.ravel(), walls.ravel(), angles.ravel(), np.nan_to_num(reach).ravel()
    return {f"places {dim}D": np.concatenate(parts)}


def of_ledger(backend: Backend) -> Found:
    tasks, found = make_tasks(backend.jit), {}
    for dim in (2, 3):
        given = random_given(dim, False)
        rows, motion, nb = given.rows, given.motion, GRAINS + WALLS
        energy, length = np.empty((CONTACTS, 6)), np.empty((CONTACTS, 3))
        turn, body = np.empty(rows.torque.shape), np.empty((nb, 5))
        backend.launch(tasks.energy, 0, CONTACTS, rows, Means(*motion), energy)
        backend.launch(tasks.turn, 0, CONTACTS, rows, turn)
        backend.launch(tasks.body, 0, nb, motion, body)
        backend.launch(tasks.length, 0, CONTACTS, rows, motion, length)
        wall = np.zeros((WALLS, turn.shape[1]))
        here = rows.second >= GRAINS
        np.add.at(wall, rows.second[here] - GRAINS, turn[here])
        r = np.zeros(nb)
        for k in range(CONTACTS):
            r[rows.first[k]], r[rows.second[k]] = length[k, :2]
        found[f"ledger {dim}D"] = np.concatenate([
            energy[:, :3].sum(axis=0), wall.ravel(),
            [energy[:, 3].max(), energy[:, 4].max(), body[:, 1].sum()],
            [0.5 * body[:, 0].sum(), float(np.sqrt(body[:GRAINS, 2].max()))],
        ])  # fmt: skip
        found[f"levers {dim}D"] = np.concatenate([r, body[:, 4]])
        found[f"speeds {dim}D"] = np.array([max(body[:, 3].max(), length[:, 2].max())])
        given = random_given(dim, True)
        felt, sequence = np.zeros((CONTACTS, 15)), np.empty((8, 2))
        backend.launch(tasks.felt, 0, CONTACTS, given.rows, *whole(given), given.laws, felt)
        backend.launch(tasks.sequence, 0, 8, sequence)
        found[f"gradients {dim}D"] = np.concatenate([felt.ravel(), sequence.ravel()])
    orientation, moments, free, load = random_tops()
    inverse, kicks = np.empty((GRAINS, 6)), np.empty((GRAINS, 3))
    given_tops = orientation, moments, free, load
    backend.launch(tasks.inertia, 0, GRAINS, *given_tops, inverse, kicks)
    return found | {"inertia": np.hstack([inverse, kicks]).ravel()}


def whole(given: Any) -> tuple[Any, ...]:
    """Velocities and spins in one row, free and before the step; inverse masses and inertias."""
    m = given.motion
    pairs = (m.velocity, m.spin), (m.velocity_before, m.spin_before), (m.inv_mass, m.inv_inertia)
    return tuple(np.concatenate(pair, axis=1) for pair in pairs)


def in_matrices(dim: int) -> Any:
    """What gradients ask of contacts, by matrices along the axes of space; θ by its own law.

    θ² = (1 − θ) θ₋² is what Nesterov's sequence solves, and β = θ₋ (1 − θ₋)/(θ₋² + θ).
    """
    given, laws, e = random_given(dim, True), make_contact(bare), np.eye(dim)
    rows, (free, before, inverse) = given.rows, whole(given)
    felt, size = np.zeros((CONTACTS, 15)), 3 * dim - 3
    for k in range(CONTACTS):
        i, j, n, law = rows.first[k], rows.second[k], rows.normal[k], given.laws[rows.law[k]]
        arms = [np.tile(arm[k], (dim, 1)) for arm in (rows.arm_first, rows.arm_second)]
        part = np.hstack([-e, -torque(arms[0], e), e, torque(arms[1], e)])
        u, w = (part @ np.concatenate([v[i], v[j]]) for v in (free, before))
        shift = laws.normal_shift(law, rows.gap[k], u @ n, w @ n, 0.1, False) * n
        shift += laws.tangent_shift(law, 1.0) * (w - (w @ n) * n)
        matrix = part * np.concatenate([inverse[i], inverse[j]]) @ part.T
        along, trace = n @ matrix @ n, np.trace(matrix)
        felt[k, :dim], felt[k, 3 : 3 + dim] = u, shift
        felt[k, 6:9] = along, trace, along > BLOCKED * (trace - along)
        felt[k, 9 : 9 + size] = rows.impulse[k] @ part[:, size:]
    sequence, theta = [(1.0, 0.0)], 1.0
    for k in range(7):
        new = max(np.roots([1.0, theta**2, -(theta**2)]))
        beta = theta * (1.0 - theta) / (theta**2 + new)
        theta, beta = (1.0, 0.0) if k == 4 else (new, beta)
        sequence.append((theta, beta))
    return np.concatenate([felt.ravel(), np.ravel(sequence)])


def random_tops() -> tuple[Any, ...]:
    """Orientations, moments, axes that are free and torques; one top turns about y only."""
    rng = np.random.default_rng(7)
    orientation, moments = tops(rng, GRAINS)
    free = np.ones((GRAINS, 3))
    free[0], free[1] = (0.0, 1.0, 0.0), 0.0
    return orientation, moments, free, rng.normal(size=(GRAINS, 3))


def of_cpu() -> Found:
    """The same results from the loops of `hardgrain.cpu`.

    Rows are stored colour by colour, so that sweeps from first to last are those of colours.
    """
    found: Found = {}
    for name in KINDS:
        case = Case(name)
        given, form, order = case.given, case.form, case.order
        paths = case.paths if form is None else None
        visited, visits = np.arange(CONTACTS, dtype=np.uint32), Visits(SEQUENTIAL, 0, 0)

        def packed() -> Any:
            if case.form is not None:  # noqa: B023
                return blocks.pack(case.form, case.order, case.form.start)  # noqa: B023
            layout = cpu.LAYOUTS[case.lean, case.dim]  # noqa: B023
            return packing.pack(layout, case.given, case.order)  # noqa: B023

        for rule, until in RULES.items():
            p = packed()
            sweeps, _ = sweep.relax(p, visited, None, None, visits, until, paths)
            residual = sweep.residual(p, None, until.unseen, paths)
            found[f"{name}, {rule}"] = np.concatenate([p.c.ravel(), [sweeps], residual])
        if form is None:
            velocity, spin = given.motion.velocity.copy(), given.motion.spin.copy()
            back = np.empty((CONTACTS, velocity.shape[1])), np.zeros((CONTACTS, spin.shape[1]))
            packing.read_out(p, order, velocity, spin, *back)
            found[f"{name}, unpacked"] = np.concatenate(
                [part.ravel() for part in (velocity, spin, *back)]
            )
        if name in AT_ONCE:
            p = packed()
            twice = Until(SWEEPS, 2, 0.0, 0.0, 0.0)
            sweep.relax(p, visited, None, RELAXATION, visits, twice, paths)
            found[f"{name}, all at once"] = p.c.ravel()
    for dim in (2, 3):
        sites, first, second = random_sites(dim)
        reach = np.full(GRAINS + WALLS, 0.2)
        index, normal, gap = cpu.candidates(first, second, sites, reach)
        found[f"pairs {dim}D"] = np.column_stack([index, gap, normal]).ravel()
        given = random_given(dim, False)
        rows, motion = given.rows, given.motion
        material = (np.arange(GRAINS + WALLS) % 3).astype(np.int32)
        parts = cpu.round_rows(rows.first, rows.second, rows.normal, *sites[:3], material, 3)
        found[f"rows {dim}D"] = np.concatenate([part.ravel() for part in parts])
        push, turn = np.zeros((WALLS, dim)), np.zeros((WALLS, motion.spin.shape[1]))
        energies = cpu.contact_work(rows, Means(*motion), push, turn)
        worst, deepest, _, _ = cpu.overlaps(rows)
        nothing = np.zeros_like(motion.velocity)
        found[f"ledger {dim}D"] = np.array([
            *energies, *turn.ravel(), worst, deepest,
            cpu.load_work(
                nothing, motion.spin, nothing, motion.spin_before, motion.inv_mass,
                motion.inv_inertia,
            ),
            cpu.kinetic_energy(
                motion.velocity, motion.spin, motion.inv_mass, motion.inv_inertia
            ),
            cpu.largest_speed(motion.velocity, GRAINS),
        ])  # fmt: skip
        r, turning, _ = levers(rows, motion)
        found[f"levers {dim}D"] = np.concatenate([r, turning])
        found[f"speeds {dim}D"] = np.array([sweep.fastest(rows, motion)])
        found[f"gradients {dim}D"] = in_matrices(dim)
    orientation, moments, free, load = random_tops()
    inverse, still = np.empty((GRAINS, 6)), np.zeros_like(load)
    inverses_in_space(orientation, moments, free, inverse)
    found["inertia"] = np.hstack([inverse, kicked(still, inverse, load, 1.0)]).ravel()
    order = np.arange(40)
    shuffle(order, make_random(bare).sweep_key(5, 7, 3))
    return found | {"random order": order} | shapes_on_cpu()


# ---------------------------------------------------------------------------------- comparison
def bare(function: Any) -> Any:
    return function


def on_cuda(function: Any) -> Any:
    return cuda.jit(device=True)(function)


class Witness:
    """A decorator that remembers which functions were made and which of them were called."""

    def __init__(self) -> None:
        self.made: set[str] = set()
        self.called: set[str] = set()

    def __call__(self, function: Any) -> Any:
        name = f"{function.__module__}.{function.__qualname__}"
        if name.startswith("hardgrain.point."):
            self.made.add(name)

        def watched(*args: Any) -> Any:
            self.called.add(name)
            return function(*args)

        return watched


def factories() -> Iterator[Any]:
    """Every factory of `hardgrain.point` whose functions a GPU has too.

    It carries neither cells that deform nor flights from collision to collision; what these add is
    judged on the CPU (`test_cell.py`, `test_flight.py`).
    """
    elsewhere = {f"hardgrain.point.{name}" for name in ("cell", "cell_motion", "flight")}
    for module in pkgutil.iter_modules(hardgrain.point.__path__, "hardgrain.point."):
        if module.name in elsewhere:
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            if name.startswith("make_") and inspect.unwrap(value).__module__ == module.name:
                yield value


def untried() -> list[str]:
    """Functions of `hardgrain.point` that none of the results depends on."""
    witness = Witness()
    for factory in factories():
        if factory is not make_residual:
            factory(witness)
    of_backend(Backend(witness, in_python))
    return sorted(witness.made - witness.called)


def difference(a: Any, b: Any) -> float:
    """Largest |a − b| in units of b, or of one where that is small."""
    assert a.shape == b.shape
    return float((np.abs(a - b) / np.maximum(np.abs(b), 1.0)).max())


def compare() -> dict[str, dict[str, float]]:
    """Worst difference from plain Python of each result, of CUDA and of the CPU backend."""
    plain = of_backend(Backend(bare, in_python))
    there, here = of_backend(Backend(on_cuda, in_cuda)), of_cpu()
    assert plain.keys() == there.keys()
    return {
        name: {"cuda": difference(there[name], value)}
        | ({"cpu": difference(here.pop(name), value)} if name in here else {})
        for name, value in plain.items()
    }


if __name__ == "__main__":
    np.seterr(over="ignore")  # random numbers are meant to run over
    if sys.argv[1:] == ["untried"]:
        print(json.dumps(untried()))
        sys.exit()
    if not cuda.is_available():
        sys.exit("no GPU here; set NUMBA_ENABLE_CUDASIM=1 for Numba's simulator")
    found = compare()
    if sys.argv[1:] == ["json"]:
        print(json.dumps(found))
    else:
        print(f"{'result':<28}{'CUDA − Python':>16}{'CPU − Python':>16}")
        for name, row in found.items():
            print(f"{name:<28}{row['cuda']:>16.2g}{row.get('cpu', np.nan):>16.2g}")
