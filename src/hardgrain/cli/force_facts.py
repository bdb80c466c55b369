"""What ``hardgrain forces`` says about a packing: figures, a table of contacts, and text."""

from __future__ import annotations

import csv
import io
import math
from typing import Any

import numpy as np

from hardgrain.core.model import Floats
from hardgrain.forces.bounds import Bounds
from hardgrain.forces.cone import Side
from hardgrain.forces.extremal import Extremal
from hardgrain.forces.sample import Sample
from hardgrain.forces.space import ForceSpace
from hardgrain.io.runfile import RunFile
from hardgrain.run import unique
from hardgrain.show.forces import NONE, indeterminacy

__all__ = [
    "MOVES", "as_csv", "as_text", "columns", "count", "diameters", "local", "members",
    "possible", "resultants", "sampled",
]  # fmt: skip

NAMED = 6  # [contacts] up to so many are named in a line of text; more are only counted

MOVES = 0.1  # [unit of force] a larger unbalanced force puts in doubt that all is at rest
ELASTIC = 2.0 / 7.0  # ratio k_t/k_n of the elastic member, the default of soft particles


def count(run: RunFile, step: int, space: ForceSpace) -> dict[str, Any]:
    """Figures that follow from counting, with forces in the packing's unit."""
    p, frame, counted = space.packing, run[step], unique.count(space)
    slides, found = space.slides(), p.components / p.unit
    weighs = bool(run.model["gravity"].any())
    return {
        "file": str(run.path),
        "frame": step % len(run),
        "step": frame.step,
        "time": frame.time,
        "dimensions": p.dim,
        "grains": int(p.radius.size),
        "N": space.grains,
        "M": space.contacts,
        "K": space.pairs,
        "round": p.round,
        "unit": {"force": p.unit, "is": f"mean {'weight' if weighs else 'normal force'}"},
        "residual": space.residual,
        "balance": space.balance,
        "unique": counted.verdict,
        "null_space": counted.nullity,
        "expected": counted.least,
        "formula": counted.formula,
        "resultants": {
            "unique": counted.resultants,
            "null_space": space.resultant_nullity,
            "within_faces": counted.within,
        },
        "found": {
            "sliding": int((slides == 1).sum()),
            "without_force": int((slides == 2).sum()),
            "M_s": space.sliding,
            "mean_normal": float(found[:, 0].mean()),
            "greatest_normal": float(found[:, 0].max()),
            "norm": float(np.linalg.norm(found)),
        },
    }


def possible(space: ForceSpace) -> dict[str, Any]:
    """Whether forces can balance the load, their dimension, and what all of them share."""
    if space.empty:
        return {"unique": "empty", "empty": True, "dim_F": -1, "unbounded": []}
    p, always = space.packing, space.always
    return {
        "unique": "yes" if space.dimension == 0 else "no",
        "empty": False,
        "dim_F": space.dimension,
        "dim_resultants": space.resultant_dimension,
        "always": {"sliding": int((always == 1).sum()), "open": int((always == 2).sum())},
        "unbounded": list(
            dict.fromkeys(f"{p.first[k]}–{p.second[k]}" for k in np.flatnonzero(space.unbounded))
        ),
    }


def local(space: ForceSpace, bounds: Bounds, cone: str) -> dict[str, Any]:
    """Local indeterminacies, (23) of McNamara and Herrmann."""
    normal, tangential = indeterminacy(space, bounds)
    pyramids = space.packing.dim == 3 and cone != "round"
    none = float(((normal == 0.0) & (tangential == 0.0)).mean())
    return {
        "normal": _figures(normal),
        "tangential": _figures(tangential),
        "share_with_none": none,
        "pyramids": {"faces": space.faces, "side": cone} if pyramids else None,
        "programs": bounds.programs,
    }


def resultants(space: ForceSpace, bounds: Bounds, cone: str) -> dict[str, Any]:
    """Ranges of the forces between two bodies, and the table of these, where some touch in faces.

    Forces and torques of the table are in the units of the run; torques are about the middle of the
    points.
    """
    p = space.packing
    if space.pairs == space.contacts:
        return {}
    side: Side = "outside" if cone == "outside" else "inside"
    found = space.pair_bounds(bounds, side, exact=cone == "round")
    width = (found.high - found.low)[:, : p.dim] / p.unit
    width[width < NONE] = 0.0
    normal, tangential = width[:, 0], np.linalg.norm(width[:, 1:], axis=1)
    names = ["normal", "tangential", "torque"]
    if p.dim == 3:
        names = ["normal", "tangential_1", "tangential_2", "torsion", "torque_1", "torque_2"]
    table: dict[str, list[Any]] = {
        "first": found.first.tolist(),
        "second": found.second.tolist(),
        "points": found.points.tolist(),
    }
    for e, name in enumerate(names):
        table[name] = found.found[:, e].tolist()
        table[f"{name}_min"] = found.low[:, e].tolist()
        table[f"{name}_max"] = found.high[:, e].tolist()
    none = float(((normal == 0.0) & (tangential == 0.0)).mean())
    return {
        "local_resultants": {
            "normal": _figures(normal),
            "tangential": _figures(tangential),
            "share_with_none": none,
        },
        "pairs": table,
    }


def diameters(found: Extremal) -> dict[str, Any]:
    """Global indeterminacies, (24), between the extremal states that are nearest to each other."""
    return {
        "normal": _figures(found.normal),
        "tangential": _figures(found.tangential),
        "share_not_unique": found.flat,
    }


def _figures(values: Floats) -> dict[str, float]:
    """Figures of the components that are bounded, and their share."""
    finite = np.isfinite(values)
    some = values[finite]
    mean, greatest = (some.mean(), some.max()) if some.size else (math.nan, math.nan)
    return {"mean": float(mean), "greatest": float(greatest), "bounded": float(finite.mean())}


def members(space: ForceSpace) -> dict[str, Any]:
    """Norms of two special members, and how far from them the forces found are."""
    unit, found = space.packing.unit, space.packing.components
    states = {"least": space.member("least"), "elastic": space.member("elastic", stiffness=ELASTIC)}
    return {
        which: {
            "norm": float(np.linalg.norm(state)) / unit,
            "distance": float(np.linalg.norm(state - found)) / unit,
        }
        for which, state in states.items()
    }


def sampled(drawn: Sample, seed: int) -> dict[str, Any]:
    """The radius of F (38), and reasons to doubt the sample."""
    return {
        "method": drawn.method,
        "count": len(drawn.states),
        "seed": seed,
        "radius": drawn.radius,
        "warning": drawn.warning,
    }


# ---------------------------------------------------------------------- contacts
def columns(space: ForceSpace, bounds: Bounds | None) -> dict[str, list[Any]]:
    """The table of contacts, column by column; forces are in the units of the run."""
    p = space.packing
    names = ("normal", "tangential") if p.dim == 2 else ("normal", "tangential_1", "tangential_2")
    table: dict[str, list[Any]] = {
        "first": p.first.tolist(),
        "second": p.second.tolist(),
        **({} if space.pairs == space.contacts else {"contact": p.contact.tolist()}),
        "friction": p.friction.tolist(),
        "state": [("sticks", "slides", "no force")[k] for k in space.slides()],
    }
    for e, name in enumerate(names):
        table[name] = p.components[:, e].tolist()
        if bounds is not None:
            table[f"{name}_min"] = bounds.low[:, e].tolist()
            table[f"{name}_max"] = bounds.high[:, e].tolist()
    if bounds is not None:
        table["in_every_state"] = [("", "slides", "open")[k] for k in space.always]
    return table


def as_csv(table: dict[str, list[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(zip(*table.values()))
    return text.getvalue()


# ---------------------------------------------------------------------- for a reader
def as_text(facts: dict[str, Any]) -> str:
    """One line for each answer."""
    kind = facts["unit"]["is"]
    unit = "m̄g" if kind == "mean weight" else "R̄"
    found, wedged = facts["found"], facts.get("unbounded", [])
    treated = {
        "state": "kept as an external force, so that the forces found are possible",
        "loads": "left out, so that the forces found are possible only up to it",
    }[facts["balance"]]
    unknown = math.isnan(facts["residual"])
    residual = "not known" if unknown else f"{facts['residual']:.2g} {unit} at most"
    if facts["residual"] > MOVES:
        residual += " (is it at rest?)"
    size = f"null space {facts['null_space']}, {facts['formula']} = {facts['expected']}"
    if "dim_F" in facts:
        size = f"dim F = {facts['dim_F']}, {size}"
    answer = f"{facts['unique']}: {size}"
    if facts.get("empty"):
        answer = "no forces at all balance the load: F is empty, the packing is not stable"
    most = f" of at most {facts['null_space']}" if found["M_s"] <= facts["null_space"] else ""
    names = ", ".join(wedged[:NAMED]) + (", …" if len(wedged) > NAMED else "")
    noun = "disks" if facts["dimensions"] == 2 else "spheres"
    noun = noun if facts["round"] else "grains"
    points = f"points of K = {facts['K']} contacts"
    lines = [
        ("packing", f"{facts['file']}, frame {facts['frame']}, time {facts['time']:.6g}"),
        (
            "size",
            f"{facts['grains']} {noun}, N = {facts['N']} of them in contact, M = {facts['M']}"
            f" {'contacts' if facts['K'] == facts['M'] else points}",
        ),
        ("unit", f"{unit} = {facts['unit']['force']:.6g}, the {kind}"),
        ("unbalanced", f"{residual}, {treated}"),
        ("unique?", answer),
        *_resultants(facts),
        (
            "sliding",
            f"{found['sliding']} contacts, without force {found['without_force']}: M_s ="
            f" {found['M_s']}{most}",
        ),
        (
            "normal force",
            f"mean {found['mean_normal']:.4g}, greatest {found['greatest_normal']:.4g} {unit}",
        ),
    ]
    if (a := facts.get("always")) is not None:
        lines += [
            ("must slide", f"{a['sliding']} contacts, must be open {a['open']}"),
            ("unbounded", f"{len(wedged)} contacts, wedged: {names}" if wedged else "no force"),
        ]
    if (d := facts.get("local")) is not None:
        lines += _range("δ_R", d["normal"], unit) + _range("δ_T", d["tangential"], unit)
        if (c := d["pyramids"]) is not None:
            less = "smaller" if c["side"] == "inside" else "larger"
            text = f"by pyramids of {c['faces']} faces {c['side']} the cones, if anything {less}"
            lines.append(("bounds", f"{text} than the true ranges"))
        share = f"{d['share_with_none']:.1%} of the contacts"
        lines.append(("determined", f"{share}: δ_R = δ_T = 0"))
    if (d := facts.get("global")) is not None:
        lines += _range("d_R", d["normal"], unit) + _range("d_T", d["tangential"], unit)
        text = "d is between the nearest extremal states"
        if math.isfinite(d["share_not_unique"]):
            text += f"; up to {d['share_not_unique']:.1%} of them are not unique"
        lines.append(("extremes", text))
    if (s := facts.get("sample")) is not None:
        text = f"radius {s['radius']:.4g} {unit} by {s['count']} states, {s['method']}"
        lines.append(("sample", text + (f"; {s['warning']}" if s["warning"] else "")))
    if (m := facts.get("members")) is not None:
        text = f"found {found['norm']:.4g} {unit}" + "".join(
            f"; {which} {one['norm']:.4g}, {one['distance']:.4g} away" for which, one in m.items()
        )
        lines.append(("norm of F", text))
    return "\n".join(f"{name + ':':<13} {text}" for name, text in lines)


def _resultants(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """Lines on the forces between two bodies, where these touch in several points."""
    if facts["K"] == facts["M"] or facts.get("empty"):
        return []
    r, answer = facts["resultants"], facts["resultants"]["unique"]
    text = f"null space {r['null_space']}, besides {r['within_faces']} within faces"
    if "dim_resultants" in facts:
        answer = "yes" if facts["dim_resultants"] == 0 else "no"
        text = f"dimension {facts['dim_resultants']}, {text}"
    lines = [("resultants", f"unique? {answer}: {text}")]
    if (d := facts.get("local_resultants")) is not None:
        share = f"{d['share_with_none']:.1%} of them"
        lines.append(("of pairs", f"{share} are determined, the others up to {_greatest(d)}"))
    return lines


def _greatest(d: dict[str, Any]) -> str:
    return " and ".join(f"{d[part]['greatest']:.4g} ({part})" for part in ("normal", "tangential"))


def _range(name: str, d: dict[str, Any], unit: str) -> list[tuple[str, str]]:
    if d["bounded"] == 0.0:
        return [(name, "without bound")]
    only = "" if d["bounded"] == 1.0 else f", of the {d['bounded']:.0%} that are bounded"
    return [(name, f"mean {d['mean']:.4g}, greatest {d['greatest']:.4g} {unit}{only}")]
