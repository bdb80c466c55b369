"""Every law compiled for CUDA, against the same source in plain Python and compiled for the CPU.

    python tests/unit/laws_on_cuda.py

prints the worst difference of each law. It runs on a GPU; without one, on Numba's simulator
(NUMBA_ENABLE_CUDASIM=1). Where there is neither, `python tests/unit/laws_on_cuda.py ptx` only
compiles, which takes NVIDIA's compiler but no GPU.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

if not hasattr(np, "row_stack"):  # numba-cuda asks for it, NumPy 2.5 dropped it
    np.row_stack = np.vstack  # type: ignore[attr-defined] # noqa: NPY201

import numba
from numba import cuda

from hardgrain.kernels import device
from hardgrain.law.cone import make_cone
from hardgrain.law.coupled import make_coupled
from hardgrain.law.friction import make_friction
from hardgrain.law.restitution import make_restitution
from hardgrain.law.rolling import make_rolling
from hardgrain.law.shock import make_shock
from hardgrain.law.spring import make_spring

ROWS = 400
FACTORIES = (
    make_shock, make_friction, make_restitution, make_rolling, make_coupled, make_spring, make_cone,
)  # fmt: skip

POSITIVE = [
    "dt",
    "mass_n",
    "inertia",
    "q_squared",
    "stick_limit",
    "limit",
    "mu_s",
    "mu_0",
    "e_n",
    "inverse_mass",
    "points",
    "mu",
    "size",
]

Floats = np.ndarray[Any, np.dtype[np.float64]]


class Law(NamedTuple):
    """One law and where to find it."""

    factory: Callable[..., Any]
    name: str
    arguments: tuple[str, ...]  # one for each number; vectors have three
    takes: tuple[int, ...]  # how many numbers each argument of the function is
    gives: tuple[int, ...]  # the same of its results

    @property
    def results(self) -> int:
        return sum(self.gives)

    def compiled(self, jit: Callable[..., Any]) -> Any:
        return getattr(self.factory(jit), self.name)


def all_laws() -> list[Law]:
    """Whatever the factories give."""
    found = []
    for factory in FACTORIES:
        for name, function in vars(factory(lambda f: f)).items():
            signature = inspect.signature(function)
            of = {key: width(p.annotation) for key, p in signature.parameters.items()}
            names = [f"{key}_{k}" if n > 1 else key for key, n in of.items() for k in range(n)]
            inner = str(signature.return_annotation).removeprefix("tuple[").removesuffix("]")
            gives = tuple(width(part) for part in inner.split(", "))
            found.append(Law(factory, name, tuple(names), tuple(of.values()), gives))
    return found


def width(annotation: str) -> int:
    """How many numbers an argument or result is."""
    return {"Vector": 3, "Matrix": 6, "tuple[float, float]": 2}.get(annotation, 1)


def grouped(sizes: tuple[int, ...], name: str) -> str:
    """The numbers name[i, 0], name[i, 1], … written as arguments or results of these sizes."""
    ends = np.cumsum(sizes)
    parts = [[f"{name}[i, {k}]" for k in range(e - n, e)] for n, e in zip(sizes, ends)]
    return ", ".join(p[0] if len(p) == 1 else f"({', '.join(p)})" for p in parts)


def inputs(law: Law, rng: np.random.Generator) -> Floats:
    """Random arguments of order one, shape (ROWS, arguments), edge cases among them."""
    x = rng.normal(size=(ROWS, len(law.arguments)))
    of = {name: x[:, k] for k, name in enumerate(law.arguments)}
    for name, column in of.items():
        if name in POSITIVE:
            column[:] = np.abs(column)
        elif name == "cohesion":
            column[:] = np.where(rng.random(ROWS) < 0.5, 0.0, np.abs(column))
        elif name == "remove_overlaps":
            column[:] = column > 0.0
    for slide, stick in (("slide_limit", "stick_limit"), ("mu_d", "mu_s"), ("mu_1", "mu_0")):
        if slide in of:
            of[slide][:] = of[stick] * np.where(rng.random(ROWS) < 0.5, 1.0, rng.random(ROWS))
    x[ROWS // 2 :: 20, 0] = 0.0
    if "w_nn" in of or "w_0" in of:
        flat = "w_nn" in of or law.name == "decoupled_2d"
        w = mobilities(2 if flat else 3, rng)
        if law.name == "eigenframe":  # it is not asked where the normal is locked
            w[:, 0] = np.maximum(w[:, 0], 0.3)
        if law.name == "decoupled_2d":
            inverses = make_coupled(lambda f: f).inverses
            w = np.array([[*row[:2], *inverses(*row)] for row in w.tolist()])
        if law.name == "decoupled_3d":
            w = np.array([of_axes(row.tolist()) for row in w])
        names = [name for name in law.arguments if name.startswith(("w_", "s_", "inverse_"))]
        for name, column in zip(names, w.T, strict=True):
            of[name][:] = column
    if law.name == "slid_3d":
        x[:] = [slipping(row, w.tolist()) for row, w in zip(x, mobilities(3, rng))]
    return x


def slipping(x: Floats, w: list[float]) -> Floats:
    """What `slid_3d` is asked for: a contact that is pushed, and too smooth to stick."""
    w_nn, g1, g2, l1, l2, *_ = of_axes([w[0] or 1.0, *w[1:]])
    push, c1, c2, *_ = x
    push = -abs(push)
    p_n = -(push + (g1 * c1 / l1 + g2 * c2 / l2) / w_nn)
    friction = abs(x[-1])
    if p_n > 0.0:
        friction = min(friction, 0.5 * float(np.hypot(c1 / l1, c2 / l2)) / p_n)
    return np.array([push, c1, c2, g1, g2, l1, l2, 1.0 / w_nn, friction])


def mobilities(dim: int, rng: np.random.Generator) -> Floats:
    """The upper triangle of W: full, diagonal, with locked tangents, with a locked normal."""
    a = rng.uniform(-1.0, 1.0, (ROWS, dim, dim))
    w = a @ a.transpose(0, 2, 1) + 0.3 * np.eye(dim)
    w[: ROWS // 4] = np.where(np.eye(dim) > 0.0, w[: ROWS // 4], 0.0)
    w[: ROWS // 8, 1:, 1:] = 0.0
    w[: ROWS // 16, 0] = 0.0
    return np.array([row[np.triu_indices(dim)] for row in w])


def of_axes(w: list[float]) -> list[float]:
    """What `decoupled_3d` takes for this W, seen along the axes of S: w, s and inverse."""
    if w[0] == 0.0:
        return [0.0] * 9
    x, y, l1, l2, floor = make_coupled(lambda f: f).eigenframe(w)
    l1, l2 = max(l1, floor), max(l2, floor)
    along = [w[0], x * w[1] + y * w[2], x * w[2] - y * w[1]]
    return [*along, l1, l2, floor, 1.0 / w[0], 1.0 / l1, 1.0 / l2]


def loop(law: Law, function: Any, head: str) -> Callable[..., None]:
    """def run(x, y): y[i] = law(x[i]), with the arguments written out: kernels take no stars."""
    left, right = grouped(law.gives, "y"), grouped(law.takes, "x")
    space: dict[str, Any] = {"law": function, "cuda": cuda}
    exec(f"def run(x, y):\n    {head}\n        {left} = law({right})", space)
    return space["run"]  # type: ignore[no-any-return]


ON_CPU = "for i in range(x.shape[0]):"
ON_GPU = "i = cuda.grid(1)\n    if i < x.shape[0]:"


def on_cuda(function: Any) -> Any:
    return cuda.jit(device=True)(function)


def run_plain(law: Law, x: Floats) -> Floats:
    y = np.empty((ROWS, law.results))
    loop(law, law.compiled(lambda f: f), ON_CPU)(x, y)
    return y


def run_cpu(law: Law, x: Floats) -> Floats:
    y = np.empty((ROWS, law.results))
    numba.njit(error_model="numpy")(loop(law, law.compiled(device), ON_CPU))(x, y)
    return y


def run_cuda(law: Law, x: Floats) -> Floats:
    y = np.zeros((ROWS, law.results))
    there = cuda.to_device(y)
    kernel = cuda.jit(loop(law, law.compiled(on_cuda), ON_GPU))
    kernel[(ROWS + 63) // 64, 64](cuda.to_device(x), there)
    return there.copy_to_host()  # type: ignore[no-any-return]


def compile_only(law: Law) -> int:
    """Size of the PTX that a kernel with this law becomes, for compute capability 7.5."""
    kernel = loop(law, law.compiled(on_cuda), ON_GPU)
    text, _ = cuda.compile_ptx(kernel, (numba.float64[:, ::1], numba.float64[:, ::1]), cc=(7, 5))
    return len(text)


def difference(a: Floats, b: Floats) -> float:
    """Largest |a − b| in units of the row's result, or of one where that is small."""
    size = np.maximum(np.abs(b).max(axis=1, keepdims=True), 1.0)
    return float((np.abs(a - b) / size).max())


def compare() -> dict[str, dict[str, float]]:
    """Worst difference from plain Python of each law on both targets."""
    rng = np.random.default_rng(20)
    worst = {}
    for law in all_laws():
        x = inputs(law, rng)
        plain = run_plain(law, x)
        worst[law.name] = {
            "cuda": difference(run_cuda(law, x), plain),
            "cpu": difference(run_cpu(law, x), plain),
        }
    return worst


if __name__ == "__main__":
    if sys.argv[1:] == ["ptx"]:
        from numba.cuda.cudadrv.error import CudaSupportError, NvvmSupportError

        try:
            print(json.dumps({law.name: compile_only(law) for law in all_laws()}))
        except (CudaSupportError, NvvmSupportError) as error:
            sys.exit(f"no CUDA compiler here: {error}")
    else:
        if not cuda.is_available():
            sys.exit("no GPU here; set NUMBA_ENABLE_CUDASIM=1 for Numba's simulator")
        found = compare()
        if sys.argv[1:] == ["json"]:
            print(json.dumps(found))
        else:
            print(f"{'law':<24}{'CUDA − Python':>16}{'CPU − Python':>16}")
            for name, row in found.items():
                print(f"{name:<24}{row['cuda']:>16.2g}{row['cpu']:>16.2g}")
