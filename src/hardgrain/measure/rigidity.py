"""Is the run rigid? What the sweeps of a step make of its largest contact cluster.

N sweeps a step turn every contact that bears a force into a spring and a dashpot (`theory.chain`).
One update of a contact gives it the impulse that stops it, P = −V/W; N sweeps, which also hand on
what they change, do that 2 q N times over in a step, so that force builds up as

    dR/dt = κ V,   κ = 2 q N / (W dt²),   γ = κ dt,

with W = 1/m_n along the normal and 1/m_t across it (in a chain W = 2/m: eqs 24, 25). For springs
κ between the grains of the packing, a displacement u meets the force K u, and the slowest mode of
M⁻¹K is that of the solver: its eigenvalue is N µ / dt², where 1 − µ is what a sweep leaves of the
mode's error. In units of N / dt² neither N nor dt is left in it, and µ gives ω and τ exactly
(`theory.chain`, "step by step").

The mode is found by inverse iteration: u₁, the displacement under the present load, K u₁ = F; u₂
from K u₂ = M u₁, and so on. F is taken from the contact forces themselves (what they do not balance
among each other, they carry), so it never pushes on anything that no contact holds: grains without
load and mechanisms drop out on their own. u₁ is how far the packing sags under its load.

Contacts are taken to stick, even those that slide now: a rise of the load makes them stick again.

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
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from hardgrain.contact.rows import complete
from hardgrain.kernels import jit
from hardgrain.scene import lawtable
from hardgrain.scene.model import Contacts, Floats, Ints, Model, State
from hardgrain.step.glue import carried
from hardgrain.theory import chain

__all__ = ["Network", "Rigidity", "clusters", "extent", "fine", "network", "rigidity"]

# [1] Relative residual at which a linear solve ends. The rate µ is wrong by its square only; a
# larger one makes µ and the sag untrue, a smaller one makes each look dearer.
ACCURACY = 1e-2
# [1] Steps of conjugate gradients that a solve may take on average, enough for 500 grains in a row.
# With fewer, long clusters are judged as a bundle of chains; more of them only cost time.
ITERATIONS = 1000
# [contact updates] Work of finding clusters and setting up: a fixed part, and a part for each
# contact. They are nominal, so that no clock decides. If they are too small, looks take a larger
# share of the run than promised; if they are too large, the run is looked at too rarely.
OVERHEAD, SET_UP = 1e5, 20.0
# [1] The lever of a row divided by the number of its grains, from the sine that is its slowest
# mode.
ROW_LEVER = 8.0 / math.pi**2
# [contact updates] Work of one step of conjugate gradients, for each contact and besides;
# nominal, and with the same consequences as OVERHEAD and SET_UP.
STEP_UPDATES, STEP_OVERHEAD = 2.0, 1e3
# [1] Residual up to which a step counts as converged: velocities are right to a thousandth of what
# the contacts do in a step, and errors of that size drown in those of the time stepping. If it is
# larger, soft runs are called rigid; if it is smaller, runs are called soft for errors that nobody
# can see.
CONVERGED = 1e-3
# [1] Share of a load that the longest wave may still have to hand on when a step counts as
# converged. If it is larger, a packing may sag by more than a tenth of what its load would do,
# unreported.
WAVE = 0.1
# [1] Rounds of inverse iteration. After three, µ of a chain is right to 10⁻³; with fewer it comes
# out too large and packings are called stiffer than they are.
ROUNDS = 3


@dataclass(frozen=True)
class Network:
    """The largest cluster of grains that bear a force on each other, and its slowest mode."""

    grains: float = 1.0  # in the cluster
    length: float = 0.0  # its largest extent [length]; 0: no two grains bear a force on each other
    rate: float = 0.0  # µ of the slowest mode of all loaded contacts, for q = ½ [1]; 0: none
    sag: float = 0.0  # displacement under the load, for q = ½, one sweep and dt = 1 [length/time²]
    effective_mass: float = 0.0  # mean 1/W along the normals of loaded contacts [mass]
    push: float = 0.0  # rms of W f, what a contact's force does to it [length/time²]
    lever: float = 0.0  # of the slowest mode, see above [1]
    work: float = OVERHEAD  # what it took to find out [contact updates]


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
            return f"more than one step in a hundred was not converged; {size}"
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
                f" a residual of {self.tolerance:.1g} or less, or about {self.needed} sweeps a step"
                f" (quiet steps now have {self.sweeps:.2g}; {lengths})"
            )
        return (
            f"sound crosses in {self.crossing:.2g} steps, packing will sag by"
            f" {self.sag / self.diameter:.2g} d; use about {self.needed} sweeps (now"
            f" {self.sweeps:.0f}; {lengths})"
        )

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
    found: Network,
    sweeps: float,
    q: float,
    dt: float,
    *,
    residual: float = 0.0,
    converged: bool = False,
    adaptive: bool = False,
    at_once: bool = False,
) -> Rigidity:
    """What a number of sweeps a step, in an order with the given q, makes of a network.

    ``residual``: what steps are left with. ``at_once``: the solver needs no sweeps to spread
    forces; all that follows from them is zero.
    """
    sweeps = 0.0 if at_once else sweeps
    diameter = 2.0 * float(model.radius.mean())
    rate = min(2.0 * q * found.rate, 0.5)
    some = rate > 0.0 and sweeps > 0.0
    strength = 2.0 * q * sweeps / dt**2
    slowness = 0.5 * math.pi * diameter * math.sqrt(q / rate) if rate > 0.0 else 0.0
    creep = found.lever * residual * found.push * dt
    sag, swing = 0.0, 0.0
    if rate > 0.0:
        least = 1.0 if adaptive or at_once else sweeps
        swing = 2.0 * creep / float(chain.step_frequency(rate, least, dt)) if least else 0.0
    if some:
        sag = found.sag * dt**2 / (2.0 * q * least) * float(chain.step_sag(rate, least))
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


def fine(rate: float) -> float:
    """Residual up to which a step counts as converged, for a slowest mode with the given µ [1].

    With all of a load still to be handed on, the residual of that mode is no more than µ.
    """
    return min(CONVERGED, WAVE * rate) if rate > 0.0 else CONVERGED


# ---------------------------------------------------------------------- the network
def clusters(model: Model, contacts: Contacts) -> Ints:
    """Cluster number of every grain, shape (n,): grains linked by contacts that bear a force."""
    link = (contacts.normal_impulse() != 0.0) & (contacts.second < model.n)
    i, j = contacts.first[link], contacts.second[link]
    graph = coo_array((np.ones(i.size, np.int8), (i, j)), shape=(model.n, model.n))
    labels: Ints = connected_components(graph, directed=False)[1]
    return labels


def network(model: Model, state: State, dt: float, most: float = math.inf) -> Network:
    """The network of the contacts that bear a force in the given state.

    ``most``: work it may take [contact updates]. If that is too little to find the slowest mode,
    the packing is taken for a bundle of chains: µ of a chain of its length, and as many contacts
    in a row, compressed as the mean one.
    """
    c, n = state.contacts, model.n
    c = carried(model, state.position, c if c.known else complete(model, state.position, c))
    set_up = OVERHEAD + SET_UP * len(c)
    label = clusters(model, c)
    counts = np.bincount(label)
    if counts.max(initial=0) < 2:
        return Network(work=set_up)
    mine = label == counts.argmax()
    length = float(extent(state.position[:n][mine], model.radius[mine], model.periodic).max())
    p_n = c.normal_impulse()
    loaded = p_n != 0.0
    points = c.chosen(loaded)
    rows, normal = points.rows, points.normal
    along, across = _springs(model, points)
    scale = np.sqrt(np.hstack([model.inv_mass, model.inv_inertia]))
    x = _load(points, scale, points.impulse / dt)
    if not x.any():  # nothing that can move bears a load
        return Network(float(counts.max()), length, work=set_up)

    def stiffen(x: Floats) -> Floats:
        y: Floats = stiffness(rows, scale, along, across, x)
        return y

    cost = STEP_UPDATES * len(points) + STEP_OVERHEAD  # of a step of a solve
    limit = int(max(min((most - set_up) / cost, ROUNDS * ITERATIONS), 0.0))
    rate, sag, steps = 0.0, 0.0, 0
    for k in range(ROUNDS):
        x, taken = _solve(stiffen, x, limit - steps)
        steps += taken
        if steps >= limit:
            break
        if k == 0:
            u = scale[:, : model.dim] * x[:, : model.dim]
            sag = math.sqrt(float(np.einsum("ia,ia->i", u, u).max()))
        x /= math.sqrt(_dot(x, x))
        rate = _dot(x, stiffen(x))
    lever = 0.0
    if steps < limit:
        lever = _lever(points, scale * x, along, across)
    else:
        row = length / (2.0 * float(model.radius.mean()))
        rate = chain.Q["parallel"] * chain.slowest_wavenumber(row) ** 2
        moves = along > 0.0  # not so between two grains that are locked
        sag = row * float((np.abs(p_n[loaded][moves]) / along[moves]).mean()) / dt
        lever = ROW_LEVER * row
    push = _push(normal, points.impulse / dt, along, across)
    mass = float(along.mean())
    work = set_up + cost * steps
    return Network(float(counts.max()), length, rate, sag, mass, push, lever, work)


def _push(normal: Floats, force: Floats, along: Floats, across: Floats) -> float:
    """Root mean square of what each contact's force does to its own velocity, |W f|."""
    f_n = np.einsum("ka,ka->k", force, normal)
    f_t = np.sqrt(np.maximum(np.einsum("ka,ka->k", force, force) - f_n**2, 0.0))
    square = np.zeros_like(f_n)
    for f, stiff in ((f_n, along), (f_t, across)):
        square += np.square(np.divide(f, stiff, out=np.zeros_like(f), where=stiff > 0.0))
    return math.sqrt(float(square.mean()))


def _lever(c: Contacts, u: Floats, along: Floats, across: Floats) -> float:
    """How much faster a mode u may move a grain than the residual lets its contacts close."""
    normal, dim = c.normal, c.normal.shape[1]
    v = u[c.second, :dim] - u[c.first, :dim]
    for body, arm, sign in ((c.second, c.arm_second, 1.0), (c.first, c.arm_first, -1.0)):
        turn = u[body, dim:]
        if dim == 2:
            v += sign * turn * np.stack([-arm[:, 1], arm[:, 0]], axis=1)
        else:
            v += sign * np.cross(turn, arm)
    v_n = np.einsum("ka,ka->k", v, normal)
    v_t = np.sqrt(np.maximum(np.einsum("ka,ka->k", v, v) - v_n**2, 0.0))
    weight = np.hypot(along * v_n, across * v_t).sum()
    energy = float((along * v_n**2 + across * v_t**2).sum())
    fastest = math.sqrt(float(np.einsum("ia,ia->i", u[:, :dim], u[:, :dim]).max()))
    return fastest * float(weight) / energy if energy > 0.0 else 0.0


def _solve(apply: Callable[[Floats], Floats], b: Floats, most: int) -> tuple[Floats, int]:
    """Conjugate gradients from zero: x with A x = b within the range of A, and the steps taken."""
    x, r, p = np.zeros_like(b), b.copy(), b.copy()
    rr = _dot(r, r)
    goal = ACCURACY**2 * rr
    for step in range(most):
        if rr <= goal:
            return x, step
        ap = apply(p)
        if (pap := _dot(p, ap)) <= 0.0:  # pushed where no spring holds
            break
        alpha = rr / pap
        x += alpha * p
        r -= alpha * ap
        rr, before = _dot(r, r), rr
        p *= rr / before
        p += r
    return x, most


def _dot(x: Floats, y: Floats) -> float:
    return float(np.einsum("ia,ia->", x, y))  # not by BLAS, whose sums depend on its threads


def extent(x: Floats, r: Floats, period: Floats) -> Floats:
    """Extent of some grains along each axis, no more than a period, shape (dim,) [length]."""
    size = (x + r[:, None]).max(axis=0) - (x - r[:, None]).min(axis=0)
    within: Floats = np.where(period > 0.0, np.minimum(size, period), size)
    return within


def _springs(model: Model, c: Contacts) -> tuple[Floats, Floats]:
    """1/W along the normals and across them, the latter zero without friction, shape (m,) each."""
    mass, inertia, dim = model.inv_mass, model.inv_inertia, model.dim
    w = mass[c.first] + mass[c.second]
    w_n = np.einsum("ka,ka,ka->k", w, c.normal, c.normal)
    w_t, turns = (w.sum(axis=1) - w_n) / (dim - 1), np.zeros(len(c))
    for body, arm in ((c.first, c.arm_first), (c.second, c.arm_second)):
        along = cross(arm, c.normal)
        # of the levers l × e along all axes e, what is not along n is across; the mean of these
        reach = np.einsum("ka,ka->k", arm, arm)[:, None]
        every = reach if dim == 2 else reach - arm**2
        w_n += (inertia[body] * along**2).sum(axis=1)
        w_t += (inertia[body] * (every - along**2)).sum(axis=1) / (dim - 1)
        turns += (inertia[body] * reach).sum(axis=1)
    friction = model.law_table[c.law, lawtable.MU_STATIC]
    along, across = np.zeros_like(w_n), np.zeros_like(w_n)
    seen = 1e-9 * (w.sum(axis=1) + turns)  # less is rounding: locked, not light
    np.divide(1.0, w_n, out=along, where=w_n > seen)
    np.divide(1.0, w_t, out=across, where=(w_t > seen) & (friction > 0.0))
    return along, across


def cross(a: Floats, b: Floats) -> Floats:
    """a × b, of which only the third component exists in 2D, shape (m, ns)."""
    if a.shape[1] == 3:
        return np.cross(a, b)
    return (a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0])[:, None]


def _load(c: Contacts, scale: Floats, force: Floats) -> Floats:
    """M^(−1/2) of what the contact forces exert on each body together, shape (nb, dim + ns)."""
    total, dim = np.zeros_like(scale), force.shape[1]
    np.add.at(total[:, :dim], c.second, force)
    np.subtract.at(total[:, :dim], c.first, force)
    np.add.at(total[:, dim:], c.second, cross(c.arm_second, force))
    np.subtract.at(total[:, dim:], c.first, cross(c.arm_first, force))
    return scale * total


# Displacements are x = M^(1/2) u, one row for each body: translations, then rotations. A contact
# sees the relative displacement V = u_j + θ_j × l_j − u_i − θ_i × l_i, with its arms l, and answers
# with the force s = κ_n n (n·V) + κ_t (V − n (n·V)) and the torque l_j × s on body j, and with −s
# and −l_i × s on body i.
@jit
def stiffness(rows, scale, along, across, x):  # type: ignore[no-untyped-def]
    """M^(−1/2) K M^(−1/2) x, shape (nb, dim + ns)."""
    y = np.zeros_like(x)
    for k in range(rows.first.size):
        i, j = rows.first[k], rows.second[k]
        nx, ny = rows.normal[k, 0], rows.normal[k, 1]
        ax, ay = rows.arm_first[k, 0], rows.arm_first[k, 1]
        bx, by = rows.arm_second[k, 0], rows.arm_second[k, 1]
        vx = scale[j, 0] * x[j, 0] - scale[i, 0] * x[i, 0]
        vy = scale[j, 1] * x[j, 1] - scale[i, 1] * x[i, 1]
        if rows.normal.shape[1] == 2:
            turn_i, turn_j = scale[i, 2] * x[i, 2], scale[j, 2] * x[j, 2]
            vx += turn_i * ay - turn_j * by
            vy += turn_j * bx - turn_i * ax
            v_n = (along[k] - across[k]) * (nx * vx + ny * vy)
            sx, sy = v_n * nx + across[k] * vx, v_n * ny + across[k] * vy
            y[j, 0] += scale[j, 0] * sx
            y[j, 1] += scale[j, 1] * sy
            y[j, 2] += scale[j, 2] * (bx * sy - by * sx)
            y[i, 0] -= scale[i, 0] * sx
            y[i, 1] -= scale[i, 1] * sy
            y[i, 2] -= scale[i, 2] * (ax * sy - ay * sx)
        else:
            nz, az, bz = rows.normal[k, 2], rows.arm_first[k, 2], rows.arm_second[k, 2]
            vz = scale[j, 2] * x[j, 2] - scale[i, 2] * x[i, 2]
            px, py, pz = scale[i, 3] * x[i, 3], scale[i, 4] * x[i, 4], scale[i, 5] * x[i, 5]
            qx, qy, qz = scale[j, 3] * x[j, 3], scale[j, 4] * x[j, 4], scale[j, 5] * x[j, 5]
            vx += qy * bz - qz * by - (py * az - pz * ay)
            vy += qz * bx - qx * bz - (pz * ax - px * az)
            vz += qx * by - qy * bx - (px * ay - py * ax)
            v_n = (along[k] - across[k]) * (nx * vx + ny * vy + nz * vz)
            sx, sy = v_n * nx + across[k] * vx, v_n * ny + across[k] * vy
            sz = v_n * nz + across[k] * vz
            y[j, 0] += scale[j, 0] * sx
            y[j, 1] += scale[j, 1] * sy
            y[j, 2] += scale[j, 2] * sz
            y[j, 3] += scale[j, 3] * (by * sz - bz * sy)
            y[j, 4] += scale[j, 4] * (bz * sx - bx * sz)
            y[j, 5] += scale[j, 5] * (bx * sy - by * sx)
            y[i, 0] -= scale[i, 0] * sx
            y[i, 1] -= scale[i, 1] * sy
            y[i, 2] -= scale[i, 2] * sz
            y[i, 3] -= scale[i, 3] * (ay * sz - az * sy)
            y[i, 4] -= scale[i, 4] * (az * sx - ax * sz)
            y[i, 5] -= scale[i, 5] * (ax * sy - ay * sx)
    return y
