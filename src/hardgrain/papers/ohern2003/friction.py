"""Packings with friction, pressed together from all sides: fewer contacts, less dense.

A contact with friction has d unknown forces in place of one, a grain has d (d + 1)/2 equations. At
least d + 1 contacts a grain are needed then, z ≥ d + 1. A contact in which friction is fully
mobilised has one unknown less (generalised isostaticity):

    d N_c − N_s ≥ d (d + 1)/2 N,

with N_c contacts, N_s of them fully mobilised, between N grains that are no rattlers. Here the
periods of the cell are free, and the count holds at any N, as without friction.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from hardgrain.papers.experiment import Claim, Expected, Experiment, Outcome
from hardgrain.papers.figures import COLOURS, GREY, new_figure
from hardgrain.papers.fit import mean_and_error
from hardgrain.papers.ohern2003.packed import Job, Packed, packed
from hardgrain.parallel import pmap

__all__ = ["EXPERIMENT", "spare"]

Size = tuple[
    tuple[Literal[2, 3], int, tuple[float, ...], int], ...
]  # dimension, grains, friction, packings
FULL: Size = ((2, 100, (0.0, 0.1, 0.3, 1.0, 10.0), 4), (3, 60, (0.0, 0.3), 8))
QUICK: Size = ((2, 40, (0.0, 0.3, 10.0), 3),)
LOOSEST = 0.55  # random loose packing of spheres


def spare(dim: int, p: Packed) -> int:
    """Unknown forces less equations; with friction this is not negative."""
    return dim * p.contacts - p.sliding - dim * (dim + 1) // 2 * p.bearing


def run(quick: bool) -> Outcome:
    """Press packings together with several coefficients of friction."""
    sizes = QUICK if quick else FULL
    jobs = [
        Job(dim, friction, count, seed)
        for dim, count, frictions, packings in sizes
        for friction in frictions
        for seed in range(1, packings + 1)
    ]
    found = dict(zip(jobs, pmap(packed, jobs)))
    claims: list[Claim] = []
    rows = []
    for dim, count, frictions, packings in sizes:
        groups = {
            f: [p for j, p in found.items() if (j.dimension, j.friction) == (dim, f)]
            for f in frictions
        }
        made = f"{packings} packings of {count} {'disks' if dim == 2 else 'spheres'}"
        claims += _claims(dim, groups, made)
        for f, some in groups.items():
            rows.append((
                dim, f, *mean_and_error([p.density for p in some]),
                *mean_and_error([p.coordination for p in some]),
                np.mean([p.sliding / p.contacts for p in some]),
                np.mean([p.rattlers for p in some]),
                np.mean([spare(dim, p) / p.bearing for p in some]) if f else math.nan,
            ))  # fmt: skip
    names = (
        "dimension", "friction", "density", "density_error", "z", "z_error", "mobilised",
        "rattlers", "spare_per_grain",
    )  # fmt: skip
    table: dict[str, Any] = {k: np.array(v) for k, v in zip(names, zip(*rows))}
    most = max(packings for *_, packings in sizes)
    return Outcome(
        claims, {"friction": table}, {"friction": _figure(table)}, TEXT, range(1, most + 1)
    )


def _claims(dim: int, groups: dict[float, list[Packed]], made: str) -> list[Claim]:
    strong = max(groups)
    rough = [p for f, some in groups.items() if f > 0.0 for p in some]
    z, z_error = mean_and_error([p.coordination for p in groups[strong]])
    samples = len(groups[strong])
    claims = [
        Claim(
            f"unknown forces less equations, least of all packings with friction, {made}",
            float(min(spare(dim, p) for p in rough)),
            theory=Expected(0.0, 0.0, "a count", "a packing at rest cannot have fewer", "at least"),
            note="a contact whose friction is fully mobilised has one unknown less",
        )
    ]
    smooth, smooth_error = mean_and_error([p.density for p in groups[0.0]])
    density, error = mean_and_error([p.density for p in groups[strong]])
    both = math.hypot(error, smooth_error)
    claims.append(
        Claim(
            f"packing fraction without friction less that with µ = {strong:g}, {made}",
            smooth - density,
            both,
            2 * samples - 1,
            paper=Expected.by_chance(
                0.0, both, 2 * samples - 1, "gradually decrease with friction (Silbert)",
                side="at least",
            ),
        )
    )  # fmt: skip
    if dim == 2:
        claims.append(
            Claim(
                f"contacts of a grain z with µ = {strong:g}, {made}",
                z,
                z_error,
                samples,
                paper=Expected.within(
                    3.0, 0.05, "5 %: approximately", "generalised isostaticity is approximately"
                    " satisfied over the full range of friction (Shundyak et al.): z ≈ d + 1 where"
                    " nothing slides",
                ),
            )
        )  # fmt: skip
    else:
        bounds: tuple[tuple[Literal["at least", "at most"], float], ...]
        bounds = (("at least", 4.0), ("at most", 6.0))
        claims += [
            Claim(
                f"contacts of a grain z with µ = {strong:g}, {side} {bound:g}, {made}",
                z,
                z_error,
                samples,
                paper=Expected.by_chance(
                    bound, z_error, samples, "varies from approximately six to four (Silbert)",
                    side=side,
                ),
            )
            for side, bound in bounds
        ]  # fmt: skip
        claims.append(
            Claim(
                f"packing fraction with µ = {strong:g}, {made}",
                density,
                error,
                samples,
                paper=Expected.by_chance(
                    LOOSEST, error, samples, "not below random loose packing, 0.55",
                    side="at least",
                ),
            )
        )  # fmt: skip
    return claims


def _figure(table: dict[str, Any]) -> Any:
    figure, (left, right) = new_figure(columns=2)
    for k, dim in enumerate((2, 3)):
        here = table["dimension"] == dim
        if not here.any():
            continue
        x = np.maximum(table["friction"][here], 0.01)  # zero stands at the left end
        style = {"fmt": "o-", "ms": 4, "lw": 0.8, "color": COLOURS[k + 1]}
        label = "disks" if dim == 2 else "spheres"
        left.errorbar(x, table["density"][here], table["density_error"][here], label=label, **style)
        right.errorbar(x, table["z"][here], table["z_error"][here], **style)
        right.axhline(dim + 1.0, color=GREY, ls=":", lw=0.8)
    for axis in (left, right):
        axis.set(xscale="log", xlabel="friction between grains (0 at the left end)")
    left.set(ylabel="packing fraction")
    right.set(ylabel="contacts of a grain that is no rattler")
    left.legend()
    return figure


TEXT = """\
With friction packings come to rest looser and with fewer contacts. Without friction z is 2d; with
strong friction hardly any contact slides, and disks have little more than the three contacts a
grain that they need at least. In between, contacts whose friction is fully mobilised count for one
unknown less; no packing has fewer unknown forces than equations, and most have some to spare: they
were pressed together quickly, from less than half their density, and not gently as those of
Shundyak, van Hecke and van Saarloos, who find the count approximately met at any friction.

The protocol matters more than without friction. Silbert begins with dense packings and lowers the
density; here loose grains are compressed. Both begin without memory of contacts.

Where the numbers of others come from: of Silbert (2010) and of M. Jerkins et al., Phys. Rev. Lett.
101, 018301 (2008), who have 0.550 ± 0.001 for random loose packing, the abstracts were at hand.
What Shundyak et al. say is remembered and was not checked against the print; the count itself is
not a matter of print. No figure was read off."""

EXPERIMENT = Experiment("friction", "Packings with friction: contacts and density", run)
