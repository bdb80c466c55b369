"""Decorators of compiled code: `jit`, `pjit` for kernels, `device`, `scalar` for their parts.

Kernels are module-level functions, compiled at the first call for the argument types they
meet and kept on disk. Numba notices an edit of the file that holds a kernel, but not of the
files it calls into, and would run old physics. The cache folder is therefore named after a
hash of all kernel sources; an edit anywhere among them compiles everything anew. Nothing else
counts, so that a copy of the folder serves another checkout of the same sources.

The folder lies in `$HARDGRAIN_CACHE`, or else in the user's cache folder.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import logging
import os
import pickle
import platform
import shutil
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from llvmlite.binding import Linkage
from numba import prange, types
from numba.core import cgutils, config, event
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
from numba.core.codegen import CPUCodeLibrary
from numba.core.registry import CPUDispatcher
from numba.extending import intrinsic, overload

__all__ = [
    "announce", "cache_folder", "cgutils", "chosen", "compile_seconds", "device", "inlined",
    "intrinsic", "jit", "ordered", "overload", "pjit", "prange", "scalar", "types",
]  # fmt: skip

F = TypeVar("F", bound=Callable[..., Any])

_ROOT = Path(__file__).resolve().parent
_COMPILED = (
    "kernels", "addresses", "scene/_deposit", "scene/obstacles", "core/cell", "core/geometry",
    "core/lawtable", "core/contact_rows", "core/solids", "core/meshes", "core/wall_kinds", "law",
    "point", "cpu", "contact", "solve", "step", "measure/contact_springs", "forces/edges",
    "forces/walk", "papers/mcnamara2004/implicit",
)  # fmt: skip

# Files among them that compile nothing.
_PLAIN = {
    "cpu/tiled_apart", "solve/hardening", "solve/newton", "solve/path", "solve/rigid",
    "solve/shared_task", "step/cell_dynamics", "step/cell_loads", "step/domains", "step/gathering",
    "step/membrane", "step/part", "step/shared_dynamics", "step/shared_refusals",
}  # fmt: skip

# [folders] So many folders of other versions of the sources are kept, for switching between
# branches. If more are kept, disks fill up; if fewer, switching compiles everything anew.
_KEEP = 4
# [s] Younger folders are never deleted, since a process that has just started may still be writing
# there and would have to compile its kernels at every start.
_SPARE = 3600.0

# Division by zero gives inf as in NumPy, with no check in the loop. The flags nnan and ninf are
# left out, because they would let the compiler remove the tests that catch a run gone wrong.
_OPTIONS: dict[str, Any] = {
    "error_model": "numpy",
    "fastmath": {"nsz", "arcp", "contract", "reassoc"},
}


def _sources() -> list[Path]:
    """All files whose text decides what a kernel computes, sorted."""
    return sorted(
        path
        for name in _COMPILED
        for path in (_ROOT / f"{name}.py", *(_ROOT / name).glob("*.py"))
        if path.is_file() and path.relative_to(_ROOT).with_suffix("").as_posix() not in _PLAIN
    )


def _key() -> str:
    """Hash of all kernel sources and of what compiles them (the CPU is in Numba's own key)."""
    digest = hashlib.sha256()
    for part in (numba.__version__, platform.python_version(), str(config.BOUNDSCHECK)):
        digest.update(part.encode() + b"\0")
    for path in _sources():
        text = path.read_bytes()
        digest.update(f"{path.relative_to(_ROOT).as_posix()}\0{len(text)}\0".encode() + text)
    return digest.hexdigest()[:16]


def _user_cache() -> Path:
    """The platform's place for files that can be made again."""
    home = Path.home()
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "hardgrain"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "hardgrain"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "hardgrain"


def _prune(base: Path, current: Path) -> None:
    """Delete the folders of old sources, except those that another process holds or deletes."""
    ages: list[tuple[float, Path]] = []
    for folder in base.glob("kernels-*"):
        with contextlib.suppress(OSError):
            ages.append((time.time() - folder.stat().st_mtime, folder))
    for age, folder in sorted(ages)[_KEEP:]:
        if age > _SPARE and folder != current:
            shutil.rmtree(folder, ignore_errors=True)


def _open_cache() -> Path:
    """Create the folder for this version of the sources, marked as just used."""
    try:
        base = Path(os.environ.get("HARDGRAIN_CACHE") or _user_cache()).expanduser().absolute()
        folder = base / f"kernels-{_key()}"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()  # this also renews the date of the folder
    except (OSError, RuntimeError):  # the folder is not writable, or the user has no home
        # A fixed name in the shared temporary folder would be unsafe, since Numba unpickles its
        # content.
        folder = Path(tempfile.mkdtemp(prefix="hardgrain-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return folder
    _prune(base, folder)
    return folder


_FOLDER = _open_cache()
_FILES = frozenset(str(path) for path in _sources())
_KERNELS: set[Any] = set()


def cache_folder() -> Path:
    """Folder that holds the compiled kernels of this version of the sources."""
    return _FOLDER


class _Files(IndexDataCacheFile):  # type: ignore[misc]
    """Numba's files of one kernel, each with its checksum, since LLVM aborts on damaged code."""

    def _dump(self, content: Any) -> bytes:
        code: bytes = super()._dump(content)
        return hashlib.sha256(code).digest() + code

    def _load(self, path: str) -> Any:
        data = Path(path).read_bytes()
        size = hashlib.sha256().digest_size
        if hashlib.sha256(data[size:]).digest() != data[:size]:
            raise OSError(f"{path} is damaged")
        return pickle.loads(data[size:])

    def _save_index(self, overloads: dict[Any, str]) -> None:
        with self._open_for_write(self._index_path) as file:
            file.write(self._dump((self._version, self._source_stamp, overloads)))

    def _load_index(self) -> dict[Any, str]:
        with contextlib.suppress(OSError):
            version, stamp, overloads = self._load(self._index_path)
            if (version, stamp) == (self._version, self._source_stamp):
                return cast(dict[Any, str], overloads)
        return {}

    def _load_data(self, name: str) -> Any:
        return self._load(self._data_path(name))


class _Place:
    """Where the files of one kernel lie: in a folder of its module.

    The name of the folder around it vouches for the sources. So neither their place nor their date
    counts: a copy of the cache serves every checkout of the same sources.
    """

    def __init__(self, function: Any) -> None:
        self._py_file, self._line = function.__code__.co_filename, function.__code__.co_firstlineno
        self._path = _FOLDER / function.__module__

    def get_cache_path(self) -> str:
        return str(self._path)

    def ensure_cache_path(self) -> None:
        self._path.mkdir(exist_ok=True)

    def get_source_stamp(self) -> str:
        return ""

    def get_disambiguator(self) -> str:
        return str(self._line)


class _Kept(CompileResultCacheImpl):  # type: ignore[misc]
    """What Numba keeps of a kernel, in our place, whatever the user has set for other code."""

    def __init__(self, function: Any) -> None:
        self._lineno = function.__code__.co_firstlineno
        self._locator = _Place(function)
        flags = getattr(sys, "abiflags", "")
        self._filename_base = self.get_filename_base(function.__qualname__, flags)


class _Cache(FunctionCache):  # type: ignore[misc]
    """Numba's cache of one kernel; a full disk or a damaged file costs time, never the run."""

    _impl_class = _Kept

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        self._cache_file = _Files(self._cache_path, self._impl.filename_base, "")

    def _save_overload(self, sig: Any, data: Any) -> None:
        # Numba counts the files of a kernel. Two processes that start together would both write
        # number 1, and the index of one would name the code of the other.
        base = self._impl.filename_base
        self._cache_file._data_name_pattern = f"{base}.{uuid.uuid4().hex}.{{number:d}}.nbc"
        super()._save_overload(sig, data)

    @contextlib.contextmanager
    def _guard_against_spurious_io_errors(self) -> Iterator[None]:
        with contextlib.suppress(OSError, EOFError, pickle.UnpicklingError):
            yield


def _kernel(function: F, **options: Any) -> F:
    """Compile a kernel and keep it on disk if it is one of ours."""
    # With nogil, Ctrl-C is answered while a kernel runs (`run.interrupt`).
    dispatcher = numba.njit(nogil=True, **_OPTIONS, **options)(function)
    # The key does not cover files elsewhere, such as a user's script; their kernels are compiled at
    # each start.
    if os.path.realpath(function.__code__.co_filename) in _FILES:
        dispatcher._cache = _Cache(function)
    _KERNELS.add(dispatcher)
    return cast(F, dispatcher)


def jit(function: F) -> F:
    """Compile a kernel, at its first call, and keep it on disk."""
    return _kernel(function)


def pjit(function: F) -> F:
    """Like `jit`, with `numba.prange` loops spread over the threads.

    Numba spreads array expressions too, `a.sum()` among them, and adds up by threads. For the same
    bits on any number of them, sums over a kernel's parts are plain loops. What a `prange` loop
    itself writes into the arrays of a record is lost; functions that it calls may write there. It
    can be given no record that holds another one.
    """
    return _kernel(function, parallel=True)


def inlined(function: F) -> F:
    """Write a function out where a kernel calls it: for parts of a long kernel, called once."""
    return cast(F, numba.njit(inline="always", **_OPTIONS)(function))


# A kernel is linked with a copy of every kernel that it calls. The process that compiles both would
# run the one compiled apart, which was there first; those that load the caller from disk run its
# copy, which the compiler may have arranged and rounded otherwise. So each kernel of ours keeps its
# copies to itself: the first run and all later ones have the same bits.
class _Nesting(event.Listener):  # type: ignore[misc]
    """Whether the functions being compiled, each for the one before it, are kernels of ours."""

    def __init__(self) -> None:
        self.ours: list[bool] = []

    def on_start(self, happened: Any) -> None:
        self.ours.append(happened.data["dispatcher"] in _KERNELS)

    def on_end(self, happened: Any) -> None:
        self.ours.pop()


_nesting = _Nesting()
event.register("numba:compile", _nesting)
_finalize = CPUCodeLibrary._finalize_final_module


def _keep_copies(library: Any) -> None:
    """Finish the code of a kernel, in which nothing but the kernel itself can be seen by others."""
    module = library._final_module
    defined = {f.name: f.linkage for f in module.functions if not f.is_declaration}
    copies = [name for name, linkage in defined.items() if linkage == Linkage.linkonce_odr]
    if copies and _nesting.ours and _nesting.ours[-1]:
        shared = module.clone()  # for the kernels that call this one: as Numba would make it
        for name, linkage in defined.items():
            if linkage == Linkage.external:
                shared.get_function(name).linkage = "linkonce_odr"
        library._shared_module = shared
        for name in copies:
            module.get_function(name).linkage = "internal"
    _finalize(library)


CPUCodeLibrary._finalize_final_module = _keep_copies


# Numba counts references to the arrays of each record that a function is given, atomically. Around
# a function that is called for every contact this costs more than the function does. The wrappers
# through which Python would call it take longer to compile than the function itself.
_SCALAR: dict[str, Any] = {
    **_OPTIONS,
    "forceinline": True,
    "_nrt": False,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}


class _Part(CPUDispatcher):  # type: ignore[misc]
    """A function for compiled code; without its wrapper a call from Python would crash."""

    def __call__(self, *args: Any) -> Any:
        raise TypeError(f"{self.py_func.__name__} is a part of kernels; a kernel must call it")


def device(function: F) -> F:
    """Compile a scalar function that becomes part of each kernel that calls it."""
    return cast(F, numba.njit(forceinline=True, **_OPTIONS)(function))


def scalar(function: F) -> F:
    """Like `device`, for functions that use elements of arrays and make no arrays themselves.

    Compiled code alone can call them.
    """
    dispatcher = numba.njit(**_SCALAR)(function)
    dispatcher.__class__ = _Part
    return cast(F, dispatcher)


def ordered(function: F) -> F:
    """Like `scalar`, for sums whose terms are not to be put into another order."""
    dispatcher = numba.njit(**{**_SCALAR, "fastmath": _OPTIONS["fastmath"] - {"reassoc"}})(function)
    dispatcher.__class__ = _Part
    return cast(F, dispatcher)


def chosen(choose: Callable[[type], Any]) -> Any:
    """A function for kernels to call: the `scalar` function that suits its first argument.

    ``choose`` is given the class of that argument, a named tuple, when a kernel is compiled.
    """

    def stand_in(record: Any, *rest: Any) -> Any:
        raise NotImplementedError("compiled code alone can call this")

    @overload(stand_in, jit_options=_SCALAR, strict=False)  # type: ignore[untyped-decorator]
    def _(record: Any, *rest: Any) -> Any:
        return choose(record.instance_class).py_func

    return stand_in


class _Announcer(event.Listener):  # type: ignore[misc]
    """Calls back whenever one of our kernels starts to compile."""

    def __init__(self, callback: Callable[[str, int], object]) -> None:
        self.callback = callback
        self.count = 0

    def on_start(self, happened: Any) -> None:
        dispatcher = happened.data["dispatcher"]
        if dispatcher in _KERNELS:
            self.count += 1
            self.callback(dispatcher.py_func.__name__, self.count)

    def on_end(self, happened: Any) -> None:
        pass


@contextlib.contextmanager
def announce(callback: Callable[[str, int], object]) -> Iterator[None]:
    """Within the context, call `callback(name, count)` whenever a kernel starts to compile.

    `count` numbers the kernels from 1. Kernels found on disk are not announced, nor are the
    scalar functions inside a kernel.
    """
    with event.install_listener("numba:compile", _Announcer(callback)):
        yield


_log = logging.getLogger(__name__)
_logged = _Announcer(lambda name, count: _log.info("Compiling kernel %d: %s.", count, name))
event.register("numba:compile", _logged)

# Held while Numba compiles, loads from disk or saves; the timer counts nested holds once.
_timer = event.TimingListener()
event.register("numba:compiler_lock", _timer)


def compile_seconds() -> float:
    """Time this process has spent on making kernels ready, compiling or loading them [s]."""
    return float(_timer.duration) if _timer.done else 0.0
