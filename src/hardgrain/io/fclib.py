"""Frictional contact problems in FCLIB's HDF5 layout, read and written.

    /fclib_local    u = W r + q                          spacedim, W/, vectors/{q, mu}, info/
    /fclib_global   M v = H r + f,  u = Hᵀ v + w         spacedim, M/, H/, vectors/{f, w, mu}, info/
    /solution       u, r and, of global problems, v

Contact k owns components dim·k …, the normal first. Everything is a dataset: int32, float64, and
strings of fixed length that end with a NUL, as C reads them; scalars have shape (1,). A matrix is a
group with nzmax, m (rows), n (columns), nz and p, i, x:

    nz ≥ 0    triplets: i rows, p columns, each of length nz (FCLIB's header has them the other way
              round; all files have them so)
    nz = −1   compressed columns: p starts of columns, i rows
    nz = −2   compressed rows: p starts of rows, i columns

Some writers leave out the lower triangle of M, which is then mirrored. W is taken as it is, though
some writers' is not quite symmetric. Equality constraints (V, R, s; G, b) and rolling friction are
refused.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csc_array, csr_array, tril, triu

from hardgrain.core.model import Floats
from hardgrain.errors import InputError, RunError
from hardgrain.io.whole import check_target, whole
from hardgrain.solve.matrices import GlobalForm, LocalForm, MatrixSolution

__all__ = ["check_writable", "read", "read_info", "read_solution", "write", "write_solution"]

LOCAL, GLOBAL, ROLLING = "fclib_local", "fclib_global", "fclib_global_rolling"
TEXTS = ("title", "description", "math_info")
_DEEP = 3  # [levels] depth of groups in the layout; deeper ones are not looked into
_PACKED = 100  # [1] largest compression that is believed; more would fill the memory
MOST = np.iinfo(np.int32).max  # [entries] most of a matrix that the layout can count


# ------------------------------------------------------------------------------------------ read
def read(path: str | Path) -> GlobalForm | LocalForm:
    """The problem that a file holds."""
    with _open(Path(path)) as h5:
        return _local(h5[LOCAL]) if LOCAL in h5 else _global(h5[GLOBAL])


def read_info(path: str | Path) -> dict[str, str]:
    """Title, description and math_info, as far as the file has them."""
    with _open(Path(path)) as h5:
        info = h5[LOCAL if LOCAL in h5 else GLOBAL].get("info", {})
        return {name: _text(info[name]) for name in TEXTS if name in info}


def read_solution(path: str | Path) -> dict[str, Floats]:
    """What the file's group ``solution`` holds: u, r and perhaps v; empty where there is none."""
    with _open(Path(path)) as h5:
        group = h5.get("solution", {})
        return {name: _reals(group, name) for name in ("u", "r", "v") if name in group}


def _local(group: Any) -> LocalForm:
    if "V" in group or "R" in group:
        raise InputError("it has equality constraints (V, R, s), which no solver here knows")
    dim = _dimension(group)
    q, mu = (_vector(group, name) for name in ("q", "mu"))
    return LocalForm(dim, csr_array(_matrix(group, "W", (q.size, q.size))), q, mu)


def _global(group: Any) -> GlobalForm:
    if "G" in group:
        raise InputError("it has equality constraints (G, b), which no solver here knows")
    dim = _dimension(group)
    f, w, mu = (_vector(group, name) for name in ("f", "w", "mu"))
    mass = csc_array(_matrix(group, "M", (f.size, f.size)))
    h = _matrix(group, "H", (f.size, w.size))
    below, above = tril(mass, -1), triu(mass, 1)
    if (below.nnz == 0) != (above.nnz == 0):
        mass = csc_array(mass + (above if below.nnz == 0 else below).T)
    return GlobalForm(dim, mass, csr_array(h.T), f, w, mu)


def _dimension(group: Any) -> int:
    dim = _integer(group, "spacedim")
    if dim == 5:
        raise InputError("its contacts resist rolling (spacedim 5), which no solver here knows")
    if dim not in (2, 3):
        raise InputError(f"spacedim is {dim}; it must be 2 or 3")
    return dim


def _vector(group: Any, name: str) -> Floats:
    if "vectors" not in group:
        raise InputError("the group vectors is missing")
    return _finite(_reals(group["vectors"], name), name)


def _matrix(group: Any, name: str, shape: tuple[int, int]) -> Any:
    """A matrix of any kind, as SciPy has it, of the shape that the vectors ask for."""
    if not isinstance(group.get(name), h5py.Group):
        raise InputError(f"the matrix {name} is missing")
    stored = group[name]
    rows, columns, kind = (_integer(stored, part, name) for part in ("m", "n", "nz"))
    p, i, x = (
        _integers(stored, "p", name), _integers(stored, "i", name), _reals(stored, "x", name)
    )  # fmt: skip
    if (rows, columns) != shape:
        asked = " × ".join(map(str, shape))
        raise InputError(f"{name} is {rows} × {columns}; its vectors make it {asked}")
    if kind >= 0:
        if min(p.size, i.size, x.size) < kind:
            raise InputError(f"{name} has fewer than nz = {kind} entries")
        p, i, x = p[:kind], i[:kind], x[:kind]
        _within(i, rows, f"{name}/i")
        _within(p, columns, f"{name}/p")
        _finite(x, f"{name}/x")
        return coo_array((x, (i, p)), shape=(rows, columns)).tocsr()
    if kind not in (-1, -2):
        raise InputError(f"{name}/nz is {kind}; it must be −1, −2 or a number of entries")
    across, along = (columns, rows) if kind == -1 else (rows, columns)
    if p.size != across + 1 or p[0] != 0 or (np.diff(p) < 0).any():
        raise InputError(f"{name}/p must hold {across + 1} numbers that rise from 0")
    if min(i.size, x.size) < p[-1]:
        raise InputError(f"{name} has fewer than {p[-1]} entries, the last of {name}/p")
    i, x = i[: p[-1]], x[: p[-1]]
    _within(i, along, f"{name}/i")
    _finite(x, f"{name}/x")
    kinds = csc_array if kind == -1 else csr_array
    matrix = kinds((x, i, p), shape=(rows, columns))
    matrix.sum_duplicates()
    return matrix


def _within(index: NDArray[np.int32], size: int, name: str) -> None:
    wrong = np.flatnonzero((index < 0) | (index >= size))
    if wrong.size:
        raise InputError(f"{name} holds {index[wrong[0]]}; it must be from 0 to {size - 1}")


def _integer(group: Any, name: str, matrix: str = "") -> int:
    value = _integers(group, name, matrix)
    if value.size != 1:
        raise InputError(f"{_name(matrix, name)} must be a single number, not {value.size}")
    return int(value[0])


def _integers(group: Any, name: str, matrix: str = "") -> NDArray[np.int32]:
    data = _data(group, name, matrix, "iu", "integers")
    if data.size and (data.min() < -MOST or data.max() > MOST):
        raise InputError(f"{_name(matrix, name)} holds numbers beyond 32 bits")
    numbers: NDArray[np.int32] = data.astype(np.int32)
    return numbers


def _reals(group: Any, name: str, matrix: str = "") -> Floats:
    data: Floats = _data(group, name, matrix, "fiu", "real numbers").astype(np.float64)
    return data


def _finite(data: Floats, name: str) -> Floats:
    wrong = np.flatnonzero(~np.isfinite(data))
    if wrong.size:
        k = int(wrong[0])
        raise InputError(f"{name} holds {data[k]} at {k}; all must be finite")
    return data


def _data(group: Any, name: str, matrix: str, kinds: str, words: str) -> Any:
    stored = group.get(name)
    if not isinstance(stored, h5py.Dataset):
        raise InputError(f"{_name(matrix, name)} is missing")
    if stored.dtype.kind not in kinds or len(stored.shape) > 1:
        raise InputError(f"{_name(matrix, name)} must be a row of {words}")
    how, there = stored.id.get_create_plist(), stored.file.id.get_filesize()
    if how.get_nfilters():  # it is compressed
        there *= _PACKED
    if how.get_external_count() or stored.nbytes > there:
        raise InputError(f"{_name(matrix, name)} declares more than the file holds")
    return np.atleast_1d(stored[()])


def _name(matrix: str, name: str) -> str:
    return f"{matrix}/{name}" if matrix else name


def _text(stored: Any) -> str:
    value = stored[()]
    raw = value if isinstance(value, bytes) else str(value).encode()
    return raw.split(b"\0")[0].decode(errors="replace").strip()


@contextmanager
def _open(path: Path) -> Iterator[Any]:
    """A file that holds one problem, or one sentence that says why not."""
    if not path.exists():
        raise InputError(f"{path} does not exist; give an FCLIB file (HDF5)")
    if path.is_dir():
        raise InputError(f"{path} is a folder; give an FCLIB file (HDF5)")
    try:
        with path.open("rb"):
            pass
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    try:
        h5 = h5py.File(path, "r")
    except (OSError, RuntimeError):
        known = h5py.is_hdf5(path)
        why = "is damaged: HDF5 cannot open it" if known else "is not an HDF5 file"
        raise InputError(f"{path} {why}; give an FCLIB file") from None
    with h5:
        try:
            _refuse_others(h5)
            yield h5
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
        except Exception as error:  # h5py raises many kinds of errors
            raise InputError(f"{path} is damaged: HDF5 cannot read it") from error


def _refuse_links(group: Any, depth: int = 0) -> None:
    """Refuse links, which could lead to other files."""
    for name in group:
        if group.id.links.get_info(name.encode()).type != h5py.h5l.TYPE_HARD:
            raise InputError(f"{name} is a link to elsewhere")
        if isinstance(group[name], h5py.Group) and depth < _DEEP:
            _refuse_links(group[name], depth + 1)


def _refuse_others(h5: Any) -> None:
    _refuse_links(h5)
    found = [name for name in (LOCAL, GLOBAL) if isinstance(h5.get(name), h5py.Group)]
    if not found and ROLLING in h5:
        raise InputError(f"its contacts resist rolling ({ROLLING}), which no solver here knows")
    if len(found) != 1:
        has = "more than one contact problem" if found else "no contact problem"
        raise InputError(f"it holds {has}; FCLIB files have one group {LOCAL} or {GLOBAL}")


# ----------------------------------------------------------------------------------------- write
def write(
    path: str | Path,
    form: GlobalForm | LocalForm,
    *,
    info: Mapping[str, str] | None = None,
    overwrite: bool = False,
) -> None:
    """Write a problem to a new file; ``info`` may have a title, a description and math_info."""
    path = Path(path)
    check_target(path, overwrite=overwrite)

    def fill(h5: Any) -> None:
        if isinstance(form, LocalForm):
            group, vectors = h5.create_group(LOCAL), {"q": form.q, "mu": form.mu}
            _write_rows(group.create_group("W"), form.delassus)
        else:
            group, vectors = h5.create_group(GLOBAL), {"f": form.f, "w": form.w, "mu": form.mu}
            _write_triplets(group.create_group("M"), form.mass)
            _write_triplets(group.create_group("H"), form.h.T)
        group["spacedim"] = np.array([form.dim], np.int32)
        for name, vector in vectors.items():
            group[f"vectors/{name}"] = vector
        about = group.create_group("info")
        for name in TEXTS:
            _write_text(about, name, (info or {}).get(name, ""))

    _replace(path, fill, None)


def check_writable(path: str | Path) -> None:
    """Refuse a file whose solution could not, or by its mode should not, be written."""
    real = Path(path).resolve()
    marked = not (real.stat().st_mode & 0o222 and real.parent.stat().st_mode & 0o222)
    if marked or not (os.access(real, os.W_OK) and os.access(real.parent, os.W_OK)):
        raise InputError(f"{path} or its folder is read-only, so no solution can be written there")


def write_solution(path: str | Path, solution: MatrixSolution) -> None:
    """Put a solution into a file's group ``solution``, in place of what was there.

    Written to a copy that then takes the file's place: whatever happens meanwhile, the file is
    either the old one or the new one.
    """
    check_writable(path)
    vectors = {"u": solution.u, "r": solution.r, "v": solution.v}

    def fill(h5: Any) -> None:
        group = h5.require_group("solution")
        if "l" in group:  # they are the multipliers of another solution
            del group["l"]
        for name, vector in vectors.items():
            old = group.get(name)
            if vector is not None and old is not None and old.shape == vector.shape:
                old[...] = vector
                continue
            if old is not None:
                del group[name]
            if vector is not None:
                group[name] = vector

    path = Path(path)
    with _open(path) as h5:  # opening it checks that it is a problem
        size = h5[LOCAL if LOCAL in h5 else GLOBAL]["vectors/mu"].size
    if size and solution.r.size not in (2 * size, 3 * size):
        raise InputError(f"a solution of {solution.r.size} rows cannot belong to {size} contacts")
    _replace(path, fill, path)


def _replace(path: Path, fill: Callable[[Any], None], old: Path | None) -> None:
    """Fill a new file, or a copy of an old one, and put it in its place in one go."""
    with whole(path) as part:
        if old is not None:
            shutil.copy2(old.resolve(), part)
        try:
            with h5py.File(part, "w" if old is None else "r+") as h5:
                fill(h5)
        except RuntimeError as error:  # h5py raises it now and then when a write fails
            raise RunError(f"{path} cannot be written: {error}") from None
        with part.open("rb") as file:
            os.fsync(file.fileno())


def _write_rows(group: Any, matrix: Any) -> None:
    rows = csr_array(matrix)
    rows.sum_duplicates()
    _write_matrix(group, rows.shape, -2, rows.indptr, rows.indices, rows.data)


def _write_triplets(group: Any, matrix: Any) -> None:
    rows = csr_array(matrix, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    entries = rows.tocoo()
    _write_matrix(group, rows.shape, rows.nnz, entries.col, entries.row, entries.data)


def _write_matrix(group: Any, shape: tuple[int, int], kind: int, p: Any, i: Any, x: Floats) -> None:
    if x.size > MOST:
        raise InputError(f"a matrix of {x.size} entries is too large for FCLIB's 32-bit indices")
    numbers = {"nzmax": x.size, "m": shape[0], "n": shape[1], "nz": kind}
    for name, number in numbers.items():
        group[name] = np.array([number], np.int32)
    group["p"], group["i"] = np.asarray(p, np.int32), np.asarray(i, np.int32)
    group["x"] = np.asarray(x, np.float64)


def _write_text(group: Any, name: str, text: str) -> None:
    """A scalar string of fixed length whose last byte is NUL; h5py would drop it."""
    raw = text.encode().replace(b"\0", b"") + b"\0"
    kind = h5py.h5t.C_S1.copy()
    kind.set_size(len(raw))
    kind.set_strpad(h5py.h5t.STR_NULLTERM)
    space = h5py.h5s.create(h5py.h5s.SCALAR)
    data = h5py.h5d.create(group.id, name.encode(), kind, space)
    data.write(space, space, np.array(raw, dtype=f"S{len(raw)}"), kind)
