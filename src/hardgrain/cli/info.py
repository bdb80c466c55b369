"""What a run file holds, as plain figures and as text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from hardgrain.core.wall_kinds import CELL
from hardgrain.io.runfile import RunFile
from hardgrain.measure.snapshot import model_of
from hardgrain.run.scenario import stored_scenario
from hardgrain.scene.grain_shape import grain_shapes

__all__ = ["as_text", "describe"]


def describe(path: Path) -> dict[str, Any]:
    """What ``hardgrain info`` says, ready for JSON; ``last`` has figures of the last frame."""
    with RunFile(path) as file:
        header, model, history = file.header, file.model, file.history
        scenario = stored_scenario(header, path)
        frame, times = file[len(file) - 1], file.time
        verdict = file.verdict
        state = "finished" if file.finished else "running now" if file.live else "interrupted"
        walls = {
            name: force.tolist()
            for name, force, kind in zip(file.wall_names, frame.wall_force, model["wall_kind"])
            if kind != CELL
        }
        size, shapes, deform = path.stat().st_size, _shapes(file), model_of(file).elastic
    diameter = 2.0 * model["radius"]
    solved = ("residual", "sweeps") if scenario.engine.solves else ()
    last = {
        name: float(history[name][-1])
        for name in ("kinetic", *solved, "loaded", "candidates")
        if history[name].size
    }
    network = {  # at the last look of the run
        name.removeprefix("network_"): float(column[-1])
        for name, column in history.items()
        if name.startswith("network_") and column.size
    }
    stop = scenario.stop.model_dump(exclude_none=True) if scenario.stop else None
    deepest = frame.scalars.get("deepest")  # files of an earlier version do not have it
    if deepest is None:
        deepest = frame.scalars["worst_overlap"] / float(diameter.min())
    if verdict and state == "interrupted":
        state = "stopped, not plausible"
    facts = {
        "file": str(path),
        "state": state,
        "implausible": verdict or None,
        "resume": f"hardgrain resume {path}" if state in ("finished", "interrupted") else None,
        "bytes": size,
        "title": scenario.title,
        "units": header["units"],
        "seed": scenario.seed,
        "versions": {k: header[k] for k in ("hardgrain", "python", "numpy", "numba")},
        "dimension": scenario.scene.dimension,
        "grains": int(diameter.size),
        "shapes": shapes,
        "deform": 0 if deform is None else int((deform.form >= 0).sum()),
        "nodes": 0 if deform is None else int(deform.nodes.sum()),
        "diameter": {
            "least": float(diameter.min()),
            "mean": float(diameter.mean()),
            "largest": float(diameter.max()),
        },
        "walls": list(walls),
        "engine": scenario.engine.model_dump(exclude_none=True),
        "solver": scenario.solver.model_dump(exclude_none=True),
        "stop": stop,
        "dt": scenario.dt,
        "frames": len(times),
        "first_time": float(times[0]),
        "last": {
            "step": frame.step,
            "time": frame.time,
            **last,
            "worst_overlap": deepest,
            "wall_force": walls,
        },
    }
    return facts | ({"network": network} if scenario.engine.solves else {})


def _shapes(file: RunFile) -> list[str]:
    """The names of all shapes that grains have; none if all are disks or spheres."""
    whole = model_of(file)
    if whole.round:
        return []
    known = grain_shapes(whole.solids, whole.dim)
    return sorted({known[k].name for k in np.unique(whole.solids.shape)})


def _grains(facts: dict[str, Any]) -> str:
    """How many grains there are, of which shape and how large."""
    d, shapes = facts["diameter"], facts["shapes"]
    noun = "disks" if facts["dimension"] == 2 else "spheres"
    if shapes:
        kinds = ", ".join(shapes[:3]) + (f" and {len(shapes) - 3} more" if shapes[3:] else "")
        noun = f"grains ({kinds})"
    size = "circumscribed diameter" if shapes else "diameter"
    return (
        f"{facts['grains']} {noun}, {size} {d['least']:.4g} to {d['largest']:.4g},"
        f" mean {d['mean']:.4g}"
        + f"; {facts['deform']} of them deform, with {facts['nodes']} nodes"
        * bool(facts["deform"])
    )


def as_text(facts: dict[str, Any]) -> str:
    """The facts as text for a reader."""
    last = facts["last"]
    solver = facts["solver"]
    how = f"{solver['kind']}, {solver['sweeps']} sweeps"
    if solver["kind"] == "rigid":
        how = f"rigid solver, tolerance {solver['tolerance']:g}"
    elif solver["stop"] != "sweeps":
        how += f" at most, {solver['stop']} criterion, tolerance {solver['tolerance']:g}"
    engine, solved = facts["engine"], facts["engine"]["kind"] == "contact-dynamics"
    if engine["kind"] == "event-driven":
        how = f"event-driven, contact time {engine['contact_time']:g}"
    if engine["kind"] == "soft-particles":
        how = f"soft particles, stiffness {engine['stiffness']:g}, {engine['substeps']} substeps"
    lines = [
        ("file", f"{facts['file']}, {facts['bytes'] / 1e6:.3g} MB"),
        ("title", facts["title"] or "none"),
        ("units", facts["units"]),
        ("state", facts["state"] + _how_to_go_on(facts)),
        *([("plausible?", f"NO: {facts['implausible']}")] if facts["implausible"] else []),
        ("grains", _grains(facts)),
        ("walls", ", ".join(facts["walls"]) or "none"),
        ("solver" if solved else "engine", f"{how}; dt {facts['dt']:g}; seed {facts['seed']}"),
        ("stop", _stop(facts["stop"])),
        (
            "frames",
            f"{facts['frames']}, times {facts['first_time']:g} to {last['time']:g},"
            f" {last['step']} steps",
        ),
    ]
    if "kinetic" in last:
        bear = "collisions" if engine["kind"] == "event-driven" else "contacts bear a force"
        text = f"kinetic energy {last['kinetic']:.4g}, {last['loaded']:.0f} {bear}"
        if solved:
            text += f", residual {last['residual']:.2g} after {last['sweeps']:.0f} sweeps"
        lines += [
            ("last step", text),
            (
                "overlap",
                f"{last['worst_overlap']:.2g} of the smaller grain's diameter at worst",
            ),
        ]
    net = facts.get("network", {})
    if net.get("length", 0.0) > 0.0:
        text = f"{net['grains']:.0f} grains in contact, {net['length']:.3g} long"
        if solver["kind"] != "rigid":  # the rigid solver makes no springs of contacts
            text += (
                f"; l_diff = {net['diffusion_length']:.3g}, c = {net['sound_speed']:.3g}, slowest"
                f" mode ω = {net['frequency']:.3g}, τ = {net['damping_time']:.3g}; sag"
                f" {net['sag']:.2g}"
            )
        lines.append(("cluster", text))
    for name, force in last["wall_force"].items():
        lines.append(("force on", f"{name}: ({', '.join(f'{f:.5g}' for f in force)})"))
    versions = ", ".join(f"{name} {v}" for name, v in facts["versions"].items())
    lines.append(("written by", versions))
    return "\n".join(f"{name + ':':<12} {text}" for name, text in lines)


def _how_to_go_on(facts: dict[str, Any]) -> str:
    if facts["resume"] is None:
        return ""
    longer = " --time T (or --steps N) makes it longer" if facts["state"] == "finished" else ""
    joint = "; " if longer else "; to go on: "
    return f"{joint}{facts['resume']}{longer}"


def _stop(stop: dict[str, Any] | None) -> str:
    if stop is None:
        return "not in the file (given in Python)"
    parts = []
    if "steps" in stop:
        parts.append(f"after {stop['steps']} steps")
    if "time" in stop:
        parts.append(f"at time {stop['time']:g}")
    if "at_rest" in stop:
        parts.append("at rest")
    return " or ".join(parts)
