"""Soft disks with dashpots far beyond critical, by implicit steps.

The law is that of `hardgrain.step.soft_particles` (`law/spring.py`), the same stiffness k and
damping γ along the normal and across. With the paper's γ, some 157 times critical, explicit steps
must be shorter than m/γ ~ 10⁻⁵ √(r/g), and the packing takes many times γ/k = 0.64 √(r/g) to creep
to rest: minutes to hours for each. Implicit steps may be as long as the motion allows. With
C = γ + k dt, the gap g, the overlap δ and the elongation ξ before the step, and the velocities u
after it,

    N = max(0, k δ − C (u_n + g⁺/dt)),    T = −k ξ − C u_t, cut to ±µ N,    M (v − v₀)/dt = W + B F:

the dashpot acts from where the grains meet. That is contact dynamics with a contact that gives way
by u = F/C, and is solved like it, contact after contact (nonlinear Gauss–Seidel), until no force
changes any more. A sliding spring keeps its greatest length, ξ = −T/k.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.model import Floats, Model, State
from hardgrain.errors import RunError
from hardgrain.forces.packing import Packing
from hardgrain.kernels import device, jit

__all__ = ["SoftDisks"]


class SoftDisks:
    """Disks between fixed planes, with the positions and velocities of a state, springs relaxed."""

    def __init__(
        self, model: Model, state: State, stiffness: float, damping: float, friction: float
    ) -> None:
        self.model, self.friction = model, friction
        self.stiffness, self.damping = stiffness, damping
        n, w = model.n, model.bodies - model.n
        self.x, self.walls = state.position[:n].copy(), state.position[n:] + model.wall_offset
        self.v = np.hstack([state.velocity[:n], state.spin[:n]])
        # R and T [force] and ξ [length] of each pair of bodies
        self.normal, self.tangential, self.spring = (np.zeros((n, n + w)) for _ in range(3))
        self.time = 0.0

    @property
    def kinetic(self) -> float:
        """Kinetic energy, that of the rotations included [energy]."""
        m, j = self.model.mass[: self.model.n], self.model.inertia[: self.model.n]
        return 0.5 * float((m[:, None] * self.v[:, :2] ** 2).sum() + (j * self.v[:, 2] ** 2).sum())

    def step(self, dt: float, tolerance: float, sweeps: int) -> int:
        """Advance by ``dt``, sweeping until no force changes by more than ``tolerance``.

        Returns the number of sweeps.
        """
        m = self.model
        n = m.n
        disks = _Disks(m.radius, m.mass[:n], m.inertia[:n], self.walls, m.wall_axis, m.gravity)
        state = _State(self.x, self.v, self.normal, self.tangential, self.spring)
        law = _Law(self.stiffness, self.damping, self.friction)
        done: int = _step(disks, state, law, dt, tolerance, sweeps)
        if not np.isfinite(self.v).all():
            raise RunError(f"soft disks: velocities are not finite at time {self.time:.4g}")
        self.time += dt
        return done

    def packing(self, unit: float) -> Packing:
        """The contacts of the last step, with their forces."""
        n, r = self.model.n, self.model.radius
        i, j = np.nonzero(self.normal)
        normal: Floats = np.empty((i.size, 2))
        grain = j < n
        normal[grain] = self.x[j[grain]] - self.x[i[grain]]
        normal[~grain] = -self.model.wall_axis[j[~grain] - n]
        normal /= np.linalg.norm(normal, axis=1)[:, None]
        tangent = np.stack([normal[:, 1], -normal[:, 0]], axis=1)
        bodies = self.model.bodies
        free: NDArray[np.bool_] = np.zeros((bodies, 3), dtype=bool)
        external = np.zeros((bodies, 3))
        free[:n], external[:n, :2] = True, self.model.mass[:n, None] * self.model.gravity
        return Packing(
            radius=r,
            free=free,
            first=i,
            second=j,
            normal=normal,
            friction=np.full(i.size, self.friction),
            force=self.normal[i, j, None] * normal + self.tangential[i, j, None] * tangent,
            unit=unit,
            external=external,
            position=np.vstack([self.x, self.walls]),
        )


# [unit of force] A smaller force is set to zero. Forces that decay would otherwise end in denormal
# numbers, with which processors are slow.
_NOTHING = 1e-30

# columns of a pair: normal, N at u = 0, what N and T do to u_n and u_t, T at u = 0, N, T
_NX, _NY, _N0, _WN, _WT, _T0, _N, _T = range(8)


class _Disks(NamedTuple):
    """What stays the same: disks, planes and gravity."""

    r: Floats  # (n,)
    mass: Floats  # (n,)
    inertia: Floats  # (n,)
    walls: Floats  # (w, 2) a point of each plane
    inward: Floats  # (w, 2) its normal, to where the disks are
    gravity: Floats  # (2,)


class _State(NamedTuple):
    """What a step changes."""

    x: Floats  # (n, 2)
    v: Floats  # (n, 3) velocities and spins
    normal: Floats  # (n, n + w) R of each pair of bodies
    tangential: Floats  # (n, n + w) T
    spring: Floats  # (n, n + w) ξ


class _Law(NamedTuple):
    stiffness: float
    damping: float
    mu: float


class _Velocities(NamedTuple):
    """Velocities as the sweeps use them, and how a force of 1 changes those of each body."""

    u: Floats  # (n + w, 3) velocities, and spins times radius
    push: Floats  # (n + w,) change of the velocity
    twist: Floats  # (n + w,) change of the spin times radius


@jit
def _step(disks: _Disks, state: _State, law: _Law, dt: float, tolerance: float, sweeps: int) -> int:
    """One step in place. Tangents are n × z, as in `Packing`; spins turn both surfaces along it."""
    r, mass, inertia, walls, inward, gravity = disks
    x, v, normal, tangential, spring = state
    stiffness, damping, mu = law
    n, w = x.shape[0], walls.shape[0]
    c = damping + stiffness * dt
    fastest = 0.0
    for i in range(n):
        fastest = max(fastest, v[i, 0] ** 2 + v[i, 1] ** 2)
    reach = 2.5 * dt * (np.sqrt(fastest) + dt)
    first, second = np.empty(n * (n + w), np.int64), np.empty(n * (n + w), np.int64)
    p = np.empty((n * (n + w), 8))
    velocities = _Velocities(np.zeros((n + w, 3)), np.zeros(n + w), np.zeros(n + w))
    u, push, twist = velocities
    for i in range(n):
        push[i], twist[i] = dt / mass[i], dt * r[i] ** 2 / inertia[i]
        u[i, 0], u[i, 1] = v[i, 0] + dt * gravity[0], v[i, 1] + dt * gravity[1]
        u[i, 2] = r[i] * v[i, 2]
    count = 0
    for i in range(n):
        for j in range(i + 1, n + w):
            if j < n:
                dx, dy = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1]
                distance = np.sqrt(dx * dx + dy * dy)
                gap, nx, ny = distance - r[i] - r[j], dx / distance, dy / distance
            else:
                nx, ny = -inward[j - n, 0], -inward[j - n, 1]
                gap = nx * (walls[j - n, 0] - x[i, 0]) + ny * (walls[j - n, 1] - x[i, 1]) - r[i]
            if gap >= reach:
                normal[i, j] = tangential[i, j] = spring[i, j] = 0.0
                continue
            first[count], second[count] = i, j
            p[count, _NX], p[count, _NY] = nx, ny
            p[count, _N0] = stiffness * max(-gap, 0.0) - c * max(gap, 0.0) / dt
            p[count, _WN] = push[i] + push[j]
            p[count, _WT] = push[i] + push[j] + twist[i] + twist[j]
            p[count, _T0] = -stiffness * spring[i, j]
            p[count, _N], p[count, _T] = normal[i, j], tangential[i, j]
            _push(velocities, i, j, (nx, ny), normal[i, j], tangential[i, j])
            count += 1
    done = 0
    while done < sweeps:
        worst = 0.0
        for at in range(count):
            k = at if done % 2 == 0 else count - 1 - at
            i, j, nx, ny = first[k], second[k], p[k, _NX], p[k, _NY]
            u_x, u_y = u[j, 0] - u[i, 0], u[j, 1] - u[i, 1]
            u_n, u_t = u_x * nx + u_y * ny, u_x * ny - u_y * nx + u[i, 2] + u[j, 2]
            new_n = (p[k, _N0] - c * (u_n - p[k, _WN] * p[k, _N])) / (1.0 + c * p[k, _WN])
            new_n = max(new_n, 0.0)
            new_t = (p[k, _T0] - c * (u_t - p[k, _WT] * p[k, _T])) / (1.0 + c * p[k, _WT])
            new_t = min(max(new_t, -mu * new_n), mu * new_n)
            if abs(new_t) < _NOTHING:
                new_t = 0.0
            d_n, d_t = new_n - p[k, _N], new_t - p[k, _T]
            p[k, _N], p[k, _T] = new_n, new_t
            _push(velocities, i, j, (nx, ny), d_n, d_t)
            worst = max(worst, abs(d_n), abs(d_t))
        done += 1
        if worst <= tolerance:
            break
    for k in range(count):
        i, j = first[k], second[k]
        normal[i, j], tangential[i, j] = p[k, _N], p[k, _T]
        if p[k, _N] == 0.0:
            spring[i, j] = 0.0
        elif abs(p[k, _T]) == mu * p[k, _N]:
            spring[i, j] = -p[k, _T] / stiffness
        else:
            u_x, u_y = u[j, 0] - u[i, 0], u[j, 1] - u[i, 1]
            spring[i, j] += dt * (u_x * p[k, _NY] - u_y * p[k, _NX] + u[i, 2] + u[j, 2])
    for i in range(n):
        v[i, 0], v[i, 1], v[i, 2] = u[i, 0], u[i, 1], u[i, 2] / r[i]
        x[i, 0] += dt * v[i, 0]
        x[i, 1] += dt * v[i, 1]
    return done


@device
def _push(
    velocities: _Velocities, i: int, j: int, n: tuple[float, float], f_n: float, f_t: float
) -> None:
    """Change the velocities of both bodies by a force on j; walls stay where they are."""
    (u, push, twist), (nx, ny) = velocities, n
    fx, fy = f_n * nx + f_t * ny, f_n * ny - f_t * nx
    u[i, 0] -= push[i] * fx
    u[i, 1] -= push[i] * fy
    u[i, 2] += twist[i] * f_t
    u[j, 0] += push[j] * fx
    u[j, 1] += push[j] * fy
    u[j, 2] += twist[j] * f_t
