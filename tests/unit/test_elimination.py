"""Sparse LU over bodies: against dense algebra, over sixteen decades, on every kind of graph."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import numba
import numpy as np
import pytest
from scipy.sparse import csc_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu
from scipy.spatial import cKDTree

from hardgrain.solve.elimination import Elimination

pytestmark = pytest.mark.rounding

Graph = tuple[np.ndarray, np.ndarray]  # positions (n, dim), pairs (m, 2)


def packing(n: int, dim: int, seed: int = 0) -> Graph:
    """Bodies near the points of a lattice, each with about 2 dim neighbours."""
    rng = np.random.default_rng(seed)
    side = np.arange(round(n ** (1 / dim)))
    x = np.stack(np.meshgrid(*[side] * dim), -1).reshape(-1, dim) + 0.0
    x += rng.uniform(-0.3, 0.3, x.shape)
    pairs = cKDTree(x).query_pairs(1.6, output_type="ndarray")
    d = np.linalg.norm(x[pairs[:, 0]] - x[pairs[:, 1]], axis=1)
    return x, pairs[np.argsort(d)[: dim * len(x)]]


def blocks(
    graph: Graph, decades: float = 0.0, coupling: float = 0.5, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """K = 1 + Σ Hᵀ D H with random levers H; D spans ``decades`` and is not symmetric."""
    rng = np.random.default_rng(seed)
    x, pairs = graph
    n, dim = x.shape
    m, w = len(pairs), 3 * dim - 3
    h = rng.standard_normal((m, dim, 2, w))
    stiff = np.zeros((m, dim, dim))
    stiff[:, range(dim), range(dim)] = 10.0 ** rng.uniform(-decades / 2, decades / 2, (m, dim))
    stiff[:, 1, 0] = coupling * stiff[:, 0, 0] * rng.choice([-1.0, 1.0], m)
    b = np.einsum("kdaw,kde,kebv->kabwv", h, stiff, h)
    diagonal = np.tile(np.eye(w), (n, 1, 1))
    np.add.at(diagonal, pairs[:, 0], b[:, 0, 0])
    movable = pairs[:, 1] >= 0
    np.add.at(diagonal, pairs[movable, 1], b[movable, 1, 1])
    return diagonal, np.stack([b[:, 0, 1], b[:, 1, 0]], axis=1)


def matrix(graph: Graph, diagonal: np.ndarray, pairs: np.ndarray) -> csc_array:
    """The same matrix, assembled by SciPy."""
    n, w = diagonal.shape[:2]
    movable = graph[1][:, 1] >= 0
    i, j = graph[1][movable].T
    rows = np.concatenate([np.arange(n), i, j])
    columns = np.concatenate([np.arange(n), j, i])
    values = np.concatenate([diagonal, pairs[movable, 0], pairs[movable, 1]])
    within = np.arange(w)
    rows, columns = np.broadcast_arrays(
        rows[:, None, None] * w + within[:, None], columns[:, None, None] * w + within
    )
    return csc_array((values.ravel(), (rows.ravel(), columns.ravel())), shape=(n * w, n * w))


def elimination(graph: Graph, width: int) -> Elimination:
    return Elimination(graph[0], graph[1][:, 0], graph[1][:, 1], width)


def residual(k: csc_array, x: np.ndarray, b: np.ndarray) -> float:
    """|K x − b| relative to |K| |x|, largest entries."""
    left = np.abs(k @ x.ravel() - b.ravel()).max()
    return float(left / (abs(k).sum(axis=1).max() * np.abs(x).max()))


def parity(order: np.ndarray) -> int:
    """Sign of a permutation: −1 to the power of its length less its number of cycles."""
    n = order.size
    links = csc_array((np.ones(n), (np.arange(n), order)), shape=(n, n))
    return -1 if (n - connected_components(links)[0]) % 2 else 1


def hub(count: int) -> Graph:
    """A packing, and a body that touches all of it: a piston."""
    x, pairs = packing(count, 2)
    n = len(x)
    piston = np.stack([np.full(n, n), np.arange(n)], axis=1)
    return np.vstack([x, [[0.0, 30.0]]]), np.vstack([pairs, piston])


def lattice(side: int) -> Graph:
    """A periodic square lattice."""
    x = np.stack(np.meshgrid(np.arange(side), np.arange(side), indexing="ij"), -1)
    number = np.arange(side * side).reshape(side, side)
    right, up = np.roll(number, -1, 0), np.roll(number, -1, 1)
    pairs = np.vstack([np.c_[number.ravel(), right.ravel()], np.c_[number.ravel(), up.ravel()]])
    return x.reshape(-1, 2) + 0.0, pairs


def islands() -> Graph:
    x, pairs = packing(49, 2)
    return np.vstack([x, x + 100.0, x[:3] + 200.0]), np.vstack([pairs, pairs + 49])


LINE = np.arange(100)
FLAT = np.zeros((0, 2), np.int32)
GRAPHS: dict[str, Graph] = {
    "one": (np.zeros((1, 2)), FLAT),
    "one on a wall": (np.zeros((1, 2)), np.array([[0, -1], [0, -1]])),
    "no pairs": (np.random.default_rng(0).random((30, 2)), FLAT),
    "chain": (np.c_[LINE, 0 * LINE] + 0.0, np.c_[LINE[:-1], LINE[1:]]),
    "shuffled chain": (np.c_[LINE, 0 * LINE] * 0.0, np.c_[LINE * 37 % 100, (LINE + 1) * 37 % 100]),
    "2D": packing(100, 2),
    "3D": packing(125, 3),
    "walls": (packing(100, 2)[0], np.vstack([packing(100, 2)[1], np.c_[LINE, 0 * LINE - 1]])),
    "all at one point": (np.zeros((100, 2)), packing(100, 2)[1]),
    "twice": (packing(100, 2)[0], np.vstack([packing(100, 2)[1], packing(100, 2)[1][::-1, ::-1]])),
    "piston": hub(100),
    "periodic": lattice(12),
    "periodic, narrow": lattice(2),  # each pair twice
    "islands": islands(),
    "everyone": (np.random.default_rng(0).random((80, 3)), np.argwhere(np.tri(80, k=-1))),
}


# ---------------------------------------------------------------------- against dense algebra
@pytest.mark.parametrize("name", GRAPHS)
def test_solves_and_signs_as_dense_algebra(name: str) -> None:
    graph = GRAPHS[name]
    w = 3 * graph[0].shape[1] - 3
    lu = elimination(graph, w)
    for seed in range(3):  # one analysis, several matrices
        diagonal, pairs = blocks(graph, 2.0, coupling=3.0, seed=seed)
        k = matrix(graph, diagonal, pairs)
        dense = k.toarray()
        assert lu.factorize(diagonal, pairs) == np.linalg.slogdet(dense)[0]
        b = np.random.default_rng(seed).standard_normal((len(graph[0]), w))
        x, known = lu.solve(b), np.linalg.solve(dense, b.ravel())
        assert residual(k, x, b) < 1e-14
        np.testing.assert_allclose(x.ravel(), known, rtol=0, atol=1e-8 * np.abs(known).max())


def test_both_signs_occur() -> None:
    """With strong coupling; D is then far from definite, and so is K."""
    graph = packing(100, 2)
    lu = elimination(graph, 3)
    seen = {lu.factorize(*blocks(graph, 2.0, coupling=3.0, seed=seed)) for seed in range(12)}
    assert seen == {-1.0, 1.0}


def test_nothing() -> None:
    lu = Elimination(np.zeros((0, 2)), np.zeros(0, np.int32), np.zeros(0, np.int32), 3)
    assert lu.factorize(np.zeros((0, 3, 3)), np.zeros((0, 2, 3, 3))) == 1.0
    assert lu.solve(np.zeros((0, 3))).shape == (0, 3)


# ---------------------------------------------------------------------- accuracy
@pytest.mark.parametrize("coupling", [0.0, 0.5, 1.0])
@pytest.mark.parametrize(("n", "dim"), [(400, 2), (216, 3)])
def test_residual_over_sixteen_decades(n: int, dim: int, coupling: float) -> None:
    graph = packing(n, dim)
    w = 3 * dim - 3
    lu = elimination(graph, w)
    for seed in range(5):
        diagonal, pairs = blocks(graph, 16.0, coupling, seed)
        k = matrix(graph, diagonal, pairs)
        b = np.random.default_rng(seed).standard_normal((len(graph[0]), w))
        assert abs(lu.factorize(diagonal, pairs)) == 1.0
        ours = residual(k, lu.solve(b), b)
        assert ours < 1e-14
        assert ours < 100.0 * residual(k, splu(k).solve(b.ravel()), b)


def test_large_fronts() -> None:
    """Fronts of many panels and tiles, such as only 3D has."""
    graph = packing(512, 3)
    diagonal, pairs = blocks(graph, 8.0)
    lu = elimination(graph, 6)
    assert np.diff(lu._fronts.starts).max() * 6 > 200
    k = matrix(graph, diagonal, pairs)
    b = np.ones((512, 6))
    factors = splu(k, permc_spec="MMD_AT_PLUS_A")
    sign = np.prod(np.sign(factors.U.diagonal())) * parity(factors.perm_r) * parity(factors.perm_c)
    assert lu.factorize(diagonal, pairs) == sign
    assert residual(k, lu.solve(b), b) < 1e-15


def test_zero_diagonal_is_exchanged() -> None:
    """A block [[0, 1], [1, 0]] has no pivot on its diagonal, and determinant −1."""
    lu = Elimination(np.zeros((3, 2)), np.zeros(0, np.int32), np.zeros(0, np.int32), 3)
    swap = np.eye(3)[[1, 0, 2]]
    assert lu.factorize(np.stack([swap] * 3), np.zeros((0, 2, 3, 3))) == -1.0
    b = np.arange(9.0).reshape(3, 3)
    assert (lu.solve(b) == b[:, [1, 0, 2]]).all()


@pytest.mark.parametrize("bad", [0.0, np.nan, np.inf])
def test_singular_or_not_finite_gives_zero(bad: float) -> None:
    graph = packing(100, 2)
    diagonal, pairs = blocks(graph)
    lu = elimination(graph, 3)
    touching = (graph[1] == 17).any(axis=1)
    pairs[touching] = 0.0
    diagonal[17] = bad * np.ones((3, 3))
    assert lu.factorize(diagonal, pairs) == 0.0
    diagonal[17] = np.eye(3)
    assert abs(lu.factorize(diagonal, pairs)) == 1.0  # nothing is left of the failure


# ---------------------------------------------------------------------- cost
def test_factors_grow_as_nested_dissection_does() -> None:
    """n log n entries in 2D, and n^(4/3) in 3D; a banded matrix would have n^(3/2), n^(5/3)."""

    def entries(n: int, dim: int) -> float:
        return elimination(packing(n, dim), 3 * dim - 3)._store.lu.size / n

    assert entries(6400, 2) < 1.45 * entries(400, 2)  # log: 1.46, √: 4
    assert entries(4096, 3) < 2.6 * entries(512, 3)  # ∛: 2, n^⅔: 4


def test_a_piston_costs_little() -> None:
    plain, with_piston = packing(1600, 2), hub(1600)
    sizes = [elimination(g, 3)._store.lu.size for g in (plain, with_piston)]
    assert sizes[1] < 1.6 * sizes[0]


# ---------------------------------------------------------------------- form
def test_several_right_hand_sides() -> None:
    graph = packing(100, 2)
    lu = elimination(graph, 3)
    lu.factorize(*blocks(graph))
    b = np.random.default_rng(1).standard_normal((100, 3, 2))
    kept = b.copy()
    x = lu.solve(b)
    assert (b == kept).all()
    assert (x[..., 0] == lu.solve(b[..., 0])).all()
    assert (x[..., 1] == lu.solve(b[..., 1])).all()


SCRIPT = """
import hashlib, sys
sys.path.insert(0, {folder!r})
from hardgrain.solve import elimination as module
from test_elimination import blocks, elimination, packing
module.TOGETHER = float(sys.argv[1])
graph = packing(512, 3)
lu = elimination(graph, 6)
diagonal, pairs = blocks(graph, 8.0)
lu.factorize(diagonal, pairs)
print(hashlib.sha256(lu.solve(diagonal[:, 0]).tobytes()).hexdigest())
"""


def solved_elsewhere(together: str, **environment: str) -> str:
    script = SCRIPT.format(folder=os.path.dirname(__file__))
    done = subprocess.run(
        [sys.executable, "-c", script, together], env={**os.environ, **environment},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert len(done.stdout.strip()) == 64
    return done.stdout


def test_same_bits_on_any_number_of_threads() -> None:
    one, two = (solved_elsewhere("inf", OPENBLAS_NUM_THREADS=threads) for threads in ("1", "2"))
    assert one == two


def test_same_bits_however_many_threads_share() -> None:
    """Threads without work sleep here, since on a busy machine waiting in a loop takes for ever."""
    passive = {"OMP_WAIT_POLICY": "passive"}
    one, two, five = (
        solved_elsewhere("0", NUMBA_NUM_THREADS=threads, **passive) for threads in ("1", "2", "5")
    )
    assert one == two == five


@pytest.mark.rounding
@pytest.mark.another_processor
@pytest.mark.parametrize("together", ["inf", "0"])
def test_same_bits_compiled_or_loaded(tmp_path, together: str) -> None:
    """The first process compiles, the second loads what it left."""
    cache = {"HARDGRAIN_CACHE": str(tmp_path), "NUMBA_NUM_THREADS": "1"}
    compiled, loaded = (solved_elsewhere(together, **cache) for _ in range(2))
    assert compiled == loaded


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Factorisations are made as several threads make them, here by one."""
    monkeypatch.setattr("hardgrain.solve.elimination.TOGETHER", 0.0)
    threads = numba.get_num_threads()
    numba.set_num_threads(1)
    yield
    numba.set_num_threads(threads)


@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize("name", GRAPHS)
def test_shared_factorisations_solve_and_sign_as_dense_algebra(name: str) -> None:
    test_solves_and_signs_as_dense_algebra(name)


@pytest.mark.usefixtures("shared")
def test_large_fronts_are_shared() -> None:
    graph = packing(512, 3)
    crew = elimination(graph, 6)._crew
    assert crew is not None
    branches, fronts = crew.starts.size - 1, crew.fronts
    assert branches > 10
    assert fronts.size > crew.starts[-1]
    assert (np.sort(fronts) == np.arange(fronts.size)).all()  # each of them once
    test_large_fronts()


@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize("bad", [0.0, np.nan, np.inf])
def test_shared_singular_or_not_finite_gives_zero(bad: float) -> None:
    test_singular_or_not_finite_gives_zero(bad)
