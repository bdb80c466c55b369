"""Is the run rigid? What the sweeps of a step make of its largest contact cluster.

N sweeps a step turn the contacts that bear a force into springs and dashpots, and the packing into
an elastic body. How soft that is follows from the slowest mode of the contact network: its rate µ,
the share of its error that a sweep removes, and its sag (`measure.contact_network`).

**Where a criterion ends the sweeps** their number N differs from step to step, and follows what
happens. A wave shows at the contacts by its curvature alone. If the share s of a load is still on
its way in the slowest mode, the contacts want the velocity µ s V (µ here that of the parallel
update, V what the load's impulses give the contacts): a residual of µ s, no more. Where that is
less than the tolerance ε, no rule sees the wave, and the step ends after one sweep. So

- what comes abruptly is handed on at once, down to the share ε/µ of it;
- smaller disturbances, and loads that change slowly, meet a packing that is swept as often as one
  at rest, about once a step: as soft as that makes it, and hardly damped, τ = 2 dt/(N µ).

N is therefore the harmonic mean over steps, for which a few steps of many sweeps count little. It
is the right one for a load that grows evenly: each step has to hand on the same impulse ΔP, for
which its contacts close by W ΔP / 2qN. Inertia makes velocities more even than this, so that N is
more nearly the plain mean, which is larger: waves are at least as fast as N says. How far the whole
load may make it sag is bounded by N = 1, which every rule makes, plus what a step of many sweeps
may freeze of a swing.

How far it may *swing* follows from what steps leave. At contacts that stay closed the velocity that
is wanted is the velocity itself, |V_α| ≤ ε V. Let the slowest mode close its contacts by φ_α while
its fastest grain moves by u. Modes are orthogonal with weights 1/W_α, so that its amplitude is at
most ε V Σ|φ|/W / Σφ²/W, and no grain is moved faster by it than

    v = ε V · lever,   lever = u Σ|φ|/W / Σφ²/W        (0.81 n for n grains in a row),

hence no farther than v/ω to either side. Nothing ends such a swing: it is too small for the rule to
see, and whenever it is not, sweeps that come all at once kick it. It is no larger than the sag of
the whole load either, or contacts would open. ε is the tolerance of a rule that bounds the residual
(``local`` does, nearly), or the worst residual of late where that is more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from hardgrain.core.model import Model
from hardgrain.measure.contact_network import ContactNetwork
from hardgrain.measure.outline import equivalent_radius
from hardgrain.theory import chain

__all__ = ["Rigidity", "fine", "rate_of", "rigidity"]

# [1] Residual up to which a step counts as converged: velocities are right to a thousandth of what
# the contacts do in a step, and errors of that size drown in those of the time stepping. If it is
# larger, soft runs are called rigid; if it is smaller, runs are called soft for errors that nobody
# can see.
CONVERGED = 1e-3
# [1] Share of a load that the longest wave may still have to hand on when a step counts as
# converged. If it is larger, a packing may sag by more than a tenth of what its load would do,
# unreported.
WAVE = 0.1


@dataclass(frozen=True)
class Rigidity:
    """A network together with the sweeps and the step that it was computed with."""

    grains: int  # in the largest cluster
    length: float  # L, its largest extent [length]
    diameter: float  # mean, of all grains [length]
    sweeps: float  # N, harmonic mean over steps with contacts
    dt: float  # [time]
    diffusion_length: float  # l_diff [length]
    rate: float  # µ, of the slowest mode [1]
    frequency: float  # its ω [1/time]; 0 where there is none
    damping_time: float  # its τ [time]; 0 likewise
    stiffness: float  # κ, mean over the contacts that bear a force [force/length]
    damping: float  # γ, likewise [force time/length]
    sag: float  # how far the present load moves a grain or piston; a bound, if adaptive [length]
    creep: float  # speed of grains in the slowest mode that steps may leave [length/time]
    swing: float  # how far, from end to end, it may take them [length]
    slowness: float  # length of a chain whose slowest mode is as slow [length]
    needed: int  # sweeps for which l_diff reaches it
    tolerance: float  # largest residual with which steps hand on nine tenths of a load [1]
    converged: bool  # hardly a step was not, judged as finely as the longest wave needs
    adaptive: bool  # a criterion, not a number, ends the sweeps of a step
    at_once: bool  # all contacts are solved at once: no sweeps, hence no springs

    @property
    def sound_speed(self) -> float:
        """c that gives the slowest mode as a quarter of a wave over L [length/time]."""
        return math.sqrt(self.rate * self.sweeps) / self.dt * 2.0 * self.length / math.pi

    @property
    def crossing(self) -> float:
        """Steps that sound takes to cross the cluster [1]."""
        c = self.sound_speed
        return self.length / (c * self.dt) if c > 0.0 else math.inf

    @property
    def rigid(self) -> bool:
        """Converged, or within reach of the sweeps: of a chain, l_diff ≥ L; else N µ ≥ π²/16."""
        return self.converged or (not self.at_once and self.diffusion_length >= self.slowness)

    @property
    def why(self) -> str:
        """The verdict's reason, and what to do, in words."""
        if self.length == 0.0:
            return "no two grains bear a force on each other"
        if self.at_once:
            size = f"the largest cluster has {self.grains} grains and is {self.length:.3g} long"
            if self.converged:
                return f"every force reached all contacts within its step; {size}"
            return (
                f"steps were left with a residual above {self.asked}, so that more than a"
                " tenth of a load may stay in the longest wave; lower the solver's tolerance;"
                f" {size}"
            )
        lengths = (
            f"l_diff = {self.diffusion_length:.3g} against a cluster of {self.grains} grains,"
            f" {self.length:.3g} long, as slow as a chain of {self.slowness:.3g}"
        )
        if self.diffusion_length >= self.slowness:
            return lengths
        if self.converged:
            return f"the steps were converged ({lengths}){self.unseen}"
        if self.adaptive:
            return (
                f"sound crosses in {self.crossing:.2g} steps, packing may sag by up to"
                f" {self.sag / self.diameter:.2g} d where its load changes slowly{self.unseen}; use"
                f" a residual of {self.asked} or less, or about {self.needed} sweeps a step"
                f" (quiet steps now have {self.sweeps:.2g}; {lengths})"
            )
        return (
            f"sound crosses in {self.crossing:.2g} steps, packing will sag by"
            f" {self.sag / self.diameter:.2g} d; use about {self.needed} sweeps (now"
            f" {self.sweeps:.0f}; {lengths})"
        )

    @property
    def asked(self) -> str:
        """A tolerance that will do, in one digit: that digit is not rounded up."""
        unit = 10.0 ** math.floor(math.log10(self.tolerance) + 1e-9)
        return f"{math.floor(self.tolerance / unit + 1e-9) * unit:.1g}"

    @property
    def unseen(self) -> str:
        """The motion that a criterion does not see and nothing damps, in words."""
        if not self.adaptive or self.swing == 0.0:
            return ""
        return (
            f"; its criterion does not see swings of up to {self.swing / self.diameter:.2g} d or"
            f" creep of up to {self.creep * self.dt / self.diameter:.1g} d a step, and nothing"
            " damps them"
        )

    @property
    def sound(self) -> str:
        """The figures of the elastic body that the sweeps make, in words."""
        return (
            f"c = {self.sound_speed:.3g}; slowest mode ω = {self.frequency:.3g},"
            f" τ = {self.damping_time:.3g}; contacts act as springs κ = {self.stiffness:.3g},"
            f" dashpots γ = {self.damping:.3g}"
        )

    def __str__(self) -> str:
        return f"{'rigid' if self.rigid else 'soft'}: {self.why}"


def rigidity(
    model: Model,
    found: ContactNetwork,
    sweeps: float,
    q: float,
    dt: float,
    *,
    residual: float = 0.0,
    converged: bool = False,
    adaptive: bool = False,
    at_once: bool = False,
) -> Rigidity:
    """What a number of sweeps a step, in an order with the given q in a chain, makes of a network.

    ``residual``: what steps are left with. ``at_once``: the solver needs no sweeps to spread
    forces; all that follows from them is zero.
    """
    sweeps = 0.0 if at_once else sweeps
    # a process that shares a run may know of no grains, and its verdict is not asked for
    diameter = 2.0 * float(equivalent_radius(model).mean()) if model.n else 1.0
    mine = _q_here(found, q)
    rate = min(2.0 * mine * found.rate, 0.5)
    some = rate > 0.0 and sweeps > 0.0
    strength = 2.0 * mine * sweeps / dt**2
    slowness = 0.5 * math.pi * diameter * math.sqrt(q / rate) if rate > 0.0 else 0.0
    creep = found.lever * residual * found.push * dt
    sag, swing = 0.0, 0.0
    if rate > 0.0:
        least = 1.0 if adaptive or at_once else sweeps
        swing = 2.0 * creep / float(chain.step_frequency(rate, least, dt)) if least else 0.0
    if some:
        sag = found.sag * dt**2 / (2.0 * mine * least) * float(chain.step_sag(rate, least))
        swing = min(swing, 2.0 * sag)
        sag += 0.5 * swing if adaptive else 0.0
    return Rigidity(
        grains=int(found.grains),
        length=found.length,
        diameter=diameter,
        sweeps=sweeps,
        dt=dt,
        diffusion_length=chain.diffusion_length(sweeps, diameter, q),
        rate=rate,
        frequency=float(chain.step_frequency(rate, sweeps, dt)) if some else 0.0,
        damping_time=float(chain.step_damping_time(rate, sweeps, dt)) if some else 0.0,
        stiffness=strength * found.effective_mass,
        damping=strength * found.effective_mass * dt,
        sag=sag,
        creep=creep,
        swing=swing,
        slowness=slowness,
        needed=chain.sweeps_for_rigidity(max(slowness, diameter), diameter, q),
        tolerance=fine(rate),
        converged=converged,
        adaptive=adaptive,
        at_once=at_once,
    )


def _q_here(found: ContactNetwork, q: float) -> float:
    """The number q of an order in this network, for what it is in a chain.

    Random sweeps have that of their paths. For other orders no such sum is known.
    """
    return chain.q_of_paths(found.onward) if q == chain.Q["random"] else q


def rate_of(found: ContactNetwork, q: float) -> float:
    """µ of the slowest mode, for an order of sweeps that has this q in a chain [1]."""
    return 2.0 * _q_here(found, q) * found.rate


def fine(rate: float) -> float:
    """Residual up to which a step counts as converged, for a slowest mode with the given µ [1].

    With all of a load still to be handed on, the residual of that mode is no more than µ.
    """
    return min(CONVERGED, WAVE * rate) if rate > 0.0 else CONVERGED
