"""Compile every kernel ahead of the first run."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

from hardgrain.errors import ImplausibleRunWarning
from hardgrain.kernels import cache_folder
from hardgrain.parallel import pmap
from hardgrain.run.progress import Progress, duration
from hardgrain.run.simulation import Simulation
from hardgrain.scene.cell import Control, MixedControl
from hardgrain.scene.elastic import Elastic
from hardgrain.scene.place import Deposit, Loose
from hardgrain.scene.scene import Scene
from hardgrain.scene.shapes import Cuboid
from hardgrain.scene.spec import Box, ContactLaw, Grains
from hardgrain.solve.assembly import global_form
from hardgrain.solve.gauss_seidel import GaussSeidel
from hardgrain.solve.gradient import Descent, at_rest
from hardgrain.solve.jacobi import Jacobi
from hardgrain.solve.matrices import GlobalForm, LocalForm, MatrixSolution
from hardgrain.solve.path import Path
from hardgrain.solve.problem import Problem, Solution
from hardgrain.solve.response import BodyResponse
from hardgrain.solve.rigid import RigidSolver
from hardgrain.step.engine import EventDriven, SoftParticles

__all__ = ["compile_all"]


# Sequential, drawn and symmetric sweeps share the kernels of random ones.
ORDERS = ("random", "coloured")


class _AllStages(RigidSolver):
    """A rigid solver that runs all its stages, and also solves the problem given as matrices."""

    tolerance: float = 1e-300
    sweeps: int = 1

    def _solve(
        self, problem: Problem | GlobalForm | LocalForm, seed: int, step: int
    ) -> Solution | MatrixSolution:
        if isinstance(problem, Problem) and problem.first.size > 0:
            form, frame = global_form(problem)
            assert form.start is not None
            bodies = BodyResponse(problem, form, frame)
            start = form.start.reshape(bodies.q.shape)
            at_rest(Descent(bodies, form.mu), start, self.tolerance, 1)
            path = Path(bodies, form.mu)
            path._curve = True  # small packings hardly have folds, so pretend to be at one
            path.advance()
            # the coloured order is left out: it is rarely used, and slow to compile
            GaussSeidel(sweeps=2).solve(form, seed=seed, step=step)
        return super()._solve(problem, seed, step)


def _small_runs(orders: tuple[str, ...] = ORDERS) -> Iterator[tuple[str, Scene, dict[str, Any]]]:
    """Small runs that need every kind of kernel: dimension, laws, order of sweeps, engine."""
    for dim in (2, 3):
        for name, law in (("plain laws", ContactLaw()), ("all laws", ContactLaw(rolling=0.1))):
            low, high = (0.0,) * dim, (4.0,) * dim
            place = Deposit if name == "plain laws" else Loose
            scene = Scene(
                dimension=dim,
                gravity=[0.0] * (dim - 1) + [-1.0],
                contacts=[law],
                grains=[Grains(count=4, place=place(min=low, max=high))],
                walls=[Box(min=list(low), max=list(high))],
            )
            for order in orders:
                solver = GaussSeidel(order=order, sweeps=2)  # type: ignore[arg-type]
                yield f"{dim}D, {name}, {order} order", scene, {"solver": solver}
            yield f"{dim}D, {name}, parallel order", scene, {"solver": Jacobi(sweeps=2)}
            if name == "plain laws":
                soft = Elastic(young=100.0, elements=2)
                body = Grains(count=4, place=Deposit(min=low, max=high), elastic=soft)
                ball = Grains(count=2, diameter=0.5, place=Deposit(min=low, max=high))
                elastic = scene.model_copy(update={"grains": [body, ball]})
                for order in ORDERS:
                    solver = GaussSeidel(order=order, sweeps=2)  # type: ignore[arg-type]
                    yield f"{dim}D, elastic grains, {order}", elastic, {"solver": solver}
            repeats = dict.fromkeys("xyz"[:dim], (0.0, 4.0))
            shrinking = MixedControl.model_validate(dict.fromkeys("xyz"[:dim], Control(rate=-0.1)))
            cell = scene.model_copy(update={"walls": [], "periodic": repeats, "cell": shrinking})
            yield f"{dim}D, {name}, a cell in random order", cell, {"solver": GaussSeidel(sweeps=2)}
            if name == "plain laws":
                yield f"{dim}D, rigid solver", scene, {"solver": _AllStages()}
                yield f"{dim}D, soft particles", scene, {"engine": SoftParticles(stiffness=1.0)}
                # without rebounds a grain on the floor would collide with it without end
                bouncing = scene.model_copy(update={"contacts": [ContactLaw(restitution=0.9)]})
                events = EventDriven(contact_time=0.1)
                yield f"{dim}D, event-driven", bouncing, {"engine": events}
                finer = SoftParticles(stiffness=1.0, substeps=4)
                yield f"{dim}D, soft particles in a cell", cell, {"engine": finer}
                sides = (1.0, 0.8, 0.6)[:dim]  # three different moments of inertia in 3D
                block = Grains(count=4, place=Loose(min=low, max=high), shape=Cuboid(sides=sides))
                shaped = scene.model_copy(update={"grains": [block]})
                yield f"{dim}D, shapes", shaped, {"solver": GaussSeidel(sweeps=2)}
                yield (
                    f"{dim}D, soft shapes",
                    shaped,
                    {"engine": finer},
                )


def compile_all(tiles: bool = False) -> None:
    """Take some steps of small scenes that together use every kernel.

    The kernels that all of them share come first. The rest is in two shares that have nothing in
    common and take about as long, sweeps and all others, each on a core of its own. Meshes are left
    out: few scenes have one, and what knows them takes as long to compile as all other shapes do.
    So are tiles unless asked for: their kernels take as long as all other sweeps.
    """
    begin = time.perf_counter()
    orders = (*ORDERS, "tiles") if tiles else ORDERS
    names = [name for name, _, _ in _small_runs(orders)]
    sweeps = [k for k, name in enumerate(names) if name.endswith("order")]
    others = [k for k in range(len(names)) if k not in sweeps]
    with Progress() as progress:
        progress.show("what all runs share")
        _compile(sweeps[:1], orders)
        progress.show("sweeps, the rigid solver, soft particles and shapes")
        pmap(partial(_compile, orders=orders), [sweeps[1:], others])
    print(f"all kernels are ready, in {cache_folder()} ({duration(time.perf_counter() - begin)})")


def _compile(share: list[int], orders: tuple[str, ...] = ORDERS) -> None:
    """Make some of the small runs, given by number."""
    runs = list(_small_runs(orders))
    for k in share:
        _, scene, how = runs[k]
        with warnings.catch_warnings():  # steps are coarse, so that few of them see contacts
            warnings.simplefilter("ignore", ImplausibleRunWarning)
            summary = Simulation(scene, dt=0.1, on_implausible="report", **how).run(50)
        if summary.ended == "interrupted":  # Ctrl-C ends a run, and is to end all of them
            raise KeyboardInterrupt
