"""Small runs that together use all that a resumed or repeated run must get right.

As a script, `python cases.py run|resume CASE FILE [JSON [STEP]]` is the process that the tests
start, interrupt and kill. JSON holds changes of the scenario's own fields. After STEP it waits for
a file of the name signalled beside FILE: a test that is late finds it still going.
`python cases.py threads COUNT…` prints what two steps of a large crowd give on these numbers of
threads, for every stopping rule.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import hardgrain as hg
from hardgrain.io.runfile import RunFile
from hardgrain.run.scenario import Output, Scenario


def box_2d() -> Scenario:
    """Disks that settle in a box, random order."""
    scene = hg.Scene(
        gravity=[0, -1],
        grains=[
            hg.Grains(
                count=60,
                diameter=hg.Uniform(min=0.7, max=1.2),
                place=hg.Loose(min=[0, 0], max=[8, 16]),
                speed=1.0,
            )
        ],
        walls=[hg.Box(min=[0, 0], max=[8, 16], open=["top"])],
    )
    solver = hg.GaussSeidel(sweeps=20)
    return Scenario(scene=scene, dt=0.02, solver=solver, output=Output(every=7), **until(500))


def drum_3d() -> Scenario:
    """A drum that speeds up, with every law; contacts stored in every third frame only."""
    scene = hg.Scene(
        dimension=3,
        gravity=[0, 0, -1],
        contacts=[
            hg.ContactLaw(
                friction=0.6, friction_dynamic=0.4, restitution=0.2, restitution_tangential=0.2,
                cohesion=0.02, rolling=0.05, torsion=0.03,
            )
        ],
        grains=[
            hg.Grains(
                count=30,
                diameter=hg.Bidisperse(small=0.8, large=1.0),
                place=hg.Deposit(min=[-2, -1.5, -2], max=[2, 1.5, 2]),
            )
        ],
        walls=[
            hg.Drum(center=[0, 0, 0], radius=3.0, length=3.0, spin="0.5*ramp(t, 0, 2)"),
            hg.Cylinder(
                name="bar", point=[0.0, 0.0, 0.0], axis=[0, 1, 0], radius=0.3, side="outside",
                velocity=["0.3*cos(t)", 0, 0],
            ),
        ],
        allow_overlaps=True,
    )  # fmt: skip
    solver = hg.GaussSeidel(sweeps=50, stop="residual", tolerance=1e-3)
    output = Output(every=5, contacts_every=3)
    return Scenario(scene=scene, dt=0.02, solver=solver, output=output, **until(401))


def pistons_2d() -> Scenario:
    """Disks between two pistons, with rolling resistance and a driven one among them."""
    pressed = {
        "top": hg.Piston(mass=20, pressure="1 + 0.2*sin(t)", between=[("left", "right")]),
        "right": hg.Piston(mass=20, force=6),
    }
    scene = hg.Scene(
        contacts=[hg.ContactLaw(friction=0.4, rolling=0.1)],
        grains=[
            hg.Grains(count=40, place=hg.Grid(min=[0, 0], max=[7, 9], jitter=0.5), speed=0.2),
            hg.Grains(place=hg.At(positions=[[8, 4]]), driven_velocity=["-0.3", "free"]),
        ],
        walls=[hg.Box(min=[0, 0], max=[9, 9], pistons=pressed)],
    )
    solver = hg.GaussSeidel(sweeps=30, order="symmetric")
    output = Output(every=10, contacts_every=4)
    return Scenario(scene=scene, dt=0.02, solver=solver, output=output, **until(410))


def soft_3d() -> Scenario:
    """Soft spheres with tangential springs between a drum and a piston, many pair lists a run."""
    scene = hg.Scene(
        dimension=3,
        gravity=[0, 0, -1],
        periodic={"y": (0, 3)},
        contacts=[hg.ContactLaw(friction=0.6)],
        grains=[
            hg.Grains(
                count=12,
                diameter=hg.Bidisperse(small=0.8, large=1.0),
                place=hg.Deposit(min=[-1.5, 0, -1.8], max=[1.5, 3, 1.3]),
                speed=1.0,
            )
        ],
        walls=[
            hg.Drum(center=[0, 0, 0], radius=3.0, spin="0.5*ramp(t, 0, 2)"),
            hg.Plane(
                name="lid", point=[0, 0, 2.2], normal=[0, 0, -1], piston=hg.Piston(mass=2, force=1)
            ),
        ],
        allow_overlaps=True,
    )
    engine = hg.SoftParticles(stiffness=2e3, restitution=0.6, substeps=20)
    output = Output(every=5, contacts_every=3)
    return Scenario(scene=scene, dt=0.02, engine=engine, output=output, **until(401))


def events_2d() -> Scenario:
    """Rough disks by events that come and go in a shaken box, with a contact time."""
    scene = hg.Scene(
        gravity=[0, -1],
        contacts=[hg.ContactLaw(friction=0.4, restitution=0.8, restitution_tangential=0.2)],
        grains=[
            hg.Grains(
                count=25,
                diameter=hg.Uniform(min=0.5, max=1.0),
                place=hg.Loose(min=[0, 0], max=[6, 8]),
                speed=1.0,
            ),
            hg.Grains(count=10, place=hg.At(positions=[[3, 9]]), insert=hg.Insert(rate=2)),
        ],
        walls=[
            hg.Box(min=[0, -1], max=[6, 12], open=["bottom", "top"]),
            hg.Plane(point=[0, -0.5], normal=[0, 1], velocity=[0, "0.8*cos(8*t)"]),
        ],
        regions={"above": hg.BlockRegion(min=[-1, 10], max=[7, 20])},
        remove=[hg.Remove(entering="above")],
    )
    engine = hg.EventDriven(contact_time=0.02)
    output = Output(every=5, contacts_every=3)
    return Scenario(scene=scene, dt=0.04, engine=engine, output=output, **until(401))


def events_3d() -> Scenario:
    """Spheres by events in a periodic slice of a drum that turns."""
    scene = hg.Scene(
        dimension=3,
        gravity=[0, 0, -1],
        periodic={"y": (0, 3)},
        contacts=[hg.ContactLaw(friction=0.6, restitution=0.9)],
        grains=[
            hg.Grains(
                count=12,
                diameter=hg.Bidisperse(small=0.8, large=1.0),
                place=hg.Deposit(min=[-1.5, 0, -1.8], max=[1.5, 3, 1.3]),
                speed=1.0,
            )
        ],
        walls=[hg.Drum(center=[0, 0, 0], radius=3.0, spin="0.5*ramp(t, 0, 2)")],
    )
    engine = hg.EventDriven(contact_time=1e-3)
    return Scenario(scene=scene, dt=0.02, engine=engine, output=Output(every=7), **until(300))


def rigid_2d() -> Scenario:
    """Disks that settle under a piston, every step solved in full: by sweeps, states and paths."""
    scene = hg.Scene(
        gravity=[0, -1],
        contacts=[hg.ContactLaw(friction=0.4, cohesion=0.01)],
        grains=[
            hg.Grains(
                count=50,
                diameter=hg.Uniform(min=0.5, max=1.2),
                place=hg.Loose(min=[0, 0], max=[6, 12]),
                speed=0.5,
            )
        ],
        walls=[
            hg.Box(min=[0, 0], max=[6, 12], pistons={"top": hg.Piston(mass=5, force="20 + 5*t")})
        ],
    )
    solver = hg.RigidSolver(tolerance=1e-8)
    return Scenario(scene=scene, dt=0.02, solver=solver, output=Output(every=7), **until(300))


def turned_2d() -> Scenario:
    """Disks in a drum, with the geometry of every step at its end."""
    scene = hg.Scene(
        gravity=[0, -1],
        contacts=[hg.ContactLaw(friction=0.5)],
        grains=[
            hg.Grains(
                count=16,
                diameter=hg.Uniform(min=0.7, max=1.2),
                place=hg.Loose(min=[-2.5, -2.5], max=[2.5, 2.5]),
            )
        ],
        walls=[hg.Drum(center=[0, 0], radius=4.0, spin=0.5)],
    )
    return Scenario(
        scene=scene,
        dt=0.02,
        engine=hg.RigidGrains(geometry="end"),
        solver=hg.GaussSeidel(sweeps=100),
        output=Output(every=6),
        **until(401),
    )


def coloured_2d() -> Scenario:
    """So many touching disks that colours are swept, and sums are made, on all threads."""
    return _crowd(2, [50, 50], stop="residual", tolerance=1e-6)


def coloured_3d() -> Scenario:
    """The same for spheres with every law."""
    law = hg.ContactLaw(friction=0.5, friction_dynamic=0.4, rolling=0.1, torsion=0.1)
    return _crowd(3, [12, 12, 12], stop="local", tolerance=1e-9, contacts=[law])


def tiles_2d() -> Scenario:
    """Disks in tiles under a heavy piston, which many tiles share."""
    press = hg.Piston(mass=500.0, force=50.0)
    box = hg.Box(min=[0, 0], max=[50, 50], pistons={"top": press})
    return _crowd(2, [50, 50], stop="residual", tolerance=1e-6, order="tiles", walls=[box])


def tiles_3d() -> Scenario:
    """Spheres in tiles, with every law, along a period."""
    law = hg.ContactLaw(friction=0.5, friction_dynamic=0.4, rolling=0.1, torsion=0.1)
    floor = hg.Plane(point=[0, 0, 0], normal=[0, 0, 1])
    crowd = {"periodic": {"x": (0, 12), "y": (0, 12)}, "walls": [floor], "contacts": [law]}
    return _crowd(3, [12, 12, 12], stop="local", tolerance=1e-9, order="tiles", **crowd)


def _crowd(
    dim: int, cells: list[int], stop: Any, tolerance: float, order: Any = "coloured", **scene: Any
) -> Scenario:
    corner = [0.0] * dim
    scene = {"walls": [hg.Box(min=corner, max=cells)], **scene}
    return Scenario(
        scene=hg.Scene(
            dimension=dim,
            gravity=[*corner[1:], -1.0],
            grains=[
                hg.Grains(
                    count=int(np.prod(cells)),
                    place=hg.Grid(min=corner, max=cells, spacing=0.0),
                    speed=0.5,
                )
            ],
            **scene,
        ),
        dt=0.01,
        solver=hg.GaussSeidel(order=order, sweeps=12, stop=stop, tolerance=tolerance),
        output=Output(every=4),
        **until(8),
    )


def by_threads(counts: list[int]) -> list[dict[str, Any]]:
    """Two steps of 22500 touching disks, for every stopping rule and number of threads."""
    crowd = _crowd(2, [150, 150], stop="sweeps", tolerance=1.0)
    # coarse, so that each rule is met within the cap of twelve sweeps in one of the steps at least
    rules = {"sweeps": 1.0, "local": 0.5, "global": 0.02, "residual": 0.2}
    told = []
    for stop, tolerance in rules.items():
        for threads in counts:
            rule = {"stop": stop, "tolerance": tolerance, "cutoff": 2.0, "threads": threads}
            solver = crowd.solver.model_copy(update=rule)
            sim = hg.Simulation(crowd.model_copy(update={"solver": solver}))
            steps = [sim.step() for _ in range(2)]
            given = {name: [getattr(s, name) for s in steps] for name in GIVEN}
            bits = hashlib.sha256(sim.state.velocity.tobytes()).hexdigest()
            told.append({"stop": stop, "threads": threads, "velocity": bits, **given})
    return told


GIVEN = ("candidates", "sweeps", "converged", "residual", "residual_rms")


def plates_3d() -> Scenario:
    """Spheres on a turning tray with a hole and bumps, under a rough lid that is held at first."""
    around = [[1.8 * np.cos(a), 1.8 * np.sin(a), 0.0] for a in np.arange(4) * np.pi / 2]
    scene = hg.Scene(
        dimension=3,
        gravity=[0, 0, -1],
        contacts=[hg.ContactLaw(friction=0.5)],
        grains=[
            hg.Grains(place=hg.At(positions=around), diameter=0.5, glued_to="tray"),
            hg.Grains(
                count=30,
                diameter=hg.Lognormal(mean=0.6, deviation=0.1),
                place=hg.Deposit(min=[-2.5, -2.5, 0.3], max=[2.5, 2.5, 4]),
                lock={"x": "0.5 - t", "rotation": "t - 3"},
            ),
            hg.Grains(place=hg.At(positions=[[0, 0, 4.6]]), glued_to="lid"),
        ],
        walls=[
            hg.Cylinder(name="tube", point=[0, 0, 0], radius=2.5),
            hg.Disk(
                name="tray", center=[0, 0, 0], normal=[0, 0, 1], radius=2.5, hole=0.8,
                spin=[0, 0, "0.5*ramp(t, 0, 2)"],
            ),
            hg.Plane(
                name="lid", point=[0, 0, 4.6], normal=[0, 0, -1], lock={"z": "1 - t"},
                velocity=["0.2*sin(t)", 0, "free"], piston=hg.Piston(mass=5, force=3),
            ),
        ],
    )  # fmt: skip
    solver, output = hg.GaussSeidel(sweeps=30), Output(every=9, contacts_every=2)
    return Scenario(scene=scene, dt=0.02, solver=solver, output=output, **until(300))


def until(steps: int) -> dict[str, Any]:
    return {"stop": hg.Stop(steps=steps), "seed": 5}


def hopper_2d() -> Scenario:
    """A hopper that is filled from above while grains are taken out below."""
    scene = hg.Scene(
        gravity=[0, -1],
        grains=[
            hg.Grains(
                count=30,
                diameter=hg.Uniform(min=0.5, max=0.8),
                place=hg.Deposit(min=[-3, 3], max=[3, 8]),
            ),
            hg.Grains(
                count=60,
                diameter=hg.Uniform(min=0.5, max=0.8),
                place=hg.Deposit(min=[-2, 8], max=[2, 9]),
                insert=hg.Insert(time=1.0, rate=8.0),
                speed=0.2,
            ),
        ],
        walls=[
            hg.Box(min=[-3, 0], max=[3, 9], open=["bottom", "top"]),
            hg.Segment(name="slope", start=[-3, 3], end=[-1, 0]),
            hg.Segment(name="other slope", start=[3, 3], end=[1, 0]),
        ],
        regions={"below": hg.BlockRegion(min=[-50, -50], max=[50, -2])},
        remove=[hg.Remove(entering="below")],
    )
    solver = hg.GaussSeidel(sweeps=20)
    output = Output(every=7, contacts_every=2)
    return Scenario(scene=scene, dt=0.02, solver=solver, output=output, **until(400))


def polygons_2d() -> Scenario:
    """Pentagons, capsules, clumps and disks that settle together, random polygons among them."""
    loose: dict[str, Any] = {"orientation": "random", "speed": 0.5, "diameter": 1.0}
    region = hg.Deposit(min=[0, 0], max=[8, 18])
    clump = {"kind": "clump", "centers": [[-0.3, 0], [0.3, 0], [0, 0.4]], "radii": 0.3}
    shapes: list[Any] = [
        "pentagon",
        {"kind": "capsule", "aspect": 2.5},
        {"kind": "polygon", "sides": [4, 7], "random": True, "rounding": 0.2},
        clump,
        None,
    ]
    grains = [hg.Grains(count=10, place=region, shape=shape, **loose) for shape in shapes]
    walls = [hg.Box(min=[0, 0], max=[8, 20], open=["top"]), hg.Segment(start=[2, 3], end=[4, 3.5])]
    scene = hg.Scene(gravity=[0, -1], grains=grains, walls=walls)
    solver = hg.GaussSeidel(sweeps=60)
    return Scenario(scene=scene, dt=0.01, solver=solver, output=Output(every=7), **until(500))


def boxes_3d() -> Scenario:
    """Boxes, capsules and polyhedra that fall into a drum that turns."""
    region = hg.Deposit(min=[-2, -2.1, -2], max=[2, 2.1, 2])
    shapes: list[Any] = [
        {"kind": "box", "sides": [1.0, 0.8, 0.6]},
        "capsule",
        {"kind": "polyhedron", "corners": 10, "random": True},
    ]
    grains = [
        hg.Grains(count=8, place=region, shape=shape, orientation="random", diameter=1.0)
        for shape in shapes
    ]
    drum = hg.Drum(center=[0, 0, 0], radius=3.2, spin="0.5", axis=[0, 1, 0], length=4.2)
    scene = hg.Scene(dimension=3, gravity=[0, 0, -1], grains=grains, walls=[drum])
    solver = hg.GaussSeidel(sweeps=60)
    return Scenario(scene=scene, dt=0.01, solver=solver, output=Output(every=9), **until(300))


CASES = {
    f.__name__: f
    for f in (
        box_2d,
        drum_3d,
        pistons_2d,
        soft_3d,
        events_2d,
        events_3d,
        rigid_2d,
        turned_2d,
        hopper_2d,
        plates_3d,
        coloured_2d,
        coloured_3d,
        tiles_2d,
        tiles_3d,
        polygons_2d,
        boxes_3d,
    )
}


def scenario(name: str, **changes: Any) -> Scenario:
    """A case, with some of its fields changed."""
    case = CASES[name]()
    threads = changes.pop("threads", None)
    if isinstance(changes.get("output"), dict):  # of a script's JSON
        changes["output"] = Output(**changes["output"])
    if threads is not None:
        changes["solver"] = case.solver.model_copy(update={"threads": threads})
    return case.model_copy(update=changes)


def frames(path: Path, every: int) -> dict[int, dict[str, bytes]]:
    """All data of the regular frames and the last one, by step, and of the file as a whole."""
    with RunFile(path) as run:
        found: dict[int, dict[str, bytes]] = {}
        for k, frame in enumerate(run):
            if frame.step % every and k < len(run) - 1:
                continue  # written on an interrupt
            data: dict[str, Any] = dict(vars(frame.record))
            data["scalars"] = [*frame.scalars.values()]
            contacts = run.contacts(k)
            if contacts is not None:
                data |= {f"contacts/{name}": value for name, value in vars(contacts).items()}
            found[frame.step] = {name: np.asarray(value).tobytes() for name, value in data.items()}
        found[-1] = {f"model/{name}": value.tobytes() for name, value in run.model.items()}
        found[-1] |= {f"history/{name}": value.tobytes() for name, value in run.history.items()}
        return found


AT_ONCE = partial(print, flush=True)


def main(
    action: str,
    name: str,
    path: str,
    changes: str = "{}",
    halt: str = "0",
    say: Callable[[str], object] = AT_ONCE,
) -> None:
    def tell(sim: hg.Simulation, report: Any) -> None:
        say(f"step {report.step}")
        if report.step == int(halt):
            while not Path(path).with_name("signalled").exists():
                time.sleep(0.001)

    if action == "resume":
        _, summary = hg.Simulation.resume(path, progress=tell)
    else:
        sim = hg.Simulation(scenario(name, **json.loads(changes)))
        summary = sim.run(output=path, progress=tell)
    say(f"{summary.ended} {summary.steps}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["threads"]:
        print(json.dumps(by_threads([int(n) for n in sys.argv[2:]])))
    else:
        main(*globals().get("ARGUMENTS", sys.argv[1:]))  # of a test, or of the command line
