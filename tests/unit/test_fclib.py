"""FCLIB's files: what is written is read, what others write is read, what is wrong is said."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
from scipy import sparse

import hardgrain as hg
from hardgrain.errors import InputError
from hardgrain.io import fclib
from hardgrain.solve.matrices import GlobalForm, LocalForm, coulomb_residual

SAMPLES = Path(__file__).parents[2].parent / "shared" / "fclib"
ABSENT = f"the sample problems are not there ({SAMPLES.name} in a folder beside the project)"
needs_samples = pytest.mark.skipif(not (SAMPLES / "manifest.json").is_file(), reason=ABSENT)


def listed():
    path = SAMPLES / "manifest.json"
    return json.loads(path.read_text()) if path.is_file() else []


def a_form(dim=2, m=4, n=10, seed=0):
    """Random bodies with full mass matrices of two components each."""
    rng = np.random.default_rng(seed)
    blocks = [a @ a.T + np.eye(2) for a in rng.normal(size=(n // 2, 2, 2))]
    h = rng.normal(size=(dim * m, n)) * (rng.random((dim * m, n)) < 0.6)
    return GlobalForm(
        dim, sparse.csc_array(sparse.block_diag(blocks)), sparse.csr_array(h),
        rng.normal(size=n), rng.normal(size=dim * m), rng.uniform(0.1, 0.9, m),
    )  # fmt: skip


def same(a, b):
    assert type(a) is type(b)
    assert a.dim == b.dim
    for name in ("mass", "h", "delassus"):
        if hasattr(a, name):
            assert np.array_equal(getattr(a, name).toarray(), getattr(b, name).toarray())
    for name in ("f", "w", "q", "mu"):
        if hasattr(a, name):
            assert np.array_equal(getattr(a, name), getattr(b, name))


# ------------------------------------------------------------------------------ there and back
@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("local", [False, True])
def test_what_is_written_is_read_bit_by_bit(tmp_path, dim, local):
    form = a_form(dim)
    form = form.local() if local else form
    path = tmp_path / "problem.hdf5"
    fclib.write(path, form, info={"title": "A title", "description": "Über µ"})
    same(fclib.read(path), form)
    assert fclib.read_info(path) == {"title": "A title", "description": "Über µ", "math_info": ""}
    assert fclib.read_solution(path) == {}


def test_the_layout_is_the_one_that_c_reads(tmp_path):
    form, path = a_form(3), tmp_path / "problem.hdf5"
    fclib.write(path, form, info={"title": "word"})
    with h5py.File(path) as h5:
        assert list(h5) == ["fclib_global"]
        group = h5["fclib_global"]
        assert sorted(group) == ["H", "M", "info", "spacedim", "vectors"]
        assert group["spacedim"].shape == (1,)
        h = group["H"]
        assert [int(h[name][0]) for name in ("m", "n", "nz", "nzmax")] == [
            10, 12, form.h.nnz, form.h.nnz,
        ]  # fmt: skip
        assert h["p"][:].max() < 12  # columns of H, which are rows of ours
        k = 3
        assert form.h[int(h["p"][k]), int(h["i"][k])] == h["x"][k]
        for name in ("m", "n", "nz", "nzmax", "p", "i"):
            assert h[name].dtype == np.dtype("<i4")
            assert h[name].chunks is None
        assert h["x"].dtype == group["vectors/f"].dtype == np.dtype("<f8")
        title = group["info/title"].id.get_type()
        assert title.get_size() == 5
        assert title.get_strpad() == h5py.h5t.STR_NULLTERM
        assert not title.is_variable_str()
        assert group["info/description"].id.get_type().get_size() == 1
    fclib.write(tmp_path / "local.hdf5", form.local())
    with h5py.File(tmp_path / "local.hdf5") as h5:
        w = h5["fclib_local/W"]
        assert w["nz"][0] == -2
        assert w["p"].shape == (13,)
        assert w["p"][-1] == w["nzmax"][0] == w["x"].size


def test_a_file_is_not_overwritten_unless_asked(tmp_path):
    path = tmp_path / "problem.hdf5"
    fclib.write(path, a_form())
    with pytest.raises(InputError, match="exists already"):
        fclib.write(path, a_form(3))
    fclib.write(path, a_form(3), overwrite=True)
    assert fclib.read(path).dim == 3
    with pytest.raises(InputError, match="is a folder"):
        fclib.write(tmp_path, a_form())
    with pytest.raises(InputError, match="does not exist"):
        fclib.write(tmp_path / "no" / "problem.hdf5", a_form())
    assert [p.name for p in tmp_path.iterdir()] == ["problem.hdf5"]


# ---------------------------------------------------------------------------------- solutions
def test_a_solution_replaces_what_was_there_and_nothing_else(tmp_path):
    form, path = a_form(3), tmp_path / "problem.hdf5"
    fclib.write(path, form)
    with h5py.File(path, "a") as h5:
        h5["solution/r"] = np.zeros(5)  # of another size
        h5["solution/l"] = np.ones(2)
        h5["guesses/1/r"] = np.arange(12.0)
        h5["fclib_global/info"].attrs["numberOfInvolvedDS"] = 5
    for sweeps in (1, 5):
        found = hg.GaussSeidel(sweeps=sweeps).solve(form, seed=0, step=0)
        fclib.write_solution(path, found)
        stored = fclib.read_solution(path)
        assert sorted(stored) == ["r", "u", "v"]
        for name in stored:
            assert np.array_equal(stored[name], getattr(found, name))
    with h5py.File(path) as h5:
        assert sorted(h5["solution"]) == ["r", "u", "v"]
        assert np.array_equal(h5["guesses/1/r"], np.arange(12.0))
        assert h5["fclib_global/info"].attrs["numberOfInvolvedDS"] == 5
    same(fclib.read(path), form)
    assert [p.name for p in tmp_path.iterdir()] == ["problem.hdf5"]


def test_a_failure_in_the_middle_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    form, path = a_form(), tmp_path / "problem.hdf5"
    fclib.write(path, form)
    before = path.read_bytes()
    found = hg.GaussSeidel(sweeps=2).solve(form, seed=0, step=0)

    def fails(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("hardgrain.io.fclib.os.fsync", fails)
    with pytest.raises(hg.RunError, match="No space left"):
        fclib.write_solution(path, found)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["problem.hdf5"]


def test_a_link_stays_a_link_and_modes_stay(tmp_path):
    form = a_form()
    fclib.write(tmp_path / "real.hdf5", form)
    (tmp_path / "real.hdf5").chmod(0o640)
    (tmp_path / "link.hdf5").symlink_to("real.hdf5")
    found = hg.GaussSeidel(sweeps=2).solve(form, seed=0, step=0)
    fclib.write_solution(tmp_path / "link.hdf5", found)
    assert (tmp_path / "link.hdf5").is_symlink()
    assert (tmp_path / "real.hdf5").stat().st_mode & 0o777 == 0o640
    assert np.array_equal(fclib.read_solution(tmp_path / "real.hdf5")["r"], found.r)


def test_a_read_only_file_is_left_alone_even_by_root(tmp_path):
    form, path = a_form(), tmp_path / "problem.hdf5"
    fclib.write(path, form)
    path.chmod(0o444)
    with pytest.raises(InputError, match="read-only"):
        fclib.write_solution(path, hg.GaussSeidel(sweeps=2).solve(form, seed=0, step=0))
    assert fclib.read_solution(path) == {}


def test_a_solution_of_another_problem_is_refused(tmp_path):
    path = tmp_path / "problem.hdf5"
    fclib.write(path, a_form(2))
    other = hg.GaussSeidel(sweeps=2).solve(a_form(2, m=5), seed=0, step=0)
    with pytest.raises(InputError, match="10 rows cannot belong to 4 contacts"):
        fclib.write_solution(path, other)


# ------------------------------------------------------------------------- others' ways to write
def put(group, matrix, kind):
    """A matrix in one of the three kinds."""
    x = matrix.tocoo()
    if kind < 0:
        x = sparse.csc_array(matrix) if kind == -1 else sparse.csr_array(matrix)
        p, i, values = x.indptr, x.indices, x.data
    else:
        p, i, values, kind = x.col, x.row, x.data, x.nnz
    for name, number in zip(("nzmax", "m", "n", "nz"), (x.nnz, *x.shape, kind)):
        group[name] = np.array([number], np.int32)
    group["p"], group["i"], group["x"] = p.astype(np.int32), i.astype(np.int32), values


def by_hand(path, form, kind=0, mass=None):
    with h5py.File(path, "w") as h5:
        group = h5.create_group("fclib_global")
        group["spacedim"] = np.array([form.dim], np.int32)
        put(group.create_group("M"), form.mass if mass is None else mass, kind)
        put(group.create_group("H"), form.h.T, kind)
        for name in ("f", "w", "mu"):
            group[f"vectors/{name}"] = getattr(form, name)
    return path


@pytest.mark.parametrize("kind", [0, -1, -2])
def test_all_kinds_of_matrices(tmp_path, kind):
    form = a_form(3, m=5)
    same(fclib.read(by_hand(tmp_path / "x.hdf5", form, kind)), form)


@pytest.mark.parametrize("half", [sparse.triu, sparse.tril])
def test_half_a_mass_matrix_is_mirrored(tmp_path, half):
    form = a_form(3)
    same(fclib.read(by_hand(tmp_path / "x.hdf5", form, mass=half(form.mass))), form)


def test_triplets_may_be_given_twice_and_arrays_may_be_longer(tmp_path):
    form = a_form()
    path = by_hand(tmp_path / "x.hdf5", form)
    with h5py.File(path, "a") as h5:
        m = h5["fclib_global/M"]
        for name in ("p", "i", "x"):
            data = m[name][:]
            del m[name]
            tail = np.full(3, 10**6 if name != "x" else np.nan).astype(data.dtype)
            m[name] = np.concatenate([data, data, tail])
        m["x"][: 2 * form.mass.nnz] /= 2.0
        m["nz"][0] = 2 * form.mass.nnz
    same(fclib.read(path), form)


def test_scalars_may_have_no_shape(tmp_path):
    form = a_form()
    path = by_hand(tmp_path / "x.hdf5", form)
    with h5py.File(path, "a") as h5:
        del h5["fclib_global/spacedim"]
        h5["fclib_global/spacedim"] = np.int32(2)
    same(fclib.read(path), form)


# ------------------------------------------------------------------------------- what is wrong
def changed(name, value):
    def change(h5):
        if name in h5:
            del h5[name]
        if value is not None:
            h5[name] = value

    return change


def one_entry(name, k, value):
    def change(h5):
        h5[name][k] = value

    return change


G = "fclib_global"
WRONG = [
    (changed(f"{G}/spacedim", None), "spacedim is missing"),
    (changed(f"{G}/spacedim", np.array([4])), "spacedim is 4; it must be 2 or 3"),
    (changed(f"{G}/spacedim", np.array([5])), "resist rolling"),
    (changed(f"{G}/spacedim", np.array([3])), "4 contacts in 3D have 12 rows, not 8"),
    (changed(f"{G}/spacedim", np.array([2, 2])), "spacedim must be a single number"),
    (changed(f"{G}/spacedim", np.array([2.5])), "spacedim must be a row of integers"),
    (changed(f"{G}/M", None), "the matrix M is missing"),
    (changed(f"{G}/H/p", None), "H/p is missing"),
    (changed(f"{G}/H/x", np.zeros(3)), "H has fewer than nz = "),
    (changed(f"{G}/H/x", np.zeros((3, 3))), "H/x must be a row of real numbers"),
    (changed(f"{G}/H/m", np.array([7])), "H is 7 × 8; its vectors make it 10 × 8"),
    (changed(f"{G}/M/m", np.array([2**31 - 1])), "M is 2147483647 × 10; its vectors make it 10"),
    (changed(f"{G}/H/n", np.array([30])), "H is 10 × 30; its vectors make it 10 × 8"),
    (changed(f"{G}/H/n", np.array([-1])), "H is 10 × -1; its vectors make it 10 × 8"),
    (changed(f"{G}/H/nz", np.array([-3])), "H/nz is -3; it must be −1, −2"),
    (changed(f"{G}/H/nz", np.array([-2])), "H/p must hold 11 numbers that rise from 0"),
    (one_entry(f"{G}/H/p", 2, 99), "H/p holds 99; it must be from 0 to 7"),
    (one_entry(f"{G}/H/i", 2, -1), "H/i holds -1; it must be from 0 to 9"),
    (one_entry(f"{G}/H/x", 2, np.nan), "H/x holds nan at 2; all must be finite"),
    (one_entry(f"{G}/vectors/f", 1, np.inf), "f holds inf at 1; all must be finite"),
    (one_entry(f"{G}/vectors/mu", 1, -0.3), "µ of contact 1 is -0.3; it must not be negative"),
    (one_entry(f"{G}/vectors/mu", 1, np.nan), "mu holds nan at 1"),
    (changed(f"{G}/vectors/w", np.zeros(6)), "H is 10 × 8; its vectors make it 10 × 6"),
    (changed(f"{G}/vectors", None), "the group vectors is missing"),
    (changed(f"{G}/vectors/mu", "word"), "mu must be a row of real numbers"),
    (changed(f"{G}/G", np.zeros(3)), r"equality constraints \(G, b\)"),
    (changed("fclib_local/W", np.zeros(3)), "more than one contact problem"),
]


@pytest.mark.parametrize(("change", "says"), WRONG, ids=[says[:40] for _, says in WRONG])
def test_what_is_wrong_is_said_in_a_sentence(tmp_path, change, says):
    path = by_hand(tmp_path / "x.hdf5", a_form())
    fclib.read(path)
    with h5py.File(path, "a") as h5:
        change(h5)
    with pytest.raises(InputError, match=says) as error:
        fclib.read(path)
    assert "\n" not in str(error.value)
    assert "x.hdf5" in str(error.value)


def test_constraints_of_a_local_form_are_refused(tmp_path):
    path = tmp_path / "x.hdf5"
    fclib.write(path, a_form().local())
    with h5py.File(path, "a") as h5:
        h5["fclib_local"].create_group("V")
    with pytest.raises(InputError, match=r"equality constraints \(V, R, s\)"):
        fclib.read(path)


def test_rolling_problems_are_refused_by_name(tmp_path):
    with h5py.File(tmp_path / "x.hdf5", "w") as h5:
        h5.create_group("fclib_global_rolling")
    with pytest.raises(InputError, match="resist rolling"):
        fclib.read(tmp_path / "x.hdf5")


def test_files_that_are_something_else(tmp_path):
    (tmp_path / "text").write_text("0 1 2\n")
    (tmp_path / "empty").write_bytes(b"")
    with h5py.File(tmp_path / "other.h5", "w") as h5:
        h5["x"] = 1
    fclib.write(tmp_path / "whole", a_form())
    (tmp_path / "cut").write_bytes((tmp_path / "whole").read_bytes()[:900])
    for name, says in (
        ("absent", "does not exist"),
        ("", "is a folder"),
        ("text", "is not an HDF5 file"),
        ("empty", "is not an HDF5 file"),
        ("other.h5", "holds no contact problem"),
        ("cut", "is damaged"),
    ):
        with pytest.raises(InputError, match=says):
            fclib.read(tmp_path / name)


# ----------------------------------------------------------------------------- the sample files
@needs_samples
@pytest.mark.parametrize("entry", listed(), ids=lambda entry: entry["file"])
def test_every_sample_is_what_its_list_says(entry):
    form = fclib.read(SAMPLES / entry["file"])
    assert isinstance(form, LocalForm if entry["kind"] == "fclib_local" else GlobalForm)
    assert (form.dim, form.contacts) == (entry["spacedim"], entry["ncontacts"])
    assert [form.mu.min(), form.mu.max()] == pytest.approx(entry["mu"])
    local = form.local()
    assert local.delassus.diagonal().mean() == pytest.approx(entry["mean_diag_W"])
    assert np.linalg.norm(local.q) == pytest.approx(entry["norm_q"])
    odd = abs(local.delassus - local.delassus.T).max() / abs(local.delassus).max()
    assert odd == pytest.approx(entry["asym_W"], rel=0.1, abs=1e-12)
    assert fclib.read_info(SAMPLES / entry["file"])["title"]


@needs_samples
@pytest.mark.parametrize("entry", listed(), ids=lambda entry: entry["file"])
def test_every_sample_survives_the_way_there_and_back(tmp_path, entry):
    form = fclib.read(SAMPLES / entry["file"])
    fclib.write(tmp_path / "copy.hdf5", form)
    same(fclib.read(tmp_path / "copy.hdf5"), form)


@needs_samples
@pytest.mark.parametrize("entry", listed(), ids=lambda entry: entry["file"])
def test_sweeps_solve_every_sample(entry):
    """To 10⁻⁶, where no more than some thousand sweeps are needed; else as far as these go."""
    form = fclib.read(SAMPLES / entry["file"])
    slow = {"local_problem_test.hdf5": 1e-3, "spheres-in-a-box-98-i10000-256-10.hdf5": 1e-3}
    found = hg.GaussSeidel(sweeps=3000).solve(form, seed=0, step=0)
    assert coulomb_residual(form, found.r) < slow.get(entry["file"], 1e-6)
    local = form.local()
    np.testing.assert_allclose(
        found.u, local.contact_velocity(found.r), atol=1e-9 * np.abs(found.u).max()
    )
    r = found.r.reshape(-1, form.dim)
    assert (np.linalg.norm(r[:, 1:], axis=1) <= form.mu * r[:, 0] * (1 + 1e-9)).all()


@needs_samples
def test_a_solution_can_be_put_into_a_sample(tmp_path):
    name = "Capsules-i97-269.hdf5"
    shutil.copyfile(SAMPLES / name, tmp_path / name)
    form = fclib.read(tmp_path / name)
    assert not fclib.read_solution(tmp_path / name)["r"].any()
    fclib.write_solution(
        tmp_path / name, replace(hg.GaussSeidel(sweeps=300).solve(form, seed=0, step=0))
    )
    r = fclib.read_solution(tmp_path / name)["r"]
    assert coulomb_residual(form, r) < 1e-5
