"""Beyond the paper: the same measures for spheres.

Three components of force a contact and six equations a sphere: dim F is at least 3 M − 6 N. The
cones of friction are round; pyramids of k faces inside and outside of them bound the bounds.

In 3D a sliding contact is worth two: on a round cone only the ray through T is flat, so that of the
three components of a contact with |T| = µ R one is left to vary, and of one that transmits nothing
none. The paper's argument then allows Σ (2 sliding, 3 non-transmitting) ≤ dim F in a packing that
is as stable as it takes to be in general position.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hardgrain.forces.bounds import Bounds
from hardgrain.forces.space import ForceSpace, force_space
from hardgrain.papers.experiment import Claim, Expected, Experiment, Outcome
from hardgrain.papers.figures import COLOURS, GREY, new_figure
from hardgrain.papers.fit import Floats, mean_and_error, power_law
from hardgrain.papers.mcnamara2004.judge import ENOUGH
from hardgrain.papers.mcnamara2004.settled import settled
from hardgrain.parallel import pmap

__all__ = ["EXPERIMENT"]

MU = 0.3  # the paper's coefficient of friction
FACES = 8  # faces of the pyramids that stand for cones where nothing else is said
PYRAMIDS = (4, 6, 8, 12, 16, 24)  # faces for which bounds are compared
MANY = 8  # faces from which the gap is fitted: with fewer the next order, 1/k⁴, is not small


def run(quick: bool) -> Outcome:
    """Dimensions, bounds from both sides, and how they close in as pyramids get more faces."""
    packings = {20: 2} if quick else {60: 2, 40: 4, 20: 8}  # spheres: seeds; the longest first
    pyramids = PYRAMIDS[2:4] if quick else PYRAMIDS
    jobs: list[tuple[int, int, tuple[int, ...]]] = [
        (count, seed, pyramids if (count, seed) == (20, 0) else (FACES,))
        for count, seeds in packings.items()
        for seed in range(seeds)
    ]
    made = pmap(_measure, jobs)
    main = sorted((rows[FACES] for rows in made), key=lambda row: (row["spheres"], row["seed"]))
    series = list(made[jobs.index((20, 0, pyramids))].values())
    outcome = Outcome(text=_TEXT)
    for name, rows in (("packings", main), ("pyramids", series)):
        columns = [key for key, value in rows[0].items() if np.ndim(value) == 0]
        outcome.tables[name] = {c: np.array([row[c] for row in rows]) for c in columns}
    largest = main[-1]
    outcome.tables["contacts"] = {
        key: largest[key] for key in ("normal", "inner_normal", "outer_normal")
    }
    disks = pmap(_disks, [(max(packings), seed) for seed in range(0 if quick else 20)])
    _claims(outcome, max(packings), disks)
    outcome.seeds = range(max(packings.values()))
    outcome.figures["spheres"] = _figure(outcome.tables)
    return outcome


_TEXT = (
    "Spheres in a box under gravity, radii as in the paper, brought to rest by contact dynamics."
    " The null space of the contact matrix has at least 3 M − 6 N dimensions and seldom more than a"
    " few above; spheres that two contacts hold can swing about the line between them, which is a"
    " motion without resistance and so a dimension more. Bounds of forces over pyramids inside the"
    " cones of friction are too narrow, those over pyramids outside too wide; the truth is between"
    " them, and the gap closes like 1/k² in the number k of faces, as 1/cos(π/k) − 1 does.\n\n"
    "In 3D a sliding contact takes two dimensions and not one: Σ (2 sliding, 3 non-transmitting)"
    " is what is to be held against dim F."
)


def _measure(case: tuple[int, int, tuple[int, ...]]) -> dict[int, dict[str, Any]]:
    """All measures of one packing, by the number of faces."""
    count, seed, pyramids = case
    sim = settled(count, MU, seed, dim=3)
    exact = force_space(sim).bounds(exact=True) if len(pyramids) > 1 else None
    found = {}
    for faces in pyramids:
        space = force_space(sim, faces=faces)
        found[faces] = {"spheres": count, "seed": seed, "faces": faces} | _bounded(space, exact)
    return found


def _bounded(space: ForceSpace, exact: Bounds | None) -> dict[str, Any]:
    """Counts, and bounds from both sides; forces in mean weights."""
    unit, force = space.packing.unit, space.packing.components
    inner, outer = space.bounds(side="inside"), space.bounds(side="outside")
    kinds = space.slides()
    outside = np.maximum(outer.low - force, force - outer.high)
    between = mean = np.nan
    if exact is not None:
        between = max(_outside(exact, outer), _outside(inner, exact)) / unit
        mean = float((exact.normal_max - exact.normal_min).mean() / unit)
    ranges = {
        f"{side}_{name}": (bounds.high - bounds.low)[:, columns] / unit
        for side, bounds in (("inner", inner), ("outer", outer))
        for name, columns in (("normal", 0), ("tangential", slice(1, None)))
    }
    return {
        "grains": space.grains, "contacts": space.contacts, "expected": space.expected,
        "nullity": space.nullity, "dimension": space.dimension,
        "sliding": int((kinds == 1).sum()), "open": int((kinds == 2).sum()),
        "always": int((space.always > 0).sum()), "residual": space.residual,
        "outside": float(outside.max() / unit), "nested": _outside(inner, outer) / unit,
        "between": between, "exact": mean,
        "mean_normal": float(force[:, 0].mean() / unit),
        **{f"mean_{name}": float(values.mean()) for name, values in ranges.items()},
        "normal": force[:, 0] / unit, **ranges,
    }  # fmt: skip


def _outside(narrow: Bounds, wide: Bounds) -> float:
    """The furthest that bounds go beyond others that should contain them [force]."""
    return float(np.maximum(wide.low - narrow.low, narrow.high - wide.high).max())


def _disks(case: tuple[int, int]) -> float:
    """Mean δ_R over the mean normal force, of as many disks."""
    count, seed = case
    space = force_space(settled(count, MU, seed))
    bounds = space.bounds()
    ranges = bounds.normal_max - bounds.normal_min
    return float(ranges.mean() / space.packing.components[:, 0].mean())


def _claims(outcome: Outcome, largest: int, disks: list[float]) -> None:
    t: dict[str, Floats] = {k: np.asarray(v) for k, v in outcome.tables["packings"].items()}
    p: dict[str, Floats] = {k: np.asarray(v) for k, v in outcome.tables["pyramids"].items()}
    count = t["spheres"].size
    what = f"{count} packings of {t['spheres'].min()} to {t['spheres'].max()} spheres"
    extra, used = t["nullity"] - t["expected"], 2 * t["sliding"] + 3 * t["open"]
    lowered = int((t["dimension"] < t["nullity"]).sum())
    gap = p["mean_outer_normal"] / p["mean_inner_normal"] - 1.0
    many = p["faces"] >= MANY
    fit = power_law(p["faces"][many], gap[many])
    bent = power_law(p["faces"][many], gap[many] * (1.0 + gap[many]))
    steeper = 2.0 * abs(bent.exponent - fit.exponent)
    big = t["spheres"] == largest
    low, high = (float(t[f"mean_{side}_normal"][big].mean()) for side in ("inner", "outer"))
    inner = mean_and_error((t["mean_inner_normal"] / t["mean_normal"])[big])
    flat = mean_and_error(disks) if disks else (np.nan, np.nan)
    programs = "the tolerance of the linear programs, along chains of some ten contacts"
    outcome.claims += [
        Claim(
            f"{what}: those whose null space has less than 3 M − 6 N dimensions",
            int((extra < 0).sum()), paper="in 2D: dim F ≥ 2 M − 3 N",
            theory=Expected.exact(0, "rank and nullity"),
            note=f"dim F lies above 3 M − 6 N by {int((t['dimension'] - t['expected']).max())} at"
            f" most, {np.mean(extra):.2g} on the mean; contacts that slide or are open in every"
            f" state lower it in {lowered}",
        ),
        Claim(
            f"{what}: those with Σ (2 sliding, 3 non-transmitting) above 3 M − 6 N",
            int((used > t["expected"]).sum()), paper="in 2D: M_s ≤ 2 M − 3 N",
            theory=Expected.exact(0, "general position"), note=f"the sum is {used.max()} at most",
        ),
        Claim(
            f"{what}: furthest that a simulated force lies outside the outer bounds [m̄g]",
            max(0.0, float(t["outside"].max())),
            theory=Expected(0.0, 1e-8, programs, "every state is a member of F"),
            note=f"forces out of balance by {t['residual'].max():.1g} m̄g at most",
        ),
        Claim(
            f"{what}: furthest that an inner bound lies outside the outer one [m̄g]",
            max(0.0, float(np.append(t["nested"], p["nested"]).max())),
            theory=Expected(0.0, 1e-8, programs, "the pyramids are nested"),
        ),
        Claim(
            f"exact bounds of {int(p['spheres'][0])} spheres, by a conic solver: furthest outside"
            f" those of {int(p['faces'].min())} to {int(p['faces'].max())} faces [m̄g]",
            max(0.0, float(p["between"].max())),
            theory=Expected(
                0.0, 1e-6, "the accuracy of the conic solver", "pyramids inside and outside"
            ),
            note=f"mean δ_R is {p['exact'][0]:.4g} m̄g",
        ),
        Claim(
            f"mean δ_R of {int(p['spheres'][0])} spheres, outer over inner − 1, as a power of the"
            f" faces from {MANY} to {int(p['faces'].max())}: exponent", fit.exponent,
            theory=Expected(
                -2.0, steeper, "the gap is not small: twice what its square, as a next order,"
                " would do to the fit", "1/cos(π/k) − 1 ≈ π²/2k²",
            ),
            note=f"{', '.join(f'{x:.2g}' for x in gap)} for"
            f" {', '.join(f'{k:d}' for k in p['faces'].astype(int))} faces",
        ),
    ]  # fmt: skip
    if count >= ENOUGH:
        outcome.claims += [
            Claim(
                f"mean δ_R of {largest} spheres, {FACES} faces, middle of both sides [m̄g]",
                0.5 * (low + high), note=f"between {low:.4g} and {high:.4g}",
            ),
            Claim(
                f"mean δ_R over mean normal force, {largest} spheres, inner bounds", inner[0],
                error=inner[1], samples=int(big.sum()),
                note=f"{largest} disks: {flat[0]:.3g} ± {flat[1]:.2g}",
            ),
        ]  # fmt: skip


def _figure(tables: dict[str, dict[str, Any]]) -> Any:
    figure, (left, middle, right) = new_figure(1, 3, width=3.7)
    t, p, c = tables["packings"], tables["pyramids"], tables["contacts"]
    for k, count in enumerate(np.unique(t["spheres"])):
        of = t["spheres"] == count
        left.plot(t["expected"][of], t["dimension"][of], "os^"[k % 3], color=COLOURS[k + 1],
                  mfc="none", label=f"{count} spheres")  # fmt: skip
    ends = np.array([0.9 * t["expected"].min(), 1.05 * t["dimension"].max()])
    left.plot(ends, ends, color=GREY, lw=0.8, label="least: 3 M − 6 N")
    left.set(xlabel="3 M − 6 N", ylabel="dim F")
    left.legend()
    top = c["outer_normal"].max()
    bins = np.linspace(0.0, top, 16)
    for name, colour, label in (("inner_normal", COLOURS[1], "inside"),
                                ("outer_normal", COLOURS[2], "outside")):  # fmt: skip
        middle.hist(c[name], bins=bins, histtype="step", color=colour, density=True,
                    label=f"pyramids {label}, {FACES} faces")  # fmt: skip
    middle.set(xlabel="δ_R [m̄g]", ylabel="probability density", yscale="log",
               title=f"{len(c['normal'])} contacts of {t['spheres'].max()} spheres")  # fmt: skip
    middle.legend()
    faces = np.asarray(p["faces"], dtype=float)
    right.plot(faces, p["mean_inner_normal"], "o", color=COLOURS[1], label="inside")
    right.plot(faces, p["mean_outer_normal"], "s", color=COLOURS[2], label="outside")
    right.axhline(p["exact"][0], color=COLOURS[0], label="round cones, conic solver")
    right.set(xlabel="faces k", ylabel="mean δ_R [m̄g]", xscale="log", title="20 spheres")
    right.set_xticks(faces, [f"{k:.0f}" for k in faces])
    right.minorticks_off()
    right.legend()
    return figure


EXPERIMENT = Experiment("spheres", "Beyond the paper: packings of spheres", run)
