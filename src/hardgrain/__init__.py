"""hardgrain: contact dynamics of perfectly rigid grains, and how far the result can be trusted.

    import hardgrain as hg

    scene = hg.Scene(
        gravity=[0, -1],
        grains=[hg.Grains(count=100, place=hg.Loose(min=[0, 0], max=[20, 20]))],
        walls=[hg.Box(min=[0, 0], max=[20, 20], open=["top"])],
    )
    sim = hg.Simulation(scene, dt=0.01, solver=hg.GaussSeidel(sweeps=100), seed=1)
    print(sim.run(until=hg.AtRest(), output="run.h5"))

Names are imported when first used, so that ``import hardgrain`` is quick.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from hardgrain.lazy import lazy

__version__ = "0.2.0"

# The package reports what it decides to this logger, which is silent unless a user sets it up.
logging.getLogger(__name__).addHandler(logging.NullHandler())

# For each public name, the module that defines it.
_PUBLIC = {
    "At": "scene.place",
    "BallRegion": "scene.region",
    "BlockRegion": "scene.region",
    "AtRest": "run.stop",
    "Biaxial": "scene.cell",
    "Bidisperse": "scene.sizes",
    "Candidates": "scene.contact_rule",
    "Box": "scene.spec",
    "Capsule": "scene.shapes",
    "Clump": "scene.shapes",
    "ContactLaw": "scene.spec",
    "Control": "scene.cell",
    "Cuboid": "scene.shapes",
    "CyclicShear": "scene.cell",
    "Cylinder": "scene.spec",
    "Damping": "scene.elastic",
    "Deposit": "scene.place",
    "Disk": "scene.spec",
    "Drum": "scene.spec",
    "Elastic": "scene.elastic",
    "EventDriven": "step.engine",
    "Faces": "scene.spec",
    "GaussSeidel": "solve.gauss_seidel",
    "Grains": "scene.spec",
    "Grid": "scene.place",
    "HardgrainError": "errors",
    "ImplausibleRunWarning": "errors",
    "InputError": "errors",
    "Insert": "scene.spec",
    "Isotropic": "scene.cell",
    "Jacobi": "solve.jacobi",
    "RigidGrains": "step.engine",
    "RigidSolver": "solve.rigid",
    "Lognormal": "scene.sizes",
    "Loose": "scene.place",
    "Material": "scene.spec",
    "Membrane": "scene.membrane",
    "MeshShape": "scene.shapes",
    "MeshWall": "scene.spec",
    "MixedControl": "scene.cell",
    "Normal": "scene.sizes",
    "Oedometer": "scene.cell",
    "Piston": "scene.spec",
    "Plane": "scene.spec",
    "Polygon": "scene.shapes",
    "Polyhedron": "scene.shapes",
    "PowerLaw": "scene.sizes",
    "Progress": "run.progress",
    "Remove": "scene.spec",
    "RunError": "errors",
    "RunFile": "io.runfile",
    "Scenario": "run.scenario",
    "Scene": "scene.scene",
    "Rectangle": "scene.spec",
    "Segment": "scene.spec",
    "Sieve": "scene.sizes",
    "SimpleShear": "scene.cell",
    "Simulation": "run.simulation",
    "SoftParticles": "step.engine",
    "SoftRunWarning": "errors",
    "Steps": "run.stop",
    "Stop": "run.stop",
    "Study": "study.study",
    "Time": "run.stop",
    "Triangle": "scene.spec",
    "TubeRegion": "scene.region",
    "Uniform": "scene.sizes",
    "Voronoi": "scene.place",
    "advise": "run.advise",
    "draw": "show.plots",
    "draw_network": "show.network",
    "export": "io.export",
    "load": "run.scenario",
    "make_movie": "show.movie",
    "read_packing": "io.packings",
    "write_report": "show.report",
}

__all__ = [*_PUBLIC, "__version__"]

# Packages that are reached as hardgrain.theory.chain and the like.
_PACKAGES = ("forces", "measure", "papers", "theory")

__getattr__ = lazy(__name__, {**_PUBLIC, **dict.fromkeys(_PACKAGES, "")})


def __dir__() -> list[str]:
    return sorted(__all__)


if TYPE_CHECKING:  # the same names, for type checkers and editors
    # ruff: noqa: F401
    from hardgrain import forces, papers, theory
    from hardgrain.errors import (
        HardgrainError,
        ImplausibleRunWarning,
        InputError,
        RunError,
        SoftRunWarning,
    )
    from hardgrain.io.export import export
    from hardgrain.io.packings import read_packing
    from hardgrain.io.runfile import RunFile
    from hardgrain.run.advise import advise
    from hardgrain.run.progress import Progress
    from hardgrain.run.scenario import Scenario, load
    from hardgrain.run.simulation import Simulation
    from hardgrain.run.stop import AtRest, Steps, Stop, Time
    from hardgrain.scene.cell import (
        Biaxial,
        Control,
        CyclicShear,
        Isotropic,
        MixedControl,
        Oedometer,
        SimpleShear,
    )
    from hardgrain.scene.contact_rule import Candidates
    from hardgrain.scene.elastic import Damping, Elastic
    from hardgrain.scene.membrane import Membrane
    from hardgrain.scene.place import At, Deposit, Grid, Loose, Voronoi
    from hardgrain.scene.region import BallRegion, BlockRegion, TubeRegion
    from hardgrain.scene.scene import Scene
    from hardgrain.scene.shapes import Capsule, Clump, Cuboid, MeshShape, Polygon, Polyhedron
    from hardgrain.scene.sizes import Bidisperse, Lognormal, Normal, PowerLaw, Sieve, Uniform
    from hardgrain.scene.spec import (
        Box,
        ContactLaw,
        Cylinder,
        Disk,
        Drum,
        Faces,
        Grains,
        Insert,
        Material,
        MeshWall,
        Piston,
        Plane,
        Rectangle,
        Remove,
        Segment,
        Triangle,
    )
    from hardgrain.show.movie import make_movie
    from hardgrain.show.network import draw_network
    from hardgrain.show.plots import draw
    from hardgrain.show.report import write_report
    from hardgrain.solve.gauss_seidel import GaussSeidel
    from hardgrain.solve.jacobi import Jacobi
    from hardgrain.solve.rigid import RigidSolver
    from hardgrain.step.engine import EventDriven, RigidGrains, SoftParticles
    from hardgrain.study.study import Study
