"""The engines to choose from: contact dynamics, soft particles (MD), event-driven hard grains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, get_args

from pydantic import Field, model_validator

from hardgrain.core.model import Model, State
from hardgrain.processes import Processes, world
from hardgrain.scene._base import Count, Finite, NotNegative, Positive, Spec
from hardgrain.solve.solver import Solver
from hardgrain.step.membrane import refuse_empty

if TYPE_CHECKING:
    from hardgrain.step.contact_dynamics import ContactDynamics
    from hardgrain.step.event_driven import EventDrivenDynamics
    from hardgrain.step.shared_dynamics import SharedDynamics
    from hardgrain.step.soft_particles import SoftParticleDynamics

__all__ = [
    "DEVICES", "MOST_SUBSTEPS", "Engine", "EventDriven", "RigidGrains", "SoftParticles",
    "make_engine",
]  # fmt: skip

# No step is worth more explicit ones; where more are needed, dt or the stiffness is not as meant.
MOST_SUBSTEPS = 1_000_000


class _Engine(Spec):
    """What all engines say of themselves."""

    @property
    def solves(self) -> bool:
        """Whether a solver finds the impulses of a step."""
        return False

    @property
    def counts(self) -> str:
        """What its work is counted in."""
        return "contact updates"


class RigidGrains(_Engine):
    """Contact dynamics, the default: the solver finds impulses that obey every contact's law.

    ``geometry``: where normals, gaps and arms are taken, at the ``start`` of the step or, iterated
    until bodies move by less than ``tolerance`` of the smallest grain's radius from one iteration
    to the next, at its ``end``. A step that needs more than ``iterations`` is counted and reported.
    """

    kind: Literal["contact-dynamics"] = "contact-dynamics"
    # what makes the steps: the processor, an NVIDIA GPU, or the GPU where there is one that carries
    # the scene
    device: Literal["cpu", "cuda", "auto"] = "cpu"
    # where normals, gaps and arms are taken: at the start of a step, or at its end
    geometry: Literal["start", "end"] = "start"
    # by how much bodies may still move when the geometry at the end counts as found [smallest
    # radius]
    tolerance: Positive = 1e-9
    iterations: Count = 30  # solves of a step to find the geometry at its end, at most [1]
    # θ of the scheme in which elastic grains vibrate, from 1/2, which damps nothing, to 1, implicit
    # Euler [1]; default: 1/2
    theta: Annotated[Finite, Field(ge=0.5, le=1.0)] | None = None

    @model_validator(mode="after")
    def _check(self) -> RigidGrains:
        for name in ("tolerance", "iterations"):
            if (
                self.geometry == "start"
                and getattr(self, name) != type(self).model_fields[name].default
            ):
                raise ValueError(f"{name} goes with geometry = 'end'")
        return self

    @property
    def solves(self) -> bool:
        return True


DEVICES: tuple[str, ...] = get_args(RigidGrains.model_fields["device"].annotation)


class SoftParticles(_Engine):
    """Soft-particle molecular dynamics: linear springs and dashpots, explicit steps.

    Friction coefficients are those of the scene's contact laws; the solver is not used. A step is
    made of ``substeps`` explicit steps of length dt / substeps each.
    """

    kind: Literal["soft-particles"] = "soft-particles"
    # normal stiffness k_n of every contact point [force/length]
    stiffness: Positive
    # normal damping γ_n of every contact point [force time/length]; default: none
    damping: NotNegative | None = None
    # coefficient of restitution of a collision, in place of damping, which follows for each pair
    # [1]; towards zero, steps must be as much shorter as its root
    restitution: Annotated[Finite, Field(ge=1e-4, le=1.0)] | None = None
    # whether friction is carried by a spring that slides, or is proportional to the sliding
    # velocity up to Coulomb's limit
    tangential: Literal["spring", "viscous"] = "spring"
    # tangential stiffness k_t of the spring [force/length]; default: 2/7 of the stiffness
    tangential_stiffness: Positive | None = None
    # tangential damping γ_t [force time/length]; default: none
    tangential_damping: NotNegative | None = None
    # explicit steps in a step of length dt [1]
    substeps: Annotated[Count, Field(le=MOST_SUBSTEPS)] = 1

    @model_validator(mode="after")
    def _check(self) -> SoftParticles:
        if self.damping is not None and self.restitution is not None:
            raise ValueError("give damping or restitution, not both")
        if self.tangential == "viscous":
            if self.tangential_stiffness is not None:
                raise ValueError("tangential_stiffness goes with tangential = 'spring'")
            if self.tangential_damping is None:
                raise ValueError("tangential_damping is missing; tangential = 'viscous' needs it")
        return self

    @property
    def counts(self) -> str:
        return "particle steps"

    @property
    def spring(self) -> float:
        """k_t, zero for viscous friction [force/length]."""
        if self.tangential == "viscous":
            return 0.0
        return self.tangential_stiffness or 2.0 / 7.0 * self.stiffness


class EventDriven(_Engine):
    """Event-driven hard grains: free flight between collisions of two bodies, each over at once.

    For dilute and agitated grains. Laws of collisions are the scene's contact laws; the solver is
    not used. A step of length dt only says when grains are told of: it should hold a few collisions
    of each. Where grains come to rest, collisions never end; that is told, and ``contact_time``
    helps.
    """

    kind: Literal["event-driven"] = "event-driven"
    # time t_c within which a grain that collides again does so elastically and without friction,
    # as the TC model of Luding and McNamara has it [time]; default: 0, collisions never do
    contact_time: NotNegative = 0.0

    @property
    def counts(self) -> str:
        return "collisions"


Engine = Annotated[RigidGrains | SoftParticles | EventDriven, Field(discriminator="kind")]


def make_engine(
    settings: RigidGrains | SoftParticles | EventDriven,
    model: Model,
    state: State,
    solver: Solver,
    dt: float,
    seed: int,
) -> ContactDynamics | SharedDynamics | SoftParticleDynamics | EventDrivenDynamics:
    """The engine that advances ``state``; one that cannot do so says why before the run."""
    if model.membrane is not None and state.step == 0:
        refuse_empty(model, state)
    here = world()
    if isinstance(here, Processes):
        from hardgrain.step.shared_dynamics import SharedDynamics
        from hardgrain.step.shared_refusals import refuse_shared

        refuse_shared(model, solver, settings)
        assert isinstance(settings, RigidGrains)
        return SharedDynamics(model, solver, dt, seed, settings, here)
    if isinstance(settings, EventDriven):
        from hardgrain.step.event_driven import EventDrivenDynamics

        return EventDrivenDynamics(model, settings, dt, state)
    if model.cell >= 0:
        from hardgrain.step.cell_loads import refuse_rates

        refuse_rates(model, dt)
    if isinstance(settings, SoftParticles):
        if model.cell >= 0:
            from hardgrain.step.soft_cell import SoftCellDynamics

            return SoftCellDynamics(model, settings, dt, state)
        from hardgrain.step.soft_particles import SoftParticleDynamics
        from hardgrain.step.soft_shapes import SoftShapeDynamics

        kind = SoftParticleDynamics if model.round else SoftShapeDynamics
        return kind(model, settings, dt, state)
    from hardgrain.step.contact_dynamics import ContactDynamics

    if model.cell >= 0 and model.elastic is None:
        from hardgrain.step.cell_dynamics import CellDynamics, refuse_in_cell

        refuse_in_cell(model, solver, settings)
        return CellDynamics(model, solver, dt, seed, settings)
    if model.elastic is not None:
        from hardgrain.step.elastic_dynamics import ElasticDynamics, refuse_with_elastic

        refuse_with_elastic(model, solver, settings)
        return ElasticDynamics(model, solver, dt, seed, settings)
    if settings.device != "cpu":
        from hardgrain.step.device_dynamics import DeviceDynamics, carried, refuse_on_device

        if settings.device == "cuda":
            refuse_on_device(model, solver, settings)
        if settings.device == "cuda" or carried(model, solver, settings):
            return DeviceDynamics(model, solver, dt, seed, settings)
    return ContactDynamics(model, solver, dt, seed, settings)
