"""Compile every kernel ahead of the first run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hardgrain.kernels import cache_folder, compile_seconds
from hardgrain.run.progress import Progress, duration
from hardgrain.run.simulation import Simulation
from hardgrain.scene.place import Deposit
from hardgrain.scene.scene import Scene
from hardgrain.scene.spec import Box, ContactLaw, Grains
from hardgrain.solve.gauss_seidel import GaussSeidel
from hardgrain.solve.jacobi import Jacobi
from hardgrain.step.engine import SoftParticles

__all__ = ["compile_all"]


def _small_runs() -> Iterator[tuple[str, Scene, dict[str, Any]]]:
    """A few grains for every kind of kernel: dimension, laws, how sweeps are ordered, engine."""
    for dim in (2, 3):
        for name, law in (("plain laws", ContactLaw()), ("all laws", ContactLaw(rolling=0.1))):
            low, high = (0.0,) * dim, (4.0,) * dim
            scene = Scene(
                dimension=dim,
                gravity=[0.0] * (dim - 1) + [-1.0],
                contacts=[law],
                grains=[Grains(count=4, place=Deposit(min=low, max=high))],
                walls=[Box(min=list(low), max=list(high))],
            )
            for order in ("random", "coloured"):
                solver = GaussSeidel(order=order, sweeps=2)
                yield f"{dim}D, {name}, {order} order", scene, {"solver": solver}
            yield f"{dim}D, {name}, parallel order", scene, {"solver": Jacobi(sweeps=2)}
            if name == "plain laws":
                yield f"{dim}D, soft particles", scene, {"engine": SoftParticles(stiffness=1.0)}


def compile_all() -> None:
    """Take some steps of small scenes that together use every kernel."""
    runs = list(_small_runs())
    with Progress() as progress:
        for k, (what, scene, how) in enumerate(runs):
            progress.show(f"{k + 1} of {len(runs)}: {what}")
            Simulation(scene, dt=0.1, **how).run(50)
    print(f"all kernels are ready, in {cache_folder()} ({duration(compile_seconds())})")
