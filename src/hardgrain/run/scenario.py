"""A scenario: everything a run needs, as written in a TOML file or in Python."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError, ValidationInfo, model_validator

import hardgrain
from hardgrain.errors import InputError
from hardgrain.run.stop import Stop
from hardgrain.scene._base import Count, FileName, Flag, Name, Positive, Spec, Whole
from hardgrain.scene.explain import explain
from hardgrain.scene.scene import Scene
from hardgrain.scene.spec import MeshWall
from hardgrain.solve.gauss_seidel import GaussSeidel
from hardgrain.solve.jacobi import Jacobi
from hardgrain.solve.rigid import RigidSolver
from hardgrain.step.engine import DEVICES, Engine, EventDriven, RigidGrains

__all__ = [
    "Output", "Scenario", "Start", "change", "load", "parse", "read_tables", "stored_scenario",
    "with_device",
]  # fmt: skip


def _by_name(solver: Any, info: ValidationInfo) -> Any:
    """Complete the solver, given by its kind alone, as a table without a kind, or not at all.

    A table without a kind is Gauss–Seidel. If none is given, it is one that keeps grains rigid: for
    disks the rigid solver, which costs them little more than sweeps; for spheres, of which the
    rigid solver may need seconds for a step of dense flow, for laws that it refuses, and for
    resistance to rolling, sweeps up to a fine residual.
    """
    if solver is None:
        scene = info.data.get("scene")  # it is missing if it was refused
        deforms = scene is not None and any(spec.elastic for spec in scene.grains)
        plain = scene is None or not (any(_not_carried(scene)) or _resisted(scene) or deforms)
        if scene is None or (scene.dimension == 2 and plain):
            return RigidSolver(tolerance=1e-5)  # fine enough for clusters up to 150 grains long
        return GaussSeidel(stop="residual", tolerance=1e-4, sweeps=20_000)  # up to 50
    if isinstance(solver, str):
        return {"kind": solver}
    return {"kind": "gauss-seidel", **solver} if isinstance(solver, dict) else solver


def _resisted(scene: Scene) -> bool:
    """Whether a law resists rolling or torsion; sweeps then cost less to a residual of 10⁻⁴."""
    return any(law.rolling or law.torsion for law in scene.contacts)


def _not_carried(scene: Scene) -> Iterator[tuple[str, float]]:
    """Laws of a scene that the rigid solver refuses: where they stand, and their values."""
    for k, law in enumerate(scene.contacts):
        if law.friction_dynamic not in (None, law.friction):
            yield f"scene.contacts[{k}].friction_dynamic", law.friction_dynamic


Solver = Annotated[
    GaussSeidel | Jacobi | RigidSolver, Field(discriminator="kind"), BeforeValidator(_by_name)
]


class Output(Spec):
    """What is written, and how often."""

    file: FileName | None = None  # where the run is written; default: the scenario's name with .h5
    every: Count = 100  # steps between two frames [1]
    contacts_every: Count = 1  # frames between two frames that hold contacts [1]
    # whether frames with contacts are on the disk before the run goes on, for fear of a power cut
    durable: Flag = True
    # walls by name and grains by number from 0 [1], whose position, velocity and force the history
    # keeps after every step
    track: list[Annotated[Whole, Field(ge=0)] | Name] = []


class Start(Spec):
    """Grains taken from a frame of an earlier run or from a packing, besides new ones.

    Time and steps count from zero again. The grains of the file belong to the sets of the scene
    that have no place, in order, or all to the only such set; they have its properties, but where
    they stand and how large they are is in the file. Sets with a place are new and added to them.
    If all sets have a place, the first are those of the file, provided that they place as many
    grains as it has: the scenario that made the file can so be used again.

    Of an earlier run (.h5), walls of the same name and kind stand where that frame left them, all
    others where the scene puts them; contacts start from the forces they had.

    A packing (.gsd, .dump, .lammpstrj, .xyz, .extxyz, .csv) gives positions, radii, velocities and
    spins; its types are the sets of grains.
    """

    file: FileName  # a run file (.h5) or a packing (.gsd, .dump, .lammpstrj, .xyz, .extxyz, .csv)
    frame: Whole = -1  # which frame of the file, from 0; negative numbers count from the end [1]


class Scenario(Spec):
    """One run: the scene, the step, the engine, the solver, when to stop and what to write."""

    title: str = ""  # what the run is called in summaries, reports and pictures
    units: str = ""  # names of the units in words, for readers; any consistent units will do
    # number that decides everything random: the same seed gives the same run [1]
    seed: Annotated[Whole, Field(ge=0, lt=2**63)] = 0
    dt: Annotated[Positive, Field(ge=1e-100, le=1e100)]  # length of a step [time]
    scene: Scene  # grains, walls, materials and what acts on them
    # method that moves the grains: contact dynamics of rigid grains, soft particles, or hard grains
    # from collision to collision
    engine: Engine = RigidGrains()
    # how contact dynamics finds the impulses of a step; other engines need none; default: the
    # rigid solver for disks that do not resist rolling and have one coefficient of friction,
    # otherwise Gauss–Seidel sweeps
    solver: Solver = Field(default=None, validate_default=True)
    # file from which the grains are taken; default: they are placed as the scene says
    start: Start | None = None
    stop: Stop | None = None  # when the run ends; needed in a file
    # whether a run with impossible overlaps, speeds or energies is stopped, or only reported
    on_implausible: Literal["stop", "report"] = "stop"
    output: Output = Output()  # what is written, and how often

    def suited_to(self, grains: int) -> Scenario:
        """The scenario with all that is left to the number of grains: the order of sweeps."""
        if not isinstance(self.engine, RigidGrains) or self.scene.cell is not None:
            return self
        solver = self.solver.suited_to(grains, self.engine.device)
        return self.model_copy(update={"solver": solver})

    @model_validator(mode="after")
    def _carried(self) -> Scenario:
        theta = getattr(self.engine, "theta", None)
        deforming = [k for k, spec in enumerate(self.scene.grains) if spec.elastic is not None]
        if theta is not None and not deforming:
            raise ValueError(f"engine.theta is {theta:g}, but no grains are elastic; leave it out")
        if deforming and not isinstance(self.engine, RigidGrains):
            raise ValueError(
                f"scene.grains[{deforming[0]}].elastic is given, but engine.kind is"
                f" {self.engine.kind!r}; elastic grains need 'contact-dynamics'"
            )
        if isinstance(self.solver, RigidSolver) and isinstance(self.engine, RigidGrains):
            for where, value in _not_carried(self.scene):
                raise ValueError(
                    f"{where} is {value:g}, a law that the rigid solver cannot carry; leave it out,"
                    " or give solver.kind = 'gauss-seidel'"
                )
        if isinstance(self.engine, EventDriven) and self.scene.allow_overlaps:
            raise ValueError(
                "scene.allow_overlaps is true, but the engine 'event-driven' begins with grains"
                " that do not overlap; leave it out"
            )
        if isinstance(self.engine, RigidGrains) and self.engine.geometry == "end":
            for k, grains in enumerate(self.scene.grains):
                if grains.shaped:
                    raise ValueError(
                        f"engine.geometry is 'end', but scene.grains[{k}] has a shape; contact"
                        " points of such grains are those at the start of a step, so give 'start'"
                    )
            for k, wall in enumerate(self.scene.walls):
                if isinstance(wall, MeshWall):
                    raise ValueError(
                        f"engine.geometry is 'end', but scene.walls[{k}] is a mesh; contact points"
                        " with it are those at the start of a step, so give 'start'"
                    )
        return self


def stored_scenario(header: Mapping[str, str], path: str | Path) -> Scenario:
    """The scenario that a run file holds."""
    try:
        return Scenario.model_validate_json(header["scenario"])
    except (KeyError, ValueError):
        raise InputError(
            f"{path} holds a scenario that hardgrain {hardgrain.__version__} does not understand;"
            f" it was written by hardgrain {header.get('hardgrain', 'of an unknown version')}"
        ) from None


def load(path: str | Path, changes: Mapping[str, Any] | None = None) -> Scenario:
    """Read a scenario from a TOML file.

    ``changes`` replaces fields by their path: ``{"scene.contacts.0.friction": 0.3}``.
    """
    data = read_tables(path, "a scenario file")
    for field, value in (changes or {}).items():
        change(data, field, value)
    return parse(data)


def read_tables(path: str | Path, what: str) -> dict[str, Any]:
    """The tables of a TOML file; ``what`` it should be is said where it is none."""
    path = Path(path)
    try:
        text = path.read_bytes().decode()
    except FileNotFoundError:
        raise InputError(f"{path} does not exist; give {what} (TOML)") from None
    except IsADirectoryError:
        raise InputError(f"{path} is a folder; give {what} (TOML)") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not a text file; give {what} (TOML)") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # raised also by numbers with thousands of digits
        raise InputError(f"{path} is not valid TOML: {error}") from None


def with_device(scenario: Scenario, device: str | None) -> Scenario:
    """The same scenario with another ``engine.device``, if one is given."""
    if device is None:
        return scenario
    if not isinstance(scenario.engine, RigidGrains):
        raise InputError(
            f"device is {device!r}, but the engine {scenario.engine.kind!r} knows the processor"
            " alone"
        )
    if device not in DEVICES:
        raise InputError(f"device is {device!r}; valid are {', '.join(DEVICES)}")
    engine = scenario.engine.model_copy(update={"device": device})
    return scenario.model_copy(update={"engine": engine})


def change(data: dict[str, Any], field: str, value: Any) -> None:
    """Put a value into nested tables and lists, making the tables on the way that are missing."""
    *way, last = field.split(".")
    here: Any = data
    for k, part in enumerate(way):
        here = here.setdefault(part, {}) if isinstance(here, dict) else _entry(here, way[:k], part)
    if isinstance(here, dict):
        here[last] = value
    else:
        _entry(here, way, last)
        here[int(last)] = value


def _entry(here: Any, way: list[str], part: str) -> Any:
    """An entry of a list by its number, from 0."""
    at = ".".join(way)
    if not isinstance(here, list):
        raise InputError(f"{at} is {here!r}, not a table, so that it has no field {part!r}")
    if not (part.isascii() and part.isdigit() and int(part) < len(here)):
        raise InputError(f"{at} has {len(here)} entries, numbered from 0; it has no {part!r}")
    return here[int(part)]


def parse(data: dict[str, Any]) -> Scenario:
    """Check a scenario given as nested tables; the first error is explained in one sentence."""
    try:
        scenario = Scenario.model_validate(data)
    except ValidationError as error:
        raise explain(error, Scenario, data) from None
    except RecursionError:
        raise InputError("the scenario is nested too deeply") from None
    if scenario.stop is None:
        raise InputError("stop is missing; give a [stop] table with steps, time or at_rest")
    return scenario
