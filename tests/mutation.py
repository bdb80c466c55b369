"""Which physics does no test guard? Small faults in a copy of the sources, and who notices.

    python tests/mutation.py [WORD ...]      (make mutation)

Each fault is one edit: a sign, a factor, an index, a term left out. The tests named beside it are
run against the copy; a fault that none of them notices has survived, and calls for a test of the
physics that it breaks. WORDs choose faults by file or text. Only kernels of modules that import the
edited file, directly or by way of others, are compiled again.
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Fault:
    """``old`` becomes ``new``, once, in a file of the package; ``tests``: arguments of pytest."""

    file: str
    old: str
    new: str
    tests: str


LAWS = "unit/test_laws.py"
GEOMETRY = "unit/test_geometry.py"
IMPACT = "verification/test_impact.py"
INCLINE = "verification/test_incline.py"
LEDGER = "verification/test_conservation.py::test_ledger_closes_with_gravity_walls_and_drives"
PUSHES = "verification/test_pushes.py"
DRIVES = "verification/test_drives.py"
SOLVER = "verification/test_solver.py"
STATICS = "verification/test_statics.py"
SOFT = "verification/test_soft.py"
ARRAY = "verification/test_exact_array.py"
STATE = "verification/test_measure_state.py"
FORCE = "verification/test_measure_force.py"
STRUCTURE = "verification/test_measure_structure.py"
FLOW = "verification/test_measure_flow.py"
MONITOR = "verification/test_monitor.py"

FAULTS = [
    # law
    Fault("law/shock.py", "else max(gap, 0.0) / dt", "else gap / dt", LAWS),
    Fault("law/shock.py", "(u_n + bias)", "(u_n - bias)", LAWS),
    Fault("law/friction.py", "abs(q) <= stick_limit", "abs(q) <= slide_limit", LAWS),
    Fault("law/friction.py", "if length <= stick_limit", "if length <= slide_limit", LAWS),
    Fault("law/rolling.py", "stick_or_slide(torque - inertia", "stick_or_slide(torque + inertia",
          LAWS),
    Fault("law/restitution.py", "before_n < 0.0 and gap", "gap", LAWS),
    Fault("law/restitution.py", "max(bias, e_n * before_n) if", "bias if", LAWS),
    Fault("law/spring.py", "return tx * grow, ty * grow, tz * grow", "return tx, ty, tz", LAWS),
    Fault("law/spring.py", "stored = 0.5 * stiffness", "stored = stiffness", LAWS),
    Fault("law/coupled.py", "(w_nn + side * g2)", "(w_nn - side * g2)", LAWS),
    Fault("law/coupled.py", "u_t -= cohesion * w_nt", "pass", LAWS),
    Fault("law/coupled.py", "x, y = abs(y), math.copysign(x, s_12)", "x, y = abs(y), x", LAWS),
    # contact
    Fault("core/geometry.py", "floor(d / period + 0.5)", "floor(d / period + 0.25)", GEOMETRY),
    Fault("core/geometry.py", "(d / a2, 0.0), 1.0)", "(d / a2, 0.0), 2.0)", GEOMETRY),
    Fault("cpu/contacts.py", "limit = reach[first[p]] + reach[second[p]]",
          "limit = reach[first[p]]", GEOMETRY),
    Fault("cpu/contacts.py", "most[j] = max(most[j], value[i])", "pass",
          f"{GEOMETRY} {PUSHES}"),
    Fault("point/reach.py", "far + reach <= listed.safety[i]", "far <= listed.safety[i]",
          "unit/test_neighbours.py"),
    Fault("point/reach.py", "(listed.turned[i - n] if i >= n else 0.0)", "0.0",
          "unit/test_neighbours.py"),
    Fault("point/wall_motion.py", "return v_a + 2.0 * (q_b", "return v_a + (q_b",
          f"{DRIVES} unit/test_neighbours.py"),
    Fault("contact/search.py", "return f < feature", "return f <= feature", f"{SOLVER} {STATICS}"),
    Fault("contact/search.py", "reach[i] += shapes.margin[i]", "pass",
          f"{PUSHES} unit/test_neighbours.py"),
    # solve
    Fault("point/lean_2d.py", "p.b[j, PSI] = other - kj * d_t", "p.b[j, PSI] = other + kj * d_t",
          IMPACT),
    Fault("point/lean_2d.py", "p.b[j, IM] + p.b[i, K] + p.b[j, K]", "p.b[j, IM] + p.b[i, K]",
          f"{IMPACT} {SOLVER}"),
    Fault("point/lean_2d.py", "vx -= motion.spin[j, 0]", "vx += motion.spin[j, 0]", DRIVES),
    Fault("point/full_2d.py", "(my - mx) * nx * ny", "(mx - my) * nx * ny", f"{INCLINE} {SOLVER}"),
    Fault("law/contact.py", "law[COHESION] * dt if gap", "law[COHESION] if gap",
          f"{INCLINE} verification/test_conservation.py -k cohe"),
    Fault("point/row.py", "r * other / (r + other)", "2.0 * r * other / (r + other)", INCLINE),
    Fault("point/residual.py", "max(speed_squared(p, k, new), speed_squared(p, k, old))",
          "speed_squared(p, k, old)", SOLVER),
    Fault("point/residual.py", "worst * loaded / scale", "worst / scale", SOLVER),
    Fault("point/stopping.py", "* size + until.cutoff", "* size", SOLVER),
    Fault("cpu/sweep.py", "old[a] + relaxation * (new[a] - old[a])", "new[a]", SOLVER),
    Fault("cpu/order.py", "used[j] |= one", "used[i] |= one", "unit/test_order.py"),
    Fault("cpu/order.py", "SYMMETRIC and sweep > 0", "SYMMETRIC and sweep > 1",
          "unit/test_order.py"),
    # step
    Fault("point/ledger.py", "driven -= on_2 * means.spin[j, a]",
          "driven += on_2 * means.spin[j, a]",
          f"{LEDGER} {DRIVES}"),
    Fault("point/row.py", "bodies.periodic[a]) + first", "bodies.periodic[a])",
          f"{LEDGER} {DRIVES}"),
    Fault("cpu/ledger.py", "total += max(depth, 0.0)", "total += depth", STATE),
    Fault("step/loads.py", "middle, taken = (state.step + 0.5) * self.dt, 0.0",
          "middle, taken = state.step * self.dt, 0.0", DRIVES),
    Fault("point/turning.py", "nx = c * x + ax * w + ay * z - az * y",
          "nx = c * x + ax * w - ay * z + az * y",
          f"{DRIVES} verification/test_invariance.py"),
    Fault("step/soft_kernel.py", "a1, a2 = r + 0.5 * gap, radius[j] + 0.5 * gap",
          "a1, a2 = r, radius[j]", SOFT),
    Fault("step/soft_kernel.py", "driven -= dt * push * before",
          "driven -= 0.5 * dt * push * before",
          SOFT),
    Fault("step/soft_kernel.py", "turned[w, 1] = c * vy + s", "turned[w, 1] = c * vy - s", SOFT),
    Fault("core/cell.py", "rows[k, 5] += x * v", "rows[k, 5] += y * u",
          "verification/test_soft_cell.py"),
    Fault("point/cell.py", "rate = p.cell[FREE, c] + p.cell[INVERSE, c]",
          "rate = p.cell[RATE, c] + p.cell[INVERSE, c]", "unit/test_cell_solver.py"),
    Fault("step/cell_kernel.py", "drag += rate[a, b] * velocity[i, b]",
          "drag += rate[b, a] * velocity[i, b]", "unit/test_cell.py"),
    Fault("papers/radjai1997/exact/array.py", "(rotation, first + 5, 1.0)",
          "(rotation, first + 5, -1.0)", ARRAY),
    # measure
    Fault("measure/stress.py", "v = v - m @ v / m.sum()", "pass", FORCE),
    Fault("measure/stress.py", "np.where(grain, 0.5, 1.0) * c.gap", "c.gap", FORCE),
    Fault("measure/stress.py", "np.sqrt(1.5 * np.square", "np.sqrt(0.5 * np.square", FORCE),
    Fault("measure/fabric.py", "0.5 * dim * (dim + 2)", "dim * (dim + 2)", STRUCTURE),
    Fault("measure/energy.py", "orbital + own_momentum(snap).sum(axis=0)", "orbital", STATE),
    Fault("measure/energy.py", "(snap.dim * m.sum())", "m.sum()", f"{STATE} {FLOW}"),
    Fault("measure/structure.py", "* rough.sum() - slides.sum()", "* rough.sum()", STRUCTURE),
    Fault("measure/structure.py", "out[:n] |= new", "return new", STRUCTURE),
    Fault("measure/rigidity.py", "strength = 2.0 * mine * sweeps / dt**2",
          "strength = mine * sweeps / dt**2",
          MONITOR),
    Fault("measure/contact_springs.py", "x[a, b] -= x[a, c] * x[c, b] / p", "pass",
          "verification/test_shaped_monitor.py"),
    Fault("measure/contact_network.py", "2.0 - back", "0.5",
          "verification/test_shaped_monitor.py"),
]  # fmt: skip


class Copy:
    """The package and its tests elsewhere, with kernels compiled there."""

    def __init__(self, root: Path) -> None:
        self.root, self.cache = root, root / ".cache"
        ignored = shutil.ignore_patterns("__pycache__", "artifacts")
        for name in ("src", "tests", "examples", "docs", "benchmarks"):
            shutil.copytree(ROOT / name, root / name, ignore=ignored)
        shutil.copy(ROOT / "pyproject.toml", root)
        self.package = root / "src" / "hardgrain"
        self.sound = ""  # the folder of its kernels

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(
                filter(None, [str(self.root / "src"), os.environ.get("PYTHONPATH")])
            ),
            "HARDGRAIN_CACHE": str(self.cache),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        return subprocess.run(
            [sys.executable, *command], cwd=self.root, env=environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip

    def test(self, tests: str) -> subprocess.CompletedProcess[str]:
        paths = [f"tests/{part}" if ".py" in part else part for part in tests.split()]
        return self.run("-m", "pytest", "-q", "-x", "-n0", "-p", "no:cacheprovider", *paths)

    def folder(self) -> Path:
        """Of the kernels that belong to the sources as they are."""
        code = "from hardgrain.kernels import cache_folder; print(cache_folder())"
        return Path(self.run("-c", code).stdout.strip())

    def inherit(self, sound: Path, edited: str) -> None:
        """Kernels of the sound sources, but those that may depend on the edited file."""
        names = {".".join(p.relative_to(self.package.parent).with_suffix("").parts): p
                 for p in self.package.rglob("*.py")}  # fmt: skip
        imports = {name: _imported(path) & set(names) for name, path in names.items()}
        stale = {f"hardgrain.{edited.removesuffix('.py').replace('/', '.')}"}
        while more := {n for n, needs in imports.items() if needs & stale} - stale:
            stale |= more
        mine = self.folder()
        if mine == sound:  # no kernel depends on the edited file
            return
        shutil.rmtree(mine)
        shutil.copytree(sound, mine)
        kept = [mine / name for name in stale if (mine / name).is_dir()]
        assert kept, f"no kernel lies under the name of a module that imports {edited}"
        for folder in kept:
            shutil.rmtree(folder)


def _imported(path: Path) -> set[str]:
    """Modules of the package that a file imports, also names that might be modules."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{a.name}" for a in node.names)}
    return found


def main(words: list[str]) -> int:
    chosen = [f for f in FAULTS if not words or any(w in f"{f.file} {f.old}" for w in words)]
    survived = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder))
        for tests in dict.fromkeys(f.tests for f in chosen):
            done = copy.test(tests)
            if done.returncode:
                print(f"without any fault, {tests} fails:\n{done.stdout}")
                return 2
        sound = copy.folder()
        for fault in chosen:
            path = copy.package / fault.file
            text, stamp = path.read_text(), path.stat()
            assert text.count(fault.old) == 1, f"{fault.file}: {fault.old!r} stands there not once"
            path.write_text(text.replace(fault.old, fault.new))
            copy.inherit(sound, fault.file)
            done = copy.test(fault.tests)
            path.write_text(text)
            os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
            lines = [
                line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))
            ]
            by = lines[0].split(" - ")[0] if lines else f"pytest ended with {done.returncode}"
            verdict = f"killed by {by}" if done.returncode else "SURVIVED"
            print(f"{fault.file}: {fault.old!r} → {fault.new!r}: {verdict}", flush=True)
            survived += [] if done.returncode else [fault]
    print(f"{len(chosen)} faults, {len(chosen) - len(survived)} killed, {len(survived)} survived")
    return int(bool(survived))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
