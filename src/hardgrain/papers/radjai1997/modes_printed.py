"""What the array of Figs 5 to 7 does with the coefficients as they are printed."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import diags_array

from hardgrain.errors import RunError
from hardgrain.papers.experiment import Claim, Expected, Outcome
from hardgrain.papers.radjai1997.array import evolve, steady_state
from hardgrain.papers.radjai1997.exact.array import Array, Floats
from hardgrain.papers.radjai1997.exact.indeterminacy import Polytope, with_states
from hardgrain.papers.radjai1997.exact.solution import ArraySolution
from hardgrain.papers.radjai1997.modes_case import COEFFICIENTS, PRINTED, ROUNDING
from hardgrain.parallel import pmap
from hardgrain.theory import array as theory

__all__ = ["as_printed"]


def _constant_speed(array: Array, mu: Floats, slip: Floats) -> Polytope:
    """All forces at constant velocities with these slips (2 L + 1,); the drive is free."""
    keep = np.delete(np.arange(array.size), [*array.line, array.at_drive])
    limit = mu * array.normal_0
    pressed = diags_array(mu) @ array.normal
    up, down = array.tangential - pressed, array.tangential + pressed
    return Polytope([
        (array.dynamics[keep], array.right[keep], array.right[keep]),
        (array.unknown(np.append(array.at_v[:1], array.at_omega)), 0.0, 0.0),
        (array.normal, -array.normal_0, np.inf),
        (up, -np.inf, limit), (down, -limit, np.inf),
        (up[slip > 0], limit[slip > 0], np.inf), (down[slip < 0], -np.inf, -limit[slip < 0]),
    ])  # fmt: skip


def _drives(array: Array, mu: Floats, slip: Floats) -> Floats:
    """The least and the greatest N_L that these slips allow; NaN if there is none."""
    try:
        ends: Floats = _constant_speed(array, mu, slip).extremes(array.normal[[-1]])[0]
    except RunError:  # no forces solve it at all
        return np.full(2, np.nan)
    return ends


def _band(rows: Any, found: ArraySolution) -> Floats:
    given = with_states(found.array, found.states, found.slide, found.stick, found.given)
    return given.extremes(rows)


def as_printed(outcome: Outcome, every: int) -> None:
    case = PRINTED
    found = steady_state(**case)
    a, mu = found.array, found.slide
    n = a.particles
    pushed = evolve(**case, omega0=np.ones(n), v0=1.0)
    rest = _drives(a, mu, np.zeros(a.contacts))
    # moving at v = 1 behind k rolling disks: as in mode 3, but as fast as they can
    longest = int(theory.rolling_length(0.0, *(case[k] for k in COEFFICIENTS)))
    moving = []
    for k in range(longest - 3, longest + 4):
        omega = np.where((np.arange(n) < k) | ((np.arange(n) - k) % 2 == 1), 1.0, -1.0)
        moving.append(_drives(a, mu, a.slips(omega, 1.0)))
    least = float(np.nanmin(moving))
    just = steady_state(**case | {"drive": rest[1] + 1e-3})
    outcome.claims += [
        Claim(
            "as printed: v̇ of the array from rest", found.acceleration,
            paper=Expected(1e-6, 0.0, "any that Fig. 5 could show", "v̇ > 0 in Fig. 5", "at least"),
            theory=Expected(0.0, ROUNDING, "rounding", "rest is possible up to N_L = 5.10"),
            differs="a misprint of the caption: 1.4 is less than what the plane can hold. Repair"
            " (A) moves and shows the modes that the prose describes",
        ),
        Claim(
            "as printed: velocity in the end, rolling with v = 1 at first",
            float(pushed.velocity[-1]),
            theory=Expected(0.0, 1e-9, "rounding of many events", "the plane holds it"),
            note=f"it comes to rest at t = {pushed.time[-1]:.4g}",
        ),
        Claim(
            "greatest N_L at which it can rest, by linear programming [weight of a disk]",
            float(rest[1]),
            paper=Expected(case["drive"], 0.0, "exact", "with N_L = 1.4 it moves", "at most"),
            differs="a misprint of the caption",
        ),
        Claim(
            "least N_L found at which it can go on at constant speed [weight of a disk]", least,
            paper=Expected(case["drive"], 0.0, "exact", "with N_L = 1.4 it moves", "at most"),
            differs="a misprint of the caption",
            note="disks behind the rolling ones turn with ±v by turns; by linear programming for"
            f" {longest - 3} to {longest + 3} rolling disks; not proved to be the least of all",
        ),
        Claim(
            f"L_2 at N_L = {just.array.drive:.4g}, just above", just.modes[1],
            paper=Expected.exact(0.0, "mode 2 disappears as v̇ → 0"),
            note=f"modes {just.modes}, v̇ from {just.acceleration_range[0]:.2g} to"
            f" {just.acceleration_range[1]:.2g}; static L_1^c by closed form: {longest}",
        ),
    ]  # fmt: skip
    i = np.arange(0, n + 1, every)
    plane = i[1:] - 1
    maps = (a.normal[0::2][i], a.tangential[0::2][i], a.normal[1::2][plane],
            a.tangential[1::2][plane])  # fmt: skip
    bands = pmap(partial(_band, found=found), maps)
    bands[0] += a.normal_0[0::2][i][:, None]
    bands[2] += a.normal_0[1::2][plane][:, None]
    bands[2:] = [np.vstack([np.full((1, 2), np.nan), band]) for band in bands[2:]]
    table: dict[str, Any] = {"i": i}
    table |= {
        f"{name}_{end}": band[:, k]
        for name, band in zip(("N", "T", "N_plane", "T_plane"), bands)
        for k, end in enumerate(("least", "greatest"))
    }
    outcome.tables["printed"] = table
    outcome.claims.append(
        Claim(
            f"at rest: how wide a range is possible for N_{n // 2} [weight of a disk]",
            float(np.ptp(bands[0][i == n // 2])),
            note="forces at rest are not unique, and may exceed the driving force",
        )
    )
