"""HDF5 files that one process writes while others read them (SWMR mode).

A file is made in full under another name and then renamed, so it is never seen half made. Room on
the disk is reserved before HDF5 writes, and a file that could not be written is let go of without
another write: HDF5 itself would crash.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import shutil
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

import h5py

from hardgrain.errors import InputError, RunError
from hardgrain.io.lock import claim

__all__ = [
    "SLACK", "build", "check_length", "drop", "end_of_file", "open_to_read", "reason", "reopen",
    "reserve", "sync", "words",
]  # fmt: skip

# [bytes] Room kept for HDF5's own bookkeeping, on top of 1/16 of the data, when space is reserved.
# With too little, a full disk could still crash HDF5.
SLACK = 256 << 10

_LIBVER = ("v110", "v110")  # the first HDF5 with SWMR, so that any later one reads the file
_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_SUPERBLOCK = struct.Struct("<8xB2xB16xQ")  # version, open for writing, end of file; version 3


def build(
    path: Path, fill: Callable[[Any], None], room: int, *, durable: bool = False
) -> tuple[Any, IO[bytes]]:
    """Make a file with `fill`, start SWMR mode, and rename it to `path` in one operation.

    With `durable`, it is on the disk before it replaces what was there.
    """
    real = Path(os.path.realpath(path))
    part = real.with_name(f".{real.name}.part")
    lock = claim(part, create=True, told=path)
    with contextlib.ExitStack() as undo:
        undo.callback(lock.close)
        undo.callback(part.unlink)
        try:
            # align: the counts in /committed must not straddle two 8-byte words
            align = {"alignment_threshold": 1, "alignment_interval": 8}
            h5 = h5py.File(part, "w", libver=_LIBVER, locking=False, **align)
            undo.callback(drop, h5)
            reserve(lock, room + room // 16 + 4 * SLACK)
            fill(h5)
            h5.swmr_mode = True
            h5.flush()
            if durable:
                sync(lock)
            os.replace(part, real)
            if durable:
                _sync_folder(real.parent)
        except (OSError, RuntimeError) as error:
            free = shutil.disk_usage(real.parent).free
            raise RunError(
                f"{path} cannot be written: it needs {words(room)} where {words(free)} are free "
                f"({reason(error)})."
            ) from None
        undo.pop_all()
    return h5, lock


def reopen(path: Path, lock: IO[bytes]) -> Any:
    """Open a cleanly closed file for more frames, in SWMR mode from the start, or give None."""
    with contextlib.suppress(OSError):
        reserve(lock, path.stat().st_size + SLACK)
    try:
        return _open_swmr(path, h5py.h5f.ACC_RDWR | h5py.h5f.ACC_SWMR_WRITE)
    except OSError:  # a killed writer has left it open, or this process is reading it
        return None


def _open_swmr(path: Path, flags: int) -> Any:
    access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    access.set_libver_bounds(h5py.h5f.LIBVER_V110, h5py.h5f.LIBVER_V110)
    access.set_file_locking(False, True)
    # A reader that meets a wrong checksum supposes a write in progress and tries again, after a
    # pause that doubles each time. HDF5 does so 100 times, which outlasts the universe; 26 times
    # take 0.1 s. h5py has no name for the setting.
    with contextlib.suppress(OSError, AttributeError):
        set_attempts = ctypes.CDLL(h5py.h5p.__file__).H5Pset_metadata_read_attempts
        set_attempts(ctypes.c_int64(access.id), ctypes.c_uint(26))
    return h5py.File(h5py.h5f.open(os.fsencode(path), flags, access))


def open_to_read(path: Path) -> Any:
    """Open an HDF5 file for reading, also one that is being written, or say why not."""
    if not path.exists():
        raise InputError(f"{path} does not exist.")
    if path.is_dir():
        raise InputError(f"{path} is a folder; give the run file in it, such as {path / 'run.h5'}.")
    try:
        with path.open("rb") as file:
            head = file.read(_SUPERBLOCK.size)
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}).") from None
    if not head:
        raise InputError(f"{path} is empty.")
    if not head.startswith(_SIGNATURE):
        raise InputError(f"{path} is not an HDF5 file, so it is not a run file.")
    if len(head) < _SUPERBLOCK.size:
        raise InputError(f"{path} is cut short after {len(head)} bytes.")
    version, opened, end = _SUPERBLOCK.unpack(head)
    if version == 3 and not opened:  # while it is open for writing, the file may lag behind
        check_length(path, end)
    try:
        return _open_swmr(path, h5py.h5f.ACC_RDONLY | h5py.h5f.ACC_SWMR_READ)
    except Exception:  # h5py raises many kinds of errors
        raise InputError(f"{path} is damaged: HDF5 cannot open it.") from None


def end_of_file(file: IO[bytes]) -> int:
    """Where a closed HDF5 file ends; beyond lies room that was reserved [bytes]."""
    file.seek(0)
    _, _, end = _SUPERBLOCK.unpack(file.read(_SUPERBLOCK.size))
    return int(end)


def check_length(path: Path, expected: int) -> None:
    """Check the length of a file, since HDF5 reads zeros beyond the end while it is written."""
    length = path.stat().st_size
    if length < expected:
        raise InputError(
            f"{path} is cut short: {length} of at least {expected} bytes are there; copy it again."
        )


def drop(h5: Any, handles: Sequence[Any] = ()) -> None:
    """Close a file that HDF5 could not write, without writing to it any more.

    HDF5 keeps the failed blocks and tries them again on closing and at exit; failing there, it
    crashes. If its descriptor points to the null device, these writes succeed.
    """
    null = os.open(os.devnull, os.O_RDWR)
    try:
        os.dup2(null, h5.id.get_vfd_handle())
        h5.close()
    # a ValueError says that an interruption has closed it already
    except (OSError, RuntimeError, ValueError):
        for handle in (h5, *handles):  # they are left to the end of the process
            handle.id.locked = True
    finally:
        os.close(null)


def reserve(file: IO[bytes], size: int) -> None:
    """Allocate the file up to `size` bytes, so that HDF5 cannot run out of space in mid-write."""
    descriptor = file.fileno()
    now = os.fstat(descriptor).st_size
    if size <= now:
        return
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(descriptor, now, size - now)
        else:
            if shutil.disk_usage(Path(file.name).parent).free < size - now:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.ftruncate(descriptor, size)
    except OSError:
        os.ftruncate(descriptor, now)
        raise


def sync(file: IO[bytes]) -> None:
    """Wait until what was written is on the disk; some file systems cannot promise it."""
    try:
        getattr(os, "fdatasync", os.fsync)(file.fileno())
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
            raise


def _sync_folder(folder: Path) -> None:
    """Make the disk keep the name of a new file, as `fsync` makes it keep its content."""
    with contextlib.suppress(OSError, AttributeError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def reason(error: Exception) -> str:
    """The cause of a failed write; h5py gives the system's error number only sometimes."""
    number = getattr(error, "errno", None)
    return os.strerror(number) if number else "a write failed"


def words(size: int) -> str:
    """A size in bytes, in words."""
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size = size / 1000  # type: ignore[assignment]
    return f"{size:.3g} GB"
