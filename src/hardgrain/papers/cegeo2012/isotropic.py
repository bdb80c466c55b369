"""Dense packings made without friction: contacts that are just enough, and density (Fig. 6).

Grains that bear a force have as many contact points as there are equations of equilibrium. Without
friction a disk has two equations and any other grain three; the two walls that are pushed have one
each. With every point counted at both its ends, walls included,

    Z_c = 2 (d N + 2)/N,    d = 2 for disks, 3 for polygons,

which is the paper's 4 and 6 but for the walls. A polygon whose side lies on another's has two
points there. Polygons with an even number of sides can be squeezed between two parallel sides,
along which nothing holds them: an equation then says nothing, and this count is not exact. It is
held against the others only; the first full run had it for all, and hexagons missed it by 4 %.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from hardgrain.papers.cegeo2012.means import Means
from hardgrain.papers.cegeo2012.sample import ROUND, compacted, eta, name
from hardgrain.papers.experiment import Claim, Expected, Experiment, Outcome
from hardgrain.papers.figures import COLOURS, GREY, new_figure
from hardgrain.parallel import pmap

__all__ = ["EXPERIMENT", "QUICK", "SIZES", "Size"]

Size = tuple[tuple[int, ...], int, int]  # numbers of sides, grains of a packing, packings of each
SIZES: Size = ((ROUND, 8, 6, 5, 3), 80, 4)
QUICK: Size = ((ROUND, 5), 40, 3)


def _made(job: tuple[int, int], count: int) -> Any:
    sides, seed = job
    return compacted(sides, count, seed)


def run(quick: bool) -> Outcome:
    """Make packings of every shape, and count."""
    shapes, count, packings = QUICK if quick else SIZES
    seeds = range(1, packings + 1)
    jobs = [(sides, seed) for sides in shapes for seed in seeds]
    found = dict(zip(jobs, pmap(partial(_made, count=count), jobs)))

    def means(field: str) -> Means:
        return Means({k: [getattr(found[k, s].seen, field) for s in seeds] for k in shapes})

    points, pairs, density = means("points"), means("pairs"), means("density")
    size = f"{packings} packings of {count}"
    claims = []
    for k in shapes:
        freedom = 2 if k == ROUND else 3
        here = [found[k, s].seen for s in seeds]
        enough = [2.0 * (freedom + 2.0 / x.bearing) for x in here]
        isostatic = sum(enough) / packings
        squeezed = sum(x.squeezed for x in here) / packings
        claims.append(
            Claim(
                f"Z_c without friction, contact points of a grain, {size} {name(k)}",
                points.mean[k],
                points.error,
                points.samples,
                paper=Expected(
                    2.0 * freedom,
                    0.05 * 2.0 * freedom + 4.0 / (0.8 * count),
                    "≃: 5 %, and 4/N of the two walls that move",
                    "Z = Z_c ≃ 4 for the disks" if k == ROUND else "Z_c ≃ 6 for η ≠ 0",
                ),
                theory=None
                if k != ROUND and k % 2 == 0
                else Expected(
                    isostatic,
                    0.03 * 2.0 * freedom,
                    "3 %: grains that still move a little have not found all of their contacts",
                    "as many contact points as equations, isostatic",
                ),
                note=""
                if k == ROUND or k % 2
                else f"as many points as equations would be {isostatic:.2f}; {squeezed:.1f} grains"
                " of a packing have just two neighbours and can slide between them",
            )
        )
        if k != ROUND:
            told = pairs.told(5.0, "Z < 5 for all our packings", "at most")
            claims.append(pairs.claim(
                f"Z without friction, neighbours of a grain, {size} {name(k)}", k, told
            ))  # fmt: skip
    sharp = 6 if 6 in shapes else shapes[-1]
    more, error = density.difference(sharp, ROUND)
    claims.append(
        Claim(
            f"packing fraction of {name(sharp)} less that of disks, without friction, {size} each",
            more,
            error,
            density.samples,
            paper=density.told(
                0.0, "increases with η from the random close packing fraction for disks",
                "at least", factor=2.0**0.5,
            ),
        )
    )  # fmt: skip
    claims.append(
        Claim(
            f"steps of the compaction with a residual above 10⁻³, {size} of each shape",
            float(sum(found[j].loose for j in jobs)),
            theory=Expected.exact(0.0, "every step is solved"),
        )
    )
    table: dict[str, Any] = {
        "sides": shapes,
        "eta": [eta(k) for k in shapes],
        "density": [density.mean[k] for k in shapes],
        "density_error": [density.error] * len(shapes),
        "Z": [pairs.mean[k] for k in shapes],
        "Z_error": [pairs.error] * len(shapes),
        "Z_c": [points.mean[k] for k in shapes],
        "Z_c_error": [points.error] * len(shapes),
        "worst_overlap": [max(found[k, s].deepest for s in seeds) for k in shapes],
    }
    return Outcome(claims, {"isotropic": table}, {"isotropic": _figure(table)}, TEXT, seeds)


def _figure(table: dict[str, Any]) -> Any:
    figure, (left, right) = new_figure(columns=2)
    x = table["eta"]
    left.errorbar(x, table["density"], table["density_error"], fmt="o", color=COLOURS[1])
    left.set(xlabel=r"$\eta = 1 - \cos(\pi/\mathrm{sides})$", ylabel="packing fraction")
    for y, colour, label in (("Z_c", 1, "contact points"), ("Z", 2, "neighbours")):
        right.errorbar(
            x, table[y], table[f"{y}_error"], fmt="o", color=COLOURS[colour], label=label
        )
    for level in (4.0, 6.0):
        right.axhline(level, color=GREY, lw=0.8, ls=":")
    right.set(xlabel=r"$\eta$", ylabel="of a grain, rattlers left out", ylim=(3.0, 7.0))
    right.legend()
    return figure


TEXT = """\
The paper's protocol and mix of sizes, with regular polygons in place of its shapes (hexagons are
its truncated triangles at one end, triangles at the other) and some tens of grains in place of
5000.

Disks, pentagons and triangles without friction have as many contact points as equations of
equilibrium, within 3 %, once a side that lies on a side counts as two points: the paper's Z_c ≃ 4
and Z_c ≃ 6 are isostaticity. Hexagons have some percent less than that. Some of them are only
squeezed between two parallel sides and free to slide; taking off one equation for each explains
the hexagons roughly but makes octagons worse, so no exact count is claimed for even numbers of
sides. Neighbours are fewer than five: polygons only seem to be held by too few contacts.

Densities of such small packings scatter by about as much as shapes differ, and walls take away
some percent even a diameter from them. The paper's densities, between 0.85 and 0.92 by the axis
of its Fig. 6, belong to 5000 grains and are not compared; their order, hexagons above disks, is."""

EXPERIMENT = Experiment("isotropic", "Dense packings without friction (Fig. 6)", run)
